# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The table tests/reach: what it says, and that all it names is there."""

import re
import subprocess
import sys
from fnmatch import fnmatchcase

import pytest

from checklib import tree
from kernellib import stack
from testlib import table

ROWS = table.read()


def named(kind):
    return {name for row in ROWS for name in row.wanted.get(kind, [])}


@pytest.mark.parametrize("pattern", sorted({pattern for row in ROWS for pattern in row.patterns}))
def test_a_pattern_fits_a_file(pattern):
    assert any(fnmatchcase(name, pattern) for name in tree.files())


def test_scenarios_are_there():
    assert named("stack") <= set(stack.names())


def test_no_scenario_that_takes_an_hour():
    for name in named("stack"):
        assert stack.BY_NAME not in (stack.SCENARIOS / f"{name}.sh").read_text(encoding="utf-8"), name


def test_tests_on_hosts_are_there_and_run_without_full():
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only",
                           "tests/vm"], cwd=tree.TOP, stdout=subprocess.PIPE, text=True, check=True)
    assert named("vm") <= set(re.findall(r"^(?:tests/vm/)?(test_\w+\.py)::", done.stdout, re.MULTILINE))


def test_tests_of_cmake_are_there():
    text = (tree.TOP / "tests/unit/CMakeLists.txt").read_text(encoding="utf-8")
    planted = re.findall(r"^planted\((\w+)", text, re.MULTILINE)
    there = re.findall(r"add_test\(NAME ([\w.-]+)\s", text) + [f"ha-explore.{name}" for name in planted]
    assert named("ctest") <= set(there)


def test_targets_are_there():
    text = (tree.TOP / "Makefile").read_text(encoding="utf-8")
    assert named("make") <= set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))


@pytest.mark.parametrize("folder", ["drivers/ipoib/", "drivers/sib/"])
def test_every_driver_has_a_way_into_the_stack(folder):
    for name in tree.with_suffix(".c", ".h", under=folder):
        assert table.wanted(ROWS, "stack", [name]), name


def test_rows():
    rows = table.parse("# text\n\na/* b.c  stack: x y  # why\n         vm: test_z.py\nc*  ctest: t\n")
    assert [row.patterns for row in rows] == [["a/*", "b.c"], ["c*"]]
    assert table.wanted(rows, "stack", ["b.c", "a/deep/one.c"]) == {"x": "b.c", "y": "b.c"}
    assert table.wanted(rows, "vm", ["a/one.c"]) == {"test_z.py": "a/one.c"}
    assert table.wanted(rows, "ctest", ["b.cc", "c"]) == {"t": "c"}
    assert not table.wanted(rows, "stack", ["b.cc"])


@pytest.mark.parametrize("text", ["a\n", "a stack:\n", "stack: x\n", "a stak: x\n", "a stack: vm: x\n"])
def test_a_row_that_says_nothing(text):
    with pytest.raises(table.TableError, match=text.strip()):
        table.parse(text)
