#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A peer on an HCA's cable that changes frames while they are held for their turn.

hostile_sender.py NETDEV: an ordinary user's process with the far end of the cable. It sends by
/dev/lender, without a copy: what the HCA receives is a page that the process still writes to.

Held frames are changed in ways that a driver falls for if it reads their headers again. Of
each, the packets must arrive that it had when it was checked, and no others: the packets are
SMPs, which the HCA answers.
"""
import mmap
import os
import signal
import socket
import struct
import sys
import time

LIMIT_SECONDS = 120
NOBODY = 65534
ETHERNET, ETHERTYPE = 14, 0x88B5
BROADCAST = bytes([255] * 6)
HEADER = struct.Struct(">BBHHBBIIIIHH")     # docs/sib-link.md, section 1
HELLO, DATA, ACK = 1, 2, 3
LENGTH_AT, COUNT_AT, SMP_AT = 2, 7, HEADER.size + 28
TRANSACTION_AT = SMP_AT + 8
SMP_PACKET = 288


def checksum(data):
    """RFC 1071"""
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def question(transaction):
    """An InfiniBand packet: SubnGet(NodeInfo) by a directed route of one hop."""
    lrh = struct.pack(">BBHHH", 0xF0, 2, 0xFFFF, SMP_PACKET // 4, 0xFFFF)
    bth_deth = struct.pack(">BBHIIII", 0x64, 0, 0xFFFF, 0, 0, 0, 0)
    smp = struct.pack(">BBBBHBBQHHIQHH", 1, 0x81, 1, 1, 0, 1, 1, transaction, 0x11, 0, 0, 0,
                      0xFFFF, 0xFFFF)
    smp = smp.ljust(128, b"\0") + bytes([0, 1])
    return lrh + bth_deth + smp.ljust(256, b"\0") + bytes(4)


class Cable:
    """The far end of the cable."""

    def __init__(self, netdev):
        self.incoming = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        self.incoming.bind((netdev, ETHERTYPE))
        self.mac = self.incoming.getsockname()[4]
        self.index = socket.if_nametoindex(netdev)
        self.lender = os.open("/dev/lender", os.O_RDWR)
        self.page = mmap.mmap(self.lender, mmap.PAGESIZE)
        self.session, self.peer, self.peer_mac = 0x1000, 0, BROADCAST
        self.next, self.expected = 0, 0
        self.answers = set()    # transactions

    def frame(self, kind, seq, payload=b"", count=0):
        def header(check):
            return HEADER.pack(1, kind, HEADER.size + len(payload), check, 0, count, self.session,
                               self.peer, seq, self.expected, 0, 128)
        return header(checksum(header(0) + payload)) + payload

    def send(self, frame):
        """Send from the page, which stays in use until the frame has been delivered."""
        whole = self.peer_mac + self.mac + struct.pack(">H", ETHERTYPE) + frame
        self.page[:len(whole)] = whole
        os.write(self.lender, struct.pack("III", self.index, 0, len(whole)))

    def send_copy(self, frame):
        whole = self.peer_mac + self.mac + struct.pack(">H", ETHERTYPE) + frame
        self.incoming.send(whole.ljust(60, b"\0"))

    def change(self, offset, octets):
        """Write over a part of the frame that was sent."""
        self.page[ETHERNET + offset:ETHERNET + offset + len(octets)] = octets

    def data(self, payload=b"", count=0):
        """The next frame in sequence"""
        self.send_copy(self.frame(DATA, self.next, payload, count))
        self.next += 1

    def hello(self):
        self.send_copy(self.frame(HELLO, 0, struct.pack(">BBHIQI", 2 if self.peer else 0, 1, 20000, 9000,
                                                        0x020000FFFE000002, 0)))

    def receive(self, what, seconds=30):
        """The next frame's header; @what is not there if none comes."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.incoming.settimeout(max(end - time.monotonic(), 0.001))
            try:
                whole = self.incoming.recv(16384)
            except TimeoutError:
                break
            frame = whole[ETHERNET:]
            if whole[6:12] == self.mac or len(frame) < HEADER.size:
                continue
            header = HEADER.unpack_from(frame)
            self.peer_mac = whole[6:12]
            if header[1] == DATA and header[8] == self.expected:
                self.expected += 1
                self.note(frame[:header[2]])
            return header
        raise SystemExit(f"hostile_sender.py: not within {seconds} s: {what}")

    def note(self, frame):
        """Note the answers in a frame of whole packets."""
        for at in range(0, len(frame) - HEADER.size, SMP_PACKET):
            self.answers.add(struct.unpack_from(">Q", frame, at + TRANSACTION_AT)[0])

    def train(self):
        while True:
            self.hello()
            header = self.receive("a hello")
            if header[7] == self.session:
                self.peer = header[6]
                self.hello()
                return

    def ask(self, transaction):
        """A question in a frame that nobody changes, and its answer."""
        self.data(question(transaction), 1)
        while transaction not in self.answers:
            self.receive("the answer to a question")


# What is written over the header of a held frame: offset, octets
BOTH = HEADER.size + 2 * SMP_PACKET
CHANGES = {
    "longer": ((LENGTH_AT, struct.pack(">H", BOTH)), (COUNT_AT, b"\2")),
    "too long": ((LENGTH_AT, b"\xFF\xFF"), (COUNT_AT, b"\xFF")),
    "too short": ((LENGTH_AT, struct.pack(">H", HEADER.size + SMP_PACKET - 4)),),
    "empty": ((LENGTH_AT, struct.pack(">H", HEADER.size)),),
    "less than its header": ((LENGTH_AT, struct.pack(">H", HEADER.size - 1)), (COUNT_AT, b"\2")),
    "no packets": ((COUNT_AT, b"\0"),),
}


def held(cable, first, changes):
    """A frame ahead of its turn is changed, then gets its turn. Returns what is wrong."""
    seen, changed, beyond, last = range(first, first + 4)
    # what is beyond its length is not of it, as the padding of short frames
    cable.send(cable.frame(DATA, cable.next + 1, question(seen), 1) + question(beyond))
    while True:
        header = cable.receive("a report of what is missing")
        if header[1] == ACK and header[10] == 1 and header[9] == cable.next:
            break
    cable.change(TRANSACTION_AT, struct.pack(">Q", changed))
    for offset, octets in changes:
        cable.change(offset, octets)
    cable.data()
    cable.next += 1
    cable.ask(last)
    if seen in cable.answers:
        return "the frame is a copy: this tests nothing"
    problems = []
    if beyond in cable.answers:
        problems.append("a packet was delivered that was not in the frame when it was checked")
    if changed not in cable.answers:
        problems.append("the packet that was in the frame was not delivered")
    return "; ".join(problems)


def main():
    signal.alarm(LIMIT_SECONDS)
    cable = Cable(*sys.argv[1:])
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    cable.train()
    cable.ask(1)
    wrong = 0
    for number, (name, changes) in enumerate(CHANGES.items(), 1):
        problem = held(cable, number << 8, changes)
        wrong += bool(problem)
        print(f"{name}: {problem or 'as it was when it was checked'}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
