# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The busybox of the guests' initramfs: one that needs no shared library there.

Distributions have it under two names and in several places, and some link the one that is
called busybox dynamically. That of another processor comes from Debian's package, which is
not installed.
"""

import struct
from pathlib import Path

from . import foreign
from .error import LabError
from .place import IS_INSTALLED

PLACES = [Path(folder, name) for name in ("busybox", "busybox-static")
          for folder in ("/bin", "/usr/bin", "/sbin", "/usr/sbin")]
PT_INTERP = 3
PACKAGE = "busybox-static"
SUITE = "bookworm"


def _word(data, form, offset):
    return struct.unpack_from(form, data, offset)[0]


def interpreter(path):
    """The loader that the program @path has to be started by; None if it is linked statically."""
    data = path.read_bytes()
    if data[:4] != b"\x7fELF":
        raise LabError(f"{path} is no ELF program", code=1)
    is_wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    word, half, four = (order + ("Q" if is_wide else "I")), order + "H", order + "I"
    header = _word(data, word, 32 if is_wide else 28)
    size, count = (_word(data, half, (54 if is_wide else 42) + place) for place in (0, 2))
    for start in range(header, header + size * count, size):
        if _word(data, four, start) == PT_INTERP:
            text = _word(data, word, start + (8 if is_wide else 4))
            length = _word(data, word, start + (32 if is_wide else 16))
            return data[text:text + length].rstrip(b"\0").decode(errors="replace")
    return None


def fetch(processor, progress):
    """The busybox for @processor, by Debian's name of it; LabError if it cannot be had."""
    try:
        return foreign.provide(SUITE, processor, (PACKAGE,), progress) / "bin/busybox"
    except LabError as error:
        raise LabError(f"no {PACKAGE} for {processor} can be had: {error}") from None


def find():
    """This machine's that is linked statically; LabError says what to install if there is none."""
    others = []
    for path in filter(Path.is_file, PLACES):
        try:
            loader = interpreter(path)
        except LabError as error:
            others.append(str(error))
            continue
        if loader is None:
            return path
        others.append(f"{path} is linked dynamically, by {loader}")
    what = "; ".join(others) or f"there is no {PLACES[0]}"
    how = "" if IS_INSTALLED else ", as scripts/bootstrap does or says"
    raise LabError(f"the guests start with a busybox that is linked statically: {what}. "
                   f"Install the package {PACKAGE} (on Fedora busybox){how}", code=1)
