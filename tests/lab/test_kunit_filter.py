# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Kernel units by name: which modules a filter means, and that no others are built."""

import subprocess
from argparse import Namespace
from fnmatch import fnmatch
from pathlib import Path

import pytest

from checklib import junit
from kernellib import kunit, uml


def test_each_suite_is_a_module():
    assert sorted(kunit.names()) == sorted(path.stem for path in kunit.SUITES.glob("*_kunit.c"))


@pytest.mark.parametrize("patterns, names", [
    ("*", kunit.names()),
    ("ipoib_gid_kunit", ["ipoib_gid_kunit"]),
    ("ipoib_gid*", ["ipoib_gid_kunit"]),
    ("sib_wire,ipoib_gid", ["sib_wire_kunit", "ipoib_gid_kunit"]),
    ("sib_rc", [name for name in kunit.names() if fnmatch(name, "sib_rc*")]),
    ("planted", []),
    ("", []),
    (",", []),
])
def test_what_a_filter_means(patterns, names):
    assert kunit.matching(patterns) == names


def built(*words):
    """The objects that the Kbuild of the suites asks for."""
    done = subprocess.run(["make", "-s", "--no-print-directory", "-f", "-", f"src={kunit.SUITES}", *words],
                          input="include $(src)/Kbuild\n$(info $(obj-m))\nall:;@:\n", text=True,
                          stdout=subprocess.PIPE, check=True)
    return [name.removesuffix(".o") for name in done.stdout.split()]


def test_what_the_kbuild_builds():
    assert built() == kunit.names()
    assert built("SUITES=") == kunit.names()
    assert built("SUITES=ipoib_gid_kunit sib_wire_kunit") == ["sib_wire_kunit", "ipoib_gid_kunit"]


def cases(monkeypatch, tmp_path, patterns):
    """The cases of a run in which every suite passes, and the words that make was given."""
    asked = []

    def compile_modules(tree, place, *words):
        asked.append((place.name, *words))
        names = next((word.removeprefix("SUITES=").split() for word in words if "SUITES=" in word), [])
        return [place / f"{name}.ko" for name in names]

    monkeypatch.setattr(uml, "RESULTS", tmp_path)
    monkeypatch.setattr(uml, "kernel", lambda args: tmp_path)
    monkeypatch.setattr(uml, "modules", lambda tree: tmp_path)
    monkeypatch.setattr(uml, "compile_modules", compile_modules)
    monkeypatch.setattr(kunit.Kernel, "boot", lambda *_: 0)
    monkeypatch.setattr(kunit, "evaluate", lambda out, modules, status: [
        junit.Case(f"{Path(module).stem}.one", junit.PASSED) for module in modules])
    monkeypatch.setattr(kunit, "check_planted", lambda kernel, modules: [])
    args = Namespace(kernel="uml", filter=patterns, coverage=False, no_planted=False)
    return [case.name for case in kunit.cases(args)], asked


def test_only_what_matches_is_built(monkeypatch, tmp_path):
    found, asked = cases(monkeypatch, tmp_path, "ipoib_gid")
    assert found == ["ipoib_gid_kunit.one"] and asked == [("kunit", "SUITES=ipoib_gid_kunit")]
    found, asked = cases(monkeypatch, tmp_path, "nothing")
    assert not found and not asked


def test_planted_faults_without_a_suite(monkeypatch, tmp_path):
    found, asked = cases(monkeypatch, tmp_path, "planted")
    assert not found and asked == [("planted",)]


def test_all_suites_are_built_with_planted_faults(monkeypatch, tmp_path):
    found, asked = cases(monkeypatch, tmp_path, "*")
    assert len(found) == len(kunit.names())
    assert [words[0] for words in asked] == ["kunit", "planted"]
