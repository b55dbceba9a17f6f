#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""ARP requests from hosts that do not exist.

strangers.py NETDEV TARGET COUNT FIRST [ADDRESS]: COUNT requests for the IPv4 address TARGET, to
everybody. Number N of them, from FIRST on, has a queue pair and a port GID that follow from N, and
an address of TARGET's network of 24 bits, but neither .1 nor .2.

With ADDRESS, the hardware address of TARGET, all have the GID of NETDEV's own port, but not its
queue pair, and addresses of TARGET's network of 16 bits from the 256th on; and each sends TARGET a
ping.
"""
import ipaddress
import socket
import struct
import sys
import time
from pathlib import Path

SECONDS = 60    # until the interface takes a packet
HEADERS = struct.Struct(">HHHHBBH")         # RFC 4391 section 6, then RFC 826
ECHO = struct.Struct(">BBHHH")              # RFC 792
IP = struct.Struct(">BBHHHBBHII")           # RFC 791
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


def octets(address):
    return bytes.fromhex(address.strip().replace(":", ""))


def said_by(netdev, name):
    return octets(Path(f"/sys/class/net/{netdev}/{name}").read_text(encoding="ascii"))


def checksum(data):
    total = sum(word for word, in struct.iter_unpack(">H", data))
    return ~(total + (total >> 16)) & 0xffff


def ping(source, target):
    echo = ECHO.pack(8, 0, checksum(ECHO.pack(8, 0, 0, 0, 1)), 0, 1)
    fields = (0x45, 0, IP.size + ECHO.size, 0, 0, 64, socket.IPPROTO_ICMP)
    return IP.pack(*fields, checksum(IP.pack(*fields, 0, source, target)), source, target) + echo


def strangers(target, count, first):
    """Hardware and IPv4 addresses."""
    network = int(target) & ~0xff
    for number in range(first, first + count):
        yield (struct.pack(">IQQ", number & 0xffffff, SUBNET_PREFIX, 0x0200_0000_0000_0000 + number),
               network + 3 + number % 250)


def impostors(own, target, count, first):
    """The same, of other queue pairs of that port, with the same flags (RFC 4755, section 2)."""
    network = int(target) & ~0xffff
    for number in range(first, first + count):
        queue_pair = int.from_bytes(own[1:4], "big") ^ (number + 1 << 8)
        yield own[:1] + queue_pair.to_bytes(3, "big") + own[4:], network + 0x100 + number


def main():
    netdev, target = sys.argv[1], ipaddress.ip_address(sys.argv[2])
    count, first = int(sys.argv[3]), int(sys.argv[4])
    to = octets(sys.argv[5]) if len(sys.argv) > 5 else None
    senders = impostors(said_by(netdev, "address"), target, count, first) if to else \
        strangers(target, count, first)
    head = said_by(netdev, "broadcast") + HEADERS.pack(ETHERTYPE_ARP, 0, INFINIBAND, ETHERTYPE_IP, 20, 4,
                                                       REQUEST)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_ARP)) as sock:
        for hardware, address in senders:
            send(sock, (netdev, ETHERTYPE_ARP),
                 head + hardware + struct.pack(">I", address) + bytes(20) + target.packed)
            if to:
                send(sock, (netdev, ETHERTYPE_IP), to + struct.pack(">HH", ETHERTYPE_IP, 0) +
                     ping(address, int(target)))


if __name__ == "__main__":
    main()
