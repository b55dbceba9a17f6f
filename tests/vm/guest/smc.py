# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""One connection of AF_SMC sockets, which sends back all that it gets; runs in a guest.

usage: smc.py hear ADDRESS PORT, or smc.py ask ADDRESS PORT OCTETS
Each prints how its socket carries data, "SMC-R" or "TCP"; ask, after all has come back
as it was sent. hear prints "ready" before that.
"""

import ctypes
import os
import socket
import struct
import sys
import threading

AF_SMC = 43
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300
NLMSG_DONE = 3
HEADER = struct.Struct("=IHHII")
# Of smc_diag_msg: family, state, mode; sockid and user; inode
ANSWER = struct.Struct("=BBBx52xQ")
MODES = {0: "SMC-R", 1: "TCP", 2: "SMC-D"}
NOISE = bytes((i * 73 + (i >> 8) * 11) & 0xFF for i in range(1 << 16))

# Python knows no addresses of this family.
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    status = getattr(libc, name)(*args)
    if status < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return status


def internet(address, port):
    """A struct sockaddr_in, which these sockets take."""
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", port,
                                                           socket.inet_aton(address))


def mode(sock):
    """How a connected socket carries data, as the kernel says."""
    inode = os.fstat(sock.fileno()).st_ino
    request = struct.pack("=B3x48x", AF_SMC)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as diag:
        diag.send(HEADER.pack(HEADER.size + len(request), SOCK_DIAG_BY_FAMILY,
                              NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + request)
        while True:
            data = diag.recv(1 << 16)
            while data:
                length, kind = HEADER.unpack_from(data)[:2]
                if kind != SOCK_DIAG_BY_FAMILY:
                    raise SystemExit(f"smc.py: this socket is not listed (message {kind})")
                _, _, how, number = ANSWER.unpack_from(data, HEADER.size)
                if number == inode:
                    return MODES[how]
                data = data[(length + 3) & ~3:]


def hear(address, port):
    with socket.socket(AF_SMC, socket.SOCK_STREAM) as ear:
        name = internet(address, port)
        call("bind", ear.fileno(), name, len(name))
        ear.listen(1)
        print("ready", flush=True)
        with socket.socket(AF_SMC, socket.SOCK_STREAM,
                           fileno=call("accept", ear.fileno(), None, None)) as one:
            print(mode(one), flush=True)
            while data := one.recv(1 << 16):
                one.sendall(data)


def ask(address, port, octets):
    sent = (NOISE * (octets // len(NOISE) + 1))[:octets]
    with socket.socket(AF_SMC, socket.SOCK_STREAM) as sock:
        name = internet(address, port)
        call("connect", sock.fileno(), name, len(name))
        sender = threading.Thread(target=sock.sendall, args=(sent,), daemon=True)
        sender.start()
        got = bytearray()
        while len(got) < octets and (data := sock.recv(1 << 16)):
            got += data
        sender.join()
        if got != sent:
            raise SystemExit(f"smc.py: {len(got)} octets of {octets} came back, or others")
        print(mode(sock))


if __name__ == "__main__":
    if sys.argv[1] == "hear":
        hear(sys.argv[2], int(sys.argv[3]))
    else:
        ask(sys.argv[2], *map(int, sys.argv[3:]))
