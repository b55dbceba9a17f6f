# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Multicast sender and receiver; runs in a guest.

usage: multicast.py receive GROUP PORT NETDEV
       multicast.py send GROUP PORT NETDEV COUNT TAG
The receiver prints "joined", then obeys lines on its standard input:
  count TAG   print how many different datagrams of TAG have come
  leave       leave the group, print "left"
The sender sends COUNT datagrams "TAG NUMBER" at once.
"""

import ipaddress
import os
import select
import socket
import struct
import sys


def group_socket(group):
    family = socket.AF_INET if ipaddress.ip_address(group).version == 4 else socket.AF_INET6
    return socket.socket(family, socket.SOCK_DGRAM)


def membership(sock, group, netdev, join):
    index = socket.if_nametoindex(netdev)
    if sock.family == socket.AF_INET:
        request = socket.inet_aton(group) + socket.inet_aton("0.0.0.0") + struct.pack("@i", index)
        option = socket.IP_ADD_MEMBERSHIP if join else socket.IP_DROP_MEMBERSHIP
        sock.setsockopt(socket.IPPROTO_IP, option, request)
    else:
        request = socket.inet_pton(socket.AF_INET6, group) + struct.pack("@I", index)
        option = socket.IPV6_JOIN_GROUP if join else socket.IPV6_LEAVE_GROUP
        sock.setsockopt(socket.IPPROTO_IPV6, option, request)


def send(group, port, netdev, count, tag):
    sock = group_socket(group)
    index = socket.if_nametoindex(netdev)
    if sock.family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                        socket.inet_aton("0.0.0.0") * 2 + struct.pack("@i", index))
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 4)
    else:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 4)
    for number in range(int(count)):
        sock.sendto(f"{tag} {number}".encode(), (group, int(port)))


def receive(group, port, netdev):
    sock = group_socket(group)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.bind((group, int(port)))
    membership(sock, group, netdev, True)
    print("joined", flush=True)
    seen = set()
    while True:
        ready, _, _ = select.select([sock, 0], [], [])
        if sock in ready:
            seen.add(sock.recv(2048).decode())
            continue
        words = os.read(0, 4096).decode().split()
        if not words:
            return
        if words[0] == "count":
            print(sum(text.startswith(words[1] + " ") for text in seen), flush=True)
        else:
            membership(sock, group, netdev, False)
            print("left", flush=True)


{"send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
