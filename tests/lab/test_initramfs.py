# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Modules of the guests' initramfs, however a distribution compresses them."""

import gzip
import lzma
import shutil
import subprocess

import pytest

from lablib import initramfs
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
