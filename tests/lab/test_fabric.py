# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""How the lab starts ibfabric, with programs in its place."""

import asyncio
import socket

import pytest

from lablib import fabric
from lablib.state import LabError

READY = """\
#!/usr/bin/python3
import os, socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
argument = sys.argv[sys.argv.index("--port") + 1]
cable = socket.socket(fileno=int(argument.removeprefix("h1:1=fd:")))
cable.send(b"frame")
cable.recv(1)
sys.exit("cut")
"""
REFUSED = """\
#!/bin/sh
echo "ibfabric: no such port" >&2
exit 1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", str(tmp_path))
    return tmp_path


def program(folder, text):
    path = folder / "ibfabric"
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_port_names():
    assert fabric.port_name("h2:0") == "h2:1"


@pytest.mark.timeout(60)
def test_ready_with_its_cable_and_its_end_is_noted(folder):
    async def work():
        running = fabric.Fabric()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with ours, theirs:
            await running.start(program(folder, READY), {"h1:0": theirs}, None)
            assert running.state == "up"
            assert ours.recv(100) == b"frame"
            ours.send(b"x")
            await running.watch()
        return running

    ended = asyncio.run(work())
    assert (ended.state, ended.reason) == ("dead", "ibfabric ended with status 1: cut")
    assert not (folder / "notify").exists()


@pytest.mark.timeout(60)
def test_its_words_are_the_error(folder):
    with pytest.raises(LabError, match="^ibfabric: no such port$"):
        asyncio.run(fabric.Fabric().start(program(folder, REFUSED), {}, None))
