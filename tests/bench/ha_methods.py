# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What keeps h2's address alive in `make bench-ha`, and the probes from h1 that tell."""

import contextlib
import json
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "vm"), str(TOP / "scripts"), str(TOP / "tests" / "bench")]
import ha_figures as figures  # noqa: E402
from checklib import programs  # noqa: E402
from harness import ipv4, ipv6  # noqa: E402

PEER, HOST = "h1", "h2"     # the subnet manager is h1's
PORT = 7300


class IpoibHa:
    """h2 with the daemon; its address is that of ib0."""

    def __init__(self, lab):
        self.lab = lab

    def __enter__(self):
        self.process = self.lab.background(HOST, programs.BIN / "ipoib-ha", "-p", "ib0", "-s",
                                           "ib1", "--with-arping")
        self.process.__enter__()
        return self

    def __exit__(self, *_):
        if self.active() == "ib1":
            self.lab.run(HOST, programs.BIN / "ipoib-ha", "switch", check=False)
        self.process.__exit__()

    def ready(self):
        return self.lab.ok(HOST, programs.BIN / "ipoib-ha", "status")

    def pair(self):
        status = self.lab.out(HOST, programs.BIN / "ipoib-ha", "status", "-j", check=False)
        return json.loads(status)["pairs"][0] if status else {"interfaces": [], "moves": []}

    def active(self):
        return next((one["name"] for one in self.pair()["interfaces"] if one["active"]), None)

    def move(self):
        """The last failover, with all that has become of it."""
        return self.pair()["moves"][-1]


class Bond:
    """h2 with both ports in a bond, which has its address."""

    def __init__(self, lab, miimon):
        self.lab, self.miimon = lab, miimon

    def __enter__(self):
        slaves = "".join(f"ip addr flush dev ib{port}; ip link set ib{port} down; "
                         f"ip link set ib{port} master bond0; " for port in (0, 1))
        self.lab.sh(HOST, "set -e; modprobe bonding max_bonds=0; "
                    "ip link add bond0 type bond mode active-backup fail_over_mac active "
                    f"miimon {self.miimon}; {slaves}ip link set bond0 up; "
                    f"ip addr add {ipv4(HOST)}/24 dev bond0")
        return self

    def __exit__(self, *_):
        own = "".join(f"ip link set ib{port} nomaster; ip link set ib{port} up; "
                      f"ip addr replace {ipv4(HOST, port)}/24 dev ib{port}; "
                      f"ip addr replace {ipv6(HOST, port)}/64 dev ib{port} nodad; "
                      for port in (0, 1))
        self.lab.sh(HOST, f"ip link del bond0; {own}", check=False)

    def ready(self):
        return self.lab.ok(HOST, "sh", "-c",
                           "[ $(grep -c '^MII Status: up' /proc/net/bonding/bond0) = 3 ] && "
                           "grep -q 1 /sys/class/net/ib0/carrier && "
                           "grep -q 1 /sys/class/net/ib1/carrier")

    def active(self):
        return self.lab.read(HOST, "/sys/class/net/bond0/bonding/active_slave")

    def move(self):
        return None


@contextlib.contextmanager
def echo(lab):
    """h2 sends back what comes to its address."""
    with lab.background(HOST, programs.BIN / "ha-probe", "echo", ipv4(HOST), PORT) as process:
        assert process.line() == "ready"
        yield


class Probes:
    """Probes from h1 to h2 while the `with` block runs; then their log."""

    def __init__(self, lab, interval):
        self.process = lab.background(PEER, programs.BIN / "ha-probe", "send", ipv4(PEER),
                                      ipv4(HOST), PORT, interval)

    def __enter__(self):
        self.process.__enter__()
        assert self.process.line() == "ready"
        return self

    def __exit__(self, *what):
        self.process.__exit__(*what)

    def ask_for(self, *more):
        """Ask when so many more than now have come back. wait() is for one answer.

        In advance: a question keeps h1 busy.
        """
        self.process.tell("now")
        now = int(self.process.line())
        for number in more:
            self.process.tell(str(now + number))

    def wait(self):
        self.process.line()

    def log(self):
        return figures.arrivals(self.process.stop().out)
