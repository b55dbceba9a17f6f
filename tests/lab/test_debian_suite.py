# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The kernels of other suites: which packages, and what is made to fit this machine."""

import os
import subprocess
from pathlib import Path

import pytest

from lablib import debian, debian_suite, kernel
from lablib.error import LabError

RELEASE, COMMON, KBUILD = "7.3.4+deb13-amd64", "7.3.4+deb13-common", "linux-kbuild-7.3.4+deb13"
DEPENDS = {"linux-headers-amd64": f"linux-headers-{RELEASE} (= 7.3.4-1)",
           f"linux-headers-{RELEASE}": f"gcc-99-for-host, linux-base (>= 4.12~), linux-headers-{COMMON} "
                                       f"(= 7.3.4-1), {KBUILD}",
           f"linux-image-{RELEASE}": f"dracut | linux-initramfs-tool, linux-binary-{RELEASE} (= 7.3.4-1), "
                                     f"linux-modules-{RELEASE} (= 7.3.4-1)"}
ARM = "7.3.4+deb13-arm64"
DEPENDS |= {"linux-headers-arm64": f"linux-headers-{ARM} (= 7.3.4-1)",
            f"linux-headers-{ARM}": DEPENDS[f"linux-headers-{RELEASE}"]}
POWER = "7.3.4+deb13-powerpc64le"
DEPENDS |= {"linux-headers-powerpc64le": f"linux-headers-{POWER} (= 7.3.4-1)",
            f"linux-headers-{POWER}": DEPENDS[f"linux-headers-{RELEASE}"]}
TREE = f"usr/src/linux-headers-{RELEASE}"
CONFIG = {"CC_HAS_COUNTED_BY": "y", "CC_HAS_INT128": "y", "DEBUG_INFO_BTF_MODULES": "y",
          "PAHOLE_VERSION": "130"}
FILES = {
    f"linux-headers-{RELEASE}": {
        f"{TREE}/Makefile": f"KBUILD_OUTPUT=/{TREE}\ninclude /usr/src/linux-headers-{COMMON}/Makefile\n",
        f"{TREE}/.kernelvariables": "CC = $(CROSS_COMPILE)gcc-99\nifneq ($(DEB_BUILD_ARCH),x)\n"
                                    "override CROSS_COMPILE = $(DEB_HOST_GNU_TYPE)-\nendif\n",
        f"{TREE}/include/config/auto.conf": "".join(f"CONFIG_{n}={v}\n" for n, v in CONFIG.items()),
        f"{TREE}/include/generated/autoconf.h":
            "".join(f"#define CONFIG_{n} 1\n" for n, v in CONFIG.items() if v == "y")},
    f"linux-headers-{COMMON}": {f"usr/src/linux-headers-{COMMON}/Makefile": "all: ; @echo common\n"},
    KBUILD: {f"usr/lib/{KBUILD}/scripts/mod/modpost": "\x7fELF",
             f"usr/lib/{KBUILD}/scripts/x.sh": "#!/bin/sh\n"},
    f"linux-image-{RELEASE}": {"usr/share/doc/x": ""},
    f"linux-binary-{RELEASE}": {f"usr/lib/modules/{RELEASE}/vmlinuz": "image"},
    f"linux-modules-{RELEASE}": {f"usr/lib/modules/{RELEASE}/kernel/fs/9p.ko": "module",
                                 f"usr/lib/modules/{RELEASE}/modules.order": ""},
    "libc6": {"lib/x86_64-linux-gnu/libc.so.6": "", "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": ""},
}

for other in (ARM, POWER):
    FILES[f"linux-headers-{other}"] = {path.replace(RELEASE, other): text
                                       for path, text in FILES[f"linux-headers-{RELEASE}"].items()}


