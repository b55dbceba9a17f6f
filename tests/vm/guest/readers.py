# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Read all that the drivers tell of themselves, again and again; runs in a guest.

usage: readers.py NETDEV IBDEV
Files of sysfs and debugfs, and what ethtool, ip and rdma ask for, whether or not there is
such an interface or device now. Prints "running"; on a line "count" on standard input how many
rounds and files were read until then; any other line, or its end, ends it.
"""

import select
import subprocess
import sys
from pathlib import Path

# Written to only
LEFT_OUT = {"uevent", "clear_counters"}
COMMANDS = ["ethtool -S {net}", "ethtool -g {net}", "ethtool -c {net}", "ethtool -l {net}",
            "ethtool -k {net}", "ethtool -i {net}", "ip -s -d link show {net}",
            "ip -s -d neigh show dev {net}", "rdma -d res", "rdma -d res show qp",
            "rdma statistic show", "ibstat {ib}"]


def files(root):
    """All files below a folder that can be read, without those that links lead to."""
    folders = [root]
    while folders:
        try:
            entries = list(folders.pop().iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.is_symlink():
                continue
            if entry.is_dir():
                folders.append(entry)
            elif entry.name not in LEFT_OUT:
                yield entry


def read_all(roots):
    """Read each file once; how many could be read."""
    count = 0
    for root in roots:
        for file in files(root):
            try:
                file.read_bytes()
                count += 1
            except OSError:
                continue
    return count


def read_round(number, net, ib):
    """Read all files, and run one of the commands; how many files that were."""
    roots = [Path(f"/sys/class/net/{net}/").resolve(), Path(f"/sys/class/infiniband/{ib}/").resolve(),
             Path("/sys/kernel/debug/ipoib"), Path("/sys/kernel/debug/sib")]
    command = COMMANDS[number % len(COMMANDS)].format(net=net, ib=ib)
    subprocess.run(command.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return read_all(roots)


def main():
    net, ib = sys.argv[1:]
    rounds = read = 0
    print("running", flush=True)
    while True:
        if select.select([0], [], [], 0)[0]:
            if sys.stdin.readline().strip() != "count":
                return
            print(rounds, read, flush=True)
        read += read_round(rounds, net, ib)
        rounds += 1


main()
