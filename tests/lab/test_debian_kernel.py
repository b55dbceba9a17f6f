# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Debian's kernels: which packages, unpacked whole or not at all, and which one is taken."""

import os
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import SimpleNamespace

import pytest

from lablib import debian, debian_suite, host, kernel, layer
from lablib.error import LabError

LOADER = SourceFileLoader("debian_kernel", str(Path(__file__).resolve().parents[2] / "scripts/debian-kernel"))
program = module_from_spec(spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(program)

SERIES, RELEASE, COMMON = "6.12", "6.12.7+deb12-amd64", "6.12.7+deb12-common"
DEPENDS = {
    "linux-image-6.12-amd64": f"linux-image-{RELEASE} (= 6.12.7-1)",
    f"linux-headers-{RELEASE}": f"linux-base (>= 4.12~), linux-headers-{COMMON} (= 6.12.7-1), "
                                f"linux-image-{RELEASE} (= 6.12.7-1) | linux-image-{RELEASE}-unsigned "
                                "(= 6.12.7-1), linux-kbuild-6.12.7+deb12, gcc-12",
    "linux-image-amd64": "linux-image-6.1.0-9-amd64 (= 6.1.9-1)",
}
FILES = {
    f"linux-image-{RELEASE}": {
        f"boot/vmlinuz-{RELEASE}": "image", f"boot/System.map-{RELEASE}": "map",
        f"lib/modules/{RELEASE}/modules.order": "", f"lib/modules/{RELEASE}/modules.builtin": "",
        f"lib/modules/{RELEASE}/kernel/fs/9p.ko": "", "usr/share/doc/image/copyright": "Linus"},
    f"linux-headers-{RELEASE}": {
        f"usr/src/linux-headers-{RELEASE}/Makefile":
            f"include /usr/src/linux-headers-{COMMON}/Makefile\n",
        f"lib/modules/{RELEASE}/build": f"-> /usr/src/linux-headers-{RELEASE}",
        f"usr/lib/modules/{RELEASE}/source": f"-> ../../../src/linux-headers-{COMMON}"},
    f"linux-headers-{COMMON}": {f"usr/src/linux-headers-{COMMON}/Makefile": "all: ; @echo common\n"},
    "linux-kbuild-6.12.7+deb12": {"usr/lib/linux-kbuild-6.12.7+deb12/scripts/kernel-doc": "doc"},
}


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text[3:])
        else:
            path.write_text(text)


@pytest.fixture(name="packages", scope="module")
def small_packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    for name, files in FILES.items():
        write(folder / name, files)
        write(folder / name, {"DEBIAN/control": f"Package: {name}\nVersion: 6.12.7-1\n"
                              "Architecture: all\nMaintainer: nobody\nDescription: small\n"})
        subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "-b", folder / name,
                        folder / f"{name}.deb"], check=True, stdout=subprocess.DEVNULL)
    return folder


class Apt:
    """In place of apt: knows the packages above when its lists are there."""

    def __init__(self, packages, run):
        self.packages, self.run = packages, run
        self.has_lists, self.did = True, []

    def __call__(self, command, **options):
        if not str(command[0]).startswith("apt"):
            return self.run(command, **options)
        self.did.append("update" if command[-1] == "update" else command[0])
        if command[-1] == "update":
            self.has_lists = True
        elif not self.has_lists:
            raise LabError("E: No packages found")
        elif command[0] == "apt-get":
            for name in command[command.index("download") + 1:]:
                shutil.copy(self.packages / f"{name}.deb", options["cwd"])
        return "".join(f"Package: {name}\nDepends: {DEPENDS.get(name, 'nothing')}\nSize: 1000000\n\n"
                       for name in command[3:])


@pytest.fixture(name="apt")
def small_apt(packages, tmp_path, monkeypatch):
    apt = Apt(packages, debian.run)
    monkeypatch.setattr(debian, "run", apt)
    monkeypatch.setattr(host, "name", lambda: host.DEBIAN)
    monkeypatch.setattr(debian, "KERNELS", tmp_path / "cache")
    monkeypatch.setattr(debian_suite, "KERNELS", tmp_path / "suites")
    monkeypatch.setattr(kernel, "ROOT", tmp_path / "machine")
    return apt


