#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""An ordinary user's process that takes all multicast groups, or places in one.

hostile_groups.py groups HCA NUMBER: so many groups with one QP, and no more
hostile_groups.py members HCA NUMBER MGID MLID: so many QPs in this group, and no more

Runs as nobody. Says "ready" when it has them, and ends with its input. Uses libibverbs
itself, since pyverbs attaches no QPs.
"""
import ctypes
import os
import signal
import socket
import struct
import sys

LIMIT_SECONDS = 300
NOBODY = 65534
MLID = 0xC100
UD = 4
MANY = 10000

verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
for function in ("ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd", "ibv_create_cq",
                 "ibv_create_qp"):
    getattr(verbs, function).restype = ctypes.c_void_p
verbs.ibv_get_device_name.restype = ctypes.c_char_p


class InitAttributes(ctypes.Structure):
    """struct ibv_qp_init_attr"""

    _fields_ = [*((name, ctypes.c_void_p) for name in ("context", "send_cq", "recv_cq", "srq")),
                *((name, ctypes.c_uint32) for name in
                  ("max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "max_inline")),
                ("type", ctypes.c_int), ("sq_sig_all", ctypes.c_int)]


def found(pointer, what):
    if not pointer:
        raise SystemExit(f"hostile_groups.py: {what}: {os.strerror(ctypes.get_errno())}")
    return ctypes.c_void_p(pointer)


class Pairs:
    """Makes datagram QPs of an HCA."""

    def __init__(self, hca):
        devices = ctypes.cast(found(verbs.ibv_get_device_list(None), "devices"),
                              ctypes.POINTER(ctypes.c_void_p))
        number = 0
        while devices[number] and verbs.ibv_get_device_name(
                ctypes.c_void_p(devices[number])).decode() != hca:
            number += 1
        context = found(verbs.ibv_open_device(found(devices[number], hca)), hca)
        self.pd = found(verbs.ibv_alloc_pd(context), "PD")
        self.cq = found(verbs.ibv_create_cq(context, 1, None, None, 0), "CQ")

    def make(self):
        attributes = InitAttributes(send_cq=self.cq, recv_cq=self.cq, max_send_wr=1, max_recv_wr=1,
                                    max_send_sge=1, max_recv_sge=1, type=UD)
        return found(verbs.ibv_create_qp(self.pd, ctypes.byref(attributes)), "QP")


def attach(pair, gid, lid):
    return verbs.ibv_attach_mcast(pair, gid, ctypes.c_uint16(lid)) == 0


def take_groups(pairs):
    pair, taken = pairs.make(), 0
    while taken < MANY and attach(pair, struct.pack(">HHQHH", 0xFF12, 0xBAD0, 0, os.getpid() & 0xFFFF,
                                                    taken), MLID):
        taken += 1
    return taken


def take_places(pairs, gid, lid):
    taken = 0
    while taken < MANY and attach(pairs.make(), socket.inet_pton(socket.AF_INET6, gid), int(lid, 0)):
        taken += 1
    return taken


def main():
    signal.alarm(LIMIT_SECONDS)
    what, hca, wanted, *group = sys.argv[1:]
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    pairs = Pairs(hca)
    taken = take_places(pairs, *group) if group else take_groups(pairs)
    if taken != int(wanted):
        raise SystemExit(f"hostile_groups.py: {taken} {what}, not {wanted}")
    print("ready", flush=True)
    sys.stdin.read()
    print(f"{what}: {taken}", flush=True)
    os._exit(0)     # what is open goes with the process, as of one that is killed


if __name__ == "__main__":
    main()
