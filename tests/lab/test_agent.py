# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The agent, run here on a socket instead of a virtio port."""

import hashlib
import json
import os
import signal
import socket
import time

import pytest

from lablib import agent as agent_module
from lablib import channel as ch

SECONDS = 20


class Peer:
    """The lab's end of the port."""

    def __init__(self):
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(SECONDS)
        self.parser = ch.Parser()
        self.frames = []
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.socket.close()
                theirs.setblocking(False)
                agent_module.Agent(theirs.fileno()).run()
            finally:
                os._exit(1)
        theirs.close()

    def send(self, channel, kind, payload=b""):
        self.socket.sendall(ch.frame(channel, kind, payload))

    def open(self, channel, *argv, **more):
        request = {"argv": argv, "cwd": "/", **more}
        self.send(channel, ch.OPEN, json.dumps(request).encode())

    def next(self):
        while not self.frames:
            self.frames += self.parser.feed(self.socket.recv(65536))
        return self.frames.pop(0)

    def finish(self, channel, credit=True):
        """All that a command says until its exit: (result, stdout, stderr)."""
        output = {ch.STDOUT: b"", ch.STDERR: b""}
        while True:
            number, kind, payload = self.next()
            assert number == channel
            if kind == ch.EXIT:
                return json.loads(payload), output[ch.STDOUT], output[ch.STDERR]
            if kind in output:
                output[kind] += payload
                if credit:
                    self.socket.sendall(ch.credit(channel, kind, len(payload)))

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.socket.close()


@pytest.fixture
def peer():
    peer = Peer()
    yield peer
    peer.end()


def test_status_and_streams(peer):
    peer.open(5, "sh", "-c", "echo out; echo err >&2; exit 7")
    assert peer.finish(5) == ({"status": 7}, b"out\n", b"err\n")


def test_death_by_signal(peer):
    peer.open(1, "sh", "-c", "kill -9 $$")
    assert peer.finish(1)[0] == {"signal": 9}


def test_no_such_command(peer):
    peer.open(1, "/no/such/command")
    result, _, err = peer.finish(1)
    assert result == {"status": 127}
    assert b"/no/such/command" in err


def test_not_executable(peer):
    peer.open(1, "/etc/passwd")
    assert peer.finish(1)[0] == {"status": 126}


def test_stdin_until_end_of_file(peer):
    data = os.urandom(3 * ch.WINDOW)
    peer.open(1, "sha256sum")
    for start in range(0, len(data), 50000):
        peer.send(1, ch.STDIN, data[start:start + 50000])
    peer.send(1, ch.STDIN)
    result, out, _ = peer.finish(1)
    assert result == {"status": 0}
    assert out.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_output_beyond_the_window(peer):
    peer.open(1, "head", "-c", str(5 * ch.WINDOW), "/dev/zero")
    result, out, _ = peer.finish(1)
    assert result == {"status": 0}
    assert len(out) == 5 * ch.WINDOW


def test_sender_stops_at_the_window(peer):
    """Without credit no more than a window comes, and others go on."""
    peer.open(1, "cat", "/dev/zero")
    seen = 0
    while seen < ch.WINDOW:
        channel, kind, payload = peer.next()
        assert (channel, kind) == (1, ch.STDOUT)
        seen += len(payload)
    assert seen == ch.WINDOW
    peer.open(2, "echo", "alive")
    assert peer.finish(2)[1] == b"alive\n"


def test_many_at_once(peer):
    for channel in range(1, 41):
        peer.open(channel, "echo", str(channel))
    seen, done = {}, set()
    while len(done) < 40:
        channel, kind, payload = peer.next()
        if kind == ch.STDOUT:
            seen[channel] = int(payload)
        elif kind == ch.EXIT:
            done.add(channel)
    assert seen == {channel: channel for channel in range(1, 41)}


def test_signal_reaches_the_whole_group(peer):
    peer.open(1, "sh", "-c", "sleep 1000 & echo $!; wait")
    _, kind, payload = peer.next()
    assert kind == ch.STDOUT
    peer.send(1, ch.SIGNAL, bytes([signal.SIGTERM]))
    assert peer.finish(1)[0] == {"signal": signal.SIGTERM}
    assert is_gone(int(payload))


def is_gone(pid):
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            state = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
    return False


def test_abandoned_command_is_killed_even_if_it_ignores_hangup(peer):
    peer.open(1, "sh", "-c", "trap '' HUP; echo $$; while :; do sleep 0.1; done")
    pid = int(peer.next()[2])
    peer.send(1, ch.CLOSE)
    assert peer.finish(1)[0] == {"signal": signal.SIGKILL}
    assert is_gone(pid)


def test_background_child_does_not_hold_the_command(peer):
    peer.open(1, "sh", "-c", "sleep 1000 & echo done")
    start = time.monotonic()
    result, out, _ = peer.finish(1)
    assert (result, out) == ({"status": 0}, b"done\n")
    assert time.monotonic() - start < SECONDS


def test_terminal(peer):
    peer.open(1, "sh", "-c", "tty; stty size; read x; echo got $x", tty=True, rows=33, cols=101)
    peer.send(1, ch.STDIN, b"word\n")
    result, out, _ = peer.finish(1)
    assert result == {"status": 0}
    assert b"/dev/pts/" in out and b"33 101" in out and b"got word" in out


def test_frames_of_ended_commands_are_ignored(peer):
    peer.open(1, "true")
    peer.finish(1)
    peer.send(1, ch.STDIN, b"late")
    peer.send(1, ch.SIGNAL, bytes([signal.SIGTERM]))
    peer.send(1, ch.CLOSE)
    peer.open(2, "echo", "still here")
    assert peer.finish(2)[1] == b"still here\n"
