#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A program in many multicast groups: 239.1.0.0 and those that follow.

member_of_many.py ADDRESS COUNT PORT: join COUNT groups by the interface with ADDRESS,
print each datagram that comes to one of them at PORT, leave at the end of standard
input.
"""
import ipaddress
import select
import socket
import sys

FIRST = ipaddress.IPv4Address("239.1.0.0")
IP_MULTICAST_ALL = 49   # linux/in.h
EACH = 16       # groups of a socket: the system lets one have 20


def member(port, groups, near):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_IP, IP_MULTICAST_ALL, 0)
    sock.bind(("", port))
    for number in groups:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                        (FIRST + number).packed + near)
    return sock


def main(address, count, port):
    near = socket.inet_aton(address)
    members = [member(int(port), range(first, min(first + EACH, int(count))), near)
               for first in range(0, int(count), EACH)]
    while True:
        ready, _, _ = select.select([*members, sys.stdin], [], [])
        for sock in ready:
            if sock is sys.stdin:
                return
            print(sock.recv(1024).decode().strip(), flush=True)


main(*sys.argv[1:])
