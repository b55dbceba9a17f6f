# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The runner counts what happened, and does not take nothing for success."""

from pathlib import Path

import pytest

from checklib import junit, suites


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.setattr(suites, "LOGS", tmp_path)
    return lambda *command, seconds=30: suites.Suite(
        "sample", "a sample", "Makefile", [list(command)], seconds)


def test_round_trip(tmp_path):
    cases = [junit.Case("a", junit.PASSED, seconds=1.5), junit.Case("b", junit.FAILED, "broken"),
             junit.Case("c", junit.SKIPPED, "no way")]
    junit.write(tmp_path / "x.xml", "s", cases)
    seen = junit.read(tmp_path / "x.xml")
    assert [(c.name, c.result, c.reason) for c in seen] == \
        [("s.a", "passed", ""), ("s.b", "failed", "broken"), ("s.c", "skipped", "no way")]


def test_pytest_error_is_a_failure(tmp_path):
    path = Path(tmp_path / "x.xml")
    path.write_text("<testsuites><testsuite><testcase name='a'><error message='setup'/>"
                    "</testcase></testsuite></testsuites>")
    assert junit.read(path)[0].result == junit.FAILED


def results(suite):
    suites.run(suite)
    return [(case.result, case.reason) for case in suite.cases]


def test_no_results_is_a_failure(suite):
    assert results(suite("true")) == [(junit.FAILED, "no test ran")]


def test_status_counts_even_without_a_failed_case(suite):
    (result, reason), = results(suite("false"))
    assert result == junit.FAILED and "status 1" in reason


def test_all_skipped_is_a_failure(suite, tmp_path):
    junit.write(tmp_path / "source.xml", "s", [junit.Case("a", junit.SKIPPED, "none")])
    sample = suite("cp", tmp_path / "source.xml", tmp_path / "sample.xml")
    assert [result for result, _ in results(sample)] == [junit.SKIPPED, junit.FAILED]


def test_late_suite_is_ended(suite):
    (result, reason), = results(suite("sh", "-c", "sleep 1000 & wait", seconds=1))
    assert (result, "not done within 1 s" in reason) == (junit.FAILED, True)
