# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Carry a file over TCP; runs in a guest.

usage: filecopy.py receive ADDRESS PORT FILE    (prints "listening" first)
       filecopy.py send ADDRESS PORT FILE
"""

import shutil
import socket
import sys

CHUNK = 1 << 20


def receive(address, port, path):
    with socket.create_server((address, int(port))) as server, open(path, "wb") as file:
        print("listening", flush=True)
        connection, _ = server.accept()
        shutil.copyfileobj(connection.makefile("rb"), file, CHUNK)


def send(address, port, path):
    with socket.create_connection((address, int(port))) as connection, open(path, "rb") as file:
        connection.sendfile(file)


{"receive": receive, "send": send}[sys.argv[1]](*sys.argv[2:])
