# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""HCAs whose memory has to be mapped: `--dma mapped`. What is wrong is a splat, too."""

import contextlib
import json

import pytest

from harness import HOSTS, ipv4, other, until
from test_connected import connected
from test_reload import add_link, comes_back, remove_link

PORT = 7002
FOLDER = "/sys/kernel/debug/sib/sib0"


def counters(lab, host):
    names = ("made", "live", "faults", "misuses")
    lines = lab.sh(host, f"cat {' '.join(f'{FOLDER}/dma_{name}' for name in names)}").out.split()
    return dict(zip(names, map(int, lines)))


@pytest.fixture(autouse=True)
def mapped(lab):
    if lab.config.dma != "mapped":
        pytest.skip("without --dma mapped nothing is mapped")


@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed", "mixed-swapped", "intree"])
def test_all_that_is_accessed_is_mapped(lab):
    before = {host: counters(lab, host) for host in HOSTS}
    for host in HOSTS:
        lab.ping(host, ipv4(other(host)), "-c20", "-i0.05", "-s", "3000")
    for host in HOSTS:
        after = counters(lab, host)
        assert after["made"] >= before[host]["made"] + 20
        assert after["live"] > 0
        assert (after["faults"], after["misuses"]) == (0, 0)


@pytest.mark.parametrize(("mode", "count", "size"), [("datagram", 20, 1400), ("connected", 4, 30000)])
@pytest.mark.labs(drivers=["ours", "intree"])
def test_removed_with_unread_data(lab, mode, count, size):
    """What is in a socket outlives the HCA, and nothing of it is still mapped."""
    with contextlib.ExitStack() as stack:
        if mode == "connected":
            stack.enter_context(connected(lab, *HOSTS))
        holder = stack.enter_context(lab.helper_background("h2", "burst.py", "hold", ipv4("h2"), PORT))
        assert holder.line() == "bound"
        # Path and connection are there: the in-tree driver keeps three packets until then.
        lab.ping("h1", ipv4("h2"), "-c3", "-i0.2", "-s", size)
        before = received(lab)
        lab.helper("h1", "burst.py", "send", ipv4("h2"), PORT, count, size)
        until(lambda: received(lab) >= before + count, 20, "all of it has come")
        remove_link(lab, "h2")
        holder.tell("")
        assert json.loads(holder.line()) == {"received": count, "distinct": count, "sizes": [size]}
        assert holder.finish().status == 0
        add_link(lab, "h2")
        comes_back(lab, "h2")


def received(lab):
    return lab.net_stats("h2")["rx"]["packets"]
