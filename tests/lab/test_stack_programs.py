# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which programs a scenario of the stack takes, as its text has them."""

import re

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


def test_every_knob_of_a_scenario_reaches_it():
    """What a scenario takes from the environment, with a default, is passed on to its kernel."""
    found = {knob for scenario in stack.SCENARIOS.glob("*.sh")
             for knob in re.findall(r"\$\{([A-Z_]+):-(?:\d+|\$\(.*\))\}", scenario.read_text())}
    assert found == set(stack.KNOBS)