def make_kernel(root, release, *without):
    """A kernel laid out below @root, without what is named."""
    parts = {f"boot/vmlinuz-{release}": "", f"lib/modules/{release}/modules.dep": "",
             f"lib/modules/{release}/build/Makefile": ""}
    write(root, {name: "" for name in parts if not any(word in name for word in without)})


@pytest.mark.usefixtures("apt")
def test_the_packages_of_a_kernel():
    release, names = debian.resolve(SERIES)
    assert release == RELEASE
    assert sorted(names) == sorted(FILES)


@pytest.mark.usefixtures("apt")
def test_a_debian_whose_kernel_is_of_another_series():
    with pytest.raises(debian.NotInLists, match="linux-image-amd64 depends on linux-image-6.1.0-9.*, "
                                                "not on a kernel 7.3"):
        debian.resolve("7.3")


@pytest.mark.usefixtures("apt")
@pytest.mark.parametrize(("release", "codename", "own"), [
    ("6.1.0-9-amd64", "bookworm", "6.1"), (RELEASE, "trixie", "6.12"), (RELEASE, "forky", "6.12"),
    ("7.2.13+deb14-amd64", "forky", "forky"),
    ("9.9-amd64", "forky", "forky"),
    ("7.2.13-amd64", "kali-rolling", "6.1"),        # no suite of Debian's
    ("5.10.0-9-amd64", "bullseye", "6.1"),          # too old for the modules
    ("", "forky", "6.1")])                          # no lists
