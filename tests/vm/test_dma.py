# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""HCAs whose memory has to be mapped: `--dma mapped`. What is wrong is a splat, too."""

import pytest

from harness import HOSTS, ipv4, other

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
