# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The distribution's verbs and RDMA CM programs on the software HCA."""

import pytest
import verbs_programs
from verbs_runner import PAIR, VETH, at, run_all


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
