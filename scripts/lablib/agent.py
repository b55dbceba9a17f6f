#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""First process of a guest: runs the commands that the lab sends.

Commands arrive as frames (channel.py) on a virtio serial port. Each runs in a
session of its own, so that a signal reaches all of it. One thread, one loop:
the port, the pipes of all commands, and children to reap.
"""

import fcntl
import json
import os
import resource
import selectors
import signal
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import channel as ch  # noqa: E402

PORT_NAME = "openipoib.agent"
READ_SIZE = 32 * 1024
HANGUP_GRACE = 2.0  # seconds between SIGHUP and SIGKILL for an abandoned command
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "USER": "root",
}


def set_nonblocking(fd):
    os.set_blocking(fd, False)
    return fd


class Command:
    """One running command.

    Life: forked by __init__, reaped by the loop (status set), output drained,
    EXIT sent, forgotten. `outputs` maps an open descriptor to its stream.
    """

    def __init__(self, channel, request):
        self.channel = channel
        self.tty = bool(request.get("tty"))
        self.status = None
        self.abandoned_at = None
        self.window = {ch.STDOUT: ch.WINDOW, ch.STDERR: ch.WINDOW}
        self.pending = bytearray()  # bytes for stdin
        self.stdin_eof = False
        environment = dict(ENVIRONMENT, **request.get("env", {}))
        if self.tty:
            self._start_on_terminal(request, environment)
        else:
            self._start_on_pipes(request, environment)

    def _start_on_terminal(self, request, environment):
        self.pid, master = os.forkpty()
        if self.pid == 0:
            self._become(request, environment)
        set_nonblocking(master)
        self.resize(request.get("rows", 24), request.get("cols", 80), master)
        self.stdin = master
        self.outputs = {master: ch.STDOUT}

    def _start_on_pipes(self, request, environment):
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            for fd, target in ((in_read, 0), (out_write, 1), (err_write, 2)):
                os.dup2(fd, target)
            self._become(request, environment)
        for fd in (in_read, out_write, err_write):
            os.close(fd)
        self.stdin = set_nonblocking(in_write)
        self.outputs = {set_nonblocking(out_read): ch.STDOUT,
                        set_nonblocking(err_read): ch.STDERR}

    @staticmethod
    def _become(request, environment):
        """In the child: turn into the command; never returns."""
        argv = request["argv"]
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.chdir(request.get("cwd") or "/root")
            os.execvpe(argv[0], argv, environment)
        except OSError as error:
            os.write(2, f"lab: {argv[0]}: {error.strerror}\n".encode())
            os._exit(127 if isinstance(error, FileNotFoundError) else 126)
        finally:
            os._exit(126)

    def resize(self, rows, cols, fd=None):
        if self.tty and (fd is not None or self.stdin is not None):
            termios.tcsetwinsize(self.stdin if fd is None else fd, (rows, cols))

    def kill(self, number):
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass


class Agent:
    """The loop: owns the port and all commands."""

    def __init__(self, port):
        self.port = port
        self.out = bytearray()
        self.parser = ch.Parser()
        self.selector = selectors.DefaultSelector()
        self.commands = {}  # channel -> Command
        self.wake_read, wake_write = os.pipe()
        set_nonblocking(self.wake_read)
        set_nonblocking(wake_write)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        self.selector.register(self.port, selectors.EVENT_READ)
        self.selector.register(self.wake_read, selectors.EVENT_READ)

    def send(self, data):
        self.out += data
        self._flush_port()

    def _flush_port(self):
        while self.out:
            try:
                del self.out[:os.write(self.port, self.out[:READ_SIZE])]
            except BlockingIOError:
                break
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.out else 0)
        if self.selector.get_key(self.port).events != events:
            self.selector.modify(self.port, events)

    def run(self):
        while True:
            for key, events in self.selector.select(self._timeout()):
                if key.fd == self.port:
                    self._on_port(events)
                elif key.fd == self.wake_read:
                    os.read(self.wake_read, 4096)
                else:
                    self._on_pipe(key.data, key.fd, events)
            self._reap()
            self._kill_abandoned()

    def _timeout(self):
        times = [c.abandoned_at for c in self.commands.values() if c.abandoned_at]
        return max(0.0, min(times) + HANGUP_GRACE - time.monotonic()) if times else None

    def _on_port(self, events):
        if events & selectors.EVENT_WRITE:
            self._flush_port()
        if events & selectors.EVENT_READ:
            try:
                data = os.read(self.port, READ_SIZE)
            except BlockingIOError:
                return
            for channel, kind, payload in self.parser.feed(data):
                self._on_frame(channel, kind, payload)

    def _on_frame(self, channel, kind, payload):
        if kind == ch.OPEN:
            self._open(channel, payload)
            return
        command = self.commands.get(channel)
        if not command:  # it ended while the frame was on its way
            return
        if kind == ch.STDIN:
            if payload:
                command.pending += payload
            else:
                command.stdin_eof = True
            self._feed_stdin(command)
        elif kind == ch.CREDIT:
            stream, count = ch.CREDIT_BODY.unpack(payload)
            command.window[stream] += count
            self._watch(command)
        elif kind == ch.SIGNAL:
            command.kill(payload[0])
        elif kind == ch.WINSIZE:
            command.resize(*ch.WINSIZE_BODY.unpack(payload))
        elif kind == ch.CLOSE:
            command.abandoned_at = time.monotonic()
            command.kill(signal.SIGHUP)

    def _open(self, channel, payload):
        try:
            command = Command(channel, json.loads(payload))
        except OSError as error:
            self._exit(channel, {"error": f"cannot start a process: {error.strerror}"})
            return
        self.commands[channel] = command
        self._watch(command)

    def _watch(self, command):
        """Have the selector watch just what can make progress."""
        wanted = {fd: selectors.EVENT_READ for fd, stream in command.outputs.items()
                  if command.window[stream] > 0}
        if command.stdin is not None and command.pending:
            wanted[command.stdin] = wanted.get(command.stdin, 0) | selectors.EVENT_WRITE
        fds = set(command.outputs) | ({command.stdin} - {None})
        for fd in fds:
            registered = fd in self.selector.get_map()
            if fd not in wanted:
                if registered:
                    self.selector.unregister(fd)
            elif not registered:
                self.selector.register(fd, wanted[fd], command)
            elif self.selector.get_key(fd).events != wanted[fd]:
                self.selector.modify(fd, wanted[fd], command)

    def _on_pipe(self, command, fd, events):
        if events & selectors.EVENT_WRITE and fd == command.stdin:
            self._feed_stdin(command)
        if events & selectors.EVENT_READ and fd in command.outputs:
            self._read_output(command, fd)
            self._watch(command)

    def _read_output(self, command, fd):
        """Pass on one read of output. Returns False if there is none now."""
        stream = command.outputs[fd]
        size = min(READ_SIZE, command.window[stream])
        if size <= 0:
            return True
        try:
            data = os.read(fd, size)
        except BlockingIOError:
            return False
        except OSError:  # a terminal whose last user is gone
            data = b""
        if not data:
            self._close_output(command, fd)
            return False
        command.window[stream] -= len(data)
        self.send(ch.frame(command.channel, stream, data))
        return True

    def _close_output(self, command, fd):
        if fd in self.selector.get_map():
            self.selector.unregister(fd)
        del command.outputs[fd]
        if fd == command.stdin:
            command.stdin = None
        os.close(fd)

    def _feed_stdin(self, command):
        written = 0
        while command.pending and command.stdin is not None:
            try:
                count = os.write(command.stdin, command.pending[:READ_SIZE])
            except BlockingIOError:
                break
            except OSError:  # nobody reads any more: swallow the rest
                count = len(command.pending)
            del command.pending[:count]
            written += count
        if command.stdin is None:
            written += len(command.pending)
            command.pending.clear()
        if written:
            self.send(ch.credit(command.channel, ch.STDIN, written))
        if command.stdin_eof and not command.pending and command.stdin is not None:
            if command.tty:
                command.stdin_eof = False
                os.write(command.stdin, b"\x04")
            else:
                if command.stdin in self.selector.get_map():
                    self.selector.unregister(command.stdin)
                os.close(command.stdin)
                command.stdin = None
        self._watch(command)

    def _reap(self):
        by_pid = {c.pid: c for c in self.commands.values()}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid in by_pid:
                by_pid[pid].status = status
        for command in list(self.commands.values()):
            if command.status is not None:
                self._finish(command)

    def _finish(self, command):
        """After the command's exit: drain what it wrote, then report.

        A background process that still holds the pipes is not waited for.
        """
        for fd in list(command.outputs):
            while fd in command.outputs and self._read_output(command, fd):
                if command.window[command.outputs[fd]] <= 0 and not command.abandoned_at:
                    self._watch(command)
                    return  # goes on when credit arrives
                if command.abandoned_at:
                    break
        for fd in list(command.outputs):
            self._close_output(command, fd)
        if command.stdin is not None:
            if command.stdin in self.selector.get_map():
                self.selector.unregister(command.stdin)
            os.close(command.stdin)
        del self.commands[command.channel]
        if os.WIFSIGNALED(command.status):
            self._exit(command.channel, {"signal": os.WTERMSIG(command.status)})
        else:
            self._exit(command.channel, {"status": os.WEXITSTATUS(command.status)})

    def _exit(self, channel, result):
        self.send(ch.frame(channel, ch.EXIT, json.dumps(result).encode()))

    def _kill_abandoned(self):
        now = time.monotonic()
        for command in self.commands.values():
            if command.abandoned_at and now >= command.abandoned_at + HANGUP_GRACE:
                command.kill(signal.SIGKILL)
                command.abandoned_at = now


def open_port():
    """Open the virtio serial port that leads to the lab."""
    base = "/sys/class/virtio-ports"
    for entry in os.listdir(base):
        with open(f"{base}/{entry}/name", encoding="ascii") as file:
            if file.read().strip() == PORT_NAME:
                flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
                return os.open(f"/dev/{entry}", flags)
    raise SystemExit(f"no virtio port named {PORT_NAME}")


def main():
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY,) * 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (65536, 65536))
    # From here on the console shows information too: the lab scans it.
    with open("/proc/sys/kernel/printk", "w", encoding="ascii") as file:
        file.write("7 4 1 7")
    port = open_port()
    fcntl.fcntl(port, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    agent = Agent(port)
    hello = {"release": os.uname().release, "host": os.uname().nodename}
    agent.send(ch.frame(0, ch.HELLO, json.dumps(hello).encode()))
    agent.run()


if __name__ == "__main__":
    main()
