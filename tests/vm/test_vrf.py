# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""An interface in a VRF (VPN routing and forwarding): packets, and RDMA CM, find it.

RDMA CM does not on kernels before 6.18 with the driver that they have.
"""

import contextlib

import pytest

from harness import ipv4, series, until

TABLE = 10
PORT = 7174     # rping's default
SINCE = (6, 18)

pytestmark = pytest.mark.full


@contextlib.contextmanager
def vrf(lab, host):
    """ib0 of @host is in a VRF, red, with its addresses."""
    lab.sh(host, f"ip link add red type vrf table {TABLE} && ip link set red up && "
                 "ip link set ib0 master red")
    lab.address(host)       # entering and leaving a VRF takes those of IPv6 away
    try:
        yield
    finally:
        lab.run(host, "ip", "link", "delete", "red")
        lab.address(host)


def listens(lab, host):
    return f"{PORT:04X}" in lab.out(host, "cat", "/proc/net/rdma_cm", check=False) or \
        f":{PORT}" in lab.out(host, "rdma", "resource", "show", "cm_id", check=False)


def test_echo_and_rdma_cm(lab):
    with vrf(lab, "h1"):
        lab.reachable("h2", ipv4("h1"))
        lab.run("h1", "ip", "vrf", "exec", "red", "ping", "-q", "-c3", "-i0.1", ipv4("h2"))
        with lab.background("h1", "rping", "-s", "-a", ipv4("h1"), "-C", 5, "-V") as server:
            until(lambda: listens(lab, "h1"), 20, "rping listens")
            done = lab.run("h2", "rping", "-c", "-a", ipv4("h1"), "-C", 5, "-V", timeout=30, check=False)
            if lab.config.h1 == "ours" or series(lab, "h1") >= SINCE:
                assert done.status == 0, str(done)
                assert server.finish(20).status == 0
            else:
                assert "RDMA_CM_EVENT_REJECTED" in str(done), f"not refused: {done}"