class Apt:
    """In place of apt and ldd."""

    def __init__(self, folder, run):
        self.folder, self.run, self.did, self.is_older = folder, run, [], False
        self.mirrors = "http://deb.debian.org/debian-security/\nhttp://deb.debian.org/debian/\n"

    def __call__(self, command, **options):
        words = [str(word) for word in command]
        if words[0] == "sh":
            return "libc.so.6: version `GLIBC_2.38' not found (required by it)" if self.is_older else ""
        if not words[0].startswith("apt"):
            return self.run(command, **options)
        if "indextargets" in words:
            return self.mirrors
        self.did.append(words)
        if "download" in words:
            for name in words[words.index("download") + 1:]:
                self.pack(name.partition(":")[0], options["cwd"])
        return f"Depends: {DEPENDS[words[-1]]}\n" if words[-1] in DEPENDS else ""

    def pack(self, name, target):
        place = self.folder / name
        for path, text in FILES[name].items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text, encoding="utf-8")
            (place / path).chmod(0o755)
        (place / "DEBIAN").mkdir(exist_ok=True)
        (place / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: small\n")
        subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "-b", place,
                        Path(target, f"{name}_1.deb")], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(name="apt")
def small_apt(tmp_path, monkeypatch):
    apt = Apt(tmp_path / "packages", debian.run)
    monkeypatch.setattr(debian, "run", apt)
    monkeypatch.setattr(debian_suite, "KERNELS", tmp_path / "suites")
    monkeypatch.setattr(kernel, "ROOT", tmp_path / "machine")
    return apt


def fetch(suite):
    debian_suite.fetch(suite, lambda line: None)


def test_fetched_headers_are_found_by_their_suite_and_fetched_once(apt):
    fetch("sid")
    build = debian_suite.find("sid")
    assert (build.parent.name, build.is_dir()) == (RELEASE, True)
    assert debian_suite.here() == {"sid": RELEASE}
    assert {path.name for path in debian_suite.KERNELS.iterdir()} == {"sid", "lock", RELEASE}
    done = len(apt.did)
    fetch("sid")
    assert len(apt.did) == done
    done = subprocess.run(["make", "-s", "-C", build], capture_output=True, text=True, check=True)
    assert done.stdout == "common\n"


def test_two_suites_with_one_kernel(apt):
    fetch("trixie")
    fetch("sid")
    assert sum("download" in words for words in apt.did) == 1
    assert debian_suite.find("sid") == debian_suite.find("trixie")
    assert debian_suite.here() == {"trixie": RELEASE}


@pytest.mark.parametrize("has_headers", (False, True))
def test_a_kernel_to_boot(apt, has_headers):
    if has_headers:
        fetch("sid")
        with pytest.raises(LabError, match="no kernel '7.3.4"):
            kernel.find("sid")
    debian_suite.fetch("sid", lambda line: None, with_image=True)
    found = kernel.find("sid")
    assert (found.release, found.image.read_text()) == (RELEASE, "image")
    assert (found.modules / "kernel/fs/9p.ko").read_text() == "module"
    assert found == kernel.find(RELEASE) and found.headers == debian_suite.find("sid")
    done = len(apt.did)
    kernel.provide("sid", print)
    assert len(apt.did) == done


def test_an_image_that_was_left_in_part_is_replaced(apt):
    fetch("sid")
    left = debian_suite.KERNELS / RELEASE / f"lib/modules/{RELEASE}/kernel/fs/old.ko"
    left.parent.mkdir(parents=True)
    left.touch()
    debian_suite.fetch("sid", lambda line: None, with_image=True)
    assert not left.exists() and kernel.find("sid").release == RELEASE
    assert sum("download" in words for words in apt.did) == 2


@pytest.mark.parametrize("arch, release, prefix", [("arm64", ARM, "aarch64-linux-gnu-"),
                                                   ("ppc64el", POWER, "powerpc64le-linux-gnu-")])
def test_another_processor(apt, arch, release, prefix):
    fetch(f"sid:{arch}")
    assert debian_suite.here() == {f"sid:{arch}": release}
    download = next(words for words in apt.did if "download" in words)
    variables = debian_suite.KERNELS / release / TREE.replace(RELEASE, release) / ".kernelvariables"
    assert variables.read_text() == f"CC = $(CROSS_COMPILE)gcc\noverride CROSS_COMPILE = {prefix}\n"
    assert {f"APT::Architecture={arch}", f"linux-headers-{release}", f"{KBUILD}:amd64"} <= set(download)


