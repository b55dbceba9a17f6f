#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A fat tree of three levels as ibnetdiscover and ibsim have it; its first host is h0.

Pods of leaves, each with hosts, and of spines, each of which is cabled to each leaf of
its pod and to cores of its own.
usage: fat_tree.py PODS LEAVES HOSTS SPINES CORES   (the last two: a pod, and a spine)
"""
import sys


def cables(pods, leaves, hosts, spines, cores):
    """Both ends of each: (node, port), (node, port)."""
    for pod in range(pods):
        for leaf in range(leaves):
            name = f"leaf-{pod}-{leaf}"
            first = (pod * leaves + leaf) * hosts
            for host in range(hosts):
                yield (f"h{first + host}", 1), (name, host + 1)
            for spine in range(spines):
                yield (name, hosts + spine + 1), (f"spine-{pod}-{spine}", leaf + 1)
        for spine in range(spines):
            for core in range(cores):
                yield ((f"spine-{pod}-{spine}", leaves + core + 1),
                       (f"core-{spine * cores + core}", pod + 1))


def fat_tree(*numbers):
    """The lines of the topology."""
    nodes = {}
    for one, other in cables(*numbers):
        nodes.setdefault(one[0], {})[one[1]] = other
        nodes.setdefault(other[0], {})[other[1]] = one
    for name, ports in nodes.items():
        kind = "Ca" if name.startswith("h") else "Switch"
        yield f'{kind} {max(ports)} "{name}"'
        for port, (peer, number) in sorted(ports.items()):
            yield f'[{port}] "{peer}"[{number}]'
        yield ""


if __name__ == "__main__":
    print("\n".join(fat_tree(*map(int, sys.argv[1:]))))
