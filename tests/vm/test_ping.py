# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Echoes of all sizes, IPv4 and IPv6, both ways."""

import json

import pytest

from harness import ipv4, ipv6, other

ICMP = 8
IPV4 = 20 + ICMP
IPV6 = 40 + ICMP
# Around powers of two and usual thresholds of drivers (copybreak, one page).
BOUNDARIES = (128, 192, 256, 512, 1024, 1500, 2048, 3072, 3840, 4096)


def words(sizes):
    return [str(size) for size in sorted(sizes)]


def whole_sizes(largest, overhead):
    """Payload sizes that fit one packet."""
    sizes = set(range(65)) | set(range(largest - 12, largest + 1))
    for boundary in BOUNDARIES:
        for base in (boundary, boundary - overhead, boundary - overhead - 4):
            sizes |= set(range(base - 2, base + 3))
    return {size for size in sizes if 0 <= size <= largest}


def fragmented_sizes(largest, limit, overhead):
    """Payload sizes that take two or more packets."""
    sizes = {limit, limit - 1, limit // 2, 9000, 16384, 32768, 60000}
    for packets in (1, 2, 3, 7):
        edge = packets * ((largest + ICMP) // 8 * 8) - ICMP
        sizes |= set(range(edge - 1, edge + 4))
    return {size for size in sizes if largest < size <= limit}


def sweep(lab, host, target, discovery, sizes):
    result = json.loads(lab.helper(host, "sweep.py", target, discovery, *words(sizes),
                                   timeout=300).out)
    assert result["sizes"] == len(sizes)
    assert not result["failed"], f"{host} to {target}: {result['failed']}"


@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed", "mixed-swapped", "intree"], mtus=[2048, 4096])
@pytest.mark.parametrize("host", ["h1", "h2"])
@pytest.mark.parametrize("version", [4, 6])
def test_every_size_up_to_the_mtu(lab, host, version):
    overhead, name = (IPV4, ipv4) if version == 4 else (IPV6, ipv6)
    target = name(other(host))
    largest = lab.config.ib_mtu - 4 - overhead
    sizes = whole_sizes(largest, overhead)
    if host == "h2":  # each echo passes both ways: only the edges again
        sizes = {s for s in sizes if s < 20 or s % 7 == 0 or s > largest - 4}
    sweep(lab, host, target, "do", sizes)
    assert not lab.ok(host, "ping", "-c1", "-W1", "-M", "do", "-s", str(largest + 1), target)


@pytest.mark.labs(drivers=["ours", "mixed", "intree"], mtus=[2048, 4096])
@pytest.mark.parametrize("version", [4, 6])
def test_fragmented(lab, version):
    overhead, name, limit = (IPV4, ipv4, 65507) if version == 4 else (IPV6, ipv6, 65527)
    largest = lab.config.ib_mtu - 4 - overhead
    sizes = fragmented_sizes(largest, limit, overhead)
    for host in ("h1", "h2"):
        sweep(lab, host, name(other(host)), "dont", sizes)


@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed", "mixed-swapped", "intree"])
@pytest.mark.parametrize("name", [ipv4, ipv6])
def test_hundred_echoes_without_loss(lab, name):
    lab.ping("h1", name("h2"), "-c100", "-i0.02")
    lab.ping("h2", name("h1"), "-c100", "-i0.02", "-s", "1400")


def test_ping_flood_without_loss(lab):
    lab.ping("h1", "10.10.0.2", "-f", "-c", "2000", "-s", "1000", timeout=120)


def test_own_addresses_answer(lab):
    for host in ("h1", "h2"):
        lab.ping(host, ipv4(host), "-c3", "-i0.1")
        lab.ping(host, ipv6(host), "-c3", "-i0.1")


def test_broadcast_reaches_the_peer_and_not_the_sender(lab):
    try:
        lab.run("h2", "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_broadcasts=0")
        lab.run("h1", "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_broadcasts=0")
        result = lab.run("h1", "ping", "-b", "-c3", "-i0.3", "10.10.0.255")
        assert "from 10.10.0.2" in result.out
        assert "DUP" not in result.out, result.out
    finally:
        for host in ("h1", "h2"):
            lab.run(host, "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_broadcasts=1")
