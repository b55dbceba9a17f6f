# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Seeds of udp_fuzz.cc: a peer that behaves, one that begins again, one whose fragments do not
fit, and somebody without the key. An input is steps."""

from seeds import number

OURS, STRANGE, LAST, EMPTY = 1, 2, 4, 8  # bits of a datagram's kind
PEER = 0x80  # of a step: it comes from where the peer is
REPEAT = b"\4"


def datagram(seq, payload=b"x", count=1, index=0, kind=0, epoch=0):
    """One that is made with the key, as made() there reads it."""
    head = bytes([1, kind | epoch << 4, count, index])
    to = b"\5" if kind & STRANGE else b""
    return head + to + number(2, seq) + ((number(2, len(payload)) + payload) if payload else
                                         number(2, 0))


def passes(milliseconds):
    return b"\2" + bytes([milliseconds // 16])


def wrap(size, most):
    return b"\3" + number(2, size, most)


def raw(octets):
    return b"\0" + number(2, len(octets)) + octets


def inputs():
    greeting = datagram(1, b"", count=0)
    return {
        "met": greeting + wrap(100, 1472) + wrap(500, 100) + datagram(2) + REPEAT,
        "alone": wrap(100, 1472) + datagram(1, kind=STRANGE) + wrap(10, 10),
        "fragments": greeting + datagram(5, b"b", 3, 1) + datagram(4, b"a", 3) + datagram(6, b"c", 3, 2),
        "misfits": greeting + datagram(5, b"b", 3, 1) + datagram(5, b"b", 3, 1) + datagram(7, b"a", 3)
        + datagram(8, b"a", 2, 1) + datagram(20, bytes(500), 2) + datagram(21, bytes(500), 2, 1),
        "given-up": greeting + datagram(5, b"b", 3, 1) + passes(800) + datagram(9),
        "many": greeting + b"".join(datagram(2 * i, b"a", 2) for i in range(1, 80)),
        "again": greeting + datagram(2) + passes(1600) + datagram(1, epoch=2) + REPEAT + datagram(3),
        "third": greeting + datagram(1, epoch=3) + bytes([datagram(1)[0] | PEER]) + datagram(2)[1:],
        "silent": greeting + passes(4000) + wrap(50, 200) + datagram(1, epoch=1),
        "old": greeting + datagram(3000) + datagram(1) + datagram(2999),
        "reflected": greeting + datagram(1, kind=OURS),
        "raw": raw(bytes(60)) + raw(b"\1" + bytes(60)) + raw(b"\1"),
    }
