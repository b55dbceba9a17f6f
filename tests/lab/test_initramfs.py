# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Modules of the guests' initramfs, however a distribution compresses them."""

import gzip
import lzma
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from lablib import busybox, initramfs
from lablib.error import LabError

CONTENT = b"\x7fELF" + bytes(range(256)) * 50


@pytest.mark.parametrize(("suffix", "pack"), [
    ("", bytes), (".xz", lzma.compress), (".gz", gzip.compress),
    (".zst", lambda data: subprocess.run(["zstd", "-qc"], input=data, capture_output=True,
                                         check=True).stdout)])
def test_module(tmp_path, suffix, pack):
    if suffix == ".zst" and not shutil.which("zstd"):
        pytest.fail("no zstd here: scripts/bootstrap installs it")
    file = tmp_path / f"9p.ko{suffix}"
    file.write_bytes(pack(CONTENT))
    assert initramfs._read_module(str(file)) == ("9p.ko", CONTENT)


def test_broken_zstd(tmp_path):
    file = tmp_path / "9p.ko.zst"
    file.write_bytes(CONTENT)
    with pytest.raises(LabError, match="9p.ko.zst"):
        initramfs._read_module(str(file))


def test_no_zstd(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="install zstd"):
        initramfs._read_module(str(tmp_path / "9p.ko.zst"))


def test_busybox_is_the_one_that_is_found(tmp_path, monkeypatch):
    program = tmp_path / "busybox-static"
    program.write_bytes(b"the static one")
    monkeypatch.setattr(initramfs, "BUILD", tmp_path / "build")
    monkeypatch.setattr(busybox, "find", lambda: program)
    monkeypatch.setattr(busybox, "fetch", lambda processor, _: tmp_path / processor)
    kernel = SimpleNamespace(release="6.1", modules=None, processor="amd64")
    first = initramfs.build(kernel, print)
    assert b"bin/busybox\0" in first.read_bytes() and b"the static one" in first.read_bytes()
    assert initramfs.build(kernel, print) == first
    program.write_bytes(b"another one that is static")
    assert b"another one" in initramfs.build(kernel, print).read_bytes()
    (tmp_path / "s390x").write_bytes(b"one for s390x")
    kernel = SimpleNamespace(release="6.1-s390x", modules=None, processor="s390x")
    assert b"one for s390x" in initramfs.build(kernel, print).read_bytes()
