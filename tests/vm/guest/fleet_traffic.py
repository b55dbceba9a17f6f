#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Datagrams to many addresses that follow one another, as fast as they go, for ever.

fleet_traffic.py FIRST COUNT SECONDS: each gets one in every period of so many seconds.
"""
import errno
import ipaddress
import socket
import sys
import time

SO_SNDBUFFORCE = 32
ROOM = 64 << 20     # octets: what waits for an address must not keep the others waiting
REFUSED = (errno.EAGAIN, errno.ENOBUFS, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH)


def main():
    first, count, seconds = ipaddress.ip_address(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, ROOM)
    targets = [(str(first + number), 9) for number in range(count)]
    print("begins", flush=True)
    while True:
        ends = time.monotonic() + seconds
        for target in targets:
            try:
                sock.sendto(b"fleet", socket.MSG_DONTWAIT, target)
            except OSError as error:
                if error.errno not in REFUSED:
                    raise
        time.sleep(max(ends - time.monotonic(), 0))


main()
