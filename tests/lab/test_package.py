# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A kernel given as a file of the kind .deb, with others beside it."""

import subprocess

import pytest

from lablib import debian, debian_suite, host, kernel, package
from lablib.error import LabError

RELEASE, COMMON = "6.8.0-45-generic", "6.8.0-45"
TREE = f"usr/src/linux-headers-{RELEASE}"
# Name -> what it depends on, files
PACKAGES = {
    f"linux-image-unsigned-{RELEASE}": (f"kmod, linux-modules-{RELEASE}",
                                        {f"boot/vmlinuz-{RELEASE}": "image"}),
    f"linux-modules-{RELEASE}": ("", {f"lib/modules/{RELEASE}/kernel/9p.ko": "module",
                                      f"lib/modules/{RELEASE}/modules.order": "",
                                      f"lib/modules/{RELEASE}/modules.builtin": ""}),
    f"linux-headers-{RELEASE}": (f"linux-headers-{COMMON}, libc6", {
        f"{TREE}/Makefile": f"include ../linux-headers-{COMMON}/Makefile\n",
        f"{TREE}/include/config/auto.conf": "", f"{TREE}/include/generated/autoconf.h": ""}),
    f"linux-headers-{COMMON}": ("", {f"usr/src/linux-headers-{COMMON}/Makefile": "all: ; @echo common\n"}),
}


def pack(folder, name):
    depends, files = PACKAGES[name]
    place = folder / "made" / name
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text, encoding="utf-8")
    (place / "DEBIAN").mkdir()
    (place / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: small\n"
        + (f"Depends: {depends}\n" if depends else ""), encoding="utf-8")
    target = folder / f"{name}_1_all.deb"
    subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "-b", place, target], check=True,
                   stdout=subprocess.DEVNULL)
    return target


@pytest.fixture(name="image")
def the_image(tmp_path, monkeypatch):
    """The file with the image; the others are beside it."""
    monkeypatch.setattr(package, "KERNELS", tmp_path / "packages")
    monkeypatch.setattr(package, "INSTALLED", tmp_path / "modules")
    monkeypatch.setattr(debian, "KERNELS", tmp_path / "debian")
    monkeypatch.setattr(debian_suite, "KERNELS", tmp_path / "suites")
    monkeypatch.setattr(kernel, "ROOT", tmp_path / "machine")
    return [pack(tmp_path, name) for name in PACKAGES][0]


def test_it_is_unpacked_with_what_is_beside_it(image):
    lines = []
    found = kernel.provide(str(image), lines.append)
    assert (found.release, found.image.read_text()) == (RELEASE, "image")
    assert (found.modules / "kernel/9p.ko").exists() and not found.is_installed
    done = subprocess.run(["make", "-s", "-C", found.headers], capture_output=True, text=True, check=True)
    assert done.stdout == "common\n"
    assert len(lines) == 1
    assert kernel.provide(str(image), lines.append) == found
    assert kernel.find("6.8").image == found.image
    assert len(lines) == 1


def test_a_file_that_has_changed_is_unpacked_again(image, tmp_path):
    kernel.provide(str(image), print)
    PACKAGES[image.name.split("_")[0]][1][f"boot/vmlinuz-{RELEASE}"] = "other"
    (tmp_path / "made").rename(tmp_path / "first")
    assert kernel.provide(str(pack(tmp_path, image.name.split("_")[0])), print).image.read_text() == "other"


def test_installed_headers_do_as_well(image, tmp_path):
    (tmp_path / f"linux-headers-{RELEASE}_1_all.deb").unlink()
    with pytest.raises(LabError, match=f"linux-headers-{RELEASE}.deb is not beside it, nor installed"):
        kernel.provide(str(image), print)
    build = tmp_path / "modules" / RELEASE / "build"
    build.mkdir(parents=True)
    (build / "Makefile").touch()
    assert kernel.provide(str(image), print).headers.resolve() == build


def test_no_image_and_no_modules(image, tmp_path):
    other = tmp_path / f"linux-modules-{RELEASE}_1_all.deb"
    with pytest.raises(LabError, match="linux-modules-6.8.0-45-generic is no package of a kernel's image"):
        kernel.provide(str(other), print)
    with pytest.raises(LabError, match="nothing.deb: no such file"):
        kernel.provide("nothing.deb", print)
    broken = tmp_path / "broken.deb"
    broken.write_text("no archive")
    with pytest.raises(LabError, match="broken.deb"):
        kernel.provide(str(broken), print)
    other.unlink()
    with pytest.raises(LabError, match=f"linux-modules-{RELEASE}.deb, which it depends on, is not"):
        kernel.provide(str(image), print)
    assert not (package.KERNELS / RELEASE).exists()


@pytest.mark.parametrize(("system", "how"), [
    ("ubuntu", "the package dpkg has it (apt-get install dpkg, as root)"),
    ("fedora", "the package dpkg has it (dnf install dpkg, as root)"),
    ("opensuse", "the package dpkg has it (zypper install dpkg, as root)"),
    ("unknown", "Debian has it in the package dpkg")])
def test_no_program_to_unpack_it_with(image, tmp_path, monkeypatch, system, how):
    monkeypatch.setattr(host, "name", lambda: system)
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(LabError) as error:
        kernel.provide(str(image), print)
    assert str(error.value) == f"there is no program dpkg-deb here: {how}"
    assert error.value.code == 1
