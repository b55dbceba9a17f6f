# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Seeds of bfd_fuzz.cc: peers that come up, fail in all ways, or only talk. An input is
steps."""

from seeds import number

ADMIN_DOWN, DOWN, INIT, UP = range(4)  # and bits of a packet's kind
POLL, FINAL, BLIND, STANDBY, OTHER, DEMAND = 4, 8, 16, 32, 64, 128
SECONDARY = 16


def say(kind, side=0, peer=0, multiplier=3, tx=20, rx=20):
    """A packet as say() there reads it; times in milliseconds."""
    return bytes([5 | side | peer << 5, kind, multiplier - 1]) + number(2, tx * 10) + bytes([rx])


def passes(milliseconds):
    if milliseconds < 32:
        return bytes([4, milliseconds])
    return b"\3" + number(2, milliseconds)


def up(*sides, peer=0, kind=0):
    return b"".join(say(DOWN | BLIND, side, peer) + passes(2) + say(INIT | kind, side, peer)
                    + passes(2) + say(UP | kind, side, peer) + passes(2) for side in sides)


def alive(times, *sides, kind=0, peer=0):
    return (b"".join(say(UP | kind, side, peer) for side in sides) + passes(18)) * times


def raw(octets, flags=0):
    return bytes([flags, len(octets)]) + octets


BOTH = (0, SECONDARY)
CONTROL = bytes([0x20, 0x40, 3, 24]) + number(4, 9, 0, 1000000, 20000, 0)


def inputs():
    return {
        "up": up(*BOTH) + alive(4, *BOTH),
        "one-fails": up(*BOTH) + alive(3, *BOTH) + alive(9, SECONDARY) + alive(2, *BOTH),
        "one-way": up(*BOTH) + alive(3, *BOTH) + say(DOWN) + alive(9, SECONDARY),
        "peer-dies": up(*BOTH) + alive(3, *BOTH) + passes(200) + passes(3000) + up(*BOTH),
        "switched-off": up(*BOTH) + say(ADMIN_DOWN) + alive(9, SECONDARY),
        "standby": up(0, kind=STANDBY) + up(SECONDARY) + up(*BOTH, peer=1, kind=STANDBY)
        + alive(9, SECONDARY) + say(UP | STANDBY, 0, 1),
        "parted": (up(*BOTH) + up(*BOTH, peer=1, kind=STANDBY)
                   + (say(UP, SECONDARY) + say(UP | STANDBY, 0, 1) + passes(18)) * 14),
        "poll": up(0) + say(UP | POLL) + passes(2) + say(UP | FINAL) + passes(2),
        "demand": up(0) + say(UP | FINAL) + say(UP | DEMAND) + passes(40) + say(UP, rx=0) + passes(40),
        "spoofed": up(0) + say(DOWN | BLIND) + say(UP | OTHER) + say(UP | OTHER | BLIND) + passes(70),
        "hand-over": up(*BOTH) + b"\x11" + passes(2) + b"\1" + passes(2),
        "interfaces": up(*BOTH) + b"\x62" + passes(20) + b"\2" + up(*BOTH),
        "raw": raw(CONTROL) + raw(CONTROL, 128) + raw(CONTROL, 64) + raw(CONTROL[:23]) + raw(b"")
        + raw(bytes(24)) + passes(2),
    }
