# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The switches of a lab: how they are cabled, and ibfabric, which is them."""

import asyncio
import os
import socket

from . import state
from .qemu import die_with_parent
from .error import LabError

READY_SECONDS = 20
PROGRAMS = ("ibfabric", "ibfabric-ctl")
INTER_SWITCH = 2  # links between the two leaves


def _leaves(names, ports):
    """What is cabled to each of the two leaves."""
    leaves = {1: [], 2: []}
    for number, name in enumerate(names):
        for port in range(ports):
            leaf = (port if ports > 1 else number) % 2 + 1
            leaves[leaf].append(f'"{name}"[{port + 1}]')
    return leaves


def _size(leaves):
    """The ports of a leaf for hosts and the other leaf."""
    return max(len(ends) for ends in leaves.values()) + INTER_SWITCH


def topology(names, ports, far=0):
    """Two leaf switches for hosts of these names, as ibnetdiscover would print them.

    Hosts with several ports have every other one at the other leaf; of hosts with
    one port, every other host is there. The last ports, @far of them, are left free for
    cables to other labs: far_port(). ibfabric makes the switches' GUIDs up, other
    ones for each lab.
    """
    leaves = _leaves(names, ports)
    size = _size(leaves)
    lines = []
    for leaf, ends in leaves.items():
        lines.append(f'Switch {size + far} "sw{leaf}"\t# "sw{leaf}"')
        lines += [f"[{port}] {end}" for port, end in enumerate(ends, 1)]
        lines += [f'[{port}] "sw{3 - leaf}"[{port}]'
                  for port in range(size - INTER_SWITCH + 1, size + 1)]
        lines.append("")
    lines += [f'Ca {ports} "{name}"\t# "{name}"' for name in names]
    return "\n".join(lines) + "\n"


def far_port(names, ports, number):
    """The port of a topology for the cable to another lab of that number, from 0."""
    return f"sw1:{_size(_leaves(names, ports)) + 1 + number}"


def control_path():
    """Where ibfabric listens for ibfabric-ctl."""
    return state.folder() / "fabric"


def port_name(name):
    """A port of a host as topologies have it: they count from 1."""
    host, _, port = name.partition(":")
    return f"{host}:{int(port) + 1}"


class Fabric:
    """A running ibfabric. All methods are for the daemon's one thread."""

    def __init__(self):
        self.process = None
        self.state = "starting"  # then 'up', then 'dead' with `reason`
        self.reason = ""

    @property
    def pid(self):
        return self.process.pid if self.process else None

    async def start(self, program, cables, far):
        """Start ibfabric and wait until it is ready. LabError with its words if it ends.

        @cables: ends of cables by the name of the host's port
        @far: cables to other labs, each {"at": port, "cable": what ibfabric calls it}, and
        the key to them; or None
        """
        path = state.folder() / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.setblocking(False)
            notify.bind(str(path))
            argv = [program, "--topology", state.folder() / "topology",
                    "--control", control_path()]
            for name, end in cables.items():
                argv += ["--port", f"{port_name(name)}=fd:{end.fileno()}"]
            if far is not None:
                argv += ["--key", far["key"]]
                for end in far["cables"]:
                    argv += ["--port", f"{end['at']}={end['cable']}"]
            self.process = await asyncio.create_subprocess_exec(
                *argv, pass_fds=[end.fileno() for end in cables.values()],
                env=os.environ | {"NOTIFY_SOCKET": str(path)},
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE, preexec_fn=die_with_parent(),
                start_new_session=True)
            await self._ready(notify)
        path.unlink()

    async def _ready(self, notify):
        ready = asyncio.ensure_future(asyncio.get_running_loop().sock_recv(notify, 4096))
        ended = asyncio.ensure_future(self.process.wait())
        await asyncio.wait((ready, ended), timeout=READY_SECONDS,
                           return_when=asyncio.FIRST_COMPLETED)
        is_ready = ready.done()
        for task in (ready, ended):
            task.cancel()
        if not is_ready:
            await self.stop()
            said = (await self.process.stderr.read()).decode(errors="replace").strip()
            raise LabError(said or f"ibfabric is not ready after {READY_SECONDS} s")
        self.state = "up"

    async def watch(self):
        """Wait for its end and note why."""
        said = (await self.process.stderr.read()).decode(errors="replace").strip()
        status = await self.process.wait()
        words = f"ibfabric was killed by signal {-status}" if status < 0 else \
            f"ibfabric ended with status {status}"
        self.state, self.reason = "dead", f"{words}: {said}" if said else words

    async def stop(self):
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
