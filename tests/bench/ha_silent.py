# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Faults that no event tells: all packets but MADs get lost on the cable of a port of h2.

Its link stays up, and the subnet manager sees nothing. Beside ipoib-ha are what others have
for that, at the fastest that they can be set to: keepalived, whose VRRP routers are two
network namespaces of h2 with a port each, and FRR's bfdd, which notices and moves nothing.
"""

import contextlib
import re
import subprocess
import sys
from pathlib import Path

from ha_methods import HOST, PEER, PORT, IpoibHa, Probes, figures, programs
from harness import ipv4, until
from lablib import fabric

READY_SECONDS = 60
TRIES = 5
STEADY = 300                # probes that come back before and after a failover
KINDS = "ud,rc,other"       # packets that get lost
KEEPALIVED = Path("/usr/sbin/keepalived")
BFDD = Path("/usr/lib/frr/bfdd")
STANDBY = "standby"         # the namespace of h2 that ib1 is in, for keepalived
FRR = "/run/bench-frr"
BFD_DOWN = re.compile(r"^(\S+ [\d:.]+) .*state-change: .* up -> down", re.MULTILINE)


def missing():
    """Rows that cannot be had here, with what to do about it."""
    absent = [program.name for program in (KEEPALIVED, BFDD) if not program.exists()]
    return f"no {' and no '.join(absent)}: scripts/bootstrap features installs them" if absent else ""


class Silence:
    """A port of h2 is silent until the `with` block ends."""

    def __init__(self, port):
        self.at = f"{HOST}:{port + 1}"

    def __enter__(self):
        # Not by way of `lab`: a Python that ends keeps the machine busy just now.
        self._say("drop", self.at, "100%", "--packets", KINDS)

    def __exit__(self, *_):
        self._say("clear")

    @staticmethod
    def _say(*words):
        subprocess.run([programs.BIN / "ibfabric-ctl", "--socket", fabric.control_path(), "fault",
                        *words], check=True, stdout=subprocess.DEVNULL)


def link_local(lab, host):
    """The link-local addresses of both ports."""
    def addresses(port):
        # What is not asked for is there, but empty.
        shown = lab.json(host, "ip", "-j", "-6", "addr", "show", "dev", f"ib{port}", "scope", "link")
        return [one["local"] for link in shown for one in link.get("addr_info", []) if one]

    return [addresses(port)[0] for port in (0, 1)]


def probes_of(lab, peer):
    """Options for sessions with both ports of this host."""
    return [word for one in link_local(lab, peer) for word in ("--probe", one)]


class Probed(IpoibHa):
    """ipoib-ha on both hosts, with BFD sessions between all of their ports."""

    def __init__(self, lab, every, misses):
        super().__init__(lab)
        self.stack = contextlib.ExitStack()
        self.timing = ["--probe-every", every, "--probe-misses", misses]

    def __enter__(self):
        self.stack.enter_context(self.lab.background(
            PEER, programs.BIN / "ipoib-ha", "-p", "ib0", "-s", "ib1", *self.timing,
            *probes_of(self.lab, HOST)))
        self.process = self.stack.enter_context(self.lab.background(
            HOST, programs.BIN / "ipoib-ha", "-p", "ib0", "-s", "ib1", *self.timing,
            *probes_of(self.lab, PEER)))
        return self

    def __exit__(self, *what):
        if self.active() == "ib1":
            self.lab.run(HOST, programs.BIN / "ipoib-ha", "switch", check=False)
        self.stack.__exit__(*what)

    def ready(self):
        """All sessions are up, and nothing else is wrong."""
        sessions = self.pair().get("sessions", {"all": []})["all"]
        return super().ready() and sessions and all(one["state"] == "Up" for one in sessions)


class Asked(IpoibHa):
    """ipoib-ha on h2, which asks h1 by ARP as often as it may."""

    def __enter__(self):
        self.process = self.lab.background(
            HOST, programs.BIN / "ipoib-ha", "-p", "ib0", "-s", "ib1", "--target", ipv4(PEER),
            "--target-every", 20, "--target-misses", 3)
        self.process.__enter__()
        return self


class Keepalived:
    """h2's address by VRRPv3 with an advertisement every 10 ms."""

    def __init__(self, lab):
        self.lab, self.stack = lab, contextlib.ExitStack()

    @staticmethod
    def _conf(device, priority):
        return ("global_defs {\n vrrp_version 3\n vrrp_rt_priority 50\n"
                " vrrp_rlimit_rttime 10000000\n vrrp_no_swap\n}\n"
                f"vrrp_instance bench {{\n interface {device}\n state BACKUP\n virtual_router_id 51\n"
                f" priority {priority}\n advert_int 0.01\n"
                f" virtual_ipaddress {{\n  {ipv4(HOST)}/24\n }}\n}}\n")

    def __enter__(self):
        within = f"ip netns exec {STANDBY}"
        self.lab.sh(HOST, f"""set -e
            ip netns add {STANDBY}; ip link set ib1 netns {STANDBY}
            ip -n {STANDBY} link set lo up; ip -n {STANDBY} link set ib1 up
            ip -4 addr flush dev ib0; ip addr add 10.10.0.102/24 dev ib0
            ip -n {STANDBY} addr add 10.10.0.103/24 dev ib1
            sysctl -qw net.ipv4.ip_nonlocal_bind=1; {within} sysctl -qw net.ipv4.ip_nonlocal_bind=1
            echo '{self._conf("ib0", 200)}' > /run/bench-ib0.conf
            echo '{self._conf("ib1", 100)}' > /run/bench-ib1.conf""")
        start = self.stack.enter_context
        for words, device in (([], "ib0"), (within.split(), "ib1")):
            start(self.lab.background(HOST, *words, KEEPALIVED, "-n", "-P", "-l", "-f",
                                      f"/run/bench-{device}.conf", "-p", f"/run/bench-{device}.pid",
                                      "-r", f"/run/bench-{device}.vrrp.pid"))
        start(self.lab.background(HOST, *within.split(), programs.BIN / "ha-probe", "echo",
                                  ipv4(HOST), PORT))
        return self

    def __exit__(self, *what):
        self.stack.__exit__(*what)
        self.lab.sh(HOST, f"ip -n {STANDBY} link set ib1 netns 1; ip netns del {STANDBY}; "
                    "sysctl -qw net.ipv4.ip_nonlocal_bind=0; ip -4 addr flush dev ib0; "
                    f"ip addr add {ipv4(HOST)}/24 dev ib0; ip link set ib1 up; "
                    f"ip addr add {ipv4(HOST, 1)}/24 dev ib1", check=False)

    def _has(self, *words):
        return ipv4(HOST) + "/" in self.lab.out(HOST, "ip", *words, check=False)

    def active(self):
        """Both are, while they do not hear each other."""
        return "ib1" if self._has("-n", STANDBY, "addr", "show", "dev", "ib1") else "ib0"

    def ready(self):
        return self.active() == "ib0" and self._has("addr", "show", "dev", "ib0")


