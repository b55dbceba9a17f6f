# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A run of the verbs programs that did not run is red: scripts/verbs with a fake pytest."""

import contextlib
import re
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import SimpleNamespace

import pytest
from checklib import junit

LOADER = SourceFileLoader("verbs", str(Path(__file__).resolve().parents[2] / "scripts/verbs"))
verbs = module_from_spec(spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(verbs)

PASSED = junit.Case("a", junit.PASSED)
FAILED = junit.Case("b", junit.FAILED, "broken")


@pytest.fixture(name="run")
def runner_with_a_fake_pytest(tmp_path, monkeypatch, capsys):
    """Exit status of scripts/verbs and names of the failed tests; pytest writes these cases or text."""
    def run(status, written, *words):
        def fake(command, **_):
            file = next(Path(word[11:]) for word in command if str(word).startswith("--junitxml="))
            if isinstance(written, str):
                file.write_text(written, encoding="utf-8")
            elif written is not None:
                junit.write(file, "vm", written)
            return SimpleNamespace(returncode=status)

        monkeypatch.setattr(verbs, "subprocess", SimpleNamespace(run=fake))
        monkeypatch.setattr(sys, "argv", ["verbs", "--kernel", "6.1", "--results", str(tmp_path), *words])
        return verbs.main(), re.findall(r"^failed: ([\w.]+):", capsys.readouterr().out, re.MULTILINE)
    return run


def test_passed_and_failed(run):
    assert run(0, [PASSED]) == (0, [])
    assert run(1, [PASSED, FAILED]) == (2, ["vm.b"])
    assert run(0, [PASSED, junit.Case("b", junit.PASSED)]) == (0, [])


@pytest.mark.parametrize("status, written", [
    (0, None), (0, []), (0, ""), (0, "<testsuite><testcase"), (1, None), (2, [PASSED]), (4, None),
    (5, []), (1, [PASSED]), (-9, [PASSED])])
def test_a_run_that_has_not_come_to_its_end(run, status, written):
    assert run(0, [PASSED]) == (0, [])
    assert run(status, written) == (2, ["6.1.run"])


def test_a_kernel_that_broke_beside_a_test_that_failed(run):
    status, failed = run(97, [FAILED])
    assert (status, sorted(failed)) == (2, ["6.1.run", "vm.b"])


def test_a_part_that_has_not_run_does_not_hide_behind_the_whole(run):
    assert run(0, [PASSED]) == (0, [])
    assert run(5, None, "-k", "nothing") == (2, ["6.1.run"])
    assert run(0, [PASSED], "-k", "nothing") == (0, [])


def test_the_kernel_of_uml_is_built_and_run(tmp_path, monkeypatch):
    built, ran = [], []

    def build(variant):
        built.append(variant.arch)
        return tmp_path

    monkeypatch.setattr(verbs.uml.build, "build", build)
    monkeypatch.setattr(verbs.uml, "modules", lambda tree: tree)
    monkeypatch.setattr(verbs.uml, "exclusive", contextlib.nullcontext)
    monkeypatch.setattr(verbs.uml, "RESULTS", tmp_path)
    monkeypatch.setattr(verbs.programs, "build", lambda _names: None)

    def fake(command, **_):
        ran.append([str(word) for word in command])
        junit.write(tmp_path / "verbs/results.xml", "vm", [PASSED])
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(verbs, "subprocess", SimpleNamespace(run=fake))
    verbs.run_uml([], tmp_path / "verbs-uml.xml")
    assert built == ["um"]
    assert ran[0][ran[0].index("--kernel") + 1] == str(tmp_path)
    assert [case.result for case in junit.read(tmp_path / "verbs-uml-run.xml")] == [junit.PASSED]
