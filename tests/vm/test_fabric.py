# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Two hosts with two ports each, all in one subnet of two switches."""

import contextlib
import itertools
import re
import time

import pytest

from harness import HOSTS, ipv4, ipv6, until

PORTS = (0, 1)

pytestmark = pytest.mark.labs(ports=2)


def test_one_subnet_with_two_switches(lab):
    found = lab.out("h1", "ibnetdiscover")
    assert len(re.findall(r"^Switch\s", found, re.MULTILINE)) == 2, found
    assert len(re.findall(r"^Ca\s", found, re.MULTILINE)) == len(HOSTS) * len(PORTS), found
    assert len(re.findall(r'^\[\d+\]\s+"S-', found, re.MULTILINE)) >= 4, found
    lids = [lab.read(host, f"/sys/class/infiniband/sib{port}/ports/1/lid")
            for host, port in itertools.product(HOSTS, PORTS)]
    assert len(set(lids)) == len(lids), lids
    assert "SMINFO_MASTER" in lab.out("h2", "sminfo", "-C", "sib1")


@contextlib.contextmanager
def routed(lab, host, port, target):
    """The address @target by this port."""
    words = (f"{target}/32", "dev", f"ib{port}", "src", ipv4(host, port))
    lab.run(host, "ip", "route", "add", *words)
    try:
        yield
    finally:
        lab.run(host, "ip", "route", "del", *words)


def test_all_ports_reach_all(lab):
    for port in PORTS:
        lab.reachable("h1", ipv4("h2", port), ipv6("h2", port))
        lab.ping("h1", ipv4("h2", port), "-c20", "-i0.02", "-s4000")
    for near, far in ((0, 1), (1, 0)):
        there, here = ipv4("h2", far), ipv4("h1", near)
        with routed(lab, "h1", near, there), routed(lab, "h2", far, here):
            lab.reachable("h1", there)
            lab.ping("h1", there, "-c20", "-i0.02", "-I", here)


def links(lab):
    """The ports of sw1 with links to sw2 that are up."""
    return [int(port) for port in re.findall(r"(\d+) -+ sw2:", lab.topo())]


@pytest.mark.full("fabric")
def test_around_a_failed_link(lab, record_property):
    """Both links between the switches fail in turn: OpenSM routes around each."""
    target = ipv4("h2", 1)
    with routed(lab, "h1", 0, target), routed(lab, "h2", 1, ipv4("h1", 0)):
        lab.reachable("h1", target)
        assert links(lab) == [3, 4]
        try:
            for number in (3, 4):
                start = time.monotonic()
                lab.fault("link", f"sw1:{number}", "down")
                until(lambda left=7 - number: links(lab) == [left], 20, f"sw1:{number} is down")
                lab.reachable("h1", target)
                record_property(f"rerouted around sw1:{number}", time.monotonic() - start)
                lab.fault("link", f"sw1:{number}", "up")
                until(lambda: links(lab) == [3, 4], 20, "both links are up")
                lab.reachable("h1", target)
        finally:
            lab.fault("clear")
    assert lab.fault("list") == ""


@pytest.mark.full("fabric")
def test_one_port_pulled(lab):
    """A host loses one port; no other port notices."""
    try:
        lab.cable("h2:ib1", "down")
        lab.wait("h2", "grep -q 0 /sys/class/net/ib1/carrier", 20, "ib1 has no carrier")
        assert lab.carrier("h1", "ib1") and lab.carrier("h1", "ib0") and lab.carrier("h2", "ib0")
        lab.ping("h1", ipv4("h2", 0), "-c5", "-i0.05")
        assert not lab.ok("h1", "ping", "-c1", "-W1", ipv4("h2", 1))
    finally:
        lab.cable("h2:ib1", "up")
    lab.wait("h2", "grep -q 1 /sys/class/net/ib1/carrier", 40, "ib1 has a carrier")
    lab.reachable("h1", ipv4("h2", 1))
