# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The lab's daemon: owns the guests and their cables, and carries commands.

One thread, one asyncio loop. It is started by `lab up` with the state folder's
lock, serves clients on the socket `control` in that folder, and ends with
`lab down`. If it dies, the kernel kills its guests with it.

A client sends one REQUEST. Most get one REPLY. `exec` turns the connection
into the stream of one command: its frames are passed to the guest's agent and
back, only the channel number is translated. The credits of channel.py bound
what is on the way, so writes here need not wait.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time

from . import channel as ch
from . import state
from .fabric import Fabric
from .qemu import Qemu, cable
from .error import LabError
from .place import PROGRAM

READ_SIZE = 64 * 1024
FROM_AGENT = (ch.STDOUT, ch.STDERR, ch.CREDIT, ch.EXIT)    # of a command
# For a client that does not read: two windows, with their headers and credits for what it has sent
MOST_WAITING = 4 * ch.WINDOW


class Command:
    """A command in a guest, and the client that waits for it."""

    def __init__(self, client):
        self.client = client    # a StreamWriter
        # Bytes of each stream that the client has not passed on
        self.ahead = {ch.STDOUT: 0, ch.STDERR: 0}

    def take(self, kind, payload):
        """Give the client a frame from the agent."""
        if kind in self.ahead:
            self.ahead[kind] += len(payload)
        elif kind not in FROM_AGENT:
            raise ch.ProtocolError(f"a frame of kind {kind}")
        waiting = self.client.transport.get_write_buffer_size()
        if max(self.ahead.values()) > ch.WINDOW or waiting > MOST_WAITING:
            raise ch.ProtocolError(f"{max(*self.ahead.values(), waiting)} bytes on the way")
        self.client.write(ch.frame(0, kind, payload))

    def credit(self, payload):
        stream, count = ch.CREDIT_BODY.unpack(payload)
        self.ahead[stream] -= min(count, self.ahead[stream])


class Guest:
    """A guest and the commands that run in it.

    state: 'booting' until the agent's HELLO, 'up', then 'dead' with `reason`.
    """

    def __init__(self, host):
        self.host = host
        self.name = host["name"]
        self.qemu = Qemu(self.name)
        self.state = "booting"
        self.reason = ""
        self.hello = {}
        self.changed = asyncio.Condition()
        self.commands = {}  # by channel
        self.writer = None
        self._next_channel = 0

    def open(self, client):
        self._next_channel += 1
        self.commands[self._next_channel] = Command(client)
        return self._next_channel

    async def set_state(self, value, reason=""):
        async with self.changed:
            self.state = value
            self.reason = reason
            self.changed.notify_all()

    async def pump(self, reader):
        """Carry frames from the agent to the clients until the port closes, or has something else."""
        parser = ch.Parser()
        try:
            while data := await reader.read(READ_SIZE):
                for channel, kind, payload in parser.feed(data):
                    if kind == ch.HELLO:
                        await self.greeted(json.loads(payload))
                    elif channel in self.commands:
                        self.commands[channel].take(kind, payload)
                        if kind == ch.EXIT:
                            del self.commands[channel]
        except (ch.ProtocolError, ValueError, RecursionError) as error:
            await self.end(f"its agent breaks the protocol: {error}")
            await self.qemu.stop()

    async def greeted(self, hello):
        if self.state != "booting" or not isinstance(hello, dict):
            raise ch.ProtocolError("a greeting that is none")
        self.hello = hello
        await self.set_state("up")

    async def watch(self):
        """Wait for QEMU's end."""
        await self.end(await self.qemu.ended())

    async def end(self, reason):
        """Tell everyone who waits for this guest that it is dead."""
        if self.state == "dead":
            return
        await self.set_state("dead", reason)
        message = json.dumps({"error": f"{self.name} is dead ({reason}); "
                                       f"see: {PROGRAM} logs {self.name}"}).encode()
        for command in self.commands.values():
            command.client.write(ch.frame(0, ch.EXIT, message))
        self.commands.clear()


