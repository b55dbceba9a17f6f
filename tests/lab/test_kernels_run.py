# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""tests/kernels/run, with kernels and hosts that are none: what it tries, and what it says."""

import os
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from checklib import junit
from checklib.checks import Skip

RUN = Path(__file__).resolve().parents[2] / "tests/kernels/run"
RELEASES = {"bookworm": "6.1.0-9-amd64", "bookworm-security": "6.1.0-9-amd64",
            "sid": "7.3.4+deb14-amd64", "bookworm:ppc64el": "6.1.0-9-powerpc64le",
            "bookworm:s390x": "6.1.0-9-s390x"}


class Lab:
    """In place of scripts/lab: says what it was asked, and fails where it is told to."""

    def __init__(self):
        self.asked = []
        self.fails = ""
        self.release = ""

    def __call__(self, *words):
        command = " ".join(words)
        self.asked.append(command)
        if words[0] == "up":
            self.release = RELEASES[words[-1].removeprefix("h2=")]
        return (1, "no") if self.fails and self.fails in command else (0, f"{self.release}\n1\n1\n")


@pytest.fixture(name="run")
def load(monkeypatch, tmp_path):
    loader = SourceFileLoader("kernels_run", str(RUN))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    (tmp_path / "include/generated").mkdir(parents=True)
    (tmp_path / "include/generated/package.h").write_text('#define LINUX_PACKAGE_ID " Debian 6.1.1-1"\n')
    module.complaints = []
    monkeypatch.setattr(module, "lab", Lab())
    monkeypatch.setattr(module, "LOGS", tmp_path)
    monkeypatch.setattr(module.kernel_checks, "compilable", lambda name: name)
    monkeypatch.setattr(module.debian_suite, "release", RELEASES.__getitem__)
    monkeypatch.setattr(module.debian_suite, "fetch", lambda *_, **__: None)
    monkeypatch.setattr(module.kernel_builds, "headers", lambda name: tmp_path)
    monkeypatch.setattr(module.kernel_builds, "MIRROR", tmp_path)
    monkeypatch.setattr(module.kernel_builds, "whole", lambda name: module.complaints)
    monkeypatch.setattr(module.machine.shutil, "which", lambda name: name)
    return module


def results(kernel):
    return {case.name: case.result for case in kernel.cases}


def test_a_kernel_that_all_works_on(run):
    kernel = run.try_kernel("bookworm", set())
    assert results(kernel) == {"bookworm.build": junit.PASSED, "bookworm.hosts": junit.PASSED}
    assert kernel.row().split() == ["6.1.0-9-amd64", "(bookworm)", "6.1.1-1", "yes", "yes", "0", "yes",
                                    "yes", "-"]
    assert run.lab.asked[0] == "up --kernel bookworm"
    assert run.lab.asked[-1] == "down"


@pytest.mark.parametrize("fails, loads, pings", [
    ("up", "NO", "NO"), ("uname", "NO", "NO"), ("-c 20 -i 0.2 h2", "yes", "NO"),
    ("h2 -- sh -c echo connected", "yes", "NO"), ("60000", "yes", "NO"), ("down", "yes", "yes")])
def test_what_fails_is_a_failure(run, fails, loads, pings):
    run.lab.fails = fails
    kernel = run.try_kernel("bookworm", set())
    assert results(kernel)["bookworm.hosts"] == junit.FAILED
    assert kernel.row().split()[-3:-1] == [loads, pings]
    # A lab that has not come up is another's, if there is one.
    assert (run.lab.asked[-1] == "down") == (fails != "up")


def test_an_interrupted_run_leaves_no_hosts(run, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt
    monkeypatch.setattr(run, "talk", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run.try_kernel("bookworm", set())
    assert run.lab.asked[-1] == "down"


def test_an_image_that_cannot_be_had(run, monkeypatch):
    def fetch(*_, **__):
        raise run.LabError("no mirror")
    monkeypatch.setattr(run.debian_suite, "fetch", fetch)
    kernel = run.try_kernel("bookworm", set())
    assert results(kernel)["bookworm.hosts"] == junit.SKIPPED
    assert run.lab.asked == []


def test_warnings_are_counted(run, tmp_path, monkeypatch):
    run.complaints += ["sib.c:1: warning: no", "ipoib.c:1: error: no"]
    (tmp_path / RELEASES["sid"] / "drivers/sib").mkdir(parents=True)
    (tmp_path / RELEASES["sid"] / "drivers/ipoib").mkdir()
    (tmp_path / RELEASES["sid"] / "drivers/ipoib/ib_ipoib.ko").touch()      # of an earlier build
    os.utime(tmp_path / RELEASES["sid"] / "drivers/ipoib/ib_ipoib.ko", (1, 1))
    monkeypatch.setattr(run.kernel_builds, "whole", lambda _: (
        (tmp_path / RELEASES["sid"] / "drivers/sib/sib.ko").touch(), run.complaints)[1])
    kernel = run.try_kernel("sid", set())
    assert results(kernel)["sid.build"] == junit.FAILED
    assert kernel.row().split()[3:6] == ["NO", "yes", "2"]


def test_a_kernel_of_another_processor_boots_in_h2(run):
    run.try_kernel("bookworm:s390x", set())
    assert run.lab.asked[0] == "up --kernel h2=bookworm:s390x"


def test_a_processor_without_a_machine_is_built_for(run):
    kernel = run.try_kernel("bookworm:ppc64el", set())
    assert results(kernel) == {"bookworm:ppc64el.build": junit.PASSED,
                               "bookworm:ppc64el.hosts": junit.SKIPPED}
    assert run.lab.asked == []


def test_the_same_kernel_is_tried_once(run):
    seen = set()
    assert run.try_kernel("bookworm", seen)
    assert run.try_kernel("bookworm-security", seen) is None


def test_a_kernel_that_cannot_be_had_is_skipped(run, monkeypatch):
    def compilable(name):
        raise Skip(f"no headers of {name}")
    monkeypatch.setattr(run.kernel_checks, "compilable", compilable)
    kernel = run.try_kernel("sid", set())
    assert [(case.result, case.reason) for case in kernel.cases] == [(junit.SKIPPED, "no headers of sid")]


def test_kernel_units_that_were_run_before(run, tmp_path):
    assert run.units("6.1.0-9-s390x", "s390x") == ""
    junit.write(tmp_path / "processors.xml", "processors", [
        junit.Case("s390x.kunit.one", junit.PASSED), junit.Case("s390x.kunit.two", junit.FAILED, "no"),
        junit.Case("arm64.kunit.one", junit.PASSED), junit.Case("arm64-64k.kunit.one", junit.PASSED)])
    assert run.units("6.1.0-9-s390x", "s390x") == "1 passed, 1 failed"
    assert run.units("6.1.0-9-arm64", "arm64") == "1 passed, 0 failed"
    assert run.units("6.6.0-9-arm64", "arm64") == ""
    os.utime(tmp_path / "processors.xml", (1, 1))       # and sources have changed since
    assert run.units("6.1.0-9-arm64", "arm64") == ""
