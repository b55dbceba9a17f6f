#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Whether a packet arrives though the stack has announced another that never comes to the HCA.

doorbell.py INTERFACE NETNS PEER: pairs of datagrams of one flow, which so take one transmit queue,
from INTERFACE, whose root qdisc has to hold them back until both are there. The first goes to PEER,
an interface in NETNS, the second to a port that there is not, for which it has to wait. Exit
status 1 if the first waits as well.
"""
import ctypes
import os
import socket
import struct
import sys

CLONE_NEWNET = 0x40000000
ETH_P_IP = 0x800
ROUNDS = 10
WAIT_SECONDS = 2
PORT = 7100
NOBODY = bytes.fromhex("02deadbeef00")


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def datagram(number):
    """From 10.0.0.1 to 10.0.0.2, with the number in it; in its encapsulation."""
    udp = struct.pack("!HHHHQ", PORT, PORT, 16, 0, number)
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, socket.IPPROTO_UDP, 0,
                       socket.inet_aton("10.0.0.1"), socket.inet_aton("10.0.0.2"))
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return struct.pack("!HH", ETH_P_IP, 0) + head + udp


def enter(file):
    if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
        raise SystemExit(f"doorbell.py: setns: {os.strerror(ctypes.get_errno())}")


def ear_in(netns):
    """A socket there that waits for datagrams."""
    with open("/proc/self/ns/net", "rb") as home, open(f"/run/netns/{netns}", "rb") as there:
        enter(there)
        ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        ear.bind(("", PORT))
        ear.settimeout(WAIT_SECONDS)
        enter(home)
    return ear


def main():
    name, netns, peer = sys.argv[1:]
    peer = bytes.fromhex(peer.replace(":", ""))
    ear = ear_in(netns)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as mouth:
        mouth.bind((name, ETH_P_IP))
        for number in range(ROUNDS):
            nobody = peer[:12] + NOBODY + struct.pack("!H", number)
            mouth.send(peer + datagram(number))
            mouth.send(nobody + datagram(number))
            try:
                heard, = struct.unpack("!Q", ear.recv(64))
            except TimeoutError:
                raise SystemExit(f"doorbell.py: datagram {number} waits for the next one") from None
            if heard != number:
                raise SystemExit(f"doorbell.py: datagram {heard}, not {number}")
    print(f"{ROUNDS} datagrams, none has waited")


if __name__ == "__main__":
    main()