class Daemon:
    """All guests of a lab and the control socket."""

    def __init__(self, plan):
        self.plan = plan
        self.guests = {host["name"]: Guest(host) for host in plan["hosts"]}
        # Each {"ends": ["h1:0", "h2:0"], "up": bool}; one end if the other is the fabric's.
        self.cables = plan["cables"]
        self.fabric = Fabric() if plan["topology"] is not None else None
        self.phase = "starting"
        self.ending = False     # somebody has asked for it
        self.finished = asyncio.Event()
        self.tasks = set()

    def _spawn(self, coroutine):
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def run(self, ready_fd):
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self.finished.set)
        # Of `lab up` as well, as long as it waits
        state.write("pids.json", [*state.pids(), os.getpid()])
        server = await asyncio.start_unix_server(self._serve, state.socket_path())
        try:
            await self._start_guests()
            os.write(ready_fd, b"ok")
            os.close(ready_fd)
            await self.finished.wait()
        finally:
            if self.ending:     # who has asked gets an answer first
                await self.finished.wait()
            server.close()
            await self._stop_all()

    async def _stop_all(self):
        for guest in self.guests.values():
            await guest.qemu.stop()
        if self.fabric is not None:
            await self.fabric.stop()

    async def _start_fabric(self):
        """Start the switches; the hosts' ends of their cables, by port."""
        pairs = {entry["ends"][0]: cable() for entry in self.cables}
        try:
            await self.fabric.start(self.plan["options"]["ibfabric"],
                                    {name: pair[1] for name, pair in pairs.items()},
                                    self.plan["far"])
        except LabError as error:
            named = str(error).replace(str(state.folder() / "topology"),
                                       self.plan["topology_name"])
            raise LabError(named) from None
        self._spawn(self.fabric.watch())
        for _, theirs in pairs.values():
            theirs.close()
        return {name: pair[0] for name, pair in pairs.items()}

    def _check_wanted(self):
        if self.ending or self.finished.is_set():
            raise LabError("the lab was taken down while it started")

    async def _start_guests(self):
        ends = {}
        if self.fabric is not None:
            ends = await self._start_fabric()
        else:
            for entry in self.cables:
                ends.update(zip(entry["ends"], cable(), strict=True))
        for name, guest in self.guests.items():
            self._check_wanted()
            names = [f"{name}:{port}" for port in range(self.plan["ports"])]
            for end in names:
                if end not in ends:  # a cable that leads nowhere
                    ends[end], nowhere = cable()
                    nowhere.close()
            ports = [ends[end] for end in names]
            reader, guest.writer = await guest.qemu.start(guest.host, self.plan["options"], ports)
            self._spawn(guest.pump(reader))
            self._spawn(guest.watch())
            self._spawn(guest.qemu.greet())
        for end in ends.values():
            end.close()
        self._check_wanted()
        started = [guest.qemu for guest in self.guests.values()]
        if self.fabric is not None:
            started.append(self.fabric)
        state.write("pids.json", [os.getpid(), *[process.pid for process in started]])

    async def _serve(self, reader, writer):
        """One client's connection, from its request to its end."""
        try:
            parser = ch.Parser()
            while data := await reader.read(READ_SIZE):
                frames = list(parser.feed(data))
                if frames:
                    break
            else:
                return
            request = json.loads(frames[0][2])
            if request["op"] == "exec":
                await self._exec(request, frames[1:], parser, reader, writer)
            else:
                answer = await self._answer(request)
                writer.write(ch.frame(0, ch.REPLY, json.dumps(answer).encode()))
                await writer.drain()
        except ConnectionError:
            pass  # the client is gone: nobody to tell
        finally:
            writer.close()

    async def _answer(self, request):
        handler = getattr(self, "_op_" + request["op"])
        try:
            return {"result": await handler(request)}
        except (LabError, asyncio.TimeoutError) as error:
            return {"error": str(error) or "timed out"}

    def _guest(self, name):
        if name not in self.guests:
            raise LabError(f"no host '{name}' (there are: {', '.join(self.guests)})")
        return self.guests[name]

    async def _exec(self, request, frames, parser, reader, writer):
        """Join a client's connection to a command in a guest."""
        try:
            guest = self._guest(request["host"])
            if guest.state != "up":
                raise LabError(f"{guest.name} is {guest.state}"
                               + (f" ({guest.reason})" if guest.reason else ""))
        except LabError as error:
            writer.write(ch.frame(0, ch.EXIT, json.dumps({"error": str(error)}).encode()))
            await writer.drain()
            return
        channel = guest.open(writer)
        guest.writer.write(ch.frame(channel, ch.OPEN, json.dumps(request["command"]).encode()))
        try:
            while True:
                for _, kind, payload in frames:
                    if kind == ch.CREDIT and channel in guest.commands:
                        guest.commands[channel].credit(payload)
                    guest.writer.write(ch.frame(channel, kind, payload))
                data = await reader.read(READ_SIZE)
                if not data:
                    break
                frames = list(parser.feed(data))
        finally:
            # Still there: the client went away before its command.
            if guest.commands.pop(channel, None) is not None and guest.state == "up":
                guest.writer.write(ch.frame(channel, ch.CLOSE))

    async def _op_wait(self, request):
        """Wait until a host is up or dead, at most `seconds`."""
        guest = self._guest(request["host"])
        async with guest.changed:
            await asyncio.wait_for(
                guest.changed.wait_for(lambda: guest.state != "booting"), request["seconds"])
        if guest.state == "dead":
            raise LabError(f"{guest.name}: {guest.reason}")
        return guest.hello

    async def _op_phase(self, request):
        self.phase = request["phase"]

    async def _op_status(self, _request):
        hosts = []
        for guest in self.guests.values():
            keys = ("name", "number", "driver", "hca", "dma", "kernel", "processor", "console", "ports")
            hosts.append({key: guest.host[key] for key in keys}
                         | {"state": guest.state, "reason": guest.reason, "pid": guest.qemu.pid,
                            "commands": len(guest.commands)})
        fabric = self.fabric and {"state": self.fabric.state, "reason": self.fabric.reason,
                                  "pid": self.fabric.pid}
        return {"phase": self.phase, "hosts": hosts, "cables": self.cables, "fabric": fabric,
                "seconds": round(time.time() - self.plan["started"], 1)}

    async def _op_cable(self, request):
        end = request["end"]
        for entry in self.cables:
            if end in entry["ends"]:
                break
        else:
            raise LabError(f"no cable at {end}")
        for name, port in (e.split(":") for e in entry["ends"]):
            guest = self._guest(name)
            if guest.state != "dead":
                await guest.qemu.set_link(int(port), request["up"])
        entry["up"] = request["up"]
        return entry

    async def _op_down(self, _request):
        self.ending = True
        dead = {g.name: g.reason for g in self.guests.values() if g.state == "dead"}
        if self.fabric is not None and self.fabric.state == "dead":
            dead["the fabric"] = self.fabric.reason
        await self._stop_all()
        # The reply goes out before the loop ends.
        asyncio.get_running_loop().call_soon(self.finished.set)
        return {"dead": dead}


def _log_to(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def _close_foreign():
    """Close what the caller of `lab` had open: it may wait for the end of a pipe.

    What this program has opened itself would not have survived an exec.
    """
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        with contextlib.suppress(OSError):  # the list itself was read through one
            if fd > 2 and os.get_inheritable(fd):
                os.close(fd)


def start(plan):
    """Start the daemon in the background; returns when its guests run.

    The daemon keeps for life what this program has opened, such as locks.
    Raises LabError with the daemon's last words if it could not start.
    """
    log = state.logs() / "daemon.log"
    ready_read, ready_write = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ready_read)
            os.setsid()
            if os.fork():
                os._exit(0)
            _log_to(log)
            _close_foreign()
            os.chdir("/")
            asyncio.run(Daemon(plan).run(ready_write))
        except LabError as error:
            print(error, flush=True)
            os._exit(1)
        except BaseException:  # noqa: B036 - the last words of a process go to its log
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(ready_write)
    os.waitpid(pid, 0)
    answer = os.read(ready_read, 2)
    os.close(ready_read)
    if answer != b"ok":
        raise LabError(f"the lab's daemon did not start:\n{log.read_text()}")
