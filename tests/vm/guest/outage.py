# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""How long traffic stands still: UDP, multicast and TCP, numbered; runs in a guest.

usage: outage.py receive ADDRESS PORT GROUP NETDEV
       outage.py send ADDRESS PORT GROUP NETDEV
The receiver prints "ready", then obeys lines on its standard input:
  begin   forget what has come so far
  flow    print "flows" when ten more of each kind have come
  end     print one JSON object: of each kind the longest time without anything in
          ms, how many have come since "begin" and how many are missing among them
The sender sends to ADDRESS and GROUP every 10 ms, of each kind one, until a line
comes on its standard input or that ends.
"""

import errno
import json
import os
import select
import socket
import struct
import sys
import time

INTERVAL = 0.01
NUMBER = struct.Struct("!Q")
# What a send may meet while no port works.
PASSING = (errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENOBUFS, errno.EAGAIN)


class Seen:
    """What has come of one kind since the last begin."""

    def __init__(self):
        self.wanted = 0
        self.begin()

    def begin(self):
        self.last = time.monotonic()
        self.gap = 0.0
        self.numbers = set()

    def take(self, number):
        self._pause()
        self.numbers.add(number)
        self.wanted -= 1

    def _pause(self):
        now = time.monotonic()
        self.gap = max(self.gap, now - self.last)
        self.last = now

    def report(self):
        self._pause()
        span = max(self.numbers) - min(self.numbers) + 1 if self.numbers else 0
        return {"gap": round(self.gap * 1000), "got": len(self.numbers),
                "lost": span - len(self.numbers)}


class Receiver:
    """The three sockets and what has come by each."""

    def __init__(self, address, port, group, netdev):
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((address, port))
        self.multicast = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.multicast.bind((group, port))
        membership = socket.inet_aton(group) + bytes(4) + index_of(netdev)
        self.multicast.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(1)
        print("ready", flush=True)
        self.tcp, _ = listener.accept()
        self.stream = b""
        self.seen = {"UDP": Seen(), "multicast": Seen(), "TCP": Seen()}
        self.asked = False

    def run(self):
        inputs = [self.udp, self.multicast, self.tcp, 0]
        while True:
            ready, _, _ = select.select(inputs, [], [])
            for sock, kind in ((self.udp, "UDP"), (self.multicast, "multicast")):
                if sock in ready:
                    self.seen[kind].take(*NUMBER.unpack(sock.recv(64)))
            if self.tcp in ready and not self._take_stream():
                return
            if 0 in ready:
                words = os.read(0, 4096).decode().split()
                if not words:
                    return
                for word in words:
                    self._obey(word)
            if self.asked and all(one.wanted <= 0 for one in self.seen.values()):
                self.asked = False
                print("flows", flush=True)

    def _take_stream(self):
        data = self.tcp.recv(65536)
        self.stream += data
        whole = len(self.stream) // NUMBER.size * NUMBER.size
        for (number,) in NUMBER.iter_unpack(self.stream[:whole]):
            self.seen["TCP"].take(number)
        self.stream = self.stream[whole:]
        return data

    def _obey(self, word):
        if word == "end":
            print(json.dumps({kind: one.report() for kind, one in self.seen.items()}), flush=True)
        for one in self.seen.values():
            if word == "begin":
                one.begin()
            elif word == "flow":
                one.wanted = 10
                self.asked = True


def index_of(netdev):
    return struct.pack("@i", socket.if_nametoindex(netdev))


def receive(*words):
    Receiver(*words).run()


def try_send(sock, data, *to):
    """Send, or not: how many bytes have gone."""
    try:
        return sock.sendto(data, socket.MSG_DONTWAIT, *to)
    except OSError as error:
        if error.errno not in PASSING:
            raise
        return 0


def send(address, port, group, netdev):
    tcp = socket.create_connection((address, port))
    tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagram.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                        bytes(8) + index_of(netdev))
    number, waiting = 0, b""
    following = time.monotonic()
    while True:
        following += INTERVAL
        ready, _, _ = select.select([0], [], [], max(0, following - time.monotonic()))
        if ready:
            return
        data = NUMBER.pack(number)
        number += 1
        try_send(datagram, data, (address, port))
        try_send(datagram, data, (group, port))
        waiting += data
        waiting = waiting[try_send(tcp, waiting, (address, port)):]


{"send": send, "receive": receive}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
