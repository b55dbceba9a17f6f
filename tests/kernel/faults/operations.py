# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Operations on the stack whose allocations fail in turn.

Each has
  do()      starts it: OSError if it fails
  settled() whether what it leads to, maybe in other threads, is there
  done()    whether the state it makes is there; after an error it must not be
  undo()    takes it back
and makes what it needs beforehand, so that its own system calls are all that
allocates.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct
import time
from contextlib import contextmanager
from pathlib import Path

from . import injection

NR_FINIT_MODULE, NR_DELETE_MODULE = 313, 176
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCGIFMTU, SIOCSIFMTU = 0x8913, 0x8914, 0x8921, 0x8922
IFF_UP = 1
NETLINK_RDMA, RDMA_NL_NLDEV = 20, 5
NLDEV_GET, NLDEV_NEWLINK, NLDEV_DELLINK = 1, 3, 4
ATTR_DEV_INDEX, ATTR_DEV_NAME, ATTR_NDEV_NAME, ATTR_LINK_TYPE = 1, 2, 51, 65
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
CLONE_NEWNET = 0x40000000
BUSY_SECONDS = 5

LIBC = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def wait(condition, seconds, what):
    """Until the condition holds; the clock of these runs jumps when all is idle."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"not within {seconds} s: {what}")
        time.sleep(0.02)


@contextmanager
def namespace(name):
    """Be in a network namespace of `ip netns`."""
    with open("/proc/thread-self/ns/net", "rb") as old, open(f"/run/netns/{name}", "rb") as new:
        check(LIBC.setns(new.fileno(), CLONE_NEWNET))
        try:
            yield
        finally:
            check(LIBC.setns(old.fileno(), CLONE_NEWNET))


class Operation:
    monotonous = False      # makes the same few allocations a thousand times
    outcome = None          # of the last try: an errno, or 0
    clean = ()              # errors that the kernel itself has besides "no memory"

    def settled(self):
        return True

    def first(self, _whose):
        """The number of the first allocation to fail."""
        return 1

    def count(self, whose):
        """How many allocations it makes."""
        whose.arm(injection.ENOUGH)
        self.do()
        used = injection.ENOUGH - whose.disarm()
        if not self.done():
            raise SystemExit("it does nothing")
        self.undo()
        return used


class Module(Operation):
    """Load a module, of whose allocations its own come last.

    Not more of them than need be: User-Mode Linux may hang in giving back the
    memory of hundreds of modules.
    """

    LAST = 60

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY)
        self.name = os.path.basename(path).removesuffix(".ko")

    def first(self, whose):
        return self.count(whose) - self.LAST

    def do(self):
        check(LIBC.syscall(NR_FINIT_MODULE, self.fd, b"", 0))

    def done(self):
        return Path("/sys/module", self.name).exists()

    def undo(self):
        """Unload; a module may be in use for a moment after what used it has gone."""
        end = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return check(LIBC.syscall(NR_DELETE_MODULE, self.name.encode(), os.O_NONBLOCK))
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)


class Flags(Operation):
    """Set an interface up or down."""

    def __init__(self, direction, name):
        self.up, self.name = direction == "up", name
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        flags = self.get()
        self.there, self.back = (
            struct.pack("16sh14x", name.encode(), flags | IFF_UP if up else flags & ~IFF_UP)
            for up in (self.up, not self.up))

    def get(self):
        request = struct.pack("16sh14x", self.name.encode(), 0)
        return struct.unpack("16sh14x", fcntl.ioctl(self.socket, SIOCGIFFLAGS, request))[1]

    def do(self):
        fcntl.ioctl(self.socket, SIOCSIFFLAGS, self.there)

    def undo(self):
        fcntl.ioctl(self.socket, SIOCSIFFLAGS, self.back)
        if not self.up:
            wait(self.carrier, 60, f"{self.name} has carrier again")

    def done(self):
        return bool(self.get() & IFF_UP) == self.up

    def carrier(self):
        try:
            return Path("/sys/class/net", self.name, "carrier").read_text(encoding="ascii") == "1\n"
        except OSError:     # the interface is down
            return False

    def settled(self):
        return not self.up or self.carrier()


class Mtu(Operation):
    """Change an interface's MTU and back."""

    def __init__(self, name, old, new):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.name, self.old, self.new = name, int(old), int(new)

    def set(self, value):
        fcntl.ioctl(self.socket, SIOCSIFMTU, struct.pack("16si12x", self.name.encode(), value))

    def do(self):
        self.set(self.new)

    def undo(self):
        self.set(self.old)

    def done(self):
        request = struct.pack("16si12x", self.name.encode(), 0)
        return struct.unpack("16si12x", fcntl.ioctl(self.socket, SIOCGIFMTU, request))[1] == self.new


