# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The table of what has run on verbs: from JUnit files to text and an exit status."""

import os
import subprocess
from pathlib import Path

VERBS = Path(__file__).resolve().parents[2] / "scripts/verbs"


def case(name, *properties, failure=""):
    noted = "".join(f'<property name="{kind}" value="{value}"/>' for kind, value in properties)
    failed = f'<failure message="{failure}"/>' if failure else ""
    return (f'<testcase classname="test_verbs" name="{name}"><properties>{noted}</properties>'
            f"{failed}</testcase>")


def write(folder, name, age, *cases):
    path = folder / name
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>",
                    encoding="utf-8")
    os.utime(path, (1e9 - age, 1e9 - age))


def table(folder):
    done = subprocess.run([VERBS, "--last", "--results", folder], capture_output=True, text=True,
                          check=False)
    return done.returncode, [line.split() for line in done.stdout.splitlines() if line]


def program(name, where, result):
    return "program", f"('{name}', '{where}', '{result}', 1.5)"


def test_a_column_for_each_kernel_and_place(tmp_path):
    write(tmp_path, "a.xml", 1, case("on 6.12", program("rping -C", "6.12, one host", "passed"),
                                     program("udaddy", "6.12, one host", "refused")))
    write(tmp_path, "b.xml", 2, case("on 6.1", program("rping -C", "6.1, two hosts", "passed")))
    status, lines = table(tmp_path)
    assert status == 0
    assert lines[1:5] == [["6.1", "6.12"], ["two", "hosts", "one", "host"],
                          ["rping", "-C", "passed", "passed"], ["udaddy", "-", "refused"]]


def test_circumstances_have_a_table_of_their_own(tmp_path):
    write(tmp_path, "a.xml", 1, case("a", program("rping", "6.1, one host", "passed"),
                                     program("rping", "6.1, one host, bad cable", "passed")))
    status, lines = table(tmp_path)
    assert status == 0 and ["programs,", "bad", "cable"] in lines
    assert lines.count(["rping", "passed"]) == 2


def test_the_newest_result_counts(tmp_path):
    write(tmp_path, "old.xml", 9, case("a", program("rping", "6.1, one host", "FAILED"),
                                       failure="rping broke"))
    assert table(tmp_path)[0] == 2
    write(tmp_path, "new.xml", 1, case("a", program("rping", "6.1, one host", "passed")))
    status, lines = table(tmp_path)
    assert status == 0 and ["rping", "passed"] in lines and ["rping", "FAILED"] not in lines


def test_a_failed_trial_is_named(tmp_path):
    write(tmp_path, "a.xml", 1, case("good", ("trial", "('kills', '6.1, one host', 'passed')")),
          case("connections", failure="one broke"))
    status, lines = table(tmp_path)
    assert status == 2
    assert ["kills", "6.1,", "one", "host", "passed"] in lines
    assert ["failed:", "test_verbs.connections:", "one", "broke"] in lines


def test_nothing_has_run(tmp_path):
    assert table(tmp_path)[0] == 2
