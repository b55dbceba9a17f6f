# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Verbs in trouble: killed processes, a bad cable, thousands of connections."""

import contextlib
import json
import re

import pytest

import verbs_programs
from harness import HOSTS, ipv4, until
from verbs_runner import PAIR, VETH, at, note, run_all

pytestmark = pytest.mark.verbs

LONG_SECONDS = 3000
NETEM = "loss 1% duplicate 1% corrupt 1% reorder 25% delay 1ms 1ms"


@contextlib.contextmanager
def bad_cable(lab, ends):
    """Frames are lost, doubled, altered and overtaken between (host, netdev) and the other end."""
    for host, netdev in ends:
        lab.run(host, "tc", "qdisc", "add", "dev", netdev, "root", "netem", *NETEM.split())
    try:
        yield
    finally:
        for host, netdev in ends:
            lab.run(host, "tc", "qdisc", "delete", "dev", netdev, "root")


def link_counters(lab, ends):
    """The counters of several HCAs, added up."""
    total = {}
    for host, device in ends:
        for name, value in lab.hw_counters(host, device).items():
            total[name] = total.get(name, 0) + value
    return total


def assert_only_the_link_suffered(before, after):
    """The cable was bad, and no connection has seen anything of it."""
    grown = {name: after[name] - before[name] for name in after}
    for name in ("link_retransmit", "link_rx_check", "link_rx_dup"):
        assert grown[name] > 0, f"{name}: the cable was not bad: {grown}"
    for name in ("link_down", "rc_tx_nak", "rc_rx_gap", "rc_rx_refused", "rx_malformed"):
        assert grown[name] == 0, f"{name}: {grown}"


@pytest.mark.full
@pytest.mark.timeout(LONG_SECONDS)
def test_killed_programs_leave_nothing_behind(lab, record_property):
    count = 100
    with at(lab, VETH):
        done = lab.helper("h1", "kill_verbs.py", count, *VETH.devices, timeout=LONG_SECONDS // 2)
        assert json.loads(done.out) == {"killed": 2 * count}
    note(record_property, lab, "kill -9 of perftest client and server", VETH,
         f"passed: {count} times, `rdma res` as before")


@pytest.mark.race
@pytest.mark.parametrize("place, ends", [
    pytest.param(PAIR, [("h1", "eth1"), ("h2", "eth1")], id="pair"),
    pytest.param(VETH, [("h1", "va"), ("h1", "vb")], id="veth", marks=pytest.mark.full)])
def test_data_is_intact_over_a_bad_cable(lab, place, ends, request, record_property):
    full = request.config.getoption("--full")
    programs = [program for program in verbs_programs.VALIDATED if program.smoke or full]
    hcas = list(zip(place.hosts, place.devices, strict=True))
    with at(lab, place), bad_cable(lab, ends):
        before = link_counters(lab, hcas)
        run_all(lab, place, programs, record_property, "bad cable")
        assert_only_the_link_suffered(before, link_counters(lab, hcas))


@pytest.mark.full
@pytest.mark.timeout(LONG_SECONDS)
def test_connections_without_retries(lab, record_property):
    """Not one of thousands breaks: nothing is lost above the link."""
    count = 10000
    with at(lab, VETH):
        done = lab.helper("h1", "connect.py", count, *VETH.devices, timeout=LONG_SECONDS // 2)
        assert json.loads(done.out) == {"connections": count}
        with bad_cable(lab, [("h1", "va"), ("h1", "vb")]):
            done = lab.helper("h1", "connect.py", count // 20, *VETH.devices,
                              timeout=LONG_SECONDS // 4)
            assert json.loads(done.out) == {"connections": count // 20}
    note(record_property, lab, "connections with retry_count 0", VETH,
         f"passed: {count}, and {count // 20} on a bad cable")


@pytest.mark.full
@pytest.mark.labs(drivers=["intree"])
def test_connected_mode_of_the_intree_driver(lab, record_property):
    """It connects with retry_count 0: whatever is lost or overtaken ends a connection."""
    for host in HOSTS:
        lab.sh(host, "echo connected > /sys/class/net/ib0/mode && ip link set ib0 mtu 65520")
    try:
        lab.reachable("h1", ipv4("h2"))
        lab.ping("h1", ipv4("h2"), "-s", "65000", "-M", "do", "-c", "100", "-i", "0.01")
        with bad_cable(lab, [("h1", "eth1"), ("h2", "eth1")]):
            lab.ping("h1", ipv4("h2"), "-s", "65000", "-M", "do", "-c", "100", "-i", "0.01")
        with lab.background("h2", "iperf3", "-s", "-1"):
            until(lambda: ":5201" in lab.out("h2", "ss", "-Hltn"), 20, "iperf3 listens")
            end = json.loads(lab.out("h1", "iperf3", "-J", "-c", ipv4("h2"), "-t", "4"))["end"]
        assert end["sum_received"]["bits_per_second"] > 10e6
        for host in HOSTS:
            log = lab.out(host, "dmesg").rpartition("openipoib-test: start ")[2]
            assert not re.search(r"failed cm send event|failed send event", log), log
        note(record_property, lab, "in-tree ib_ipoib, connected mode", PAIR,
             f"passed: ping -s 65000, iperf3 {end['sum_received']['bits_per_second'] / 1e6:.0f} "
             "Mbit/s")
    finally:
        for host in HOSTS:
            lab.sh(host, "echo datagram > /sys/class/net/ib0/mode")
        lab.reachable("h1", ipv4("h2"))
