# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which programs a scenario of the stack takes, as its text has them."""

import pytest

from kernellib import stack


@pytest.mark.parametrize("scenario, programs", (
    ("ping", []), ("bond", ["ib-bond"]), ("fabric", ["ibfabric", "ibfabric-ctl"]),
    ("ha-soak", ["ipoib-ha", "ibfabric", "ibfabric-ctl"])))
def test_programs(scenario, programs):
    assert stack.programs_of(scenario) == programs


def test_every_program_is_for_a_scenario():
    taken = {program for name in stack.names() for program in stack.programs_of(name)}
    assert taken == {*stack.BINARIES.values(), "ibfabric-ctl"}
