#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Many TCP connections with questions and answers: none may be lost, no byte be wrong.

crowd.py serve ADDRESS PORT: send back what comes, for as long as it runs.
crowd.py ask ADDRESS PORT COUNT [OCTETS]: that many connections. For each line of standard
input, ask on all of them at once, and print how many answers there have been when the
last is there. At its end, close them; exit status 0 if all was well.
"""
import selectors
import socket
import struct
import sys

SIZE = 512          # of a question, unless told
PIECE = 65536
LIMIT_SECONDS = 120     # for an answer; TCP itself is far more patient


def serve(address, port):
    chooser = selectors.DefaultSelector()
    listener = socket.create_server((address, port), backlog=1024)
    chooser.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in chooser.select():
            if key.fileobj is listener:
                chooser.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            if data := key.fileobj.recv(PIECE):
                key.fileobj.sendall(data)
            else:
                chooser.unregister(key.fileobj)
                key.fileobj.close()


def question(connection, number, size):
    return struct.pack("!QQ", connection, number) * (size // 16)


def answer(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("closed by the other end")
        data += piece
    return data


def ask(address, port, count, size=SIZE):
    connections = [socket.create_connection((address, port), timeout=LIMIT_SECONDS)
                   for _ in range(count)]
    for number, _ in enumerate(sys.stdin):
        for index, connection in enumerate(connections):
            connection.sendall(question(index, number, size))
        for index, connection in enumerate(connections):
            expected = question(index, number, size)
            if answer(connection, len(expected)) != expected:
                sys.exit(f"connection {index}: a wrong answer to question {number}")
        print((number + 1) * count, flush=True)
    for connection in connections:
        connection.close()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        ask(sys.argv[2], *map(int, sys.argv[3:]))
