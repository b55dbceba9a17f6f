# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""One guest's QEMU: its command line, its life, and its monitor.

Nothing of a guest has a name in the host's file system but its console log:
agent port, monitor and cables are socket pairs whose descriptors QEMU inherits.
"""

import asyncio
import ctypes
import json
import os
import signal
import socket

from . import machine
from .error import LabError

PR_SET_PDEATHSIG = 1
MONITOR_SECONDS = 10  # to answer a request
CABLE_BUFFER = 4 << 20  # bytes a cable holds in each direction
# A bonding driver that is built in makes no bond0 that nobody has asked for.
CMDLINE = "loglevel=5 panic=-1 random.trust_cpu=on net.ifnames=0 bonding.max_bonds=0"


def cable():
    """The two ends of a new cable: sockets, to be closed after start."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for end in ends:
        for option in (32, 33):  # SO_SNDBUFFORCE, SO_RCVBUFFORCE
            try:
                end.setsockopt(socket.SOL_SOCKET, option, CABLE_BUFFER)
            except PermissionError:
                pass  # the default holds several frames
    return ends


def _kernel_words(host, emulated):
    """The kernel's command line."""
    words = [f"console={emulated.console}", emulated.words, CMDLINE, f"lab.host={host['name']}",
             "lab.modules" if host["modules"] else "",
             f"lab.sources={host['sources']}" if host["sources"] else "", host["append"]]
    return " ".join(filter(None, words))


def command_line(host, options, fds):
    """The arguments of QEMU for @host; @fds: agent, monitor, and a cable per port."""
    emulated = machine.of(host["processor"])
    if host["accel"] == "kvm":
        start = emulated.command("kvm", "host")
    else:
        start = emulated.command("tcg,thread=multi", host["cpu"])
    bus = emulated.bus
    line = [
        *start, "-name", f"openipoib-lab-{host['name']}",
        "-pidfile", f"{options['folder']}/{host['name']}.pid", "-smp", str(options["cpus"]),
        "-m", str(options["memory"]), "-nodefaults", "-display", "none", "-no-reboot",
        "-no-user-config",
        "-kernel", host["image"], "-initrd", host["initramfs"],
        "-append", _kernel_words(host, emulated),
        "-chardev", f"file,id=console,path={host['console']}", "-serial", "chardev:console",
        "-chardev", f"socket,id=monitor,fd={fds['monitor']}",
        "-mon", "chardev=monitor,mode=control",
        "-device", f"virtio-serial-{bus}",
        "-chardev", f"socket,id=agent,fd={fds['agent']}",
        "-device", "virtserialport,chardev=agent,name=openipoib.agent",
        "-device", f"virtio-rng-{bus}",
    ]
    if options["plugin"]:
        line += ["-plugin", options["plugin"]]
    for tag, path, extra in (("hostroot", host["root"], ",multidevs=remap"),
                             ("lablayer", host["layer"], ""), ("labmodules", host["modules"], ""),
                             ("labsources", host["sources"], ",multidevs=remap")):
        if path:
            line += ["-fsdev", f"local,id={tag},path={path},security_model=none,readonly=on{extra}",
                     "-device", f"virtio-9p-{bus},fsdev={tag},mount_tag={tag}"]
    for port, fd in enumerate(fds["cables"]):
        line += ["-netdev", f"dgram,id=cable{port},local.type=fd,local.str={fd}"]
        # Without event indices: with them, QEMU before 9.1 can wait for ever for
        # a guest that has long refilled its receive ring.
        line += ["-device", f"virtio-net-{bus},id=port{port},netdev=cable{port},event_idx=off,"
                            f"mac={host['ports'][port]['mac']}" + (",romfile=" if bus == "pci" else "")]
    return line


def die_with_parent():
    """What a child has to do before exec for the kernel to kill it when this process dies."""
    parent = os.getpid()

    def prepare():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:      # it has died already
            os._exit(1)

    return prepare


class Qemu:
    """A running QEMU. All methods are for the daemon's one thread."""

    def __init__(self, name):
        self.name = name
        self.process = None
        self.stderr = b""
        self._monitor = None  # (reader, writer)
        self._monitor_lock = asyncio.Lock()
        self._greeted = asyncio.Event()
        self._requests = 0

    async def start(self, host, options, cables):
        """Start QEMU. Returns (reader, writer) of the agent's port."""
        ours_agent, theirs_agent = socket.socketpair()
        ours_monitor, theirs_monitor = socket.socketpair()
        fds = {"agent": theirs_agent.fileno(), "monitor": theirs_monitor.fileno(),
               "cables": [end.fileno() for end in cables]}
        inherited = [fds["agent"], fds["monitor"], *fds["cables"]]
        self.process = await asyncio.create_subprocess_exec(
            *command_line(host, options, fds), pass_fds=inherited,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE, preexec_fn=die_with_parent(), start_new_session=True)
        theirs_agent.close()
        theirs_monitor.close()
        self._monitor = await asyncio.open_connection(sock=ours_monitor)
        return await asyncio.open_connection(sock=ours_agent)

    @property
    def pid(self):
        return self.process.pid if self.process else None

    async def ended(self):
        """Wait for QEMU's end; returns why, in words."""
        self.stderr = await self.process.stderr.read()
        status = await self.process.wait()
        words = f"QEMU was killed by signal {-status}" if status < 0 else \
            f"QEMU ended with status {status}"
        text = self.stderr.decode(errors="replace").strip()
        return f"{words}: {text}" if text else words

    async def greet(self):
        """Leave the monitor's negotiation mode, in which it starts."""
        await self._execute("qmp_capabilities")
        self._greeted.set()

    async def _reply(self, number):
        """The reply to a request; greeting, events and late replies are passed over."""
        while True:
            line = await self._monitor[0].readline()
            if not line:
                raise LabError(f"{self.name}: QEMU's monitor closed")
            message = json.loads(line)
            if message.get("id") == number:
                return message

    async def _execute(self, command, **arguments):
        async with self._monitor_lock:
            self._requests += 1
            number = self._requests
            request = {"execute": command, "arguments": arguments, "id": number}
            self._monitor[1].write(json.dumps(request).encode() + b"\n")
            reply = await asyncio.wait_for(self._reply(number), MONITOR_SECONDS)
        if "error" in reply:
            raise LabError(f"{self.name}: {command}: {reply['error']['desc']}")
        return reply["return"]

    async def set_link(self, port, is_up):
        await asyncio.wait_for(self._greeted.wait(), MONITOR_SECONDS)
        await self._execute("set_link", name=f"port{port}", up=is_up)

    async def stop(self):
        """End QEMU at once; there is nothing in a guest worth saving."""
        if self.process is not None and self.process.returncode is None:
            os.kill(self.pid, signal.SIGKILL)
            await self.process.wait()
