# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Connected mode: ours to ours and to the in-tree driver, beside datagram mode,
switched, cut off and reloaded under traffic."""

import contextlib
import re

import pytest

from harness import GUEST, HOSTS, ipv4, ipv6, on_hosts, other, pace, until
from test_cable import plug, pull, stream
from test_ping import echo
from test_reload import comes_back, traffic
from test_transfer import LEAST_BYTES, Server

MODE = "/sys/class/net/ib0/mode"
MTU = 65520
PAIRS = ["ours", "mixed", "mixed-swapped"]
# Largest payloads of an echo in one packet, IPv4 and IPv6
LARGEST = {ipv4: MTU - 28, ipv6: MTU - 48}
# The second host in its turn only with --full
ONE_HOST = ["h1", pytest.param("h2", marks=pytest.mark.full)]
# Octets of pages that connected mode has beside those for receiving
PAGES_BESIDE = 1 << 20
# What to do the longest way, and in the default run
SWITCHES, FEW_SWITCHES = 1000, 20
MTU_CHANGES = (1500, 20000, 4092, 9000, 2044, MTU)

pytestmark = pytest.mark.connected


def set_mode(lab, host, mode):
    lab.run(host, "sh", "-c", f"echo {mode} > {MODE}")
    assert lab.read(host, MODE) == mode


@contextlib.contextmanager
def connected(lab, *hosts):
    """These hosts in connected mode with its largest MTU, and as before afterwards."""
    def enter(host):
        set_mode(lab, host, "connected")
        lab.run(host, "ip", "link", "set", "ib0", "mtu", MTU)

    def leave(host):
        set_mode(lab, host, "datagram")
        lab.run(host, "ip", "link", "set", "ib0", "mtu", lab.config.ib_mtu - 4)
        lab.sh(host, "ip route flush cache; ip -6 route flush cache")

    try:
        on_hosts(enter, hosts)
        yield
    finally:
        on_hosts(leave, hosts)


def pair(lab):
    """The drivers of both hosts."""
    return ", ".join("in-tree" if driver == "intree" else driver
                     for driver in (lab.config.h1, lab.config.h2))


def note(record_property, lab, what, seen):
    """A row of the table of what connected mode has outlived."""
    record_property("trouble", (lab.config.kernel, pair(lab), what, seen))


def forget_connections(lab):
    """Where the in-tree driver runs, nothing left of connections whose end it did not hear.

    It keeps their queue pairs for minutes.
    """
    for host in HOSTS:
        if getattr(lab.config, host) == "intree":
            lab.sh(host, "rmmod ib_ipoib && modprobe ib_ipoib")
            comes_back(lab, host)


def statistic(lab, host, name):
    return int(re.search(rf"\b{name}: (\d+)", lab.out(host, "ethtool", "-S", "ib0"))[1])


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.labs(drivers=PAIRS)
def test_long_packets_in_one_piece(lab):
    with connected(lab, *HOSTS):
        for host in HOSTS:
            for name, largest in LARGEST.items():
                peer = name(other(host))
                lab.reachable(host, peer)
                lab.ping(host, peer, "-c10", pace(), "-M", "do", "-s", largest)
                assert not lab.ok(host, "ping", "-c1", "-W1", "-M", "do", "-s", largest + 1, peer)
        lab.ping("h1", ipv4("h2"), "-c20", pace(), "-M", "do", "-s", "65000")


def halts(lab, host):
    """How often a peer has told it that there was no receive buffer (RNR NAK)."""
    return int(lab.read(host, "/sys/class/infiniband/sib0/ports/1/hw_counters/rc_rx_rnr"))


@pytest.mark.labs(drivers=["ours", "mixed"])
def test_segments_for_a_peer_in_datagram_mode(lab):
    """They go as datagrams, though the peer takes connections."""
    with connected(lab, "h1"), Server(lab) as server:
        cut, halted = statistic(lab, "h1", "tx_lso"), halts(lab, "h1")
        end = server.client(ipv4("h2"), "-t", "2")
        assert end["sum_received"]["bytes"] > LEAST_BYTES, end
        assert halts(lab, "h1") == halted
        if "tcp-segmentation-offload: on" in lab.out("h1", "ethtool", "-k", "ib0"):
            assert statistic(lab, "h1", "tx_lso") > cut + 10


@pytest.mark.full
@pytest.mark.labs(drivers=PAIRS)
def test_every_size(lab):
    with connected(lab, *HOSTS):
        for host in HOSTS:
            echo(lab, host, ipv4(other(host)), "dont", "0-9000/1", "9000-65492/173")


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.labs(drivers=PAIRS)
def test_tcp_both_ways(lab):
    with connected(lab, *HOSTS), Server(lab) as server:
        for way in ([], ["-R"]):
            end = server.client(ipv4("h2"), "-t", "2", *way)
            assert end["sum_received"]["bytes"] > LEAST_BYTES


@pytest.mark.labs(drivers=["ours"])
def test_receive_memory(lab):
    """What is posted and what is kept of what was used stay below cm_recv_memory."""
    def pages(*words):
        return lab.out("h1", "/usr/bin/python3", GUEST / "cm_pages.py", *words, timeout=120)

    limit = int(lab.read("h1", "/sys/module/ib_ipoib/parameters/cm_recv_memory")) << 20
    pages("start")
    try:
        with connected(lab, *HOSTS), Server(lab) as server:
            lab.reachable("h1", ipv4("h2"))
            server.client(ipv4("h2"), "-n", "16M", "-P", "8", "-R")
            held = int(pages("held"))
    finally:
        pages("stop")
    assert limit // 2 < held < limit + PAGES_BESIDE


@pytest.mark.race
@pytest.mark.labs(drivers=PAIRS)
@pytest.mark.parametrize("host", ONE_HOST)
def test_connected_and_datagram(lab, host):
    """One side in each mode: the other learns what is too long for a datagram."""
    with connected(lab, host):
        for source in HOSTS:
            peer = ipv4(other(source))
            lab.wait(source, f"ping -q -c1 -W1 -s 20000 {peer} > /dev/null", 20,
                     f"{source} knows what fits")
            lab.ping(source, peer, "-c10", pace(), "-s", "20000")
        with Server(lab) as server:
            for way in ([], ["-R"]):
                end = server.client(ipv4("h2"), "-t", "2", *way)
                assert end["sum_received"]["bytes"] > LEAST_BYTES


@pytest.mark.labs(drivers=["ours"])
def test_too_long_for_a_group(lab):
    """A packet for a group that fits no datagram is counted, and harms nothing."""
    with connected(lab, "h1"):
        before = statistic(lab, "h1", "tx_too_long")
        lab.run("h1", "ping", "-c1", "-W1", "-I", "ib0", "-s", "9000", "239.3.3.3", check=False)
        assert statistic(lab, "h1", "tx_too_long") == before + 1


@pytest.mark.race
@pytest.mark.full("connected")
@pytest.mark.timeout(SWITCHES * 2)
@pytest.mark.labs(drivers=PAIRS)
@pytest.mark.parametrize("host", ONE_HOST)
def test_mode_switched_under_traffic(lab, request, record_property, host):
    option = request.config.getoption
    times = option("--switches") or (SWITCHES if option("--full") else FEW_SWITCHES)
    with connected(lab, *HOSTS), stream(lab) as total:
        until(total, 20, "data flows")
        lab.sh(host, f"for i in $(seq {times // 2}); do echo datagram > {MODE}; sleep 0.03; "
                     f"echo connected > {MODE}; sleep 0.03; done", timeout=60 + times)
        before = total()
        until(lambda: total() > before, 60,
              lambda: "data flows after the last switch: " + "; ".join(
                  lab.out(host, "ss", "-tmino") + lab.out(host, "ip", "route", "show", "cache")
                  for host in HOSTS))
        note(record_property, lab, f"{times} mode switches of {host}",
             f"connection kept, {before >> 20} MiB checked meanwhile")


@pytest.mark.race
@pytest.mark.full
@pytest.mark.labs(drivers=PAIRS)
def test_mtu_changed_under_traffic(lab, record_property):
    with connected(lab, *HOSTS), stream(lab) as total:
        for number, mtu in enumerate(MTU_CHANGES * 4):
            before = total()
            lab.run(HOSTS[number // len(MTU_CHANGES) % 2], "ip", "link", "set", "ib0", "mtu", mtu)
            until(lambda b=before: total() > b, 30, f"data flows at MTU {mtu}")
        note(record_property, lab, f"{len(MTU_CHANGES) * 4} changes of MTU on both hosts",
             f"connection kept, {total() >> 20} MiB checked meanwhile")


@pytest.mark.race
@pytest.mark.labs(drivers=["ours", "mixed"])
def test_cable_pulled_under_traffic(lab, record_property):
    try:
        with connected(lab, *HOSTS), stream(lab) as total:
            until(total, 20, "data flows")
            for _ in range(3):
                pull(lab)
                before = total()
                plug(lab)
                until(lambda b=before: total() > b, 60, "data flows again")
            note(record_property, lab, "cable pulled and plugged 3 times", "connection kept")
    finally:
        lab.cable("h1:0", "up")
    lab.reachable("h1", ipv4("h2"))
    forget_connections(lab)


@pytest.mark.race
@pytest.mark.full
@pytest.mark.labs(drivers=PAIRS)
def test_peer_that_comes_back(lab, record_property):
    """h2's driver is loaded again: connections to what it was are made again.

    h2 sends first, so that h1's neighbour table need not find out by itself.
    """
    with connected(lab, "h1"), traffic(lab, "h2"):
        for _ in range(3):
            lab.wait("h1", f"ping -q -c3 -i0.05 -W1 -M do -s 30000 {ipv4('h2')} > /dev/null", 30,
                     "packets of 30,000 octets go in one piece")
            lab.sh("h2", "rmmod ib_ipoib && modprobe ib_ipoib")
            comes_back(lab, "h2")
        note(record_property, lab, "h2's module loaded again 3 times", "connected again each time")
