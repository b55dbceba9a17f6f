# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Results as KUnit prints them: with the plan of a module, which Linux has since 6.7, or without."""

from checklib import junit
from kernellib import ktap

SUITE = ["    # Subtest: tx", "    1..2", "    ok 1 one", "    ok 2 two", "ok 1 tx"]


def results(*lines):
    return [(case.name, case.result) for case in ktap.parse([*lines])]


def test_a_module_with_a_plan_and_without():
    passed = [("tx.one", junit.PASSED), ("tx.two", junit.PASSED)]
    assert results(*SUITE) == passed
    assert results("1..1", *SUITE) == passed


def test_a_suite_that_was_planned_is_missing():
    assert results("1..2", *SUITE)[-1] == ("end", junit.FAILED)


def test_a_suite_without_its_result():
    assert results("1..1", *SUITE[:-1])[-1] == ("end", junit.FAILED)
