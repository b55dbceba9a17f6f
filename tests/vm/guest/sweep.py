# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Ping a target once with each of many payload sizes; runs in a guest.

usage: sweep.py TARGET do|dont SIZE[-SIZE]...
Prints one JSON object: {"sizes": N, "failed": {size: last line of ping}}.
A lost echo counts as failed: nothing is tried twice.
"""

import json
import subprocess
import sys


def sizes(words):
    for word in words:
        first, _, last = word.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main():
    target, discovery, *words = sys.argv[1:]
    failed = {}
    count = 0
    for size in sizes(words):
        count += 1
        done = subprocess.run(["ping", "-q", "-c1", "-W5", "-M", discovery, "-s", str(size), target],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            lines = (done.stdout + done.stderr).strip().splitlines()
            failed[size] = next((line for line in lines if "received" in line or "rror" in line),
                                lines[-1])
    print(json.dumps({"sizes": count, "failed": failed}))


main()
