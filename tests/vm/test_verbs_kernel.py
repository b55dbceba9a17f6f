# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What programs cannot reach: the kernel's own consumers, and asynchronous events."""

import json

import pytest

from harness import GUEST, HOSTS, TEST_KERNELS, ipv4, on_hosts
from test_reload import add_link, comes_back, remove_link

DISK_MIB = 8


@pytest.mark.full
def test_events_and_draining(lab):
    done = lab.helper("h1", "verbs_events.py", "sib0", "sib0")
    assert json.loads(done.out)["begun before SQD"] in range(7)


def renew_hcas(lab):
    """ib_core keeps completion queues that consumers share for as long as the HCA."""
    for host in HOSTS:
        remove_link(lab, host)
    lab.run("h1", "lab-sm", "stop", check=False)
    for host in HOSTS:
        add_link(lab, host)
    lab.run("h1", "lab-sm", "start", check=False)
    on_hosts(lambda host: comes_back(lab, host))


@pytest.mark.full
def test_nvme_over_rdma(lab, record_property):
    """Its host registers memory by requests, which its target invalidates by SENDs."""
    if lab.config.kernel in TEST_KERNELS:
        pytest.skip("the test kernels have no NVMe")
    script = GUEST / "nvme.sh"
    lab.run("h2", script, "export", ipv4("h2"), DISK_MIB)
    try:
        lab.run("h1", script, "use", ipv4("h2"), DISK_MIB, timeout=120)
    finally:
        lab.run("h2", script, "unexport")
        renew_hcas(lab)
    record_property("program", ("NVMe over RDMA", f"{lab.config.kernel}, two hosts", "passed", 0))