class Bfdd:
    """bfdd on both hosts, three packets of 10 ms: when h1's says that the session is down."""

    def __init__(self, lab):
        self.lab, self.stack = lab, contextlib.ExitStack()

    def __enter__(self):
        local = {host: link_local(self.lab, host)[0] for host in (PEER, HOST)}
        for host, peer in ((PEER, HOST), (HOST, PEER)):
            conf = (f"log file {FRR}/bfdd.log\\nlog timestamp precision 6\\ndebug bfd peer\\nbfd\\n"
                    f" peer {local[peer]} local-address {local[host]} interface ib0\\n"
                    "  transmit-interval 10\\n  receive-interval 10\\n  detect-multiplier 3\\n")
            self.lab.sh(host, f"rm -rf {FRR}; mkdir -p {FRR} /var/run/frr; chmod 777 {FRR}; "
                        f"chown frr:frr /var/run/frr; printf '{conf}' > {FRR}/bfdd.conf; "
                        f": > {FRR}/zebra.conf; chmod 644 {FRR}/*.conf")
            for name, more in (("zebra", []), ("bfdd", ["--bfdctl", f"{FRR}/bfdctl"])):
                self.stack.enter_context(self.lab.background(
                    host, BFDD.with_name(name), "-z", f"{FRR}/zebra.socket", "-i",
                    f"{FRR}/{name}.pid", "--vty_socket", FRR, "-f", f"{FRR}/{name}.conf", "-P", 0,
                    *more))
                if name == "zebra":
                    self.lab.wait(host, f"test -S {FRR}/zebra.socket", 20, "zebra listens")
        return self

    def __exit__(self, *what):
        self.stack.__exit__(*what)

    def log(self):
        return self.lab.out(PEER, "cat", f"{FRR}/bfdd.log", check=False)

    def ready(self):
        return len(re.findall("state-change: .* -> up", self.log())) > len(BFD_DOWN.findall(self.log()))

    def downs(self):
        """When the session went down, by h1's CLOCK_MONOTONIC."""
        script = ("import time\nahead = time.time() - time.monotonic()\n"
                  "for line in __import__('sys').stdin:\n"
                  "    stamp, _, rest = line.strip().rpartition('.')\n"
                  "    at = time.mktime(time.strptime(stamp, '%Y/%m/%d %H:%M:%S'))\n"
                  "    print(at + float('0.' + rest) - ahead)\n")
        stamps = "\\n".join(BFD_DOWN.findall(self.log()))
        text = self.lab.out(PEER, "sh", "-c",
                            f"printf '{stamps}\\n' | /usr/bin/python3 -c \"{script}\"")
        return [float(one) for one in text.split()]


