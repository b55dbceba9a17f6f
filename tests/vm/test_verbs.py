# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The distribution's verbs and RDMA CM programs on the software HCA."""

import contextlib

import pytest
import verbs_programs
from harness import GUEST, HOSTS, ipv4, on_hosts, until
from verbs_runner import PAIR, VETH, at, note, run_all

pytestmark = pytest.mark.verbs


@pytest.mark.race
def test_a_few_programs(lab, record_property):
    few = [program for family in verbs_programs.FAMILIES.values() for program in family
           if program.smoke]
    run_all(lab, PAIR, few, record_property)


@pytest.mark.full
@pytest.mark.parametrize("place", [PAIR, VETH], ids=["pair", "veth"])
@pytest.mark.parametrize("family", verbs_programs.FAMILIES)
def test_all_programs(lab, place, family, record_property):
    with at(lab, place):
        run_all(lab, place, verbs_programs.FAMILIES[family], record_property)


@pytest.mark.full
def test_ibacm(lab, record_property):
    """It resolves addresses by datagrams to its peer, and paths by the SA."""
    with contextlib.ExitStack() as stack:
        for host in HOSTS:
            stack.enter_context(lab.background(host, GUEST / "acm.sh", ipv4(host), "sib0"))
        on_hosts(lambda host: until(lambda: lab.ok(host, "ib_acme", "-e"), 30, "ibacm answers"))
        for host, peer in zip(HOSTS, reversed(HOSTS), strict=True):
            for cached in ([], ["-c"]):
                said = lab.out(host, "ib_acme", "-f", "i", "-s", ipv4(host), "-d", ipv4(peer),
                               "-v", *cached)
                assert "SA verification: success" in said, said
        unknown = lab.run("h1", "ib_acme", "-f", "i", "-s", ipv4("h1"), "-d", "10.10.0.77",
                          check=False)
        assert "Path information" not in unknown.out, str(unknown)
    note(record_property, lab, "ibacm, ib_acme", PAIR)
