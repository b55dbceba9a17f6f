# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Malformed packets to connected queue pairs: counted, refused, and no more.

ib-frames takes h2's place on the cable and is the peer of queue pairs that a
helper on h1 has made. After each case the right counter must have grown, the
queue pair must be in the state that the IBA asks for, memory without rights must
be as it was, and two queue pairs beside it must still work.
"""

import contextlib
import json
import struct
from dataclasses import dataclass

import pytest

from harness import until
from test_malformed import ib_frames, sender  # noqa: F401  (a fixture)
from verbs_runner import PAIR, note

pytestmark = pytest.mark.verbs

MTU = 1024
(SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM, WRITE_FIRST,
 WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM, READ_REQUEST,
 READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK, CMP_SWAP,
 FETCH_ADD) = range(21)
SEND_LAST_INV, SEND_ONLY_INV = 0x16, 0x17
UC = 0x20
FULL = bytes(MTU)
REFUSED = ("rc_rx_refused", "error")


def reth(offset, length, rkey="rkey", more=b""):
    """A RETH of memory that the target offers, to be made when its address is known."""
    def make(target):
        key = rkey if isinstance(rkey, int) else target[rkey]
        return struct.pack(">QII", (target["address"] + offset) % (1 << 64), key, length) + more
    return make


def atomic(offset, rkey="rkey"):
    def make(target):
        return struct.pack(">QIQQ", target["address"] + offset, target[rkey], 1, 0)
    return make


def beyond(length, more=b""):
    """A RETH that begins in the memory and ends @length bytes behind it."""
    def make(target):
        return reth(target["length"] - 8, 8 + length, more=more)(target)
    return make


@dataclass
class Case:
    """Packets (opcode, PSN, what follows the BTH) to one queue pair.

    counter: grows by one at least;  state: of the queue pair afterwards
    """

    name: str
    packets: list
    counter: str
    state: str
    target: str = "rts0"


CASES = [
    Case("PSN too high", [(SEND_ONLY, 5, b"")], "rc_rx_gap", "rts"),
    Case("PSN half round", [(SEND_ONLY, 0x7FFFFF, b"")], "rc_rx_gap", "rts"),
    Case("PSN before the first", [(SEND_ONLY, 0xFFFFF0, b"")], "rc_rx_dup", "rts"),
    Case("READ again that never was", [(READ_REQUEST, 0xFFFFF0, reth(0, 64))], "rc_rx_dup", "rts"),
    Case("SEND middle first", [(SEND_MIDDLE, 0, FULL)], *REFUSED),
    Case("SEND last first", [(SEND_LAST, 0, b"1234")], *REFUSED),
    Case("WRITE middle first", [(WRITE_MIDDLE, 0, FULL)], *REFUSED),
    Case("WRITE last first", [(WRITE_LAST, 0, b"1234")], *REFUSED),
    Case("SEND first twice", [(SEND_FIRST, 0, FULL), (SEND_FIRST, 1, FULL)], *REFUSED),
    Case("SEND only in a SEND", [(SEND_FIRST, 0, FULL), (SEND_ONLY, 1, b"1234")], *REFUSED),
    Case("WRITE in a SEND", [(SEND_FIRST, 0, FULL), (WRITE_LAST, 1, b"1234")], *REFUSED),
    Case("READ in a SEND", [(SEND_FIRST, 0, FULL), (READ_REQUEST, 1, reth(0, 8))], *REFUSED),
    Case("SEND in a WRITE", [(WRITE_FIRST, 0, reth(0, 2000, more=FULL)),
                             (SEND_LAST, 1, b"1234")], *REFUSED),
    Case("first too short", [(SEND_FIRST, 0, b"1234")], *REFUSED),
    Case("middle too short", [(SEND_FIRST, 0, FULL), (SEND_MIDDLE, 1, b"1234")], *REFUSED),
    Case("last empty", [(SEND_FIRST, 0, FULL), (SEND_LAST, 1, b"")], *REFUSED),
    Case("longer than the path MTU", [(SEND_ONLY, 0, bytes(2 * MTU))], *REFUSED),
    Case("longer than the port's MTU", [(SEND_ONLY, 0, bytes(5000))], "rx_mtu", "rts"),
    Case("longer than the receive", [(SEND_FIRST, 0, FULL), (SEND_MIDDLE, 1, FULL),
                                     (SEND_LAST, 2, b"1234")], *REFUSED),
    Case("WRITE before the region", [(WRITE_ONLY, 0, reth(-8, 16, more=bytes(16)))], *REFUSED),
    Case("WRITE beyond the region", [(WRITE_ONLY, 0, beyond(8, more=bytes(16)))], *REFUSED),
    Case("WRITE round the address space",
         [(WRITE_FIRST, 0, reth(-0x8000_0000, 0x8000_0000, more=FULL))], *REFUSED),
    Case("WRITE without rights", [(WRITE_ONLY, 0, reth(0, 8, "closed_rkey", bytes(8)))], *REFUSED),
    Case("WRITE with no key", [(WRITE_ONLY, 0, reth(0, 8, 0, bytes(8)))], *REFUSED),
    Case("WRITE with another key", [(WRITE_ONLY, 0, reth(0, 8, 0xDEADBEEF, bytes(8)))], *REFUSED),
    Case("WRITE longer than it says", [(WRITE_ONLY, 0, reth(0, 8, more=bytes(16)))], *REFUSED),
    Case("WRITE shorter than it says", [(WRITE_ONLY, 0, reth(0, 16, more=bytes(8)))], *REFUSED),
    Case("WRITE with more packets than it says",
         [(WRITE_FIRST, 0, reth(0, MTU + 8, more=FULL)), (WRITE_MIDDLE, 1, FULL)], *REFUSED),
    Case("WRITE of more than 2 GiB", [(WRITE_FIRST, 0, reth(0, 0x8000_0001, more=FULL))],
         *REFUSED),
    Case("READ before the region", [(READ_REQUEST, 0, reth(-8, 16))], *REFUSED),
    Case("READ beyond the region", [(READ_REQUEST, 0, beyond(1))], *REFUSED),
    Case("READ without rights", [(READ_REQUEST, 0, reth(0, 8, "closed_rkey"))], *REFUSED),
    Case("READ of more than 2 GiB", [(READ_REQUEST, 0, reth(0, 0xFFFF_FFFF))], *REFUSED),
    Case("atomic out of range", [(FETCH_ADD, 0, atomic(-8))], *REFUSED),
    Case("atomic not aligned", [(CMP_SWAP, 0, atomic(4))], *REFUSED),
    Case("atomic without rights", [(FETCH_ADD, 0, atomic(0, "closed_rkey"))], *REFUSED),
    Case("invalidate no key", [(SEND_ONLY_INV, 0, struct.pack(">I", 0xDEADBEEF))], *REFUSED),
    Case("ACK for nothing", [(ACK, 3, struct.pack(">I", 0x1F000001))], "rc_rx_ghost", "rts"),
    Case("NAK for nothing", [(ACK, 0, struct.pack(">I", 0x62000000))], "rc_rx_ghost", "rts"),
    Case("READ response for nothing", [(READ_ONLY, 0, struct.pack(">I", 0x1F000001) + FULL)],
         "rc_rx_ghost", "rts"),
    Case("atomic response for nothing",
         [(ATOMIC_ACK, 0, struct.pack(">IQ", 0x1F000001, 7))], "rc_rx_ghost", "rts"),
    Case("no RETH", [(WRITE_ONLY, 0, bytes(8))], "rx_malformed", "rts"),
    Case("no AETH", [(ACK, 0, b"")], "rx_malformed", "rts"),
    Case("no AtomicETH", [(CMP_SWAP, 0, bytes(20))], "rx_malformed", "rts"),
    Case("reserved opcode", [(0x1F, 0, bytes(64))], "rx_opcode", "rts"),
    Case("UC opcode to RC", [(UC | SEND_ONLY, 0, b"1234")], "rx_opcode", "rts"),
    Case("UD opcode to RC", [(0x64, 0, bytes(64))], "rx_opcode", "rts"),
    Case("RC opcode to UC", [(SEND_ONLY, 0, b"1234")], "rx_opcode", "rts", "uc"),
    Case("UC sequence", [(UC | SEND_MIDDLE, 0, FULL)], "link_rx_data", "rts", "uc"),
    Case("UC WRITE beyond the region", [(UC | WRITE_ONLY, 0, beyond(8, more=bytes(16)))],
         "rc_rx_refused", "rts", "uc"),
    Case("to a QP in RESET", [(SEND_ONLY, 0, b"1234")], "rx_no_qp", "reset", "reset"),
    Case("to a QP in INIT", [(SEND_ONLY, 0, b"1234")], "rx_no_qp", "init", "init"),
    Case("to a QP in error", [(SEND_ONLY, 0, b"1234")], "rx_no_qp", "error", "error"),
    Case("a response to a QP in RTR", [(ACK, 0, struct.pack(">I", 0x1F000001))], "rc_rx_ghost",
         "rtr", "rtr"),
]


def ask(process, line, seconds=60):
    process.tell(line)
    return json.loads(process.line(seconds))


@contextlib.contextmanager
def battlefield(lab, tool):
    """ib-frames in h2's place, and the helper with its queue pairs on h1."""
    with sender(lab, tool) as frames, \
            lab.helper_background("h1", "rc_target.py", "sib0", frames.lid) as target:
        assert target.line() == "ready"
        yield frames, target


