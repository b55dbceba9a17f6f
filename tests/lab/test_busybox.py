# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The guests' busybox is one that is linked statically, or there is a word about it."""

import struct
import subprocess

import pytest

from lablib import busybox
from lablib.error import LabError

LOADER = b"/lib/ld.so.1\0"


def elf(is_wide=True, order="<", loader=LOADER):
    """An ELF program with a segment to load and, if it has one, a loader."""
    segments = [(1, 0, 0)]
    size, begin = (56, 64) if is_wide else (32, 52)
    if loader:
        segments.append((busybox.PT_INTERP, begin + 2 * size, len(loader)))
    head = b"\x7fELF" + bytes([2 if is_wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    head += struct.pack(f"{order}HHI" + ("QQQ" if is_wide else "III") + "IHHHHHH",
                        2, 0, 1, 0, begin, 0, 0, begin, size, len(segments), 0, 0, 0)
    for kind, offset, length in segments:
        head += struct.pack(f"{order}IIQQQQQQ", kind, 4, offset, 0, 0, length, length, 1) if is_wide \
            else struct.pack(f"{order}8I", kind, offset, 0, 0, length, length, 4, 1)
    return head + (loader or b"")


@pytest.fixture(name="places")
def folders_of_programs(tmp_path, monkeypatch):
    places = [tmp_path / "busybox", tmp_path / "busybox-static"]
    monkeypatch.setattr(busybox, "PLACES", places)
    return places


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
def test_how_a_program_is_linked(places, is_wide, order):
    places[0].write_bytes(elf(is_wide, order))
    assert busybox.interpreter(places[0]) == "/lib/ld.so.1"
    places[0].write_bytes(elf(is_wide, order, loader=None))
    assert busybox.interpreter(places[0]) is None


@pytest.mark.parametrize(("flags", "loader"), [
    ([], True), (["-static"], False), (["-static-pie"], False)])
def test_what_a_compiler_makes(tmp_path, flags, loader):
    (tmp_path / "x.c").write_text("void _start(void) { }\n")
    subprocess.run(["gcc", "-nostdlib", *flags, "-o", tmp_path / "x", tmp_path / "x.c"], check=True)
    found = busybox.interpreter(tmp_path / "x")
    assert bool(found) == loader and (not found or "/ld" in found)


def test_the_static_one_is_taken(places):
    places[0].write_bytes(elf())
    places[1].write_bytes(elf(loader=None))
    assert busybox.find() == places[1]
    places[0].write_bytes(elf(loader=None))
    assert busybox.find() == places[0]


def test_a_dynamic_one_is_refused_with_the_package_to_install(places):
    places[0].write_bytes(elf())
    with pytest.raises(LabError) as error:
        busybox.find()
    assert f"{places[0]} is linked dynamically, by /lib/ld.so.1" in str(error.value)
    assert "Install the package busybox-static (on Fedora busybox)" in str(error.value)


def test_there_is_none(places):
    with pytest.raises(LabError, match=f"there is no {places[0]}. Install the package busybox-static"):
        busybox.find()


def test_a_script_of_that_name(places):
    places[0].write_text("#!/bin/sh\n")
    with pytest.raises(LabError, match="busybox is no ELF program"):
        busybox.find()
    places[1].write_bytes(elf(loader=None))
    assert busybox.find() == places[1]
