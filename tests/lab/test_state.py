# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The state folder: one lab at a time, nothing left after it."""

import os
import signal
import subprocess
import sys

import pytest

from lablib import state


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", str(tmp_path / "lab"))
    return tmp_path / "lab"


def test_second_lab_is_refused():
    lock = state.create()
    with pytest.raises(state.LabError, match="already up") as error:
        state.create()
    assert error.value.code == 1
    os.close(lock)


def test_state_of_a_crashed_lab_is_taken_over(folder):
    os.close(state.create())
    state.write("lab.json", {"hosts": ["h1"]})
    lock = state.create()
    assert not (folder / "lab.json").exists()
    assert state.read("pids.json") == [os.getpid()]
    os.close(lock)


def test_sweep_spares_its_caller_and_a_lab_that_came_up_meanwhile(folder):
    doomed = []
    lock = state.create()
    state.sweep(doomed)
    assert folder.exists(), "the lock is held"
    state.sweep(lock_fd=lock)
    assert not folder.exists()


def test_a_folder_of_another_user_is_refused(folder, monkeypatch):
    folder.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(state.LabError, match="belongs to another user"):
        state.create()


def test_sweep_kills_its_own_and_nobody_else(folder):
    os.close(state.create())
    script = "import time; print(flush=True); time.sleep(1000)"
    ours = subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE)
    other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert ours.stdout.readline() and other.stdout.readline()  # both really run
        state.write("pids.json", [ours.pid, other.pid])
        state.sweep()
        assert ours.wait(10) == -signal.SIGKILL
        assert other.poll() is None
        assert not folder.exists()
    finally:
        for process in (ours, other):
            process.kill()
            process.wait()
            process.stdout.close()


def test_sweep_kills_who_holds_the_lock(folder):
    """A daemon that hangs, or a `lab up` that has not got to its daemon yet."""
    script = "import sys, time; print(flush=True); time.sleep(1000)"
    lock = state.create()
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                              pass_fds=[lock])
    os.close(lock)
    try:
        assert holder.stdout.readline()
        state.write("pids.json", [holder.pid])
        state.sweep()
        assert holder.wait(10) == -signal.SIGKILL
        assert not folder.exists()
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