def test_what_apt_says_is_told_without_its_options(apt, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/apt-get"
    program.write_text("#!/bin/sh\n"
                       "echo 'W: something else' >&2\n"
                       "echo 'E: Failed to fetch Packages.xz  Mirror sync in progress?' >&2\n"
                       "echo '   Hashes of expected file:' >&2\n"
                       "echo 'E: Some index files failed to download.' >&2\n"
                       "exit 100\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    lists = debian_suite.Apt("sid", tmp_path, "arm64")
    monkeypatch.setattr(debian, "run", apt.run)
    with pytest.raises(LabError) as error:
        lists.get("update")
    assert str(error.value) == \
        "apt-get update, sid (arm64): E: Failed to fetch Packages.xz  Mirror sync in progress?"


@pytest.mark.parametrize("name, what", (("sid", ("sid", "amd64")), ("sid:s390x", ("sid", "s390x")),
                                        ("sid:amd64", ("sid", "amd64")), ("sid:vax", None),
                                        ("potato", None), ("7.3", None)))
def test_names_of_suites(name, what):
    assert debian_suite.parse(name) == what


def test_a_compiler_that_is_not_here(apt):
    fetch("sid")
    tree = debian_suite.KERNELS / RELEASE / TREE
    assert (tree / ".kernelvariables").read_text().startswith("CC = $(CROSS_COMPILE)gcc\n")
    assert (tree / "include/config/auto.conf").read_text() == \
        "CONFIG_CC_HAS_INT128=y\nCONFIG_PAHOLE_VERSION=$(PAHOLE_VERSION)\n"
    assert "COUNTED_BY" not in (tree / "include/generated/autoconf.h").read_text()
    assert apt.did


def test_a_compiler_that_is_here(apt, monkeypatch):
    monkeypatch.setattr(debian_suite.shutil, "which", lambda name: f"/usr/bin/{name}")
    fetch("sid")
    tree = debian_suite.KERNELS / RELEASE / TREE
    assert (tree / ".kernelvariables").read_text().startswith("CC = $(CROSS_COMPILE)gcc-99\n")
    assert "CONFIG_PAHOLE_VERSION=130" in (tree / "include/config/auto.conf").read_text()
    assert apt.did


@pytest.mark.parametrize("is_older", (False, True))
def test_tools_that_want_a_newer_libc_get_it(apt, is_older):
    apt.is_older = is_older
    fetch("sid")
    tools = debian_suite.KERNELS / RELEASE / f"usr/lib/{KBUILD}/scripts"
    assert (tools / "mod/modpost.elf").exists() == is_older
    assert ("--library-path" in (tools / "mod/modpost").read_text(errors="replace")) == is_older
    assert (tools / "x.sh").read_text() == "#!/bin/sh\n"


def test_a_mirror_is_the_one_that_apt_has(apt):
    apt.mirrors = "http://nowhere.example/ubuntu/\n"
    with pytest.raises(LabError, match="no packages of Debian's"):
        fetch("sid")


def test_security_updates_where_apt_has_none(apt, tmp_path):
    """sid has no suite of its own for them."""
    apt.mirrors = "http://deb.debian.org/debian/\n"
    debian_suite.Apt("bookworm-security", tmp_path)
    assert [line.split()[2:4] for line in (tmp_path / "apt/sources.list").read_text().splitlines()] == [
        ["http://deb.debian.org/debian/", "bookworm"],
        ["http://deb.debian.org/debian-security/", "bookworm-security"]]


@pytest.mark.usefixtures("apt")
def test_headers_that_are_not_here():
    with pytest.raises(LabError, match="debian-kernel get sid"):
        debian_suite.find("sid")
    assert not debian_suite.here()


@pytest.mark.usefixtures("apt")
def test_apt_has_its_lock_in_the_folder_of_its_lists(tmp_path):
    """It is beside the status; of /dev/null it would be in /dev, for root alone."""
    (tmp_path / "own").mkdir()
    options = debian_suite.Apt("sid", tmp_path / "own")._options
    (status,) = (word for word in options if word.startswith("Dir::State::status="))
    assert Path(status.partition("=")[2]).is_relative_to(tmp_path / "own")


def test_what_was_asked_for_long_ago(tmp_path):
    link = tmp_path / "sid"
    link.symlink_to("7.3.4")
    assert not debian_suite._is_older(link, 7)
    os.utime(link, (1, 1), follow_symlinks=False)
    assert debian_suite._is_older(link, 7) and not debian_suite._is_older(link, None)
