# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The table of features: what the results of tests prove, and where."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
from checklib import junit

LOADER = SourceFileLoader("features", str(Path(__file__).resolve().parents[2] / "scripts/features"))
features = module_from_spec(spec_from_loader(LOADER.name, LOADER))
sys.modules[LOADER.name] = features     # where a dataclass looks for its module
LOADER.exec_module(features)

BOTH = ["6.1", "6.12"]


def case(name, result=junit.PASSED):
    return junit.Case(name, result)


def write(folder, name, *cases):
    junit.write(folder / name, name.split(".")[0].split("-")[0], cases)


def judge(folder, *tests, wanted=BOTH):
    row = features.Feature("section", "feature", "no", "yes", list(tests))
    return features.judge(row, features.read_results(folder, BOTH), wanted)


@pytest.fixture(name="folder")
def results_of_both(tmp_path):
    write(tmp_path, "stack.xml", case("stack.ping"), case("stack.tcp"))
    write(tmp_path, "stack-6.12.xml", case("stack.ping"))
    write(tmp_path, "kunit.xml", case("ipoib_tx.one"), case("ipoib_tx.two"), case("ipoib_txq.one"))
    write(tmp_path, "kunit-6.12.xml", case("ipoib_tx.one"), case("ipoib_tx.two"))
    (tmp_path / "vm.xml").write_text(
        '<testsuite><testcase classname="test_ping" name="test_echo[6.1-ours-4096]"/>'
        '<testcase classname="test_ping" name="test_echo[6.12-ours-4096]"/></testsuite>',
        encoding="utf-8")
    return tmp_path


def test_proven_where_all_tests_have_passed(folder):
    assert judge(folder, "stack:ping", "kunit:ipoib_tx", "vm:test_ping::test_echo") == (
        "proven on 6.1, 6.12", True)
    assert judge(folder, "stack:ping", "stack:tcp", wanted=[]) == ("proven on 6.1", True)


def test_one_kernel_is_missing(folder):
    assert judge(folder, "stack:ping", "stack:tcp") == ("not run on 6.12: stack:tcp", False)
    assert judge(folder, "kunit:ipoib_txq") == ("not run on 6.12: kunit:ipoib_txq", False)


def test_a_case_of_a_suite_failed_on_one_kernel(folder):
    write(folder, "kunit-6.12.xml", case("ipoib_tx.one"), case("ipoib_tx.two", junit.FAILED))
    assert judge(folder, "kunit:ipoib_tx") == ("FAILED: kunit:ipoib_tx", False)
    assert judge(folder, "kunit:ipoib_tx.one") == ("proven on 6.1, 6.12", True)


def test_skipped_is_not_run(folder):
    write(folder, "stack.xml", junit.Case("stack.tcp", junit.SKIPPED, "no TCP here"))
    assert judge(folder, "stack:tcp", wanted=[]) == ("not run: stack:tcp; no TCP here", False)


def test_no_test_proves_nothing_but_is_no_failure(folder):
    assert judge(folder) == ("not proven", True)


@pytest.mark.parametrize("name", ["ipoib_tx_kunit.kasan", "ipoib_tx_kunit", "kunit.kmemleak", "kunit.kernel"])
def test_kernel_units_that_splat_prove_nothing(folder, name):
    write(folder, "kunit.xml", case("ipoib_tx.one"), case("ipoib_tx.two"), case(name, junit.FAILED))
    assert judge(folder, "kunit:ipoib_tx", wanted=[]) == ("FAILED: kunit:ipoib_tx", False)
    assert judge(folder, "kunit:ipoib_tx.one", wanted=[]) == ("FAILED: kunit:ipoib_tx.one", False)


def test_the_splat_of_another_module_is_its_own(folder):
    write(folder, "kunit.xml", case("ipoib_tx.one"), case("ipoib_txq_kunit.kasan", junit.FAILED))
    assert judge(folder, "kunit:ipoib_tx", wanted=[]) == ("proven on 6.1, 6.12", True)
