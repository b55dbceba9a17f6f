# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A burst of UDP datagrams into a socket that is not being read; in a guest.

usage: burst.py hold ADDRESS PORT
       burst.py send ADDRESS PORT COUNT SIZE
The holder prints "bound" and waits for a line; then it takes what is queued
without waiting, checks it and prints one JSON object: received, the sizes
seen, and how many different datagrams there were.
"""

import json
import socket
import sys


def hold(address, port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, int(port)))
    print("bound", flush=True)
    sys.stdin.readline()
    sizes, numbers = set(), []
    while True:
        try:
            data = sock.recv(65536, socket.MSG_DONTWAIT)
        except BlockingIOError:
            break
        sizes.add(len(data))
        numbers.append(int.from_bytes(data[:4], "big"))
    print(json.dumps({"received": len(numbers), "distinct": len(set(numbers)),
                      "sizes": sorted(sizes)}), flush=True)


def send(address, port, count, size):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    for number in range(int(count)):
        sock.sendto(number.to_bytes(4, "big").ljust(int(size), b"x"), (address, int(port)))


{"hold": hold, "send": send}[sys.argv[1]](*sys.argv[2:])