def check_unharmed(seen):
    assert seen["intact"], "memory without rights was written"
    assert seen["bystanders"], "QPs beside the target do not work any more"


def shoot(frames, target, case):
    """Send a case; AssertionError if it had another effect than it must have."""
    offer = ask(target, "renew")
    before = ask(target, "counters")
    for opcode, psn, body in case.packets:
        data = body(offer) if callable(body) else body
        assert ask(frames, f"packet {offer['qpns'][case.target]} {opcode} {psn} "
                           f"{data.hex()}")["sent"] == 1
    seen = {}

    def counted():
        now = ask(target, "counters")
        seen["grown"] = {name: now[name] - before[name] for name in now
                         if now[name] != before[name]}
        return now[case.counter] > before[case.counter]

    until(counted, 10, lambda: f"{case.counter} grows: {seen['grown']}", interval=0.01)
    after = ask(target, "check")
    check_unharmed(after)
    assert after["states"][case.target] == case.state, after["states"]
    others = {name: state for name, state in after["states"].items()
              if name != case.target and state != name.rstrip("0123456789").replace("uc", "rts")}
    assert not others, f"other QPs have changed: {others}"


@pytest.mark.full
@pytest.mark.labs(drivers=["ours"])
def test_malformed_packets_to_connected_qps(lab, ib_frames, record_property):  # noqa: F811
    failed = []
    with battlefield(lab, ib_frames) as (frames, target):
        for case in CASES:
            try:
                shoot(frames, target, case)
            except AssertionError as error:
                failed.append(f"{case.name}: {error}")
        assert not failed, "\n".join(failed)
        assert lab.splats() + lab.dmesg_splats() == []
    note(record_property, lab, "malformed packets to connected QPs", PAIR,
         f"passed: {len(CASES)} cases")


@pytest.mark.full
@pytest.mark.timeout(3000)
@pytest.mark.labs(drivers=["ours"])
def test_fuzzed_packets_to_connected_qps(lab, ib_frames, record_property):  # noqa: F811
    """100,000; the QPs are made again often, for most are in error soon."""
    rounds = 200
    with battlefield(lab, ib_frames) as (frames, target):
        before = ask(target, "counters")
        for _ in range(rounds):
            numbers = ask(target, "renew")["qpns"].values()
            line = "fuzz 500 " + " ".join(str(number) for number in numbers)
            assert ask(frames, line)["sent"] == 500
            check_unharmed(ask(target, "check"))
        after = ask(target, "counters")
        for name in ("rc_rx_refused", "rc_rx_gap", "rc_rx_dup", "rx_malformed", "rx_opcode"):
            assert after[name] > before[name], f"{name} has not grown"
        assert lab.splats() + lab.dmesg_splats() == []
    note(record_property, lab, "random packets to connected QPs", PAIR,
         f"passed: {500 * rounds} sent, {after['rc_rx_refused'] - before['rc_rx_refused']} refused")
