# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""rdma-core's own test suite: all of it passes, or is skipped for a good reason."""

import collections
import json
import re

import pytest

from verbs_runner import VETH, note

pytestmark = pytest.mark.verbs

# Reasons for which the suite may skip a test: what sib does not offer, or the
# distribution's provider for it does not, or no machine without hardware has.
# The test (a regular expression), the reason (the same), and what is missing.
SKIPS = [
    (r"mlx5", r"mlx5|MLX5|PCI device must be passed|FDs file not found", "another HCA's own interface"),
    (r"efa", r"EFA device", "another HCA's own interface"),
    (r"", r"Ethernet link layer|skip RoCE test", "Ethernet link layer"),
    (r"udp_sport", r"No supported port is up", "Ethernet link layer"),
    (r"", r"ODP is not supported", "on-demand paging"),
    (r"", r"XRCD is not supported", "XRC"),
    (r"", r"Device memory is not supported", "device memory"),
    (r"", r"Create MW is not supported|memory window of type 3", "memory windows"),
    (r"", r"Rereg MR is not supported", "ibv_rereg_mr (provider)"),
    (r"", r"Parent Domain is not supported", "parent domains (provider)"),
    (r"", r"Extended CQ is not supported", "extended CQs (provider)"),
    (r"", r"Extended QP is not supported|extended attrs is not supported",
     "extended QPs (provider)"),
    (r"", r"Query device real time|No PHC or failed to open", "timestamps"),
    (r"cuda|Cuda", r"CUDA", "a GPU"),
    (r"", r"Allocating dmabuf is not supported by /dev/dri|/dev/dri/\w+ is not present", "a GPU"),
    (r"flush", r"additional access flags 258 is not supported", "RDMA FLUSH"),
    (r"resize_srq", r"SRQ resize is not supported", "resizing of shared receive queues, as with mlx5"),
    (r"dmah", r"Failed to create DMA Handle. Errno: 95", "DMA handles, as no HCA but mlx5 has them"),
    (r"test_buf", r"CC PD is not supported|does not report CC_DMA_BOUNCE", "confidential computing"),
    (r"query_port_speed", r"query_port_speed is not supported", "ibv_query_port_speed, see docs/kernels.md"),
    (r"gid_ex_bad_flow", r"All gid indices populated", "an empty GID the suite could find"),
]
IN_UML = [(r"", r"Huge pages of size 2M is not supported", "huge pages")]


def missing(result, skips):
    """What a skipped test lacks; None if that is no reason to skip it."""
    return next((what for test, reason, what in skips
                 if re.search(test, result["test"]) and re.search(reason, result["why"])), None)


@pytest.mark.full
def test_pyverbs_suite(lab, record_property):
    # For the suite's tests with pages of 2 MiB.
    lab.sh("h1", "echo 16 > /proc/sys/vm/nr_hugepages", check=False)
    try:
        done = lab.helper("h1", "pyverbs_suite.py", "sib0", timeout=300)
    finally:
        lab.sh("h1", "echo 0 > /proc/sys/vm/nr_hugepages", check=False)
    results = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    failed = [f"{r['test']}: {r['why']}" for r in results if r["result"] == "failed"]
    skips = SKIPS + (IN_UML if lab.config.kernel == "uml" else [])
    skipped = [(r, missing(r, skips)) for r in results if r["result"] == "skipped"]
    for result, what in skipped:
        print(f"skipped: {result['test']}: {what}: {result['why']}")
    wrong = [f"{r['test']}: {r['why']}" for r, what in skipped if what is None]
    passed = [r["test"] for r in results if r["result"] == "passed"]
    note(record_property, lab, "pyverbs suite", VETH,
         f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    for what, count in collections.Counter(what for _, what in skipped).items():
        note(record_property, lab, f"  for want of {what}", VETH, f"{count} skipped")
    assert not failed, "\n".join(failed)
    assert not wrong, "skipped without a good reason:\n" + "\n".join(wrong)
    for module in ("test_rdmacm", "test_mr", "test_qp", "test_cq", "test_atomic", "test_device"):
        assert any(f".{module}." in test for test in passed), f"nothing of {module} has passed"
