#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""One echo to each of many addresses that follow one another; all have to answer.

neighbours.py FIRST COUNT: IPv4 or IPv6. A few are under way at a time, and each is sent
once: the neighbour is found meanwhile. Prints how many answered and in how many seconds;
exit status 0 if all did.
"""
import ipaddress
import select
import socket
import struct
import sys
import time

SECONDS = 20    # without any answer
WINDOW = 64
ECHO, ECHO6 = 8, 128


def main():
    first, count = ipaddress.ip_address(sys.argv[1]), int(sys.argv[2])
    with open("/proc/sys/net/ipv4/ping_group_range", "w", encoding="ascii") as file:
        file.write("0 2147483647")
    if first.version == 6:
        sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6)
    else:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
    echo = struct.pack("!BBHHH", ECHO6 if first.version == 6 else ECHO, 0, 0, 0, 1) + b"neighbour"
    start, sent, waiting = time.monotonic(), 0, set()
    while sent < count or waiting:
        while sent < count and len(waiting) < WINDOW:
            address = str(first + sent)
            sock.sendto(echo, (address, 0))
            waiting.add(address)
            sent += 1
        if not select.select([sock], [], [], SECONDS)[0]:
            break
        data, source = sock.recvfrom(4096)
        if data[8:] == echo[8:]:
            waiting.discard(source[0])
    answered = sent - len(waiting)
    print(f"{answered} of {count} answered, {time.monotonic() - start:.1f} s")
    if answered < count:
        sys.exit(f"silent: {', '.join(sorted(waiting)[:5])}")


main()
