# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""tests/profiles/hosts: which tests make a row, and what the table says of them."""

import argparse
import importlib.util
from importlib.machinery import SourceFileLoader

import pytest

from checklib import junit
from lablib.place import SOURCES

LOADER = SourceFileLoader("hosts", str(SOURCES / "tests/profiles/hosts"))
hosts = importlib.util.module_from_spec(importlib.util.spec_from_loader("hosts", LOADER))
LOADER.exec_module(hosts)


def case(test, result=junit.PASSED):
    return junit.Case(f"tests.vm.{test}[6.1-ours-4096]", result)


def test_columns_name_tests_that_there_are():
    for tests in hosts.COLUMNS.values():
        for test in tests:
            file, _, function = test.partition(".")
            source = (SOURCES / f"tests/vm/{file}.py").read_text()
            assert (f"def {function}(" if function else "def test_") in source, test


@pytest.mark.parametrize(("name", "column"), [
    ("test_ping.test_ping_flood_without_loss", "datagram"),
    ("test_connected.test_tcp_both_ways", "connected"),
    ("test_connected.test_receive_memory", None),
    ("test_ha.test_failover", "ha"), ("test_ha.test_soak", None), ("test_ha_routes.test_x", None)])
def test_the_column_of_a_case(name, column):
    assert hosts.column_of(case(name).name) == column


def test_a_field_says_how_many_have_passed():
    one, failed, skipped = (case("test_children.test_x", result)
                            for result in (junit.PASSED, junit.FAILED, junit.SKIPPED))
    assert hosts.said([]) == hosts.said([skipped]) == "-"
    assert hosts.said([one, one, skipped]) == "2"
    assert hosts.said([one, failed]) == "1 of 2"


def test_the_table_has_a_line_for_each_row():
    cases = [case("test_children.test_x"), case("test_ping.test_y", junit.FAILED)]
    lines = hosts.table({("mlx4", "ours", "mapped"): cases}, ["datagram", "children", "ha"]).splitlines()
    assert lines[1].split() == ["mlx4", "ours", "mapped", "0", "of", "1", "1", "-"]


def test_what_a_profile_cannot_have_is_left_out():
    args = argparse.Namespace(columns="datagram,connected", kernel="6.1")
    words = [str(word) for word in hosts.command("mlx5-enhanced", "ours", "mapped", args, "x.xml")]
    assert "tests/vm/test_ping.py" in words
    assert not any("test_connected" in word for word in words)
    assert words[words.index("-k") + 1].endswith(" and not 2048 and not connected")
    assert [one.reason for one in hosts.left_out("mlx5-enhanced", ["datagram", "connected"])] == [
        "the HCA accelerates"]
    args.columns = "connected,ethtool"      # nothing is left
    assert {one.result for one in hosts.run(("mlx5-enhanced", "ours", "mapped"), args)} == {junit.SKIPPED}
    words = [str(word) for word in hosts.command("mthca", "ours", "mapped", args, "x.xml")]
    assert "tests/vm/test_connected.py::test_tcp_both_ways" in words
    assert words[words.index("-k") + 1] == hosts.CHOSEN


@pytest.mark.parametrize(("status", "cases"), [
    (0, []), (5, []), (2, [case("test_ping.a")]), (1, [case("test_ping.a")]), ("not within 1 s", [case("a")]),
    (0, [case("test_ping.a", junit.FAILED)]), (0, [case("test_ping.a", junit.SKIPPED)])])
def test_a_row_that_has_not_come_to_its_end_has_failed(status, cases):
    assert hosts.judge(status, cases)[-1].result == junit.FAILED
    assert hosts.judge(status, cases)[-1].name == "run"
    assert "not to its end" in hosts.table({("a", "b", "c"): hosts.judge(status, cases)}, ["ha"])


def test_a_row_that_has():
    for status, cases in ((0, [case("test_ping.a")]), (1, [case("test_ping.a", junit.FAILED)])):
        assert hosts.judge(status, cases) == cases
