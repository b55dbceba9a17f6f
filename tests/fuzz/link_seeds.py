# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Seeds of link_fuzz.cc: a peer that behaves, one whose frames get lost, one that goes
silent or begins again. An input is steps."""

from seeds import number

HELLO, DATA, ACK = 1, 2, 3
WINDOW = 32
NEW_SESSION = 8  # bits of a frame's kind
BLIND = 16


def frame(kind, payload=b"", count=0, seq=0, ack=0, gap=0):
    """A frame that is right, as rightFrame() there reads it."""
    return bytes([1, kind, count, seq, ack, gap, WINDOW]) + payload


def hello(more=0, longest=4096):
    return frame(HELLO | 64 | more, number(2, longest))


def data(seq, packets=1, wanted=False, ack=0):
    """A frame of packets of 24 octets, with an ACK @wanted or not."""
    packet = b"\0\2" + number(2, 7, 6, 9) + bytes(16)
    payload = packet * packets
    return frame(DATA | 4 * wanted, number(2, len(payload)) + payload, packets, seq, ack)


def ack(up_to, gap=0):
    return frame(ACK, number(2, 0), ack=up_to, gap=gap)


def raw(octets):
    return b"\0" + number(2, len(octets)) + octets


def passes(milliseconds):
    return b"\3" + bytes([milliseconds // 4])


SEND = b"\5"
HOLD, DELIVER = b"\4", b"\x40"


def inputs():
    return {
        "up": hello() + passes(400) + hello(),
        "heard": hello(BLIND) + hello() + hello(BLIND) + data(0),
        "heard-by-data": hello(BLIND) + data(0) + hello(),
        "data": hello() + b"".join(data(seq, 3) for seq in range(20)) + data(20, 1, True) + passes(40),
        "gaps": hello() + data(0) + data(3) + data(2) + passes(100) + data(1) + data(0) + data(99),
        "held": hello() + HOLD + data(0) + data(1) + passes(100) + DELIVER + data(2),
        "sent": hello() + SEND * 8 + ack(3) + SEND * 4 + ack(12),
        "sent-lost": hello() + SEND * 8 + passes(40) + ack(2, 3) + passes(400) * 2 + ack(3) + ack(5)
        + passes(1000) + ack(8) + ack(99),
        "silent": hello() + SEND + data(0) + passes(1000) * 4 + hello(NEW_SESSION),
        "again": hello() + data(0) + hello(NEW_SESSION | BLIND) + hello(NEW_SESSION),
        "strangers": hello() + b"\x81" + hello(NEW_SESSION)[1:] + b"\x81" + data(0)[1:],
        "raw": raw(bytes(28)) + raw(b"\1\1" + bytes(30)) + raw(b"\1"),
    }