class Rings(Flags):
    """Change the size of an interface's rings and back."""

    SIOCETHTOOL, GET, SET = 0x8946, 0x10, 0x11
    FORMAT, RX, TX = "9I", 5, 8     # struct ethtool_ringparam: the command, maxima, sizes

    def __init__(self, name, old, new):
        super().__init__("up", name)
        self.old, self.new = int(old), int(new)
        self.buffer = ctypes.create_string_buffer(struct.calcsize(self.FORMAT))
        self.request = struct.pack("16sP16x", name.encode(), ctypes.addressof(self.buffer))

    def sizes(self):
        struct.pack_into("I", self.buffer, 0, self.GET)
        fcntl.ioctl(self.socket, self.SIOCETHTOOL, self.request)
        return list(struct.unpack(self.FORMAT, self.buffer))

    def set(self, size):
        values = self.sizes()
        values[0], values[self.RX], values[self.TX] = self.SET, size, size
        struct.pack_into(self.FORMAT, self.buffer, 0, *values)
        fcntl.ioctl(self.socket, self.SIOCETHTOOL, self.request)

    def do(self):
        self.set(self.new)

    def undo(self):
        self.set(self.old)

    def done(self):
        return self.sizes()[self.RX] == self.new

    def settled(self):
        return self.carrier()


class Child(Operation):
    """Make a child by its P_Key."""

    clean = (errno.EINVAL,)     # of a device for whose name there was no memory

    def __init__(self, name, pkey):
        folder = Path("/sys/class/net", name)
        self.make, self.delete = (os.open(folder / file, os.O_WRONLY)
                                  for file in ("create_child", "delete_child"))
        self.pkey = pkey.encode()
        self.child = folder.with_name(f"{name}.{int(pkey, 16):04x}")

    def do(self):
        os.write(self.make, self.pkey)

    def done(self):
        return self.child.exists()

    def undo(self):
        os.write(self.delete, self.pkey)


