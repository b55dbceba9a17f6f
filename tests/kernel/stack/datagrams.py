#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Numbered datagrams to groups, and who gets which.

datagrams.py hear PORT FILE ADDRESS [GROUP...]: write the number of each that comes to FILE,
a line each, until SIGTERM; as a member of those groups at the interface with that address.
datagrams.py send PORT GROUP ADDRESS FIRST COUNT: send so many from there.
"""
import socket
import struct
import sys
import time

INTERVAL_SECONDS = 0.005


def hear(port, path, address, *groups):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear, open(
            path, "w", buffering=1, encoding="ascii") as notes:
        ear.bind(("", port))
        for group in groups:
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                           socket.inet_aton(group) + socket.inet_aton(address))
        while True:
            print(*struct.unpack("!Q", ear.recv(8)), file=notes)


def send(port, group, address, first, count):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
        mouth.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
        for number in range(first, first + count):
            mouth.sendto(struct.pack("!Q", number), (group, port))
            time.sleep(INTERVAL_SECONDS)


if __name__ == "__main__":
    if sys.argv[1] == "hear":
        hear(int(sys.argv[2]), *sys.argv[3:])
    else:
        send(int(sys.argv[2]), *sys.argv[3:5], *map(int, sys.argv[5:]))
