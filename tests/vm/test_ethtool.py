# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""ethtool on our interfaces: rings that change under traffic, and what is refused."""

import re

import pytest

from harness import ipv4, ipv6

RINGS = [(64, 64), (4096, 2048), (1024, 512)]     # the last ones are the default


REFUSED = [
    ("-G ib0 rx 32", "rings take 64 packets or more"),
    ("-G ib0 tx 16384", "exceeds maximum"),
    ("-C ib0 rx-usecs 5", "the HCA cannot moderate completions"),
    ("-C ib0 rx-frames 5", "frames need usecs"),
    ("-L ib0 combined 2", "exceeds maximum"),
]


def rings(lab, host):
    current = lab.out(host, "ethtool", "-g", "ib0").split("Current")[1]
    return tuple(int(re.search(rf"^{kind}:\s+(\d+)", current, re.MULTILINE)[1])
                 for kind in ("RX", "TX"))


@pytest.mark.race
@pytest.mark.full
@pytest.mark.ours_only
def test_rings_change_under_traffic(lab):
    address = "/sys/class/net/ib0/address"
    with lab.background("h2", "ping", "-q", "-i", "0.02", ipv4("h1")) as pings:
        for rx, tx in RINGS:
            before = lab.read("h1", address)
            lab.run("h1", "ethtool", "-G", "ib0", "rx", str(rx), "tx", str(tx))
            assert rings(lab, "h1") == (rx, tx)
            now = lab.read("h1", address).strip()
            assert now != before.strip()
            lab.wait("h2", f"ip neigh show {ipv4('h1')} | grep -q {now}", 20,
                     "h2 hears of the new hardware address")
            lab.reachable("h2", ipv4("h1"), ipv6("h1"), deadline=20)
        pings.stop()


@pytest.mark.full
@pytest.mark.ours_only
def test_what_is_refused(lab):
    before = rings(lab, "h1")
    for words, why in REFUSED:
        done = lab.run("h1", "ethtool", *words.split(), check=False)
        assert done.status and why in done.err, str(done)
    assert rings(lab, "h1") == before
