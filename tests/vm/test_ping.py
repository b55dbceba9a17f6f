# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Echoes of all sizes, IPv4 and IPv6, both ways."""

import json

import pytest

from harness import HOSTS, ipv4, ipv6, other

ICMP = 8
# version -> bytes around an echo's payload, its name's function, largest payload
VERSIONS = {4: (20 + ICMP, ipv4, 65507), 6: (40 + ICMP, ipv6, 65527)}


def echo(lab, host, target, discovery, *words):
    result = json.loads(lab.helper(host, "echo.py", target, discovery, *words, timeout=240).out)
    assert result["sizes"] > 0
    assert result["failures"] == 0, f"{host} to {target}: {result}"


def fragmented_sizes(largest, limit):
    """Payload sizes around every number of fragments that is a boundary."""
    sizes = {limit, limit - 1, limit // 2, 9000, 16384, 32768, 60000}
    for packets in (1, 2, 3, 7):
        edge = packets * ((largest + ICMP) // 8 * 8) - ICMP
        sizes |= set(range(edge - 1, edge + 10))
    return [str(size) for size in sorted(sizes) if largest < size <= limit]


@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed", "mixed-swapped", "intree"], mtus=[2048, 4096])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_size_up_to_the_mtu(lab, version):
    overhead, name, _ = VERSIONS[version]
    largest = lab.config.ib_mtu - 4 - overhead
    echo(lab, "h1", name("h2"), "do", f"0-{largest}")
    # An echo passes both ways; from the other end a sample will do.
    echo(lab, "h2", name("h1"), "do", f"0-{largest}/37", f"{largest - 8}-{largest}")
    for host in HOSTS:
        target = name(other(host))
        lab.ping(host, target, "-c2", "-i0.1", "-M", "do", "-s", str(largest))
        assert not lab.ok(host, "ping", "-c1", "-W1", "-M", "do", "-s", str(largest + 1), target)


@pytest.mark.full("ping")
@pytest.mark.labs(drivers=["ours", "mixed"], mtus=[2048, 4096])
@pytest.mark.parametrize("version", VERSIONS)
def test_fragmented(lab, version):
    overhead, name, limit = VERSIONS[version]
    largest = lab.config.ib_mtu - 4 - overhead
    for host in HOSTS:
        target = name(other(host))
        echo(lab, host, target, "dont", *fragmented_sizes(largest, limit))
        lab.ping(host, target, "-c2", "-i0.1", "-s", str(limit - 20))


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed", "mixed-swapped", "intree"])
@pytest.mark.parametrize("name", [ipv4, ipv6])
def test_hundred_echoes_without_loss(lab, name):
    lab.ping("h1", name("h2"), "-c100", "-i0.02")
    lab.ping("h2", name("h1"), "-c100", "-i0.02", "-s", "1400")


@pytest.mark.race
@pytest.mark.full("ping")
def test_ping_flood_without_loss(lab):
    lab.ping("h1", "10.10.0.2", "-f", "-c", "2000", "-s", "1000", timeout=120)


@pytest.mark.labs(drivers=["ours", "intree"])
def test_another_interface_of_the_same_port_answers(lab):
    """What a port sends to its own LID comes back to it: a child in a namespace of its own."""
    lab.sh("h1", """set -e
        ip netns add near
        ip link add link ib0 name near0 netns near type ipoib pkey 0xffff
        ip -n near address add 10.10.0.9/24 dev near0
        ip -n near address add fd10::9/64 dev near0 nodad
        ip -n near link set near0 up""")
    try:
        inside = ("ip", "netns", "exec", "near", "ping", "-q", "-c5", "-i0.1", "-s", "1400")
        for host in HOSTS:
            lab.reachable(host, "10.10.0.9", "fd10::9")
            for target in (ipv4(host), ipv6(host)):
                result = lab.out("h1", *inside, target)
                assert "5 packets transmitted, 5 received" in result, result
    finally:
        lab.sh("h1", "ip -n near link delete near0; ip netns delete near")


def test_broadcast_reaches_the_peer_and_not_the_sender(lab):
    try:
        for host in HOSTS:
            lab.run(host, "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_broadcasts=0")
        result = lab.run("h1", "ping", "-b", "-c3", "-i0.3", "10.10.0.255")
        assert "from 10.10.0.2" in result.out
        assert "DUP" not in result.out, result.out
    finally:
        for host in HOSTS:
            lab.run(host, "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_broadcasts=1")