def failover(lab, host, interval):
    """The port that is used is silent. The outage in ms."""
    until(host.ready, READY_SECONDS, "both ports of h2 work")
    lab.reachable(PEER, ipv4(HOST))
    port = int(host.active()[2:])
    with Probes(lab, interval) as probes:
        probes.ask_for(STEADY, 3 * STEADY)
        probes.wait()
        with Silence(port):
            probes.wait()
            until(lambda: host.active() == f"ib{1 - port}", 30, "the other port is active")
            log = probes.log()
    silence = figures.silence(log)
    assert silence.lost, "the port was silent, and no probe was lost"
    return silence.seconds * 1000


def noticed(lab, bfdd, interval):
    """The first port is silent. How long after the last answer h1's bfdd says so, in ms."""
    for _ in range(TRIES):
        until(bfdd.ready, READY_SECONDS, "the session of bfdd is up")
        lab.reachable(PEER, ipv4(HOST))
        with Probes(lab, interval) as probes:
            probes.ask_for(STEADY)
            probes.wait()
            with Silence(0):
                until(lambda: not bfdd.ready(), 30, "bfdd says down")
            lab.reachable(PEER, ipv4(HOST))
            begin = figures.silence(probes.log()).begin
        # It may have said so just before, for no reason.
        if after := [at for at in bfdd.downs() if at > begin]:
            return (after[0] - begin) * 1000
    raise AssertionError(f"bfdd has said so too early {TRIES} times")


PROBED = "ipoib-ha --probe, 3 x 20 ms"
VRRP = "keepalived VRRPv3, 10 ms"
MOVING = {
    PROBED: lambda lab: Probed(lab, 20, 3),
    "ipoib-ha --probe, 3 x 10 ms": lambda lab: Probed(lab, 10, 3),
    "ipoib-ha --target, 3 x 20 ms": Asked,
    VRRP: Keepalived,
}
NOTICING = "bfdd, 3 x 10 ms (notices)"


def measure(lab, count, interval, echo):
    """Outages by method in ms; @echo: h2 sends probes back while it is entered."""
    outages = {}
    methods = {name: one for name, one in MOVING.items() if name != VRRP or KEEPALIVED.exists()}
    for name, method in methods.items():
        lab.reachable(PEER, ipv4(HOST))
        with method(lab) as host:
            until(host.ready, READY_SECONDS, f"{name}: both ports of h2 work")
            with echo(lab):
                outages[name] = [failover(lab, host, interval) for _ in range(count)]
        _say(name, outages[name])
    if BFDD.exists():
        with Bfdd(lab) as bfdd, echo(lab):
            outages[NOTICING] = [noticed(lab, bfdd, interval) for _ in range(count)]
        _say(NOTICING, outages[NOTICING])
    return outages


def _say(name, values):
    print(f"silent fault, {name}: " + ", ".join(f"{one:.1f}" for one in values) + " ms",
          file=sys.stderr, flush=True)


def report(outages):
    """Rows of the table, as text."""
    lines = ["silent fault"]
    for name, values in outages.items():
        one = figures.summary(values)
        lines.append(f"  {name:30}{one['median']:8.1f}{one['max']:10.1f}{one['min']:10.1f}"
                     f"{one['failovers']:12}")
    return "\n".join(lines)


def is_reached(outages):
    """At most 100 ms, and half of keepalived's."""
    medians = {name: figures.summary(values)["median"] for name, values in outages.items()}
    return medians[PROBED] <= 100 and (VRRP not in medians or medians[PROBED] <= medians[VRRP] / 2)
