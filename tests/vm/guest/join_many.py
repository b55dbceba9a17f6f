# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Join IPv4 multicast groups until standard input ends; runs in a guest.

usage: join_many.py NETDEV GROUP...
A socket may join 20 groups (net.ipv4.igmp_max_memberships).
"""

import socket
import struct
import sys


def main():
    index = socket.if_nametoindex(sys.argv[1])
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for group in sys.argv[2:]:
        request = socket.inet_aton(group) + bytes(4) + struct.pack("@i", index)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
    print("joined", flush=True)
    sys.stdin.read()


main()
