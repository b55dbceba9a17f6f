#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""ARP requests from hosts that do not exist, each with a port GID of its own.

strangers.py NETDEV TARGET COUNT FIRST: COUNT requests for the IPv4 address TARGET, to everybody.
Number N of them, from FIRST on, has a GID that follows from N, and an address of TARGET's
network of 24 bits, but neither .1 nor .2.
"""
import ipaddress
import socket
import struct
import sys
import time
from pathlib import Path

SECONDS = 60    # until the interface takes a packet
HEADERS = struct.Struct(">HHHHBBH")         # RFC 4391 section 6, then RFC 826
INFINIBAND, ETHERTYPE_ARP, ETHERTYPE_IP, REQUEST = 32, 0x0806, 0x0800, 1
SUBNET_PREFIX = 0xfe80 << 48


def send(sock, where, packet):
    end = time.monotonic() + SECONDS
    while True:
        try:
            return sock.sendto(packet, where)
        except OSError:     # its queue is full
            if time.monotonic() > end:
                raise


def main():
    netdev, target = sys.argv[1], ipaddress.ip_address(sys.argv[2])
    count, first = int(sys.argv[3]), int(sys.argv[4])
    everybody = bytes.fromhex(
        Path(f"/sys/class/net/{netdev}/broadcast").read_text(encoding="ascii").strip()
        .replace(":", ""))
    head = everybody + HEADERS.pack(ETHERTYPE_ARP, 0, INFINIBAND, ETHERTYPE_IP, 20, 4, REQUEST)
    network = int(target) & ~0xff
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_ARP)) as sock:
        for number in range(first, first + count):
            sender = struct.pack(">IQQI", number & 0xffffff, SUBNET_PREFIX,
                                 0x0200_0000_0000_0000 + number, network + 3 + number % 250)
            send(sock, (netdev, ETHERTYPE_ARP), head + sender + bytes(20) + target.packed)


if __name__ == "__main__":
    main()
