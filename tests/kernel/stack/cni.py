#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What ipoib-cni, the plugin of Kubernetes, asks rtnetlink for, with the same attributes.

cni.py PARENT NETNS NAME: a child on the parent's partition, made beside it, moved to the
namespace, given its name there and set up.
"""
import ctypes
import os
import socket
import struct
import sys
from pathlib import Path

RTM_NEWLINK = 16
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400
NLMSG_ERROR = 2
IFLA_IFNAME, IFLA_LINK, IFLA_TXQLEN, IFLA_LINKINFO, IFLA_NET_NS_FD = 3, 5, 13, 18, 28
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
IFLA_IPOIB_PKEY, IFLA_IPOIB_MODE, IFLA_IPOIB_UMCAST = 1, 2, 3
IFF_UP = 1
CLONE_NEWNET = 0x40000000
FOR_NOW = "veth8f3a12c4"


def attribute(kind, value):
    data = struct.pack("=HH", 4 + len(value), kind) + value
    return data + bytes(-len(data) % 4)


def newlink(index, attributes=b"", flags=0, change=0, more=0):
    """Ends the program with the kernel's answer if that is an error."""
    body = struct.pack("=BBHiII", 0, 0, 0, index, flags, change) + attributes
    head = struct.pack("=IHHII", 16 + len(body), RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | more, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        sock.send(head + body)
        answer = sock.recv(8192)
    kind, error = struct.unpack_from("=H", answer, 4)[0], struct.unpack_from("=i", answer, 16)[0]
    if kind != NLMSG_ERROR or error:
        raise SystemExit(f"cni.py: {os.strerror(-error)}: {answer[20:]}")


def add(parent):
    pkey = int(Path(f"/sys/class/net/{parent}/pkey").read_text(encoding="ascii"), 0) & 0x7fff
    data = attribute(IFLA_IPOIB_PKEY, struct.pack("=H", pkey)) + \
        attribute(IFLA_IPOIB_MODE, struct.pack("=H", 0)) + \
        attribute(IFLA_IPOIB_UMCAST, struct.pack("=H", 1))
    info = attribute(IFLA_INFO_KIND, b"ipoib") + attribute(IFLA_INFO_DATA, data)
    newlink(0, attribute(IFLA_LINK, struct.pack("=i", socket.if_nametoindex(parent))) +
            attribute(IFLA_IFNAME, FOR_NOW.encode() + b"\0") +
            attribute(IFLA_TXQLEN, struct.pack("=I", 0)) + attribute(IFLA_LINKINFO, info),
            more=NLM_F_CREATE | NLM_F_EXCL)


def main():
    parent, netns, name = sys.argv[1:]
    add(parent)
    with open(f"/run/netns/{netns}", "rb") as file:
        newlink(socket.if_nametoindex(FOR_NOW),
                attribute(IFLA_NET_NS_FD, struct.pack("=I", file.fileno())))
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise SystemExit(f"cni.py: setns: {os.strerror(ctypes.get_errno())}")
    index = socket.if_nametoindex(FOR_NOW)
    with open(f"/proc/sys/net/ipv4/conf/{FOR_NOW}/proxy_arp", "w", encoding="ascii") as file:
        file.write("1")
    newlink(index, change=IFF_UP)
    newlink(index, attribute(IFLA_IFNAME, name.encode() + b"\0"))
    newlink(index, flags=IFF_UP, change=IFF_UP)


if __name__ == "__main__":
    main()
