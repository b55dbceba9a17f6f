# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""One host in a subnet of ten thousand, two thousand of which it sends to.

ib-fleet takes h2's place on the cable: hosts and their subnet manager, whose SA answers a
thousand requests a second, or fewer. Another subnet manager takes over, without and with other
LIDs. What is printed: requests to the SA, those of them that came again before they were
answered, how many waited at a time, and when the hosts are reached again. The same for the
in-tree driver.

An SA that is wrong, or answers twice, delays what it is asked for, and nothing else.
"""

import contextlib
import json
import os
import time

import pytest

from checklib import programs
from harness import TOP, stretched, until
from test_malformed import far_end

HOSTS = 10000
BUSY = 2000
FIRST = "10.9.0.1"
SECONDS = 1         # from packet to packet to each
RATES = (1000, 200)  # answers of the SA a second
TRAFFIC = TOP / "tests/vm/guest/fleet_traffic.py"
NEVER_FULL = 4 * HOSTS
SETTLED = 3         # seconds without a request
LIMIT = 60          # seconds
INTREE = "intree"
FEW = 200           # hosts that are sent to, of an SA that is wrong
WRONG = 40          # percent of its answers
TWICE = 50
SEEDS = (1, 2)


@pytest.fixture(scope="session")
def ib_fleet():
    if os.access(TOP, os.W_OK):
        programs.build(["ib-fleet"])
    return programs.BIN / "ib-fleet"


class Fleet:
    """ib-fleet under way, and what it has counted since an event."""

    def __init__(self, process):
        self.process = process
        self.sums = {}

    def tell(self, line):
        self.process.tell(line)
        now = json.loads(self.process.line(60))
        if line:
            self.sums = dict.fromkeys(now, 0)
            now = dict.fromkeys(now, 0)
        for name in ("requests", "paths", "joins", "again", "wrong", "twice"):
            self.sums[name] += now[name]
        self.sums["most_waiting"] = max(self.sums["most_waiting"], now["most_waiting"])
        for name in ("registered", "reached", "half_ms", "last_ms"):
            self.sums[name] = now[name]
        return now

    def settle(self, seconds, busy=BUSY):
        """Wait until all that are sent to are reached, and nothing is asked any more.

        Whether that was within so many seconds.
        """
        quiet, end = 0, time.monotonic() + stretched(seconds)
        while self.sums["reached"] < busy or quiet < SETTLED:
            if time.monotonic() >= end:
                return False
            time.sleep(1)
            quiet = 0 if self.tell("")["requests"] else quiet + 1
        return True


@contextlib.contextmanager
def fleet(lab, tool, rate, *options):
    """Ten thousand hosts at the other end of h1's cable, and h1's ib0 in their subnet.

    options: more of ib-fleet's
    """
    with far_end(lab) as (host, netdev):
        lab.run("h1", "lab-sm", "stop")
        try:
            for number in (1, 2, 3):
                lab.run("h1", "sysctl", "-qw", f"net.ipv4.neigh.default.gc_thresh{number}={NEVER_FULL}")
            last = HOSTS
            with lab.background(host, tool, "--netdev", netdev, "--rate", rate, "--addresses",
                                f"{FIRST}-10.9.{last // 256}.{last % 256}", *options) as process:
                lab.wait("h1", "grep -q ACTIVE /sys/class/infiniband/sib0/ports/1/state", 60,
                         "h1's port is ACTIVE")
                lab.run("h1", "ip", "addr", "add", "10.9.255.254/16", "dev", "ib0")
                until(lambda: lab.carrier("h1"), 60, "h1's ib0 has a carrier")
                yield Fleet(process)
        finally:
            lab.run("h1", "ip", "addr", "del", "10.9.255.254/16", "dev", "ib0", check=False)
            lab.run("h1", "ip", "neigh", "flush", "all", "dev", "ib0", check=False)
            for number, value in ((1, 128), (2, 512), (3, 1024)):
                lab.run("h1", "sysctl", "-qw", f"net.ipv4.neigh.default.gc_thresh{number}={value}")
            lab.run("h1", "lab-sm", "start")


@pytest.mark.full()
@pytest.mark.labs(drivers=["ours", "intree"])
@pytest.mark.parametrize("rate", RATES)
def test_another_subnet_manager(lab, ib_fleet, record_property, rate):
    def note(event, sums):
        record_property("fleet", (str(lab.config), f"{event}, {rate}/s", sums["requests"], sums["paths"],
                                  sums["again"], sums["most_waiting"], sums["reached"], sums["half_ms"],
                                  sums["last_ms"]))

    def settles(event):
        is_settled = hosts.settle(LIMIT)
        note(event, hosts.sums)
        # Of the in-tree driver it is told, not asked.
        if INTREE not in str(lab.config):
            assert is_settled, f"{BUSY} hosts are reached, and nothing is asked: {hosts.sums}"
            assert hosts.sums["again"] <= hosts.sums["requests"] / 3, hosts.sums
            assert hosts.sums["most_waiting"] < BUSY / 4, hosts.sums

    with fleet(lab, ib_fleet, rate) as hosts:
        hosts.tell("watch")
        with lab.background("h1", "python3", TRAFFIC, FIRST, BUSY, SECONDS) as process:
            assert process.line(30) == "begins"
            settles("first packets")
            for event in ("takeover", "renumber"):
                hosts.tell(event)
                settles(event)
                assert hosts.sums["registered"]


def counter(lab, name):
    """Of h1's ib0, as ethtool shows it."""
    found = [line.split()[1] for line in lab.out("h1", "ethtool", "-S", "ib0").splitlines()
             if line.split()[:1] == [f"{name}:"]]
    return int(found[0])


@pytest.mark.full()
@pytest.mark.labs(drivers=["ours"])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_sa_that_is_wrong(lab, ib_fleet, seed):
    def settles(event):
        is_settled = hosts.settle(LIMIT, FEW)
        assert is_settled, f"{event}: {FEW} hosts are reached, and nothing is asked: {hosts.sums}"

    wrong_before = counter(lab, "path_answers_wrong")
    with fleet(lab, ib_fleet, RATES[0], "--wrong", WRONG, "--twice", TWICE, "--seed", seed) as hosts:
        hosts.tell("watch")
        with lab.background("h1", "python3", TRAFFIC, FIRST, FEW, SECONDS) as process:
            assert process.line(30) == "begins"
            # What is wrong is asked for again; what is known stays in use until all have other LIDs.
            settles("first packets")
            assert hosts.sums["wrong"] and hosts.sums["twice"], hosts.sums
            hosts.tell("renumber")
            settles("renumber")
            wrong = counter(lab, "path_answers_wrong") - wrong_before
            assert wrong >= FEW * WRONG / 100 / 2, f"{wrong} wrong path records"
            assert "the SA is wrong: " in lab.logged("h1")
            hosts.tell("right")
            hosts.tell("takeover")
            settles("takeover")
            assert not hosts.sums["wrong"] and not hosts.sums["twice"], hosts.sums
