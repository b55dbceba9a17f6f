#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Reads a topology as ibnetdiscover prints it; prints its cables, sorted, a line each.

A node goes by the name in its comment, or by its id if it has none.
usage: cables.py [NAME=OTHER...] <TOPOLOGY   (a node called NAME is printed as OTHER)
"""
import re
import sys

NODE = re.compile(r'^(?:Switch|Ca)\s+\d+\s+"([^"]+)"(?:\s*#\s*"([^"]+)")?')
PORT = re.compile(r'^\[(\d+)\](?:\([0-9a-f]+\))?\s*"([^"]+)"\[(\d+)\]')


def cables(lines, renamed):
    names, ends, node = {}, [], None
    for line in lines:
        if found := NODE.match(line):
            node = found[1]
            name = found[2] or node
            names[node] = renamed.get(name, name)
        elif found := PORT.match(line):
            ends.append(((node, found[1]), (found[2], found[3])))
    return sorted({" ".join(sorted(f"{names[node]}:{port}" for node, port in pair))
                   for pair in ends})


if __name__ == "__main__":
    print("\n".join(cables(sys.stdin, dict(word.split("=") for word in sys.argv[1:]))))
