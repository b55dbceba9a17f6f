# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""One echo of each payload size, its content compared; runs in a guest.

usage: echo.py ADDRESS do|dont SIZE[-SIZE[/STEP]]...
With `do` packets are never fragmented, and up to 8 echoes of moderate size are in
flight. Otherwise it is one at a time: the kernel's ICMP socket, which sends the
replies, holds two of the largest. Nothing is sent twice. Prints a JSON object: how
many sizes were tried, and what went wrong at which size (at most 20 of them).
"""

import json
import select
import socket
import struct
import sys

PING_GROUPS = "/proc/sys/net/ipv4/ping_group_range"
WINDOW = 8
MODERATE = 8192  # octets
SECONDS = 5
NOISE = bytes((i * 73 + (i >> 8) * 11) & 0xFF for i in range(66000))
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33  # not in the socket module
IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, PMTUDISC_DONT, PMTUDISC_DO = 10, 23, 0, 2


def sizes(words):
    for word in words:
        span, _, step = word.partition("/")
        first, _, last = span.partition("-")
        yield from range(int(first), int(last or first) + 1, int(step or 1))


def ping_socket(address, discovery):
    """A socket that sends echo requests and receives the replies to them."""
    with open(PING_GROUPS, "w", encoding="ascii") as file:
        file.write("0 2147483647")
    if ":" in address:
        sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6)
        level, option = socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER
    else:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
        level, option = socket.IPPROTO_IP, IP_MTU_DISCOVER
    sock.setsockopt(level, option, PMTUDISC_DO if discovery == "do" else PMTUDISC_DONT)
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 4 << 20)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
    sock.connect((address, 0))
    return sock


def payload(size):
    return NOISE[size % 251:size % 251 + size]


def take_reply(sock, waiting, failed):
    """Receive one reply, or give all that are waited for up."""
    if not select.select([sock], [], [], SECONDS)[0]:
        failed.update(dict.fromkeys(waiting.values(), "no reply"))
        waiting.clear()
        return
    data = sock.recv(1 << 17)
    sequence = struct.unpack("!H", data[6:8])[0]
    size = waiting.pop(sequence, None)
    if size is not None and data[8:] != payload(size):
        failed[size] = f"wrong content, {len(data) - 8} bytes"


def main():
    address, discovery, *words = sys.argv[1:]
    sock = ping_socket(address, discovery)
    request = 128 if ":" in address else 8
    waiting, failed, count = {}, {}, 0
    for size in sizes(words):
        count += 1
        window = WINDOW if discovery == "do" and size <= MODERATE else 1
        while len(waiting) >= window:
            take_reply(sock, waiting, failed)
        try:
            sock.send(struct.pack("!BBHHH", request, 0, 0, 0, count & 0xFFFF) + payload(size))
            waiting[count & 0xFFFF] = size
        except OSError as error:
            failed[size] = str(error)
    while waiting:
        take_reply(sock, waiting, failed)
    print(json.dumps({"sizes": count, "failures": len(failed),
                      "failed": dict(list(failed.items())[:20])}))


main()
