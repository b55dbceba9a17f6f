# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""tests/distros/run, with steps that are none: what it counts, and what it leaves."""

import os
import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from checklib import junit

RUN = Path(__file__).resolve().parents[2] / "tests/distros/run"


@pytest.fixture(name="module")
def load(monkeypatch, tmp_path):
    loader = SourceFileLoader("distros_run", str(RUN))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    monkeypatch.setattr(module, "TOP", tmp_path)
    # In place of scripts/distro: the command in the folder of the checkout.
    script = tmp_path / "scripts/distro"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nmkdir -p "$2/upper/{module.CHECKOUT}/build/logs"\n'
                      f'cd "$2/upper/{module.CHECKOUT}/build/logs" && shift 3 && exec "$@"\n',
                      encoding="utf-8")
    script.chmod(0o755)
    return module


def step(module, name, text, *results):
    return module.Step(name, ("sh", "-c", text), results)


def try_steps(module, monkeypatch, *steps, is_kept=False):
    monkeypatch.setattr(module, "steps", lambda: list(steps))
    return {case.name: case.result
            for case in module.try_suite("trixie", [step.name for step in steps], is_kept)}


UNITS = """cat > unit.xml << END
<testsuite name="unit"><testcase name="a"/><testcase name="b"><skipped message="no"/></testcase></testsuite>
END"""


def test_counts_and_cleans(module, monkeypatch, tmp_path, capsys):
    found = try_steps(module, monkeypatch, step(module, "bootstrap", "true"),
                      step(module, "units", UNITS, "unit"))
    assert found == {"trixie.bootstrap": junit.PASSED, "trixie.units": junit.PASSED,
                     "trixie.a": junit.PASSED, "trixie.b": junit.SKIPPED}
    assert capsys.readouterr().out.endswith("trixie: 3 passed, 0 failed, 1 skipped\n")
    assert not (tmp_path / "build/distros/trixie").exists()


def test_a_failed_step_leaves_all_of_it(module, monkeypatch, tmp_path, capsys):
    found = try_steps(module, monkeypatch, step(module, "units", f"{UNITS}\nexit 2", "unit"),
                      step(module, "demo", "true"))
    assert found["trixie.units"] == junit.FAILED and found["trixie.demo"] == junit.PASSED
    assert "failed: units: status 2" in capsys.readouterr().out
    assert (tmp_path / "build/distros/trixie/upper").is_dir()


def test_without_results_it_has_failed(module, monkeypatch):
    """Not those of an earlier run."""
    units = step(module, "units", UNITS, "unit")
    assert try_steps(module, monkeypatch, units, is_kept=True)["trixie.units"] == junit.PASSED
    found = try_steps(module, monkeypatch, step(module, "units", "true", "unit"), is_kept=True)
    assert found == {"trixie.units": junit.PASSED, "trixie.unit": junit.FAILED}


def test_nothing_after_a_failed_bootstrap(module, monkeypatch, tmp_path):
    found = try_steps(module, monkeypatch, step(module, "bootstrap", "exit 1"),
                      step(module, "demo", f"touch {tmp_path}/ran"))
    assert found == {"trixie.bootstrap": junit.FAILED, "trixie.demo": junit.SKIPPED}
    assert not (tmp_path / "ran").exists()


def test_unknown_suite():
    done = subprocess.run([RUN, "etch"], capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 1 and "no suite 'etch'" in done.stderr


def test_steps_are_commands_that_there_are(module):
    for entry in module.steps():
        name = entry.command[0]
        assert "/" not in name or (RUN.parents[2] / name).exists()
    checks = subprocess.run([RUN.parents[2] / "scripts/check", "--help"], capture_output=True, text=True,
                            check=True).stdout
    assert all(f"\n  {name} " in checks for name in module.CHECKS)
