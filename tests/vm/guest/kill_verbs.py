# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Kills perftest clients and servers in the middle of their traffic.

usage: kill_verbs.py COUNT SERVER_DEVICE CLIENT_DEVICE
Each time one of the two gets SIGKILL while data flows, then the other; then the
resources of RDMA must be what they were. Prints one JSON object at the end.
"""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

PORT = 18515
LIMIT_SECONDS = 60
# What runs until it is killed: it goes on for far longer than it is let live.
COMMANDS = ["ib_send_bw -e", "ib_write_bw", "ib_read_bw -e", "ib_send_bw -c UD -s 2048",
            "ib_atomic_bw", "ib_send_bw -b -q 8", "ib_write_bw -s 4194304", "ib_send_bw -e -s 64",
            "ib_read_bw -b -q 8", "ib_send_bw --use-srq -q 8 -e"]


def until(condition, what):
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"kill_verbs.py: not within {LIMIT_SECONDS} s: {what()}")
        time.sleep(0.01)


def listens():
    """Whether a TCP socket listens on PORT."""
    tables = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    return any(line.split()[1].endswith(f":{PORT:04X}") and line.split()[3] == "0A"
               for line in tables.splitlines() if ":" in line.split()[0])


def sent(device):
    return int(Path(f"/sys/class/infiniband/{device}/ports/1/counters/port_xmit_data").read_text())


def resources():
    return json.loads(subprocess.run(["rdma", "-j", "resource", "show"], check=True,
                                     stdout=subprocess.PIPE).stdout)


def start(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)


def kill_once(number, devices, choice):
    command = COMMANDS[number % len(COMMANDS)].split() + ["-F", "-n", "10000000", "-d"]
    before = [sent(device) for device in devices]
    processes = [start([*command, devices[0]])]
    until(listens, lambda: f"{command} listens")
    processes.append(start([*command, devices[1], "127.0.0.1"]))

    def flows():
        now = [sent(device) for device in devices]
        return sum(now) - sum(before) > 20000  # words of four bytes

    until(flows, lambda: f"traffic of {command}: {[p.poll() for p in processes]}")
    time.sleep(choice.uniform(0, 0.05))  # anywhere in the middle
    if choice.random() < 0.5:
        processes.reverse()
    for process in processes:
        process.kill()
        process.wait()
        time.sleep(choice.uniform(0, 0.05))


def main():
    count, devices = int(sys.argv[1]), sys.argv[2:4]
    choice = random.Random(count)
    idle = resources()
    for number in range(count):
        kill_once(number, devices, choice)
        until(lambda: resources() == idle, lambda: f"resources are back: {resources()}, not {idle}")
    print(json.dumps({"killed": 2 * count}))


if __name__ == "__main__":
    main()
