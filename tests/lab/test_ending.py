# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Test runs that are ended from outside leave no lab behind."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from checklib import suites

VM = Path(__file__).resolve().parents[1] / "vm"
# Ends the runner when that reads what it says, and has more to say than a pipe holds.
LAST_WORDS = """\
trap 'seq 50000; touch "$0"; exit' TERM
echo ready
until grep -q ready "$1"; do sleep 0.1; done
kill -INT $PPID
while :; do sleep 0.1; done
"""
# A test that never ends, on a lab that is nothing but a file that its end makes.
ENDLESS = """\
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from harness import Config

class FakeLab:
    config = Config("6.1")
    is_down = threading.Event()
    def down(self):
        self.is_down.set()
        Path(__file__).with_name("down").touch()
        return 0, ""

def test_endless(current_lab):
    current_lab.lab = FakeLab()
    print("ready", flush=True)
    # As harness.on_hosts(): what waits for a guest ends only with the guest.
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda _: FakeLab.is_down.wait(), range(2)))
    finally:
        assert False, "the guest is gone"

def test_next(current_lab):
    current_lab.get(FakeLab.config, None)
    Path(__file__).with_name("gone-on").touch()
"""


@pytest.fixture
def interrupts():
    """SIGINT raises, though a shell that runs this in the background had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.timeout(60)
@pytest.mark.usefixtures("interrupts")
def test_runner_lets_a_suite_end_its_way(tmp_path, monkeypatch):
    monkeypatch.setattr(suites, "LOGS", tmp_path)
    command = ["sh", "-c", LAST_WORDS, tmp_path / "done", tmp_path / "sample.log"]
    suite = suites.Suite("sample", "a sample", "Makefile", [command], 30)
    with pytest.raises(KeyboardInterrupt):
        suites.run(suite)
    assert (tmp_path / "done").exists()


@pytest.mark.timeout(60)
def test_vm_tests_take_their_lab_down(tmp_path):
    (tmp_path / "test_endless.py").write_text(ENDLESS)
    shutil.copy(VM / "conftest.py", tmp_path)
    process = subprocess.Popen(
        [*suites.PYTEST, "-s", tmp_path / "test_endless.py",
         f"--junitxml={tmp_path / 'results.xml'}"],
        env=os.environ | {"PYTHONPATH": str(VM)}, stdout=subprocess.PIPE, text=True)
    try:
        while "ready" not in (line := process.stdout.readline()):
            assert line, "it ended early"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == pytest.ExitCode.INTERRUPTED
    finally:
        process.kill()
        process.communicate()
    assert (tmp_path / "down").exists()
    assert not (tmp_path / "gone-on").exists()
    assert (tmp_path / "results.xml").exists()