class Link(Operation):
    """rdma link add, as a netlink message made beforehand.

    ib_mad posts a thousand receives, each with a buffer.
    """

    monotonous = True

    def __init__(self, name, lower):
        self.name = name.encode() + b"\0"
        self.open()
        self.request = self.message(
            NLDEV_NEWLINK, NLM_F_ACK, self.attribute(ATTR_DEV_NAME, self.name),
            self.attribute(ATTR_LINK_TYPE, b"sib\0"),
            self.attribute(ATTR_NDEV_NAME, lower.encode() + b"\0"))

    def open(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)

    @staticmethod
    def attribute(kind, data):
        return struct.pack("HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)

    @staticmethod
    def message(command, flags, *attributes):
        body = b"".join(attributes)
        return struct.pack("IHHII", 16 + len(body), RDMA_NL_NLDEV << 10 | command,
                           NLM_F_REQUEST | flags, 1, 0) + body

    def answers(self):
        """The messages up to the end of a dump or the acknowledgement."""
        while True:
            data = self.socket.recv(65536)
            while data:
                length, kind = struct.unpack_from("IH", data)
                body, data = data[16:length], data[(length + 3) & ~3:]
                if kind == NLMSG_ERROR:
                    code = -struct.unpack_from("i", body)[0]
                    if code:
                        raise OSError(code, os.strerror(code))
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    return
                yield body

    @staticmethod
    def attributes(body):
        found = {}
        while len(body) >= 4:
            length, kind = struct.unpack_from("HH", body)
            found[kind] = body[4:length]
            body = body[(length + 3) & ~3:]
        return found

    def index(self):
        """Of the device; ib_core never uses one twice."""
        self.socket.send(self.message(NLDEV_GET, NLM_F_DUMP))
        devices = [self.attributes(body) for body in self.answers()]
        return next((d[ATTR_DEV_INDEX] for d in devices if d[ATTR_DEV_NAME] == self.name), None)

    def do(self):
        self.socket.send(self.request)
        list(self.answers())

    def done(self):
        # Another socket: in the old one, an answer may be lost, or still wait.
        self.socket.close()
        self.open()
        return self.index() is not None

    def undo(self):
        self.socket.send(self.message(NLDEV_DELLINK, NLM_F_ACK,
                                      self.attribute(ATTR_DEV_INDEX, self.index())))
        list(self.answers())


class Interface(Link):
    """The interface of an HCA that is added: what a module makes of it, which is
    told last, allocates."""

    monotonous = False

    def __init__(self, name, lower, path):
        super().__init__(name, lower)
        self.module = Module(path)

    def first(self, whose):
        self.module.undo()
        without = self.count(whose)
        self.module.do()
        return without - 10     # not always quite the same


class Peers(Operation):
    """Two UDP sockets: near on ib0, far in the namespace n1 on ib1."""

    NEAR, FAR, PORT = "10.0.0.1", "10.0.0.2", 4000

    def __init__(self):
        self.near = self.bound(self.NEAR)
        with namespace("n1"):
            self.far = self.bound(self.FAR)
        self.number = 0

    def bound(self, address):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind(("", self.PORT))
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
        return made

    def heard(self, receiver):
        """Whether the latest message is among those that have come."""
        while True:
            try:
                if struct.unpack_from("I", receiver.recv(65536))[0] == self.number:
                    return True
            except BlockingIOError:
                return False

    def fresh(self, size=64):
        self.number += 1
        return struct.pack("I", self.number).ljust(size, b"x")

    @staticmethod
    def send(sender, message, address):
        """Send; a message that cannot be is lost like any other."""
        try:
            sender.sendto(message, (address, Peers.PORT))
        except OSError as error:
            if error.errno not in (errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN,
                                   errno.EHOSTUNREACH, errno.ENETUNREACH):
                raise


class Join(Peers):
    """Join a group; settled when a message to it has come.

    By a packet socket: IP forgets to ask whether the interface took the address.
    """

    SOL_PACKET, ADD_MEMBERSHIP, DROP_MEMBERSHIP, MR_MULTICAST = 263, 1, 2, 0
    ETH_P_IP = 0x0800

    def __init__(self, name, group):
        super().__init__()
        self.group = struct.unpack(">I", socket.inet_aton(group))[0]
        self.packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(self.ETH_P_IP))
        self.packets.bind((name, self.ETH_P_IP))
        self.packets.setblocking(False)
        self.index = socket.if_nametoindex(name)
        self.broadcast = bytes.fromhex(Path("/sys/class/net", name, "broadcast")
                                       .read_text(encoding="ascii").replace(":", ""))
        self.member = False
        self.request = self.membership()

    def membership(self):
        """RFC 4391 section 4: an address ends in the low 28 bits of the IPv4 group."""
        address = self.broadcast[:16] + struct.pack(">I", self.group & 0x0fffffff)
        return (struct.pack("IHH", self.index, self.MR_MULTICAST, len(address))
                + address.ljust(32, b"\0"))

    def do(self):
        self.packets.setsockopt(self.SOL_PACKET, self.ADD_MEMBERSHIP, self.request)
        self.member = True

    def settled(self):
        message = self.fresh()
        self.send(self.far, message, socket.inet_ntoa(struct.pack(">I", self.group)))
        time.sleep(0.02)
        while True:
            try:
                if self.packets.recv(65536).endswith(message):
                    return True
            except BlockingIOError:
                return False

    def done(self):
        return self.member

    def undo(self):
        """Leave; another group is next, for this one may still be left then."""
        self.packets.setsockopt(self.SOL_PACKET, self.DROP_MEMBERSHIP, self.request)
        self.member = False
        self.group += 1
        self.request = self.membership()


class FirstPacket(Peers):
    """The first packet to a peer: neighbour, path record, address handle."""

    def __init__(self, name):
        super().__init__()
        self.flags = Flags("down", name)
        self.undo()

    def do(self):
        self.near.sendto(self.fresh(), (self.FAR, self.PORT))

    def settled(self):
        if self.heard(self.far):
            return True
        self.send(self.near, self.fresh(), self.FAR)
        time.sleep(0.02)
        return self.heard(self.far)

    def done(self):
        return True

    def undo(self):
        """Forget all paths."""
        self.flags.do()
        self.flags.undo()


class Traffic(Peers):
    """Datagrams of a size both ways: what sending and reception allocate."""

    BURST = 8

    def __init__(self, size):
        super().__init__()
        self.size = int(size)

    def do(self):
        for _ in range(self.BURST):
            self.send(self.near, self.fresh(self.size), self.FAR)

    def settled(self):
        for sender, receiver, address in ((self.near, self.far, self.FAR),
                                          (self.far, self.near, self.NEAR)):
            self.send(sender, self.fresh(self.size), address)
            wait(lambda: self.heard(receiver) or self.send(  # noqa: B023
                sender, self.fresh(self.size), address), 30, f"{self.size} bytes to {address}")
        return True

    def done(self):
        return True

    def undo(self):
        pass


KINDS = {
    "load": Module, "up": lambda name: Flags("up", name), "down": lambda name: Flags("down", name),
    "mtu": Mtu, "rings": Rings, "add": Link, "interface": Interface, "join": Join, "child": Child,
    "path": FirstPacket, "traffic": Traffic,
}
