# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The journal of a run: each input, noted before it ran, and when that was.

An entry is the input's size and the milliseconds since boot, as numbers of four octets
(guard.cc writes it), then the input.
"""

import re
import struct
from dataclasses import dataclass

HEAD = struct.Struct(">II")
LEAK = re.compile(r"jiffies (\d+)")
# Linux begins to count five minutes before zero, in 32 bits; User-Mode Linux has a hundred
# ticks a second.
TICKS = 100
FIRST_TICK = 2 ** 32 - 300 * TICKS


@dataclass(frozen=True)
class Input:
    """An input, and the seconds since boot when it ran."""

    data: bytes
    seconds: float = 0.0


def read(path):
    """The inputs of a journal; an entry that was not finished is left out."""
    data = path.read_bytes() if path.exists() else b""
    found, at = [], 0
    while at + HEAD.size <= len(data):
        size, milliseconds = HEAD.unpack_from(data, at)
        at += HEAD.size
        if at + size > len(data):
            break
        found.append(Input(data[at:at + size], milliseconds / 1000))
        at += size
    return found


def write(path, inputs):
    """A journal of inputs, given as octets."""
    path.write_bytes(b"".join(HEAD.pack(len(data), 0) + data for data in inputs))


def seconds_of_leaks(listing):
    """When what kmemleak lists was allocated, in seconds since boot."""
    return sorted({(int(ticks) - FIRST_TICK) / TICKS for ticks in LEAK.findall(listing)})


def around(inputs, moments, margin=0.3):
    """Those of @inputs that ran about one of the moments."""
    found = []
    for number, one in enumerate(inputs):
        end = inputs[number + 1].seconds if number + 1 < len(inputs) else one.seconds + 1
        if any(one.seconds - margin <= moment <= end + margin for moment in moments):
            found.append(one)
    return found
