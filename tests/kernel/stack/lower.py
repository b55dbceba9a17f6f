#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A lower device that wants to change its type, and goes.

lower.py TAP HCA: makes a TAP device, the HCA on it, has the device change its type,
which is refused, and deletes it by closing it.
"""
import errno
import fcntl
import os
import struct
import subprocess
import sys

TUNSETIFF = 0x400454CA
TUNSETLINK = 0x400454CD
IFF_TAP, IFF_NO_PI = 2, 0x1000
ARPHRD_ETHER, ARPHRD_IEEE802154 = 1, 804


def set_type(tap, number):
    """The errno of setting the hardware type, or 0."""
    try:
        fcntl.ioctl(tap, TUNSETLINK, number)
    except OSError as error:
        return error.errno
    return 0


def main():
    name, hca = sys.argv[1:]
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    if set_type(tap, ARPHRD_IEEE802154) or set_type(tap, ARPHRD_ETHER):
        raise SystemExit(f"{name}: its type cannot be changed even without an HCA")
    subprocess.run(["rdma", "link", "add", hca, "type", "sib", "netdev", name], check=True)
    failed = set_type(tap, ARPHRD_IEEE802154)
    if failed != errno.EBUSY:
        print(f"{name}: its type was changed below {hca}: errno {failed}", flush=True)
    os.close(tap)
    print(f"{name}: closed", flush=True)
    if failed != errno.EBUSY:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
