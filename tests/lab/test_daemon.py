# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The daemon of a lab without hosts: what it takes with it into the background."""

import os
import select

import pytest

from lablib import client, daemon, state

PLAN = {"hosts": [], "cables": [], "topology": None}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", str(tmp_path / "lab"))
    monkeypatch.setattr(state, "logs", lambda: tmp_path)


@pytest.fixture
def lock():
    """The lock of a lab that a daemon gets; the lab ends with the test."""
    fd = state.create()
    yield fd
    doomed = state.pids()
    client.ask("down", timeout=20)
    state.sweep(doomed)


@pytest.mark.timeout(60)
def test_pipe_of_its_caller_is_not_kept(lock):
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    daemon.start(PLAN)
    os.close(lock)
    os.close(writer)
    assert select.select([reader], [], [], 10)[0], "somebody still could write"
    assert os.read(reader, 1) == b""
    os.close(reader)


@pytest.mark.timeout(60)
def test_lock_is_kept(lock):
    daemon.start(PLAN)
    os.close(lock)
    with pytest.raises(state.LabError, match="already up"):
        state.create()
