# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Talks to the lab's daemon: single requests, and commands in guests."""

import array
import fcntl
import json
import os
import selectors
import signal
import socket
import sys
import termios
import time
import tty

from . import channel as ch
from . import state
from .error import LabError
from .place import PROGRAM
from .state import NoLab

READ_SIZE = 32 * 1024
NOT_REACHED = 255  # exit status of `exec` when the command could not be run, as ssh's


class TimedOut(LabError):
    """Something was not done in time."""


class Connection:
    """A connection to the daemon.

    A daemon that has closed is noticed when reading, not when writing: what it
    said last is still to be read. @timeout: seconds from now, for all of it;
    what takes longer raises TimeoutError.
    """

    def __init__(self, timeout=None):
        self.end = None if timeout is None else time.monotonic() + timeout
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.parser = ch.Parser()
        try:
            self.socket.connect(str(state.socket_path()))
        except OSError:
            self.socket.close()
            if state.exists():
                raise NoLab("the lab's daemon does not answer "
                            f"(clean up with: {PROGRAM} down)") from None
            raise NoLab() from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def fileno(self):
        return self.socket.fileno()

    def send(self, kind, payload=b""):
        self.send_frame(ch.frame(0, kind, payload))

    def _set_timeout(self):
        if self.end is not None:
            self.socket.settimeout(max(0.001, self.end - time.monotonic()))

    def send_frame(self, frame):
        self._set_timeout()
        try:
            self.socket.sendall(frame)
        except ConnectionError:
            pass

    def request(self, **fields):
        self.send(ch.REQUEST, json.dumps(fields).encode())

    def read(self):
        """Wait for data; its frames as (kind, payload). NoLab at the end."""
        self._set_timeout()
        try:
            data = self.socket.recv(READ_SIZE)
        except ConnectionError:
            data = b""
        if not data:
            raise NoLab("the lab went away")
        return [(kind, payload) for _, kind, payload in self.parser.feed(data)]


def ask(op, timeout=60, **fields):
    """One request; returns its result or raises LabError."""
    with Connection(timeout) as connection:
        try:
            connection.request(op=op, **fields)
            while not (frames := connection.read()):
                pass
        except TimeoutError:
            raise TimedOut(f"the lab's daemon does not answer within {timeout} s") from None
    answer = json.loads(frames[0][1])
    if "error" in answer:
        raise LabError(answer["error"])
    return answer["result"]


def is_up():
    """Whether a daemon answers."""
    try:
        ask("status", timeout=10)
    except LabError:
        return False
    return True


def capture(host, argv, timeout=60):
    """Run a command in a guest. Returns (status, stdout, stderr) as text."""
    outputs = {ch.STDOUT: bytearray(), ch.STDERR: bytearray()}

    def texts():
        return [bytes(output).decode(errors="replace") for output in outputs.values()]

    with Connection(timeout) as connection:
        try:
            connection.request(op="exec", host=host, command={"argv": argv})
            connection.send(ch.STDIN)
            while True:
                for kind, payload in connection.read():
                    if kind in outputs:
                        outputs[kind] += payload
                        connection.send_frame(ch.credit(0, kind, len(payload)))
                    elif kind == ch.EXIT:
                        return _status(json.loads(payload), host), *texts()
        except TimeoutError:
            raise TimedOut(f"{host}: {' '.join(argv)}: not done within {timeout} s "
                           f"{' '.join(texts())}") from None


def _status(result, host):
    if "error" in result:
        raise LabError(result["error"], code=NOT_REACHED)
    return result["status"] if "status" in result else 128 + result["signal"]


class Stream:
    """One command in a guest, joined to this process's stdin, stdout, stderr.

    With @terminal the command gets a terminal of its own and ours goes raw.
    """

    def __init__(self, host, argv, terminal=False):
        self.host = host
        self.terminal = terminal
        self.window = ch.WINDOW
        self.connection = Connection()
        self.selector = selectors.PollSelector()  # epoll refuses plain files
        command = {"argv": argv}
        if terminal:
            rows, cols = self._size()
            command |= {"tty": True, "rows": rows, "cols": cols,
                        "env": {"TERM": os.environ.get("TERM", "dumb")}}
        self.connection.request(op="exec", host=host, command=command)

    @staticmethod
    def _size():
        size = array.array("H", [24, 80, 0, 0])
        try:
            fcntl.ioctl(0, termios.TIOCGWINSZ, size)
        except OSError:
            pass
        return size[0], size[1]

    def run(self):
        """Carry everything until the command ends. Returns its exit status."""
        saved = termios.tcgetattr(0) if self.terminal else None
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH):
            signal.signal(number, lambda *_: None)
        try:
            if saved:
                tty.setraw(0, termios.TCSADRAIN)  # keep what was typed ahead
            self.selector.register(self.connection, selectors.EVENT_READ)
            self.selector.register(wake_read, selectors.EVENT_READ)
            self._watch_stdin()
            return self._loop(wake_read)
        finally:
            if saved:
                termios.tcsetattr(0, termios.TCSADRAIN, saved)

    def _loop(self, wake_read):
        while True:
            for key, _ in self.selector.select():
                if key.fd == 0:
                    self._on_stdin()
                elif key.fd == wake_read:
                    self._on_signals(os.read(wake_read, 64))
                else:
                    for kind, payload in self.connection.read():
                        if kind == ch.EXIT:
                            return _status(json.loads(payload), self.host)
                        self._on_frame(kind, payload)

    def _watch_stdin(self):
        try:
            os.fstat(0)
            self.selector.register(0, selectors.EVENT_READ)
        except (OSError, ValueError):  # closed: the command reads end of file
            self.connection.send(ch.STDIN)

    def _on_stdin(self):
        try:
            data = os.read(0, min(READ_SIZE, self.window))
        except OSError:  # a background job does not own the terminal
            data = b""
        self.connection.send(ch.STDIN, data)
        self.window -= len(data)
        if not data or self.window == 0:
            self.selector.unregister(0)

    def _on_signals(self, numbers):
        for number in numbers:
            if number == signal.SIGWINCH:
                if self.terminal:
                    self.connection.send(ch.WINSIZE, ch.WINSIZE_BODY.pack(*self._size()))
            elif number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                self.connection.send(ch.SIGNAL, bytes([number]))

    def _on_frame(self, kind, payload):
        if kind in (ch.STDOUT, ch.STDERR):
            self._write(1 if kind == ch.STDOUT else 2, payload)
            self.connection.send_frame(ch.credit(0, kind, len(payload)))
        elif kind == ch.CREDIT:
            _, count = ch.CREDIT_BODY.unpack(payload)
            if self.window == 0:
                self._watch_stdin()
            self.window += count

    @staticmethod
    def _write(fd, data):
        while data:
            try:
                data = data[os.write(fd, data):]
            except BlockingIOError:
                selector = selectors.PollSelector()
                selector.register(fd, selectors.EVENT_WRITE)
                selector.select()
            except BrokenPipeError:
                # Our reader is gone: end like any command in a pipe would.
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                os.kill(os.getpid(), signal.SIGPIPE)


def run(host, argv, terminal=False):
    """Run a command in a guest as if it ran here. Returns its exit status."""
    sys.stdout.flush()
    return Stream(host, argv, terminal).run()
