# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The runner of the kernel's fuzz targets: journals, leaks, minimising, functions, planted faults."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/fuzz/kernel"))

import machine  # noqa: E402  (first: it knows where the others are)

import corpora  # noqa: E402
import culprit  # noqa: E402
import functions  # noqa: E402
import journal  # noqa: E402
import planted  # noqa: E402
from kernellib import ending  # noqa: E402

ONE, TWO, THREE = (bytes([number] * 8) for number in (1, 2, 3))
LEAKS = """\
unreferenced object 0x00000000611e4c00 (size 64):
  comm "kernel-verbs-fu", pid 52, jiffies 4294938296 (age 12.300s)
  backtrace:
    [<000000006e3f2c1a>] __kmalloc+0x5c/0x80
    [<00000000b0b0b0b0>] sib_create_qp+0x1f0/0x300 [sib]
"""
KASAN = """\
[    7.000000] BUG: KASAN: use-after-free in sib_mem_del+0x10/0x20
[    7.100000] Read of size 8 at addr 0000000061a3d000 by task kernel-verbs-fu/52
"""


def test_a_journal_is_read_as_it_was_written(tmp_path):
    journal.write(tmp_path / "journal", [ONE, b"", TWO])
    assert [one.data for one in journal.read(tmp_path / "journal")] == [ONE, b"", TWO]


def test_an_entry_that_was_cut_short_is_left_out(tmp_path):
    path = tmp_path / "journal"
    journal.write(path, [ONE, TWO])
    path.write_bytes(path.read_bytes()[:-1])
    assert [one.data for one in journal.read(path)] == [ONE]
    assert journal.read(tmp_path / "none") == []


def test_inputs_about_the_time_of_a_leak():
    inputs = [journal.Input(bytes([i]), seconds) for i, seconds in enumerate((1, 5, 9.9, 10.05, 30))]
    assert journal.seconds_of_leaks(LEAKS) == [10.0]
    assert journal.around(inputs, [10.0]) == inputs[1:4]


def finished(place, status="0", console="", kmemleak="", found=""):
    """The folder of a run that has ended."""
    journal.write(place / "journal", [ONE, TWO])
    (place / "ended").touch()
    (place / "console").write_text(console)
    (place / "status").write_text(status)
    (place / "kmemleak").write_text(kmemleak)
    if found:
        (place / "found").write_text(found)
    return place


def test_a_run_that_found_nothing(tmp_path):
    outcome = machine.judge(finished(tmp_path), 0, "")
    assert not outcome.what and outcome.executed == 2


def test_what_a_run_found(tmp_path):
    finished(tmp_path, "77", found="broken promise: a request has completed twice")
    assert machine.judge(tmp_path, 77, "").what == "broken promise: a request has completed twice"
    finished(tmp_path, "77", KASAN, found="kernel: BUG: KASAN")
    assert machine.judge(tmp_path, 97, "").what.startswith("kasan: BUG: KASAN: use-after-free")


def test_a_leak_is_of_no_input_in_particular(tmp_path):
    outcome = machine.judge(finished(tmp_path, kmemleak=LEAKS), 97, "")
    assert outcome.what == "leak: sib_create_qp"
    assert outcome.is_leak and outcome.leaks == [10.0]


def test_a_hang_and_a_module_that_stays(tmp_path):
    journal.write(tmp_path / "journal", [ONE])
    assert machine.judge(tmp_path, -15, "no input ended").what == "no input ended"
    outcome = machine.judge(finished(tmp_path, "78"), 78, "")
    assert "78" in outcome.what and outcome.is_leak


def test_the_same_finding_at_other_addresses():
    first, second = machine.Outcome("BUG: at 0x61 in f+0x1/0x2"), machine.Outcome("BUG: at 0x7 in f+0x1/0x2")
    assert first.signature == second.signature != machine.Outcome("BUG: in g").signature


class Oracle:
    """In place of kernels: an input is bad if it has all of some records."""

    kernels = 0

    def __init__(self, *needed):
        self.needed = needed

    def in_time(self):
        return True

    def first(self, candidates):
        for number, data in enumerate(candidates):
            records = [data[at:at + 8] for at in range(0, len(data), 8)]
            if all(any(record[0] == one for record in records) for one in self.needed):
                return number
        return None


def test_minimising_leaves_what_is_needed_and_makes_it_plain():
    case = culprit.Case([ONE * 5 + TWO + ONE * 9 + THREE + ONE[:3]], machine.Outcome("x"))
    small = culprit.minimise(Oracle(2, 3), case)
    assert small.inputs == [b"\2" + bytes(7) + b"\3" + bytes(7)]


def test_a_listing_has_a_record_a_line():
    assert culprit.listing([ONE + TWO]).split() == ["01"] * 8 + ["02"] * 8


def test_functions_by_offset():
    text = ("Symbols from x:\n\nName|Value|Class|Type|Size|Line|Section\n"
            "b   |0000000000000040|  T|  FUNC|10|   |.text\n"
            "a.isra.0|0000000000000010|  t|  FUNC|10|   |.text\n"
            "c   |0000000000000000|  t|  FUNC|10|   |.init.text\n")
    known = functions.parse(text)
    assert known == [(0x10, "a.isra.0"), (0x40, "b")]
    assert functions.executed(known, {0x5, 0x3f}) == {"a.isra.0"}


def test_inputs_in_the_tree(tmp_path):
    corpora.write_tree("x", [TWO + ONE, ONE, ONE], tmp_path)
    assert corpora.in_tree("x", tmp_path) == [ONE, TWO + ONE]
    assert corpora.in_tree("none", tmp_path) == []


def test_each_planted_fault_says_who_finds_it_and_how():
    faults = planted.faults()
    assert len(faults) >= 8
    for fault in faults.values():
        assert (machine.HERE / f"{fault.target}_fuzz.cc").exists()
        assert not fault.is_shown_by("")


def test_each_planted_fault_applies(tmp_path):
    for fault in planted.faults().values():
        place = planted.plant(fault, TOP, tmp_path / fault.name)
        assert (place / "Kbuild").exists()


def test_a_patch_that_does_not_apply_is_a_failure(tmp_path):
    path = tmp_path / "x.patch"
    path.write_text("Nothing.\n\nTarget: verbs\nFound: x\n\n--- a/VERSION\n+++ b/VERSION\n"
                    "@@ -1 +1 @@\n-never\n+ever\n")
    with pytest.raises(machine.Trouble, match="does not apply"):
        planted.plant(planted.Fault.read(path), TOP, tmp_path / "tree")


def test_each_target_has_functions_to_reach():
    for path in machine.HERE.glob("*_fuzz.cc"):
        assert functions.missing(path.name.removesuffix("_fuzz.cc"), set())


@pytest.mark.timeout(60)
def test_a_signal_ends_the_kernel(tmp_path, monkeypatch, endless_kernel):
    monkeypatch.setattr(machine, "UML_RUN", endless_kernel("begun"))
    place = tmp_path / "place"

    def end():
        deadline = time.monotonic() + 30
        while not (place / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)
    thread = threading.Thread(target=end)
    thread.start()
    with pytest.raises(SystemExit), ending.signals_raise():
        machine.run(machine.Parts("verbs", tmp_path, tmp_path, tmp_path, tmp_path), place, [])
    thread.join()
    assert (place / "was-ended").exists()
