# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Client, daemon and agent together, with a process of this machine as guest."""

import asyncio
import json
import os
import signal
import socket
import time

import pytest

from lablib import agent as agent_module
from lablib import channel as ch
from lablib import client, daemon, state

PORT = {"port": 0, "netdev": "ib0", "ibdev": "sib0", "lower": "eth1"}


class LocalGuest:
    """In place of a QEMU: an agent that runs here."""

    def __init__(self, name):
        self.name, self.pid = name, None

    async def start(self, _host, _options, _cables):
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                ours.close()
                theirs.setblocking(False)
                os.setsid()
                agent = agent_module.Agent(theirs.fileno())
                agent.send(ch.frame(0, ch.HELLO, json.dumps({"host": self.name}).encode()))
                agent.run()
            finally:
                os._exit(1)
        theirs.close()
        return await asyncio.open_connection(sock=ours)

    async def greet(self):
        pass

    async def ended(self):
        _, status = await asyncio.to_thread(os.waitpid, self.pid, 0)
        return f"ended with wait status {status}"

    async def set_link(self, port, is_up):
        (state.logs() / f"link-{self.name}-{port}").write_text(str(is_up))

    async def stop(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A daemon with two such guests; what is left of it is checked afterwards."""
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", str(tmp_path / "lab"))
    monkeypatch.setattr(state, "logs", lambda: tmp_path)
    monkeypatch.setattr(daemon, "Qemu", LocalGuest)
    names = ("h1", "h2")
    plan = {"hosts": [{"name": name, "number": number, "driver": "ours", "console": "",
                       "kernel": "6.1", "processor": "amd64", "hca": "sib", "dma": "virtual",
                       "ports": [PORT]}
                      for number, name in enumerate(names, 1)],
            "topology": None, "cables": [{"ends": ["h1:0", "h2:0"], "up": True}], "ports": 1, "options": {},
            "started": time.time()}
    lock = state.create()
    daemon.start(plan)
    os.close(lock)
    for name in names:
        assert client.ask("wait", host=name, seconds=20)["host"] == name
    yield plan
    client.ask("down")
    assert state.wait_gone(state.read("pids.json"), 20) == []
    state.sweep()


def test_status_and_output_of_a_command(lab):
    assert client.capture("h1", ["sh", "-c", "echo out; echo err >&2; exit 7"]) == \
        (7, "out\n", "err\n")
    assert client.capture("h2", ["sh", "-c", "kill -TERM $$"])[0] == 128 + signal.SIGTERM


def test_a_deadline_holds_for_commands_that_keep_talking(lab, tmp_path):
    script = f"echo $$ > {tmp_path}/pid; while :; do echo x; sleep 0.05; done"
    start = time.monotonic()
    with pytest.raises(client.TimedOut, match="not done within 1 s"):
        client.capture("h1", ["sh", "-c", script], timeout=1)
    assert time.monotonic() - start < 10
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}"):  # it ends with its caller
        assert time.monotonic() < end, "the command goes on without its caller"
        time.sleep(0.02)


def test_unknown_and_dead_guests(lab):
    with pytest.raises(state.LabError, match="no host 'h9'"):
        client.capture("h9", ["true"])
    os.kill(state.read("pids.json")[2], signal.SIGKILL)
    with pytest.raises(state.LabError, match="h2 is dead"):
        client.capture("h2", ["sleep", "100"], timeout=20)
    assert client.capture("h1", ["true"])[0] == 0
    assert [host["state"] for host in client.ask("status")["hosts"]] == ["up", "dead"]


def test_a_cable_goes_at_both_ends(lab, tmp_path):
    client.ask("cable", end="h2:0", up=False)
    assert [(tmp_path / f"link-{name}-0").read_text() for name in ("h1", "h2")] == \
        ["False", "False"]
    assert not client.ask("status")["cables"][0]["up"]
