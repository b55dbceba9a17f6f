# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Programs for other processors: what is built for which, what is skipped, what fails."""

import struct
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
from checklib import cross, junit
from lablib.error import LabError

PROGRAM = Path(__file__).resolve().parents[2] / "scripts/cross-build"
HEADS = {"arm64": b"\x7fELF\x02\x01" + bytes(10) + struct.pack("<HH", 3, 183),
         "s390x": b"\x7fELF\x02\x02" + bytes(10) + struct.pack(">HH", 3, 22)}


@pytest.fixture
def cross_build(monkeypatch):
    """The script: a function of its arguments that returns its exit status."""
    loader = SourceFileLoader("cross_build", str(PROGRAM))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["cross-build", *map(str, words)])
        return module.main()
    return call


def installed(folder, processor, *names):
    """Put programs for @processor where a build installs them."""
    place = folder / "root/usr/sbin"
    place.mkdir(parents=True)
    for name in names:
        (place / name).write_bytes(HEADS[processor])
    return [place / name for name in names]


def test_names_of_processors():
    assert cross.triplet("arm64") == "aarch64-linux-gnu"
    assert cross.emulator("arm64") == "qemu-aarch64"
    assert cross.emulator("s390x") == "qemu-s390x"


def test_programs_are_those_that_were_installed(tmp_path):
    paths = installed(tmp_path, "s390x", "ib-bond", "openib")
    (paths[0].parent / "ipoib_ha").symlink_to("ib-bond")
    (paths[0].parent / "script").write_text("#!/bin/sh\n", encoding="utf-8")
    assert cross.programs(tmp_path) == paths


@pytest.mark.parametrize("processor", cross.PROCESSORS)
def test_the_header_of_a_program(tmp_path, processor):
    path, = installed(tmp_path, processor, "openib")
    assert cross.elf(path) == cross.PROCESSORS[processor]


def attempt(monkeypatch, path, status=0, said="openib: loads the stack"):
    """What comes of trying the program @path for s390x, if the emulator says @said."""
    monkeypatch.setattr(cross.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess(
        [], status, said, "wrong"))
    return cross.attempt(path, "s390x", Path("/sysroot"))


def test_a_program_has_to_be_for_its_processor_and_run(tmp_path, monkeypatch):
    path, = installed(tmp_path, "s390x", "openib")
    assert attempt(monkeypatch, path) == junit.Case("s390x.openib", junit.PASSED)
    assert attempt(monkeypatch, path, status=1).result == junit.FAILED
    assert attempt(monkeypatch, path, said="").result == junit.FAILED
    path.write_bytes(HEADS["arm64"])
    assert attempt(monkeypatch, path).reason == "its ELF header says (2, 'little', 183)"


def test_what_is_left_out_is_skipped_with_the_reason(monkeypatch):
    left_out = {"^Netlink": (("s390x",), "no netlink"), "^Gone": (("s390x", "arm64"), "gone")}
    monkeypatch.setattr(cross, "LEFT_OUT", left_out)
    gone = junit.Case("^Gone", junit.FAILED, "left out, but there is no such test")
    names = ["Netlink.One", "Bytes.Two"]
    assert cross.left_out("s390x", names) == [
        junit.Case("Netlink.One", junit.SKIPPED, "no netlink"), gone]
    assert cross.left_out("arm64", names) == [gone]


def test_units_that_do_not_run_are_no_success(monkeypatch, tmp_path):
    monkeypatch.setattr(cross, "LEFT_OUT", {})
    monkeypatch.setattr(cross.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 8, ""))
    assert cross.units("arm64", tmp_path) == [
        junit.Case("arm64.units", junit.FAILED, "no unit test passed")]


@pytest.mark.parametrize("absent", ("aarch64-linux-gnu-g++", "qemu-aarch64"))
def test_without_a_compiler_or_an_emulator(monkeypatch, tmp_path, capsys, cross_build, absent):
    monkeypatch.setattr(cross.shutil, "which", lambda name: None if name == absent else name)
    assert cross_build("arm64", tmp_path) == 3
    assert f"no {absent} here (scripts/bootstrap features)" in capsys.readouterr().err
    assert cross_build("--test", "--junit", tmp_path / "out.xml", "arm64") == 0
    assert [case.result for case in junit.read(tmp_path / "out.xml")] == [junit.SKIPPED]


def test_without_libraries(monkeypatch, tmp_path):
    def fail(*_):
        raise LabError("no mirror")

    monkeypatch.setattr(cross, "lacking", lambda processor: [])
    monkeypatch.setattr(cross.foreign, "provide", fail)
    case, = cross.cases("s390x", tmp_path)
    assert case == junit.Case("s390x", junit.SKIPPED, "no libraries for s390x can be had: no mirror")


def test_what_does_not_build_fails(monkeypatch, tmp_path, cross_build):
    def fail(*_, **__):
        raise subprocess.CalledProcessError(1, ["cmake", "-S"])

    monkeypatch.setattr(cross, "sysroot", lambda processor: tmp_path)
    monkeypatch.setattr(cross.subprocess, "run", fail)
    assert cross_build("s390x", tmp_path) == 2
    assert cross_build("--test", "s390x", tmp_path) == 2
    assert cross.cases("s390x", tmp_path)[0].reason == "cmake -S: status 1"


def test_a_build_that_installs_nothing_fails(monkeypatch, tmp_path):
    monkeypatch.setattr(cross, "build", lambda processor, folder: tmp_path)
    monkeypatch.setattr(cross, "units", lambda processor, folder: [])
    assert [case.name for case in cross.cases("arm64", tmp_path)] == ["arm64.programs"]


def test_every_processor_is_tried(monkeypatch, cross_build):
    tried = []
    monkeypatch.setattr(cross, "cases", lambda processor, folder: tried.append((processor, folder))
                        or [junit.Case(processor, junit.PASSED)])
    assert cross_build("--test") == 0
    assert tried == [(processor, cross.BUILD / "cross" / processor) for processor in cross.PROCESSORS]


@pytest.mark.parametrize("words", [(), ("m68k",), ("--no-such-option",)])
def test_usage(cross_build, words):
    with pytest.raises(SystemExit, match="^1$"):
        cross_build(*words)
