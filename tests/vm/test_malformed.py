# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Malformed frames on the cable: nothing but counters changes.

ib-frames takes h2's place on the cable: it trains the link, OpenSM on h1 makes
its port ACTIVE, and every case is sent to h1's port or ib0. After each case
h1 must answer an ARP request, and exactly the counters of that case have grown:
one of h1's port, or statistics of its ib0.
"""

import contextlib
import json
import os
import subprocess
import sys

import pytest

from checklib import programs
from harness import TOP, difference, is_full, snapshot, until
from here import Here
from test_reload import add_link, comes_back, remove_link

sys.path.insert(0, str(TOP / "tests/wire"))
import counting  # noqa: E402


@pytest.fixture(scope="session")
def ib_frames():
    """The tool, built if need be. In UML, where nothing can be built, it is there."""
    if os.access(TOP, os.W_OK):
        programs.build(["ib-frames"])
    return programs.BIN / "ib-frames"


def cases(tool):
    lines = subprocess.run([tool, "--list", "--json"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


@contextlib.contextmanager
def far_end(lab):
    """The other end of h1's cable, without its HCA: host and netdev."""
    if isinstance(lab, Here):
        with lab.far_end() as end:
            yield end
        return
    remove_link(lab, "h2")
    try:
        yield "h2", "eth1"
    finally:
        add_link(lab, "h2")
        comes_back(lab, "h2")


@contextlib.contextmanager
def sender(lab, tool):
    """ib-frames at the other end of h1's cable, in place of the HCA there."""
    address = lab.json("h1", "ip", "-j", "link", "show", "ib0")[0]["address"]
    with far_end(lab) as (host, netdev), \
            lab.background(host, tool, "--netdev", netdev, "--peer", address, "--own-ip",
                           "10.10.0.250", "--json", "--interactive") as process:
        up = json.loads(process.line(90))
        assert up["up"]
        # The subnet manager may make this end's port ACTIVE before the other's.
        lab.wait("h1", "grep -q ACTIVE /sys/class/infiniband/sib0/ports/1/state", 30,
                 "h1's port is ACTIVE")
        process.lid = up["lid"]
        yield process


def counters_of_h1(lab):
    """What h1's port and, as "ib0 NAME", its ib0 have counted."""
    text = lab.sh("h1", "cd /sys/class/infiniband/sib0/ports/1/hw_counters && grep -H . *; "
                        "cd /sys/class/net/ib0/statistics && grep -H . * | sed 's/^/ib0 /'").out
    return {name: int(value) for name, value in
            (line.split(":") for line in text.splitlines())}


def check_counters(lab, case, before):
    """Wait for the case's counters; then no other may have grown.

    Returns the counters as they are now. What is counted later than that shows
    in the next case.
    """
    seen = {}

    def counted():
        seen["now"] = counters_of_h1(lab)
        seen["changes"] = counting.grown(before, seen["now"])
        return not counting.missing(case, seen["changes"])

    until(counted, 10, lambda: counting.missing(case, seen["changes"]))
    others = counting.excess(case, seen["changes"])
    assert not others, others
    return seen["now"]


@pytest.mark.full("malformed")
@pytest.mark.labs(drivers=["ours"])
def test_malformed_frames_change_nothing_but_counters(lab, ib_frames, request):
    whole = is_full(request)
    wanted = cases(ib_frames)
    assert len(wanted) > 40
    with sender(lab, ib_frames) as process:
        # h2 is gone: nothing of h1's own may be on its way to it.
        lab.run("h1", "ip", "neigh", "flush", "all", "dev", "ib0")
        before = snapshot(lab, ["h1"])
        failed = []
        counters = counters_of_h1(lab)
        for case in wanted:
            count = case["count"] if whole else min(case["count"], 500)
            process.tell(f"{case['case']} {count}")
            result = json.loads(process.line(120))
            assert result["sent"] == count
            try:
                counters = check_counters(lab, result, counters)
            except AssertionError as error:
                failed.append(str(error))
                counters = counters_of_h1(lab)
        assert not failed, "\n".join(failed)
        lines = []

        def unchanged():
            lines[:] = difference(before, snapshot(lab, ["h1"]))
            return not lines

        until(unchanged, 10, lambda: "h1 has changed: " + "\n".join(lines))
        assert lab.splats() + lab.dmesg_splats() == []
        process.process.stdin.close()
        process.process.stdin = None
        done = process.finish(20)
        assert done.status == 0, str(done)