def test_the_kernel_of_this_distribution(monkeypatch, release, codename, own):
    """Of no series that is known, it is that of the suite."""
    monkeypatch.setitem(DEPENDS, "linux-image-amd64", f"linux-image-{release} (= 1)" if release else "x")
    monkeypatch.setattr(host.platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": codename})
    assert kernel.own() == own


def test_a_distribution_that_does_not_say_what_it_is(apt, monkeypatch):
    def fail():
        raise OSError("no os-release")

    monkeypatch.setattr(host.platform, "freedesktop_os_release", fail)
    monkeypatch.setattr(debian, "own_series", lambda: "7.2")
    assert kernel.own() == "6.1" and apt.did == []


@pytest.mark.parametrize("own", ["6.1", "6.12"])
def test_own_is_the_series_of_this_distribution(monkeypatch, capsys, own):
    got = []
    monkeypatch.setattr(kernel, "own", lambda: own)
    monkeypatch.setattr(kernel, "provide", lambda series, _: got.append(series))
    monkeypatch.setattr(kernel, "find", lambda series: SimpleNamespace(release=f"{series}.9", image="image"))
    monkeypatch.setattr(program.signal, "signal", lambda *_: None)
    for words in (["get", "own", "6.1", "6.12"], ["list", "own"]):
        monkeypatch.setattr(sys, "argv", ["debian-kernel", *words])
        assert program.main() == 0
    assert got == list(dict.fromkeys([own, "6.1", "6.12"]))     # each once
    assert capsys.readouterr().out.split() == [own, f"{own}.9", "image"]


def test_own_boots_where_it_is_a_suite_s(monkeypatch, capsys):
    """Of a suite that is named, only the headers are wanted."""
    got = []
    monkeypatch.setattr(kernel, "own", lambda: "forky")
    monkeypatch.setattr(kernel, "provide", lambda name, _: got.append(f"{name} to boot"))
    monkeypatch.setattr(debian_suite, "fetch", lambda name, _: got.append(f"headers of {name}"))
    monkeypatch.setattr(debian_suite, "here", lambda: {"forky": "7.2.13-amd64"})
    monkeypatch.setattr(debian_suite, "find", lambda name: f"headers of {name}")
    monkeypatch.setattr(program.signal, "signal", lambda *_: None)
    for words in (["own"], ["forky"], ["own", "forky"], ["forky", "own"]):
        monkeypatch.setattr(sys, "argv", ["debian-kernel", "get", *words])
        assert program.main() == 0
    assert got == ["forky to boot", "headers of forky", "forky to boot", "forky to boot"]

    def find(name):
        raise LabError(f"no kernel {name}")

    monkeypatch.setattr(kernel, "find", find)
    for word, status, said in (("own", 1, "not here"), ("forky", 0, "7.2.13-amd64")):
        monkeypatch.setattr(sys, "argv", ["debian-kernel", "list", word])
        assert program.main() == status
        assert capsys.readouterr().out.startswith(f"forky              {said}")


def test_an_image_of_several_packages():
    needs = {"linux-image-7.3.4-amd64": ["dracut", "linux-binary-7.3.4-amd64", "linux-modules-7.3.4-amd64",
                                         "linux-modules-7.2-amd64"],
             "linux-headers-7.3.4-amd64": ["linux-base", "linux-kbuild-7.3.4"]}
    assert debian.image_of("7.3.4-amd64", needs.get) == [
        "linux-image-7.3.4-amd64", "linux-binary-7.3.4-amd64", "linux-modules-7.3.4-amd64"]
    assert debian.headers_of("7.3.4-amd64", needs.get) == ["linux-headers-7.3.4-amd64",
                                                           "linux-kbuild-7.3.4"]


@pytest.mark.usefixtures("apt")
def test_another_suite_has_what_the_lists_lack(monkeypatch):
    def fetch(suite, _progress, with_image):
        assert (suite, with_image) == ("trixie-backports", True)
        make_kernel(debian_suite.KERNELS / "7.3.4-amd64", "7.3.4-amd64", "vmlinuz")
        write(debian_suite.KERNELS, {"7.3.4-amd64/lib/modules/7.3.4-amd64/vmlinuz": ""})
        (debian_suite.KERNELS / suite).symlink_to("7.3.4-amd64")

    monkeypatch.setattr(debian_suite, "fetch", fetch)
    found = kernel.provide("7.3", print)
    assert found.image == debian_suite.KERNELS / "7.3.4-amd64/lib/modules/7.3.4-amd64/vmlinuz"
    assert kernel.find("trixie-backports") == kernel.find("7.3.4-amd64")


@pytest.mark.usefixtures("apt")
def test_fetched_kernel_is_whole_and_of_one_piece(tmp_path):
    lines = []
    found = kernel.provide(SERIES, lines.append)
    assert any("4 MB" in line for line in lines)
    root = debian.KERNELS / RELEASE
    assert (found.release, found.image) == (RELEASE, root / f"boot/vmlinuz-{RELEASE}")
    assert found.is_stock and not found.is_installed
    assert {path.name for path in debian.KERNELS.iterdir()} == {RELEASE, "lock"}
    assert [path.name for path in (root / "boot").iterdir()] == [found.image.name]
    assert not (root / "usr/share").exists()
    assert kernel.headers(SERIES) == found.headers
    # It works at any place, and takes nothing of /usr/src.
    root.rename(tmp_path / "elsewhere")
    modules = tmp_path / "elsewhere/lib/modules" / RELEASE
    assert subprocess.check_output(["make", "-s", "-C", modules / "build"], text=True) == "common\n"
    assert (modules / "source").resolve() == tmp_path / f"elsewhere/usr/src/linux-headers-{COMMON}"


def test_what_is_there_is_not_fetched(apt):
    make_kernel(kernel.ROOT, "6.12.1+deb12-amd64")
    assert kernel.provide(SERIES, print).release == "6.12.1+deb12-amd64"
    assert apt.did == []


def test_fetched_by_another_meanwhile(apt):
    make_kernel(debian.KERNELS / RELEASE, RELEASE)
    debian.fetch(SERIES, print)
    assert "apt-get" not in apt.did


def test_no_series_of_debians(apt):
    with pytest.raises(LabError, match="no kernel '5.10'.*Debian's 6.1, 6.12, 7.3 .* fetched") as error:
        kernel.provide("5.10", print)
    assert host.KERNELS in str(error.value)
    assert apt.did == []


@pytest.mark.usefixtures("apt")
@pytest.mark.parametrize(("system", "packages"), [
    (host.DEBIAN, "linux-image-{0} and linux-headers-{0}: apt-get install, as root"),
    (host.UBUNTU, "linux-image-{0}, linux-modules-{0} and linux-headers-{0}: apt-get install, as root"),
    (host.FEDORA, "kernel-core-{0}, kernel-modules-{0} and kernel-devel-{0}: dnf install, as root"),
    (host.OPENSUSE, "kernel-amd64 and kernel-amd64-devel, of the version that is {0}: "
                    "zypper install, as root"),
    (host.UNKNOWN, "")])
def test_a_release_without_headers(monkeypatch, system, packages):
    """The packages are those of this distribution."""
    monkeypatch.setattr(host, "name", lambda: system)
    release = "6.1.0-9-amd64"
    make_kernel(kernel.ROOT, release, "build")
    with pytest.raises(LabError, match=f"no kernel '{release}' with headers") as error:
        kernel.headers(release)
    if packages:
        assert f"(they are in the packages {packages.format(release)})" in str(error.value)
    else:
        assert "the headers of a kernel may be a package of their own" in str(error.value)
        assert "linux-image" not in str(error.value)


OTHERS = [host.UBUNTU, host.FEDORA, host.OPENSUSE, host.UNKNOWN]


@pytest.mark.parametrize("system", OTHERS)
@pytest.mark.parametrize("name", ["6.1", "5.10", "6.1:s390x"])
def test_a_series_where_there_are_none_of_debian_s(apt, monkeypatch, system, name):
    """apt's lists there, if any, are of other kernels; it says what can be given."""
    def fetch(*_, **__):
        raise LabError("apt has no packages of Debian's here", 1)

    monkeypatch.setattr(host, "name", lambda: system)
    monkeypatch.setattr(debian_suite, "fetch", fetch)
    for call in (lambda: kernel.find(name), lambda: kernel.provide(name, print)):
        with pytest.raises(LabError, match=f"kernel '{name}'|headers of .*'s kernel") as error:
            call()
        assert error.value.code == 1
    assert host.KERNELS in str(error.value) and "debian-kernel get" not in str(error.value)
    assert apt.did == []


@pytest.mark.parametrize("system", OTHERS)
def test_a_kernel_of_this_machine_is_taken_everywhere(apt, monkeypatch, system):
    """As Fedora has it: the image is with the modules."""
    release = "6.11.4-301.fc41.x86_64"
    monkeypatch.setattr(host, "name", lambda: system)
    make_kernel(kernel.ROOT, release, "vmlinuz")
    write(kernel.ROOT, {f"lib/modules/{release}/vmlinuz": ""})
    for name in (release, "6.11"):
        found = kernel.provide(name, print)
        assert (found.release, found.is_installed, found.processor) == (release, True, "amd64")
    assert apt.did == []


def test_ended_while_unpacking(apt, monkeypatch):
    def stop(command, **options):
        if command[0] == "/sbin/depmod":
            raise KeyboardInterrupt
        return apt(command, **options)

    with monkeypatch.context() as patch:
        patch.setattr(debian, "run", stop)
        with pytest.raises(KeyboardInterrupt):
            debian.fetch(SERIES, print)
    assert [path.name for path in debian.KERNELS.iterdir()] == ["lock"]
    # Killed, it would have left this.
    shutil.copytree(apt.packages, debian.KERNELS / ".new-left/root", symlinks=True)
    make_kernel(debian.KERNELS / ".new-left", RELEASE)
    with pytest.raises(LabError):
        kernel.find(SERIES)
    debian.fetch(SERIES, print)
    assert {path.name for path in debian.KERNELS.iterdir()} == {RELEASE, "lock"}
    assert kernel.find(SERIES).release == RELEASE


def test_kernel_in_part_is_replaced(apt):
    make_kernel(debian.KERNELS / RELEASE, RELEASE, "modules.dep")
    assert kernel.provide(SERIES, print).release == RELEASE
    assert "apt-get" in apt.did


def test_root_brings_the_lists_up_to_date_once(apt, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 0)
    apt.has_lists = False
    debian.fetch(SERIES, print)
    assert apt.did.count("update") == 1


def test_others_are_told_to(apt, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    apt.has_lists = False
    with pytest.raises(LabError, match="kernel 6.12 cannot be had: E: No packages found\n.*apt-get update"):
        debian.fetch(SERIES, print)
    assert "update" not in apt.did


@pytest.mark.usefixtures("apt")
def test_newest_wins_and_the_cache_when_equal():
    make_kernel(kernel.ROOT, "6.1.0-9-amd64")
    make_kernel(kernel.ROOT, "6.1.0-10-amd64")
    make_kernel(kernel.ROOT, "6.12.1-amd64")
    assert kernel.find("6.1").is_installed
    assert kernel.find("6.1").release == "6.1.0-10-amd64"
    assert kernel.headers("6.1") == kernel.ROOT / "lib/modules/6.1.0-10-amd64/build"
    cached = debian.KERNELS / "6.1.0-10-amd64"
    make_kernel(cached, "6.1.0-10-amd64")
    assert kernel.find("6.1").image.parents[1] == cached
    assert kernel.headers("6.1").is_relative_to(cached)
    make_kernel(kernel.ROOT, "6.1.0-11-amd64")
    assert kernel.find("6.1").release == "6.1.0-11-amd64"
    assert kernel.find("6.1.0-9-amd64").release == "6.1.0-9-amd64"


@pytest.mark.usefixtures("apt")
@pytest.mark.parametrize("lacking", ["vmlinuz", "modules.dep", "build"])
def test_newer_kernel_that_lacks_something(lacking):
    make_kernel(kernel.ROOT, "6.1.0-9-amd64")
    make_kernel(kernel.ROOT, "6.1.0-10-amd64", lacking)
    assert kernel.find("6.1").release == "6.1.0-9-amd64"
    with pytest.raises(LabError, match="linux-headers-6.1.0-10-amd64"):
        kernel.find("6.1.0-10-amd64")


@pytest.mark.usefixtures("apt")
def test_a_kernel_for_another_processor_is_named_whole():
    for root, release in ((debian.KERNELS, "6.12.7-1-amd64"), (debian_suite.KERNELS, "6.12.9-1-s390x")):
        make_kernel(root / release, release)
    assert kernel.find(SERIES).release == "6.12.7-1-amd64"
    assert kernel.headers(SERIES).parent.name == "6.12.7-1-amd64"
    assert [kernel.find(name).processor for name in (SERIES, "6.12.9-1-s390x")] == ["amd64", "s390x"]


@pytest.mark.usefixtures("apt")
def test_a_series_for_another_processor_is_its_suite_s(monkeypatch):
    def fetch(suite, _progress, with_image):
        assert (suite, with_image) == ("trixie-security:s390x", True)
        make_kernel(debian_suite.KERNELS / "6.12.9-1-s390x", "6.12.9-1-s390x")
        (debian_suite.KERNELS / suite).symlink_to("6.12.9-1-s390x")

    monkeypatch.setattr(debian_suite, "fetch", fetch)
    assert kernel.provide("6.12:s390x", print).release == "6.12.9-1-s390x"
    assert kernel.find("6.12:s390x").processor == "s390x"


def test_layer_has_room_for_modules_that_are_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(layer, "BUILD", tmp_path / "build")
    monkeypatch.setattr(layer, "IN_USE", tmp_path / "in-use")
    monkeypatch.setattr(layer, "_depmod", lambda _kernel, staging, _target: staging.mkdir())
    (tmp_path / "sib.ko").touch()
    layers = []
    for place in ("one", "other"):
        modules = tmp_path / place / "lib/modules" / RELEASE
        write(modules, {"kernel/fs/9p.ko": place})
        stock = SimpleNamespace(release=RELEASE, modules=modules, is_installed=False)
        layers.append(layer._build(stock, "intree", {"sib": tmp_path / "sib.ko"}))
        assert list((layers[-1] / "usr/lib/modules" / RELEASE / "kernel").iterdir()) == []
    assert layers[0] != layers[1]
    # One that another version of the program has made is not taken.
    (tmp_path / "layer.py").write_text("another version")
    monkeypatch.setattr(layer, "LAYOUT", tmp_path / "layer.py")
    assert layer._build(stock, "intree", {"sib": tmp_path / "sib.ko"}) != layers[1]
