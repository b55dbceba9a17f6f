# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Bulk data: iperf3 with TCP and UDP both ways, and a whole file."""

import json

import pytest

from harness import HOSTS, ipv4, ipv6, until

PORT = 5201
FILE_BYTES = 200 << 20
# What a connection that does not stand still has moved after seconds on any kernel.
LEAST_BYTES = 100_000
# Of TCP's bandwidth within one host, that from host to host is LEAST_PART or more: a load of
# the machine slows both.
LEAST_PART = 0.1


class Server:
    """iperf3 -s on h2 for one test."""

    def __init__(self, lab):
        self.lab = lab
        self.process = lab.background("h2", "iperf3", "-s")

    def __enter__(self):
        until(lambda: f":{PORT}" in self.lab.out("h2", "ss", "-Hltn"), 20, "iperf3 listens")
        return self

    def __exit__(self, *_):
        self.process.stop()

    def client(self, *options, host="h1"):
        result = self.lab.run(host, "iperf3", "-J", "-c", *options, check=False, timeout=90)
        document = json.loads(result.out)
        assert result.status == 0 and "error" not in document, document.get("error", str(result))
        return document["end"]


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed", "mixed-swapped", "intree"], mtus=[2048, 4096])
@pytest.mark.parametrize("name", [ipv4, ipv6])
def test_tcp_both_ways(lab, name):
    with Server(lab) as server:
        for way in ([], ["-R"]):
            end = server.client(name("h2"), "-t", "3", *way)
            assert end["sum_received"]["bytes"] > LEAST_BYTES


def test_tcp_beside_the_loopback(lab):
    """By turns with TCP within a host: a driver that is ten times slower is too slow."""
    seen = []
    with Server(lab) as server:
        for _ in range(3):
            own, there, back = (server.client(*words, "-t", "1", host=host)["sum_received"]["bits_per_second"]
                                for host, words in (("h2", ["127.0.0.1"]), ("h1", [ipv4("h2")]),
                                                    ("h1", [ipv4("h2"), "-R"])))
            seen.append((there / own, back / own))
    assert all(max(way) >= LEAST_PART for way in zip(*seen)), seen


@pytest.mark.race
@pytest.mark.full("tcp")
@pytest.mark.labs(drivers=["ours"])
def test_tcp_both_ways_at_once_on_four_connections(lab):
    with Server(lab) as server:
        end = server.client(ipv4("h2"), "-t", "4", "-P", "2", "--bidir")
        for key in ("sum_received", "sum_received_bidir_reverse"):
            assert end[key]["bytes"] > LEAST_BYTES


@pytest.mark.labs(drivers=["ours", "mixed"])
@pytest.mark.parametrize("length", [64, 1400, 8000])
def test_udp_both_ways(lab, length):
    """At a rate below the machine's, nothing may be lost: the link is lossless."""
    for host in HOSTS:
        lab.run(host, "sysctl", "-qw", "net.core.rmem_max=4194304", "net.core.wmem_max=4194304")
    rate = {64: 500_000, 1400: 8_000_000, 8000: 16_000_000}[length] // lab.config.slowness
    with Server(lab) as server:
        for way in ([], ["-R"]):
            end = server.client(ipv4("h2"), "-u", "-b", str(rate), "-l", str(length), "-t", "3",
                                "-w", "1M", *way)
            total = end["sum"]
            assert total["packets"] >= rate * 3 / 8 / length / 5, "a fifth of what was to be sent"
            assert total["lost_packets"] <= total["packets"] * 0.005, total


@pytest.mark.full("tcp")
@pytest.mark.labs(drivers=["ours", "mixed"])
def test_file_there_and_back(lab):
    """One file to h2 and back; all three checksums are the same."""
    size = FILE_BYTES // lab.config.slowness
    try:
        lab.sh("h1", f"head -c {size} /dev/urandom > /tmp/file", timeout=90)
        want = lab.out("h1", "sha256sum", "/tmp/file", timeout=90).split()[0]
        for source, target, name in (("h1", "h2", "/tmp/file"), ("h2", "h1", "/tmp/file.back")):
            with lab.helper_background(target, "filecopy.py", "receive", ipv4(target), 7001,
                                       name) as sink:
                assert sink.line() == "listening"
                lab.helper(source, "filecopy.py", "send", ipv4(target), 7001, "/tmp/file",
                           timeout=180)
                done = sink.finish(60)
                assert done.status == 0, str(done)
        assert lab.out("h2", "sha256sum", "/tmp/file", timeout=90).split()[0] == want
        assert lab.out("h1", "sha256sum", "/tmp/file.back", timeout=90).split()[0] == want
    finally:
        for host in ("h1", "h2"):
            lab.run(host, "rm", "-f", "/tmp/file", "/tmp/file.back")


@pytest.mark.smoke
@pytest.mark.ours_only
@pytest.mark.labs(mtus=[2048, 4096])
@pytest.mark.parametrize("count, size", [(100, 64), (90, 1400)])
def test_burst_into_a_socket_that_is_not_read(lab, count, size):
    """A default socket holds the whole burst: receive buffers are not oversized."""
    lab.ping("h1", "10.10.0.2", "-c2", "-i0.1")
    with lab.helper_background("h2", "burst.py", "hold", ipv4("h2"), 7002) as holder:
        assert holder.line() == "bound"
        before = lab.net_stats("h2")["rx"]["packets"]
        lab.helper("h1", "burst.py", "send", ipv4("h2"), 7002, count, size)
        until(lambda: lab.net_stats("h2")["rx"]["packets"] >= before + count, 20,
              lambda: f"{count} packets at h2's ib0: "
                      f"{lab.net_stats('h2')['rx']['packets'] - before}")
        holder.tell("read")
        result = json.loads(holder.line())
    assert result == {"received": count, "distinct": count, "sizes": [size]}
