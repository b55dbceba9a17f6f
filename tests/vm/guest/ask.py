# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Questions and answers over one TCP connection; runs in a guest.

usage: ask.py serve ADDRESS PORT
       ask.py ask ADDRESS PORT
The server prints "listening", takes one connection, and sends each question back
until its end. The client has one question at a time on its way, each another; on
a line "total" on standard input it prints how many were answered; on any other, or
at its end, it prints "end TOTAL" and is done. A wrong answer or a broken connection
ends either with status 1.
"""

import os
import select
import socket
import struct
import sys

SIZE = 100
PAUSE_SECONDS = 0.005   # between an answer and the next question


def serve(address, port):
    with socket.create_server((address, int(port))) as listener:
        print("listening", flush=True)
        connection, _ = listener.accept()
    with connection:
        while data := connection.recv(SIZE):
            connection.sendall(data)
    return 0


def question(number):
    return struct.pack("!Q", number) * (SIZE // 8) + b"?" * (SIZE % 8)


def ask(address, port):
    total, ending = 0, False
    with socket.create_connection((address, int(port))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while not ending:
            connection.sendall(question(total))
            # Also while the answer is waited for, somebody may want to know.
            while connection not in select.select([connection, 0][:1 if ending else 2], [], [])[0]:
                ending = not told(total)
            if connection.recv(SIZE, socket.MSG_WAITALL) != question(total):
                print(f"wrong answer to question {total}", flush=True)
                return 1
            total += 1
            if not ending and select.select([0], [], [], PAUSE_SECONDS)[0]:
                ending = not told(total)
    print(f"end {total}", flush=True)
    return 0


def told(total):
    """Obey a line of standard input. False: it is the end."""
    if os.read(0, 4096).strip() != b"total":
        return False
    print(total, flush=True)
    return True


sys.exit({"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:]))
