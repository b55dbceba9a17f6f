# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Traffic that outlives its interface; runs in a guest.

usage: flood.py ADDRESS PORT OWN
Sends UDP datagrams of changing size to ADDRESS, whatever errors come (the
interface may be gone, or the peer), until a line comes on standard input;
then prints how many were sent. OWN is the address by which the interface for
multicast is found, again and again as it comes and goes.
"""

import select
import socket
import sys


def choose_interface(sock, own):
    """Send multicast out of the interface that has this address now."""
    try:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
    except OSError:
        pass


def main():
    target = (sys.argv[1], int(sys.argv[2]))
    sock = socket.socket(socket.AF_INET6 if ":" in target[0] else socket.AF_INET,
                         socket.SOCK_DGRAM)
    if sock.family == socket.AF_INET:
        choose_interface(sock, sys.argv[3])
    print("running", flush=True)
    sent = attempts = 0
    while not select.select([0], [], [], 0.002)[0]:
        for _ in range(20):
            attempts += 1
            try:
                sock.sendto(bytes(1 + attempts * 37 % 6000), socket.MSG_DONTWAIT, target)
                sent += 1
            except OSError:
                if sock.family == socket.AF_INET:
                    choose_interface(sock, sys.argv[3])
    print(sent)


main()
