# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Connected mode: ours to ours and to the in-tree driver, beside datagram mode,
switched, cut off and reloaded under traffic."""

import contextlib
import re

import pytest

from harness import HOSTS, ipv4, ipv6, is_main, on_hosts, other, until
from test_cable import plug, pull, stream
from test_ping import echo
from test_reload import comes_back
from test_transfer import LEAST_BYTES, Server

MODE = "/sys/class/net/ib0/mode"
MTU = 65520
PAIRS = ["ours", "mixed", "mixed-swapped"]
# Largest payloads of an echo in one packet, IPv4 and IPv6
LARGEST = {ipv4: MTU - 28, ipv6: MTU - 48}
# The second host in its turn only with --full
ONE_HOST = ["h1", pytest.param("h2", marks=pytest.mark.full)]
# Around what is copied, one page, the datagram, and the largest
SIZES = ["1", "56", "1500-1510", "1528-1534", "2015-2018", "4055-4070", "4080-4090", "8184", "16384",
         "32768", "60000", "65490-65492"]


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


def statistic(lab, host, name):
    return int(re.search(rf"\b{name}: (\d+)", lab.out(host, "ethtool", "-S", "ib0"))[1])


@pytest.mark.smoke
@pytest.mark.labs(drivers=PAIRS)
def test_long_packets_in_one_piece(lab):
    with connected(lab, *HOSTS):
        for host in HOSTS:
            for name, largest in LARGEST.items():
                peer = name(other(host))
                lab.reachable(host, peer)
                lab.ping(host, peer, "-c10", "-i0.02", "-M", "do", "-s", largest)
                assert not lab.ok(host, "ping", "-c1", "-W1", "-M", "do", "-s", largest + 1, peer)
        lab.ping("h1", ipv4("h2"), "-c20", "-i0.02", "-M", "do", "-s", "65000")


@pytest.mark.full
@pytest.mark.labs(drivers=PAIRS)
def test_sizes_and_their_content(lab):
    with connected(lab, *HOSTS):
        for host in HOSTS:
            echo(lab, host, ipv4(other(host)), "dont", *SIZES)
            echo(lab, host, ipv6(other(host)), "dont", *SIZES)


@pytest.mark.full
@pytest.mark.labs(drivers=PAIRS)
def test_every_size(lab):
    with connected(lab, *HOSTS):
        for host in HOSTS:
            echo(lab, host, ipv4(other(host)), "dont", "0-9000/1", "9000-65492/173")


@pytest.mark.smoke
@pytest.mark.labs(drivers=PAIRS)
def test_tcp_both_ways(lab):
    with connected(lab, *HOSTS), Server(lab) as server:
        for way in ([], ["-R"]):
            end = server.client(ipv4("h2"), "-t", "2", *way)
            assert end["sum_received"]["bytes"] > LEAST_BYTES


@pytest.mark.full
@pytest.mark.labs(drivers=PAIRS)
@pytest.mark.parametrize("streams", [1, 4, 16])
def test_tcp_on_several_connections(lab, streams):
    with connected(lab, *HOSTS), Server(lab) as server:
        for way in ([], ["-R"]):
            end = server.client(ipv4("h2"), "-t", "5", "-P", streams, *way)
            assert end["sum_received"]["bytes"] > LEAST_BYTES * streams


@pytest.mark.labs(drivers=PAIRS)
@pytest.mark.parametrize("host", ONE_HOST)
def test_connected_and_datagram(lab, host):
    """One side in each mode: the other learns what is too long for a datagram."""
    with connected(lab, host):
        for source in HOSTS:
            peer = ipv4(other(source))
            lab.wait(source, f"ping -q -c1 -W1 -s 20000 {peer} > /dev/null", 20,
                     f"{source} knows what fits")
            lab.ping(source, peer, "-c10", "-i0.02", "-s", "20000")
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


@pytest.mark.labs(drivers=PAIRS)
@pytest.mark.parametrize("host", ONE_HOST)
def test_mode_switched_under_traffic(lab, request, host):
    times = 1000 if request.config.getoption("--full") and is_main(lab, request) else 10
    with connected(lab, *HOSTS), stream(lab) as total:
        until(total, 20, "data flows")
        lab.sh(host, f"for i in $(seq {times}); do echo datagram > {MODE}; sleep 0.05; "
                     f"echo connected > {MODE}; sleep 0.05; done", timeout=60 + times)
        before = total()
        until(lambda: total() > before, 60, "data flows after the last switch")


@pytest.mark.labs(drivers=["ours", "mixed"])
def test_cable_pulled_under_traffic(lab):
    try:
        with connected(lab, *HOSTS), stream(lab) as total:
            until(total, 20, "data flows")
            for _ in range(3):
                pull(lab)
                before = total()
                plug(lab)
                until(lambda b=before: total() > b, 60, "data flows again")
    finally:
        lab.cable("h1:0", "up")
    lab.reachable("h1", ipv4("h2"))


@pytest.mark.full
@pytest.mark.labs(drivers=["ours", "mixed"])
def test_peer_that_comes_back(lab):
    """h2's driver is loaded again: connections to what it was are made anew.

    h2 sends first, so that h1's neighbour table need not find out by itself.
    """
    with connected(lab, "h1"):
        for _ in range(2):
            lab.ping("h1", ipv4("h2"), "-c3", "-i0.05", "-M", "do", "-s", "30000")
            lab.sh("h2", "modprobe -r ib_ipoib && modprobe ib_ipoib")
            comes_back(lab, "h2")
