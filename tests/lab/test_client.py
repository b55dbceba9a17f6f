# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Client, daemon and agent together, with a process of this machine as guest."""

import asyncio
import contextlib
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

    def serve(self, port):
        port.setblocking(False)
        agent = agent_module.Agent(port.fileno())
        agent.send(ch.frame(0, ch.HELLO, json.dumps({"host": self.name}).encode()))
        agent.run()

    async def start(self, _host, _options, _cables):
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                ours.close()
                os.setsid()
                self.serve(theirs)
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
        with contextlib.suppress(ProcessLookupError):
            if self.pid:
                os.kill(self.pid, signal.SIGKILL)


class HostileGuest(LocalGuest):
    """h2's agent answers a command by what it is told to: frames in hex, and how often."""

    def serve(self, port):
        if self.name != "h2":
            super().serve(port)
        port.sendall(ch.frame(0, ch.HELLO, json.dumps({"host": self.name}).encode()))
        parser = ch.Parser()
        while data := port.recv(65536):
            for channel, kind, payload in parser.feed(data):
                if kind == ch.OPEN:
                    said, times = json.loads(payload)["argv"]
                    said = bytes.fromhex(said) * int(times)
                    port.sendall(said.replace(CHANNEL, ch.HEADER.pack(channel, 0, 0)[:4]))


class SlowGuest(LocalGuest):
    """One that does not start before it is told to."""

    async def start(self, *what):
        while not (state.logs() / "go").exists():
            await asyncio.sleep(0.02)
        return await super().start(*what)


CHANNEL = ch.HEADER.pack(0x12345678, 0, 0)[:4]      # where the command's is to be put


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", str(tmp_path / "lab"))
    monkeypatch.setattr(state, "logs", lambda: tmp_path)


def plan_of(names):
    return {"hosts": [{"name": name, "number": number, "driver": "ours", "console": "",
                       "kernel": "6.1", "processor": "amd64", "hca": "sib", "dma": "virtual",
                       "ports": [PORT]}
                      for number, name in enumerate(names, 1)],
            "topology": None, "cables": [{"ends": ["h1:0", "h2:0"], "up": True}], "ports": 1, "options": {},
            "started": time.time()}


@pytest.fixture
def lab(request, where, monkeypatch):
    """A daemon with two such guests; what is left of it is checked afterwards."""
    monkeypatch.setattr(daemon, "Qemu", getattr(request, "param", LocalGuest))
    names = ("h1", "h2")
    plan = plan_of(names)
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


@pytest.mark.timeout(120)
@pytest.mark.parametrize("lab", [HostileGuest], indirect=True)
@pytest.mark.parametrize(("frames", "reason"), [
    (ch.HEADER.pack(1, ch.STDOUT, 16 << 20), "frame of 16777216 bytes"),
    (ch.frame(0, ch.HELLO, b"{"), "Expecting property name"),
    (ch.frame(0, ch.HELLO, b"\xff"), "can't decode"),
    (ch.frame(0, ch.HELLO, b"[" * 100000), "recursion"),
    (ch.frame(0, ch.HELLO, b"{}"), "a greeting that is none"),
    (ch.frame(0x12345678, ch.REPLY, b"{}"), "a frame of kind 2"),
    (ch.frame(0x12345678, ch.CREDIT, bytes(65536)), "bytes on the way"),
    (ch.frame(0x12345678, ch.STDOUT, bytes(ch.WINDOW)) + ch.frame(0x12345678, ch.STDOUT, b"x"),
     "bytes on the way"),
], ids=["length", "json", "utf-8", "depth", "again", "kind", "credits", "window"])
def test_an_agent_that_breaks_the_protocol_ends_its_guest(lab, frames, reason):
    # Who waits for the command does not read meanwhile.
    with socket.socket(socket.AF_UNIX) as waiting:
        waiting.settimeout(20)
        waiting.connect(str(state.socket_path()))
        request = {"op": "exec", "host": "h2", "command": {"argv": [frames.hex(), "64"]}}
        waiting.sendall(ch.frame(0, ch.REQUEST, json.dumps(request).encode()))
        with pytest.raises(state.LabError, match=reason):
            while True:
                client.capture("h2", ["00", "1"], timeout=20)
        parser, found = ch.Parser(), []
        while not found or found[-1][1] != ch.EXIT:
            data = waiting.recv(65536)
            assert data, "the daemon has closed, and said nothing"
            found += parser.feed(data)
    assert reason in json.loads(found[-1][2])["error"]
    assert client.capture("h1", ["true"])[0] == 0


@pytest.mark.timeout(120)
def test_a_lab_taken_down_while_it_starts_ends(where, monkeypatch, tmp_path):
    monkeypatch.setattr(daemon, "Qemu", SlowGuest)
    lock = state.create()
    starter = os.fork()
    if starter == 0:
        try:
            daemon.start(plan_of(("h1", "h2")))
        except state.LabError as error:
            os._exit(7 if "did not start" in str(error) else 1)
        finally:
            os._exit(1)
    end = time.monotonic() + 20
    while not client.is_up():
        assert time.monotonic() < end, "the daemon does not start"
        time.sleep(0.01)
    doomed = state.pids()
    client.ask("down", timeout=20)
    (tmp_path / "go").touch()
    _, status = os.waitpid(starter, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert state.wait_gone(doomed, 20) == []
    assert [pid for pid in state.read("pids.json") if pid != os.getpid()] == doomed
    os.close(lock)
    state.sweep(doomed)
    assert not state.folder().exists()
