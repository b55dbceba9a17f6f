#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Numbers over one TCP connection: every one has to arrive, in order.

numbers.py serve ADDRESS PORT: take one connection, check what comes until its end.
numbers.py send ADDRESS PORT FROM STOP: send from the address FROM until the file
STOP is there. Exit status 0 if all was well.
"""
import os
import socket
import struct
import sys
import time

BLOCK = 512         # numbers
PAUSE_SECONDS = 0.01


def serve(address, port):
    expected = 0
    with socket.create_server((address, port)) as listener:
        connection, _ = listener.accept()
    with connection, connection.makefile("rb") as stream:
        while data := stream.read(8):
            number, = struct.unpack("!Q", data)
            if number != expected:
                sys.exit(f"{number} came instead of {expected}")
            expected += 1
    print(f"{expected} numbers")


def send(address, port, source, stop):
    start = 0
    with socket.create_connection((address, port), source_address=(source, 0)) as connection:
        while not os.path.exists(stop):
            connection.sendall(struct.pack(f"!{BLOCK}Q", *range(start, start + BLOCK)))
            start += BLOCK
            time.sleep(PAUSE_SECONDS)
    print(f"{start} numbers")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        send(sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
