# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Several transmit queues on hosts with as many processors as their kernel has here:
two with `test` and `debug`, one with the others.
"""

import contextlib
import re

import pytest

from harness import HOSTS, ipv4, on_hosts, stretched, until

QUEUES = [8, 2, 6, 4, 1]    # the last one is the default
FLOWS = 32                  # some go by another queue than the others, on any number of queues
RATE = 300_000              # bits a second of each, on a stock kernel
PORT = 5201


def sent(lab, host):
    """Packets of each transmit queue."""
    return [int(number) for number in re.findall(r"tx\d+_packets: (\d+)",
                                                 lab.out(host, "ethtool", "-S", "ib0"))]


def set_queues(lab, count):
    on_hosts(lambda host: lab.run(host, "ethtool", "-L", "ib0", "tx", count))


@contextlib.contextmanager
def flows(lab):
    """Many connections both ways, and a ping that must lose nothing."""
    interval = stretched(0.05)
    with lab.background("h2", "iperf3", "-s", "-1"):
        until(lambda: f":{PORT}" in lab.out("h2", "ss", "-Hltn"), 20, "iperf3 listens")
        with lab.background("h1", "iperf3", "-c", ipv4("h2"), "--bidir", "-P", FLOWS // 2,
                            "-b", f"{RATE / stretched(1):.0f}", "-l", "16K", "-t", 600), \
                lab.background("h2", "ping", "-q", "-i", f"{interval:.2f}", ipv4("h1")) as pings:
            yield
            result = pings.stop()
            counted = re.search(r"(\d+) packets transmitted, (\d+) received", result.out)
            longest = re.search(r"rtt min/avg/max/mdev = [\d.]+/[\d.]+/([\d.]+)/", result.out)
            assert counted and longest, str(result)
            # Some may be on their way.
            young = 1 + int(float(longest[1]) / 1000 / interval)
            assert int(counted[1]) - int(counted[2]) <= young, str(result)


@contextlib.contextmanager
def in_mode(lab, mode):
    def enter(host, word):
        lab.sh(host, f"echo {word} > /sys/class/net/ib0/mode")

    try:
        on_hosts(lambda host: enter(host, mode))
        yield
    finally:
        set_queues(lab, QUEUES[-1])
        on_hosts(lambda host: enter(host, "datagram"))


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.ours_only
@pytest.mark.parametrize("mode", ["datagram", "connected"])
def test_queues_change_under_traffic(lab, mode):
    with in_mode(lab, mode), flows(lab):
        for count in QUEUES:
            set_queues(lab, count)
            for host in HOSTS:
                before = sent(lab, host)
                assert len(before) == count

                def several(host=host, before=before, wanted=min(2, count)):
                    now = sent(lab, host)
                    return sum(new > old for new, old in zip(now, before)) >= wanted

                until(several, 20, lambda host=host: f"{host}: {sent(lab, host)} sent")
    for host in HOSTS:
        assert "tx_stalls: 0" in lab.out(host, "ethtool", "-S", "ib0")
