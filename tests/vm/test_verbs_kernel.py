# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What programs cannot reach: the kernel's own consumers, and asynchronous events."""

import json

import pytest

from harness import GUEST, HOSTS, TEST_KERNELS, ipv4, on_hosts
from test_reload import add_link, comes_back, remove_link
from verbs_runner import PAIR, VETH, note

pytestmark = pytest.mark.verbs

DISK_MIB = 8


@pytest.mark.race
@pytest.mark.full
def test_events_and_draining(lab, record_property):
    done = lab.helper("h1", "verbs_events.py", "sib0", "sib0")
    assert json.loads(done.out)["begun before SQD"] in range(7)
    note(record_property, lab, "SRQ limit, SQ drained, last WQE reached", VETH)


def renew_hcas(lab):
    """ib_core keeps completion queues that consumers share for as long as the HCA."""
    for host in HOSTS:
        remove_link(lab, host)
    lab.run("h1", "lab-sm", "stop", check=False)
    for host in HOSTS:
        add_link(lab, host)
    lab.run("h1", "lab-sm", "start", check=False)
    on_hosts(lambda host: comes_back(lab, host))


def storage(lab, script, name, addresses, record_property):
    """h1 uses a disk of h2's; @addresses: what the ends call h1 and h2."""
    if lab.config.kernel in TEST_KERNELS:
        pytest.skip(f"the test kernels have no {name}")
    script = GUEST / script
    lab.run("h2", script, "export", addresses[0], DISK_MIB)
    try:
        lab.run("h1", script, "use", addresses[1], DISK_MIB, timeout=120)
    finally:
        lab.run("h2", script, "unexport")
        renew_hcas(lab)
    note(record_property, lab, name, PAIR, f"passed: {DISK_MIB} MiB written and read")


@pytest.mark.full
def test_nvme_over_rdma(lab, record_property):
    """Its host registers memory by requests, which its target invalidates by SENDs."""
    storage(lab, "nvme.sh", "NVMe over RDMA", [ipv4("h2")] * 2, record_property)


@pytest.mark.full
def test_scsi_over_rdma(lab, record_property):
    """Its initiator registers memory by requests, and invalidates it itself."""
    guids = [lab.read(host, "/sys/class/infiniband/sib0/ports/1/gids/0")[20:] for host in HOSTS]
    storage(lab, "srp.sh", "SCSI over RDMA", guids, record_property)
