# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Children: interfaces on a second partition, ours to ours and to the in-tree driver."""

import contextlib

import pytest

from harness import HOSTS, on_hosts, other, pace

PAIRS = ["ours", "mixed", "mixed-swapped"]
CHILD = "ib0.8001"
PARTITIONS = "/run/lab/opensm-0/partitions.conf"


def address(host):
    return f"10.20.0.{HOSTS.index(host) + 1}"


def address6(host):
    return f"fd20::{HOSTS.index(host) + 1}"


def by_sysfs(lab, host):
    lab.sh(host, "echo 0x8001 > /sys/class/net/ib0/create_child")


def by_netlink(lab, host):
    lab.run(host, "ip", "link", "add", "link", "ib0", "name", CHILD, "type", "ipoib",
            "pkey", "0x8001")


@contextlib.contextmanager
def partition(lab):
    """A second partition, as long as the test lasts."""
    old = lab.read("h1", PARTITIONS)
    reload = "kill -HUP $(cat /run/lab/opensm-0/pid)"
    mtu = old.split("mtu=")[1].split(":")[0]
    lab.sh("h1", f"echo 'blue=0x1,ipoib,mtu={mtu}:ALL=full;' >> {PARTITIONS}; {reload}")
    has = "grep -qi 0x8001 /sys/class/infiniband/sib0/ports/1/pkeys/*"
    try:
        for host in HOSTS:
            lab.wait(host, has, 30, f"{host} has the P_Key")
        yield
    finally:
        lab.sh("h1", f"echo '{old}' > {PARTITIONS}; {reload}")
        for host in HOSTS:
            lab.wait(host, f"! {has}", 30, f"{host} is without the P_Key")


@contextlib.contextmanager
def children(lab, make):
    def enter(host):
        make(lab, host)
        lab.run(host, "ip", "address", "add", f"{address(host)}/24", "dev", CHILD)
        lab.run(host, "ip", "-6", "address", "add", f"{address6(host)}/64", "dev", CHILD, "nodad")
        lab.run(host, "ip", "link", "set", CHILD, "up")

    try:
        on_hosts(enter, HOSTS)
        yield
    finally:
        for host in HOSTS:
            lab.sh(host, f"! [ -e /sys/class/net/{CHILD} ] || ip link delete {CHILD}")


@pytest.mark.full
@pytest.mark.labs(drivers=PAIRS)
@pytest.mark.parametrize("make", [by_sysfs, by_netlink])
def test_traffic_on_a_second_partition(lab, make):
    with partition(lab), children(lab, make):
        for host in HOSTS:
            [link] = lab.json(host, "ip", "-d", "-j", "link", "show", CHILD)
            assert link["link"] == "ib0"
            assert link["linkinfo"]["info_kind"] == "ipoib"
            for peer in (address(other(host)), address6(other(host))):
                lab.reachable(host, peer)
                lab.ping(host, peer, "-c10", "-i0.02", "-s", "1800")


@pytest.mark.race
@pytest.mark.full
@pytest.mark.labs(drivers=PAIRS)
def test_connected_children(lab):
    with partition(lab), children(lab, by_netlink):
        for host in HOSTS:
            lab.sh(host, f"echo connected > /sys/class/net/{CHILD}/mode")
            lab.run(host, "ip", "link", "set", CHILD, "mtu", "65520")
        for host in HOSTS:
            lab.reachable(host, address(other(host)))
            lab.ping(host, address(other(host)), "-c10", pace(), "-M", "do", "-s", "60000")


@pytest.mark.full
@pytest.mark.labs(drivers=["ours"])
def test_child_follows_its_parent(lab):
    up = f"ip link show {CHILD} | grep -q '[<,]UP[,>]'"
    with partition(lab), children(lab, by_sysfs):
        lab.reachable("h1", address("h2"))
        lab.run("h1", "ip", "link", "set", "ib0", "down")
        assert not lab.ok("h1", "sh", "-c", up)
        lab.address("h1")   # up, with the address that went with it
        lab.wait("h1", up, 10, "the child is up again")
        lab.reachable("h1", address("h2"))
