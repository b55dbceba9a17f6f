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

import pytest

from harness import TOP, difference, is_main, snapshot, until
from test_reload import add_link, comes_back, remove_link

BUILD = TOP / "build" / "cmake"
TOOL = BUILD / "bin" / "ib-frames"
# What grows all the time on a healthy link with a subnet manager, and what an
# end that answers late (emulated hosts may) makes grow: retransmission.
LIVELY = {"link_tx_data", "link_rx_data", "link_tx_ack", "link_rx_ack", "link_tx_hello",
          "link_rx_hello", "lifespan", "link_window_full", "tx_loop", "link_retransmit",
          "link_rto", "link_rx_dup", "link_rx_reorder", "link_gap_sent", "link_gap_rcvd",
          "ib0 rx_bytes", "ib0 tx_bytes", "ib0 tx_packets"}
# Consequences that a case may have besides its own counter.
ALLOWED = {"count-too-high": {"rx_lid"}, "frame-session": {"link_rx_loop"}}


@pytest.fixture(scope="session")
def ib_frames():
    """The tool, built if need be."""
    for command in (["cmake", "-S", TOP, "-B", BUILD, "-G", "Ninja"],
                    ["cmake", "--build", BUILD, "--target", "ib-frames", "-j", "2"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              timeout=600, env=os.environ)
        assert done.returncode == 0, done.stdout + done.stderr
    return TOOL


def cases(tool):
    lines = subprocess.run([tool, "--list", "--json"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


@contextlib.contextmanager
def sender(lab, tool):
    """ib-frames on h2's end of the cable, in place of its sib0."""
    address = lab.json("h1", "ip", "-j", "link", "show", "ib0")[0]["address"]
    remove_link(lab, "h2")
    try:
        with lab.background("h2", tool, "--netdev", "eth1", "--peer", address, "--own-ip",
                            "10.10.0.250", "--json", "--interactive") as process:
            assert json.loads(process.line(90))["up"]
            yield process
    finally:
        add_link(lab, "h2")
        comes_back(lab, "h2")


def counters_of_h1(lab):
    """What h1's port and, as "ib0 NAME", its ib0 have counted."""
    text = lab.sh("h1", "cd /sys/class/infiniband/sib0/ports/1/hw_counters && grep -H . *; "
                        "cd /sys/class/net/ib0/statistics && grep -H . * | sed 's/^/ib0 /'").out
    return {name: int(value) for name, value in
            (line.split(":") for line in text.splitlines())}


def grown(before, after):
    return {name: after[name] - before[name] for name in after
            if name not in LIVELY and after[name] != before[name]}


def check_counters(lab, case, before):
    """Wait for the case's counters; then no other may have grown.

    Returns the counters as they are now. What is counted later than that shows
    in the next case.
    """
    names = case["counters"].split()
    exact = dict.fromkeys((f"ib0 {name}" for name in case["ib0"].split()), case["sent"])
    exact["ib0 rx_packets"] = exact.get("ib0 rx_packets", 0) + case["probes"]
    if len(names) == 1:
        exact[names[0]] = case["sent"]
    seen = {}

    def counted():
        seen["now"] = counters_of_h1(lab)
        seen["changes"] = grown(before, seen["now"])
        total = sum(seen["changes"].get(name, 0) for name in names)
        return total >= (case["sent"] if names else 0) and all(
            seen["changes"].get(name, 0) == number for name, number in exact.items())

    until(counted, 10, lambda: f"{case['case']}: {case['sent']} sent, counted {seen['changes']}, "
                               f"wanted {exact}")
    allowed = set(names) | exact.keys() | ALLOWED.get(case["case"], set())
    others = {name: number for name, number in seen["changes"].items() if name not in allowed}
    assert not others, f"{case['case']}: also counted {others}"
    return seen["now"]


@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours"])
def test_malformed_frames_change_nothing_but_counters(lab, ib_frames, request):
    whole = is_main(lab, request)
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
