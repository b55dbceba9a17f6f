# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A TCP stream whose every byte is checked; runs in a guest.

usage: stream.py serve ADDRESS PORT
       stream.py send ADDRESS PORT [PAUSE]
The server prints "listening", takes one connection and checks each byte
against its position; on a line "total" on standard input it prints the bytes
received so far; at the end of the stream "end BYTES". A wrong byte or a broken
connection ends it with status 1.
The sender sends until a line comes on its standard input, then closes and
prints "sent BYTES". With PAUSE it rests so many seconds after each block of 64 KiB,
for the host has other things to do.
"""

import os
import select
import socket
import sys

# A prime length, so that a lost or repeated packet cannot go unnoticed.
PERIOD = 65521
BLOCK = bytes((i * 31 + (i >> 8)) & 0xFF for i in range(PERIOD))
PATTERN = BLOCK * 3


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def serve(address, port):
    listener = socket.socket(family(address), socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, int(port)))
    listener.listen(1)
    print("listening", flush=True)
    connection, _ = listener.accept()
    total = 0
    inputs = [connection, 0]
    while True:
        ready, _, _ = select.select(inputs, [], [])
        if connection in ready:
            data = connection.recv(PERIOD)
            at = total % PERIOD
            if data != PATTERN[at:at + len(data)]:
                print(f"wrong data after {total} bytes", flush=True)
                return 1
            total += len(data)
            if not data:
                print(f"end {total}", flush=True)
                return 0
        if 0 in ready:
            if os.read(0, 4096):
                print(total, flush=True)
            else:
                inputs.remove(0)


def send(address, port, pause="0"):
    connection = socket.socket(family(address), socket.SOCK_STREAM)
    connection.connect((address, int(port)))
    total = 0
    while True:
        readable, writable, _ = select.select([0], [connection], [])
        if readable:
            break
        if writable:
            at = total % PERIOD
            total += connection.send(PATTERN[at:at + PERIOD], socket.MSG_DONTWAIT)
            if float(pause) and select.select([0], [], [], float(pause))[0]:
                break
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)  # the server has read everything and closed
    print(f"sent {total}", flush=True)
    return 0


sys.exit({"serve": serve, "send": send}[sys.argv[1]](*sys.argv[2:]))
