# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Traffic that outlives its interface; runs in a guest.

usage: flood.py OWN ADDRESS...
Sends UDP datagrams of changing size to the discard port of every ADDRESS,
whatever errors come (the interface may be gone, or the peer), until a line
comes on standard input; then prints a JSON object: how many were sent to each.
OWN is the IPv4 address by which the interface for multicast is found, again
and again as it comes and goes.
"""

import json
import select
import socket
import sys

DISCARD = 9
# A rate that leaves an emulated host time for other things.
PAUSE = 0.005


class Target:
    """One address to send to."""

    def __init__(self, address, own):
        self.address, self.own, self.sent, self.tried = address, own, 0, 0
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_DGRAM)

    def choose_interface(self):
        """Send multicast out of the interface that has the own address now."""
        if self.sock.family != socket.AF_INET:
            return
        try:
            self.sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                                 socket.inet_aton(self.own))
        except OSError:
            pass

    def send(self):
        self.tried += 1
        try:
            self.sock.sendto(bytes(1 + self.tried * 37 % 6000), socket.MSG_DONTWAIT,
                             (self.address, DISCARD))
            self.sent += 1
        except OSError:
            self.choose_interface()


def main():
    targets = [Target(address, sys.argv[1]) for address in sys.argv[2:]]
    print("running", flush=True)
    while not select.select([0], [], [], PAUSE)[0]:
        for target in targets:
            target.send()
    print(json.dumps({target.address: target.sent for target in targets}))


main()
