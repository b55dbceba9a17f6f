# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The test kernels' sources: unpacked whole, left in part, and whole again."""

import subprocess
import tarfile

import pytest
from kernellib import build, source
from lablib.error import LabError

PACKAGE = "linux-source-0"
FILES = ("Makefile", "include/linux/skbuff.h", "scripts/Makefile.build", "net/core/skbuff.c",
         "arch/Kconfig", "arch/x86/Makefile", "arch/arm/Makefile", "tools/objtool/check.c",
         "tools/perf/perf.c")
NEEDED = ("Makefile", "include/linux/skbuff.h", "scripts/Makefile.build", "arch/Kconfig",
          "arch/x86/Makefile", "tools/objtool/check.c")


@pytest.fixture(name="cache")
def small_sources(tmp_path, monkeypatch):
    tree = tmp_path / "linux-source"
    for name in FILES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name, encoding="utf-8")
    with tarfile.open(tmp_path / f"{PACKAGE}.tar.xz", "w:xz") as archive:
        archive.add(tree, tree.name)
    monkeypatch.setattr(source, "tarball", lambda package: tmp_path / f"{package}.tar.xz")
    monkeypatch.setattr(build, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(source, "version", lambda package: "1")
    return tmp_path / "cache"


def files(place):
    return sorted(str(path.relative_to(place)) for path in place.rglob("*")
                  if path.is_file() and path.name != ".whole")


def test_whole_then_what_modules_need(cache):
    place = build.unpack(PACKAGE)
    assert files(place) == sorted(FILES)
    build.prune_source(PACKAGE)
    assert files(place) == sorted(NEEDED)
    assert [path.name for path in cache.iterdir()] == [place.name]


def test_what_modules_compile_against_stays(cache):
    place = build.unpack(PACKAGE)
    build.prune_source(PACKAGE)
    before = {name: (place / name).stat().st_ino for name in NEEDED}
    assert build.unpack(PACKAGE) == place
    assert files(place) == sorted(FILES)
    assert {name: (place / name).stat().st_ino for name in NEEDED} == before
    assert [path.name for path in cache.iterdir()] == [place.name]


@pytest.mark.usefixtures("cache")
def test_ended_while_pruning(monkeypatch):
    place = build.unpack(PACKAGE)
    with monkeypatch.context() as patch:
        patch.setattr(build.shutil, "rmtree", lambda *_, **__: None)
        build.prune_source(PACKAGE)
    build.unpack(PACKAGE)
    build.prune_source(PACKAGE)
    assert files(place) == sorted(NEEDED)
    assert files(build.unpack(PACKAGE)) == sorted(FILES)


@pytest.mark.usefixtures("cache")
def test_ended_while_unpacking(monkeypatch):
    def ended(command, what, **_):
        subprocess.run([*command, "--occurrence=1", "linux-source/include/linux/skbuff.h"],
                       check=True)
        raise build.BuildError(what)

    with monkeypatch.context() as patch:
        patch.setattr(build, "_run", ended)
        with pytest.raises(build.BuildError):
            build.unpack(PACKAGE)
    assert files(build.unpack(PACKAGE)) == sorted(FILES)


class Apt:
    """In place of apt: a package whose archive says which package it is of."""

    asked: list = []

    def __init__(self, suite, folder):
        Apt.asked.append(suite)

    def get(self, *words, cwd=None):
        if words[0] == "download":
            root = cwd / "root"
            (root / "DEBIAN").mkdir(parents=True)
            (root / "usr/src").mkdir(parents=True)
            (root / f"usr/src/{words[1]}.tar.xz").write_text(words[1])
            (root / "DEBIAN/control").write_text(
                f"Package: {words[1]}\nVersion: 6.1-7\nArchitecture: all\n"
                "Maintainer: x <x@invalid>\nDescription: x\n")
            subprocess.run(["dpkg-deb", "-b", "-Znone", root, cwd / "x.deb"], check=True,
                           stdout=subprocess.DEVNULL)


@pytest.fixture(name="without_package")
def no_installed_package(monkeypatch, tmp_path):
    monkeypatch.setattr(source, "_installed_version", lambda package: None)
    monkeypatch.setattr(source, "FETCHED", tmp_path / "sources")
    monkeypatch.setattr(source, "Apt", Apt)
    monkeypatch.setattr(Apt, "asked", [])
    return tmp_path / "sources"


def test_sources_of_the_release_that_has_them(without_package):
    """Fetched once, and with the version by which a kernel is known."""
    said = []
    for _ in range(2):
        source.provide("linux-source-6.1", said.append)
    assert Apt.asked == ["bookworm-security"]
    assert said == ["downloading linux-source-6.1 of bookworm-security"]
    assert source.version("linux-source-6.1") == "6.1-7"
    assert source.tarball("linux-source-6.1").read_text(encoding="utf-8") == "linux-source-6.1"
    assert sorted(path.name for path in without_package.iterdir()) == ["linux-source-6.1", "lock"]


def test_sources_that_cannot_be_had(without_package, monkeypatch):
    def fail(*_, **__):
        raise LabError("no mirror")

    with pytest.raises(build.BuildError, match="scripts/bootstrap test features"):
        source.version("linux-source-6.1")
    monkeypatch.setattr(Apt, "get", fail)
    with pytest.raises(build.BuildError, match="of trixie-security cannot be had: no mirror"):
        source.provide("linux-source-6.12", print)
    assert [path.name for path in without_package.iterdir()] == ["lock"]


def test_an_installed_package_is_not_fetched(without_package, monkeypatch):
    monkeypatch.setattr(source, "_installed_version", lambda package: "6.1-1")
    source.provide("linux-source-6.1", print)
    assert source.version("linux-source-6.1") == "6.1-1"
    assert not without_package.exists() and not Apt.asked


def test_a_compiler_that_is_not_there_hides_no_other_kernel(monkeypatch, tmp_path, capsys):
    (tmp_path / "gcc").write_text("#!/bin/sh\necho gcc 1\n", encoding="utf-8")
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(build, "CACHE", tmp_path)
    monkeypatch.setattr(source, "version", lambda package: "1")
    build.show()
    shown = capsys.readouterr().out
    assert "s390x    not built        no s390x-linux-gnu-gcc\n" in shown
    assert all(f"\n{name} " in f"\n{shown}" for name in build.VARIANTS)


def test_sources_that_are_not_there_hide_no_other_kernel(monkeypatch, tmp_path, capsys):
    def version(package):
        if package.endswith("6.12"):
            raise build.BuildError(f"no {package}")
        return "1"

    monkeypatch.setattr(build, "CACHE", tmp_path)
    monkeypatch.setattr(source, "version", version)
    build.show()
    shown = capsys.readouterr().out
    assert "uml-6.12 not built        no linux-source-6.12\n" in shown
    assert all(f"\n{name} " in f"\n{shown}" for name in build.VARIANTS)


@pytest.mark.parametrize("has_few", (True, False))
def test_registers_of_any_host(tmp_path, has_few):
    """A Linux that asks the host for the size of its registers stays as it is."""
    place = tmp_path / build.REGISTERS
    place.parent.mkdir(parents=True)
    text = f"before\n\t{build.FEW_REGISTERS}\nafter\n" if has_few else "it asks\n"
    place.write_text(text, encoding="utf-8")
    for _ in range(2):
        build.enlarge_registers(tmp_path)
        assert place.read_text(encoding="utf-8") == \
            text.replace(build.FEW_REGISTERS, build.ENOUGH_REGISTERS)
