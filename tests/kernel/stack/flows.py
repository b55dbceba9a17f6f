#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Many flows of numbered datagrams to one peer, and whether each keeps its order.

flows.py hear PORT FILE: take what comes until SIGTERM; write to FILE, a line for each flow,
its port, how many datagrams came, and how many of them came after one with a larger number.
flows.py send ADDRESS PORT FLOWS COUNT: COUNT datagrams of each flow, in turns, without loss.
flows.py flood ADDRESS PORT FLOWS COUNT: the same, as fast as can be, whatever is lost.
"""
import signal
import socket
import struct
import sys

UNSENT = 8 << 10        # of a flow; all of them fit into the queue of one netdev queue
FLOOD = 8 << 20
BUFFER = 8 << 20
SO_SNDBUFFORCE = 32     # asm-generic/socket.h; Python does not name them
SO_RCVBUFFORCE = 33


class Ended(Exception):
    """SIGTERM has come."""


def end(_signal, _frame):
    raise Ended


def take(ear, flows):
    while True:
        data, (_, port) = ear.recvfrom(2048)
        number, = struct.unpack_from("!Q", data)
        came, late, largest = flows.get(port, (0, 0, -1))
        flows[port] = (came + 1, late + (number < largest), max(number, largest))


def hear(port, path):
    flows = {}
    signal.signal(signal.SIGTERM, end)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        ear.bind(("", port))
        try:
            take(ear, flows)
        except Ended:
            pass
    with open(path, "w", encoding="ascii") as notes:
        for source, (came, late, _) in flows.items():
            print(source, came, late, file=notes)


def send(address, port, flows, count, unsent):
    mouths = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(flows)]
    for mouth in mouths:
        mouth.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, unsent)
    for number in range(count):
        for mouth in mouths:
            mouth.sendto(struct.pack("!Q", number), (address, port))


if __name__ == "__main__":
    if sys.argv[1] == "hear":
        hear(int(sys.argv[2]), sys.argv[3])
    else:
        send(sys.argv[2], *map(int, sys.argv[3:]), UNSENT if sys.argv[1] == "send" else FLOOD)
