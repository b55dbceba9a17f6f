# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""scripts/check says at any time what it has done and what it has not."""

import subprocess
import sys
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
from checklib import junit

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/check"
LOADER = SourceFileLoader("check", str(SCRIPT))
check = module_from_spec(spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(check)

# scripts/check with three checks, of which the second does not end
ENDLESS = f"""
import sys, time
sys.path.insert(0, "{SCRIPT.parent}")
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
loader = SourceFileLoader("check", "{SCRIPT}")
check = module_from_spec(spec_from_loader(loader.name, loader))
loader.exec_module(check)

def good():
    "Good."
    return []

def endless():
    "Endless."
    time.sleep(1000)

def later():
    "Later."
    return []

check.LOGS = Path.cwd()
check.CHECKS = (good, endless, later)
sys.argv[1:] = ["--junit", "x.xml"]
sys.exit(check.main())
"""


@pytest.fixture(name="run")
def runner_of_fake_checks(tmp_path, monkeypatch):
    """Exit status of scripts/check with these checks, and the results by name."""
    def run(*checks):
        monkeypatch.setattr(check, "LOGS", tmp_path)
        monkeypatch.setattr(check, "CHECKS", checks)
        monkeypatch.setattr(check, "CXX", ())
        monkeypatch.setattr(sys, "argv", ["check", "--junit", str(tmp_path / "x.xml")])
        status = check.main()
        return status, {case.name: (case.result, case.reason) for case in
                        junit.read(tmp_path / "x.xml")}
    return run


def good():
    """Good."""
    return []


def bad():
    """Bad."""
    return ["one thing", "another"]


def broken():
    """Broken."""
    raise RuntimeError("no tool")


def left_out():
    """Left out."""
    raise check.checks.Skip("nothing there")


def test_results(run):
    assert run(good) == (0, {"check.good": (junit.PASSED, "")})
    assert run(good, bad, broken, left_out) == (2, {
        "check.good": (junit.PASSED, ""), "check.bad": (junit.FAILED, "one thing"),
        "check.broken": (junit.FAILED, "no tool"), "check.left-out": (junit.SKIPPED, "nothing there")})


def test_what_is_known_while_it_runs(run, tmp_path):
    def middle():
        """In the middle."""
        seen.update({case.name: case.reason for case in junit.read(tmp_path / "x.xml")})
        return []

    seen = {}
    assert run(good, middle, bad)[0] == 2
    assert seen == {"check.good": "", "check.middle": "started, not finished", "check.bad": "not started"}


def test_ended(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", ENDLESS], cwd=tmp_path)
    try:
        deadline = time.monotonic() + 30
        while not (tmp_path / "x.xml").exists() or \
                junit.read(tmp_path / "x.xml")[1].reason == "not started":
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.terminate()
    assert process.wait(30) != 0
    assert [(case.result, case.reason) for case in junit.read(tmp_path / "x.xml")] == [
        (junit.PASSED, ""), (junit.FAILED, "started, not finished"), (junit.FAILED, "not started")]
