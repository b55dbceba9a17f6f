# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""ipoib-ha on two hosts with two ports each, while ports fail in all ways.

Each cause of failure meets TCP in bulk and as questions and answers, numbered UDP,
multicast both ways, and RDMA CM, all at once. Each case is a row of the table at
the end. They are no part of the default run: `make test-ha` runs them.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

import managers
from harness import HOSTS, TOP, ipv4, ipv6, on_hosts, other, stretched, until

sys.path.insert(0, str(TOP / "tests" / "bench"))
import ha_figures as figures  # noqa: E402
import ha_silent  # noqa: E402
from checklib import programs  # noqa: E402

HA = programs.BIN / "ipoib-ha"
PROBE = programs.BIN / "ha-probe"
STREAM_PORT, ASK_PORT, PROBE_PORT, GROUP_PORT = 7301, 7302, 7303, 7304
PROBE_MICROSECONDS = 2000
STREAM_PAUSE = 0.02  # seconds: some 25 Mbit/s
GROUP = "239.7.1.2"
CONNECTED_MTU = 65520
HOGS = "for each in $(seq $((4 * $(nproc)))); do while :; do :; done & done; wait"
QUIET = 5                   # seconds: NetworkManager sets up again after one
SESSIONS = 4                # of a host: both of its ports with both of its peer's
PULLS = 6                   # of both cables in turn
OUTAGE = 20                 # seconds: far more than any failover of ours takes on a slow machine
BETWEEN = (3, 4)            # the ports of sw1 that lead to sw2

pytestmark = [pytest.mark.ha, pytest.mark.full, pytest.mark.labs(drivers=["ours", "intree"], ports=2)]


class Daemon:
    """ipoib-ha on a host, until the `with` block ends."""

    def __init__(self, lab, host, *options):
        self.lab, self.host, self.options = lab, host, options

    def __enter__(self):
        self.process = self.lab.background(self.host, HA, "-p", "ib0", "-s", "ib1", "--with-arping",
                                           "--with-multicast", "-v", *self.options)
        self.process.__enter__()
        self.healthy()
        return self

    def __exit__(self, kind, *_):
        print(f"--- {self.host}: {self.lab.run(self.host, HA, 'explain', check=False).out}")
        ended = self.process.stop()
        assert kind or ended.status == 0, str(ended)

    def healthy(self):
        self.lab.wait(self.host, f"{HA} status > /dev/null", 60, "ipoib-ha finds nothing wrong")

    def pair(self):
        text = self.lab.out(self.host, HA, "status", "-j", check=False)
        return json.loads(text)["pairs"][0] if text else {"interfaces": [], "moves": []}

    def active(self):
        return next((one["name"] for one in self.pair()["interfaces"] if one["active"]), None)

    def becomes_active(self, name):
        until(lambda: self.active() == name, 60,
              lambda: f"{self.host}: {name} is active: {self.pair()}")

    def left_alone(self):
        """Whoever else configures its interfaces has got over the failure."""
        until(lambda: all(one["works"] and one["since_s"] > QUIET for one in self.pair()["interfaces"]),
              120, lambda: f"{self.host}: no interface has failed for {QUIET} s: {self.pair()}")

    def switch_to(self, name):
        if self.active() != name:
            self.lab.run(self.host, HA, "switch", check=False)
            self.becomes_active(name)


class Traffic:
    """All kinds of it between the addresses of h1 and h2; they are checked at the end."""

    def __init__(self, lab):
        self.lab = lab
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        start = self.stack.enter_context
        helper = self.lab.helper_background
        self.stream = start(helper("h2", "stream.py", "serve", ipv4("h2"), STREAM_PORT))
        self.asked = start(helper("h2", "ask.py", "serve", ipv4("h2"), ASK_PORT))
        self.echo = start(self.lab.background("h2", PROBE, "echo", ipv4("h2"), PROBE_PORT))
        self.members = {host: start(helper(host, "multicast.py", "receive", GROUP, GROUP_PORT, "ib0"))
                        for host in HOSTS}
        assert [one.line() for one in (self.stream, self.asked, self.echo)] == [
            "listening", "listening", "ready"]
        assert [one.line() for one in self.members.values()] == ["joined"] * len(HOSTS)
        self.sender = start(helper("h1", "stream.py", "send", ipv4("h2"), STREAM_PORT,
                                   STREAM_PAUSE))
        self.asker = start(helper("h1", "ask.py", "ask", ipv4("h2"), ASK_PORT))
        self.probe = start(self.lab.background("h1", PROBE, "send", ipv4("h1"), ipv4("h2"),
                                               PROBE_PORT, PROBE_MICROSECONDS))
        assert self.probe.line() == "ready"
        return self

    def __exit__(self, *what):
        try:
            if what[0]:
                for process in (self.stream, self.asked, self.sender, self.asker):
                    print(f"--- {process.said()}")
        finally:
            self.stack.__exit__(*what)

    def totals(self):
        """Bytes of the stream, questions answered, probes that have come back."""
        found = []
        for process in (self.stream, self.asker, self.probe):
            process.tell("total")
            found.append(int(process.line()))
        return found

    def flows(self, deadline=90):
        """Wait until more of each kind has arrived."""
        before = self.totals()

        def more():
            return all(now > then for now, then in zip(self.totals(), before))

        until(more, deadline, lambda: f"more than {before}, but {self.totals()}")

    def groups_reach(self, tag, devices):
        """Multicast both ways; @devices: what each host sends by."""
        for host, device in devices.items():
            member = self.members[other(host)]

            def arrives(name=f"{tag}-{host}", host=host, device=device, member=member):
                self.lab.helper(host, "multicast.py", "send", GROUP, GROUP_PORT, device, 10, name)
                member.tell(f"count {name}")
                return int(member.line()) > 0

            until(arrives, 30, f"the group's datagrams reach {other(host)}")

    def finish(self):
        """End all of it. Returns the log of the probes; no connection may be lost."""
        self.asker.tell("end")
        assert self.asker.line().startswith("end ")
        assert self.asker.finish().status == 0
        assert self.asked.finish().status == 0
        self.sender.tell("end")
        sent = self.sender.finish(90)
        assert sent.status == 0, str(sent)
        assert self.stream.finish(60).status == 0
        return figures.arrivals(self.probe.stop().out)


def rping(lab):
    """RDMA CM to h2's address."""
    with lab.background("h2", "rping", "-s", "-C", "3") as server:
        lab.wait("h2", "rdma resource show cm_id | grep -q LISTEN", 20, "rping listens")
        done = lab.run("h1", "rping", "-c", "-a", ipv4("h2"), "-C", "3", check=False)
        assert done.status == 0, str(done)
        server.finish(20)


# Causes: what goes wrong is told the daemons, too

def pull(*ports):
    return lambda lab, *_: on_hosts(lambda port: lab.cable(port, "down"), ports)


def plug(*ports):
    return lambda lab: on_hosts(lambda port: lab.cable(port, "up"), ports)


def command(*argv):
    return lambda lab, *_: lab.run("h2", *argv)


def fault(*words):
    return lambda lab, *_: lab.fault(*words)


def clear(lab):
    lab.fault("clear")


def lose(way):
    """h2's first interface loses what comes in, or what goes out, and nothing says so."""
    return lambda lab, *_: lab.sh("h2", "tc qdisc add dev ib0 clsact && "
                                  f"tc filter add dev ib0 {way} matchall action drop")


def lose_no_more(lab):
    lab.run("h2", "tc", "qdisc", "delete", "dev", "ib0", "clsact")


def add_devices(lab, *ports):
    for port in ports:
        lab.run("h2", "rdma", "link", "add", f"sib{port}", "type", "sib", "netdev", f"eth{port + 1}")
        lab.wait("h2", f"test -d /sys/class/net/ib{port}", 20, f"there is an ib{port}")


def add_all(lab):
    """As a boot does: somebody sets the interfaces up."""
    add_devices(lab, 0, 1)
    set_up(lab)


def set_up(lab):
    lab.sh("h2", "ip link set ib0 up; ip link set ib1 up")


def reload_driver(lab, _):
    lab.run("h2", "modprobe", "-r", "ib_ipoib")
    lab.run("h2", "modprobe", "ib_ipoib")
    lab.wait("h2", "test -d /sys/class/net/ib0 -a -d /sys/class/net/ib1", 20, "the interfaces are back")
    # A device that was added again comes last and has ib1 then. A manager may have set them up.
    lab.sh("h2", "test -d /sys/class/net/ib0/device/infiniband/sib0 || "
           "printf 'link set %s\\n' 'ib0 down' 'ib0 name was0' 'ib1 down' 'ib1 name ib0' 'was0 name ib1' | "
           "ip -batch -")


def flap(lab, _):
    """Both cables in turn, PULLS times, faster than anything can settle."""
    for port in ["h2:0", "h2:1"] * (PULLS // 2):
        lab.cable(port, "down")
        lab.cable(port, "up")


def there_and_back(lab, daemons):
    """The first port fails and is mended, then the second."""
    pull("h2:0")(lab)
    daemons["h2"].becomes_active("ib1")
    plug("h2:0")(lab)
    daemons["h2"].healthy()
    pull("h2:1")(lab)


def part_switches(lab, daemons):
    """h2 is at the second switch, and every port works, when the switches lose each other."""
    daemons["h2"].switch_to("ib1")
    lab.reachable("h1", ipv4("h2"))
    for number in BETWEEN:
        lab.fault("link", f"sw1:{number}", "down")


def hand_over_sm(lab, _):
    """The master of two subnet managers ends together with a port of h2."""
    lab.run("h1", "lab-sm", "start", 1)
    lab.wait("h1", "lab-sm log 1 | grep -q 'Entering STANDBY'", 40, "the second SM stands by")
    pull("h2:0")(lab)
    lab.run("h1", "lab-sm", "stop", 0)
    _master_seen(lab, 120)      # the other asks for it every 10 s, and needs a few misses


def sm_as_before(lab):
    plug("h2:0")(lab)
    _move_sm(lab, 1, 0)


@dataclass(frozen=True)
class Cause:
    """What goes wrong.

    fail, repair: do it
    on:           host -> interface that has its address meanwhile
    flows:        whether anything arrives before the repair
    sm:           the port of h1 whose subnet manager survives it
    options:      of h2's daemon
    probed:       all ports of both have BFD sessions
    most_moves:   of h2's identity until all is repaired
    outage:       seconds; judged where traffic flows meanwhile
    """

    name: str
    fail: Callable
    repair: Callable
    on: dict = field(default_factory=lambda: {"h2": "ib1"})
    flows: bool = True
    sm: int = 0
    options: tuple = ()
    probed: bool = False
    most_moves: int = 1
    outage: int = OUTAGE


def note(what, start=time.monotonic()):
    """For who reads a failure, or wonders what takes long."""
    print(f"[{time.monotonic() - start:7.1f} s] {what}")


NOBODY = {}
BOTH = {"h1": "ib1", "h2": "ib1"}
CAUSES = [
    Cause("cable pulled", pull("h2:0"), plug("h2:0")),
    Cause("port of the switch down", fault("port", "h2:1", "down"), clear),
    Cause("switch dead", fault("switch", "sw1", "down"), clear, on=BOTH, sm=1),
    Cause("switches parted", part_switches, clear, on={"h2": "ib0"},
          options=("--target", ipv4("h1"), "--target-every", 200), most_moves=2),
    Cause("port silent", fault("drop", "h2:1", "100%", "--packets", ha_silent.KINDS), clear,
          probed=True),
    Cause("port deaf", lose("ingress"), lose_no_more, probed=True),
    Cause("port mute", lose("egress"), lose_no_more, probed=True),
    Cause("switches parted, probed", part_switches, clear, on=NOBODY, probed=True,
          most_moves=4),
    Cause("SM handed over", hand_over_sm, sm_as_before, outage=150),
    Cause("device deleted", command("rdma", "link", "del", "sib0"), lambda lab: add_devices(lab, 0)),
    Cause("driver reloaded", reload_driver, set_up, on=NOBODY, flows=False, most_moves=2),
    Cause("HCA's module unloaded", command("modprobe", "-r", "sib"), add_all, on=NOBODY, flows=False,
          most_moves=2),
    Cause("interface set down", command("ip", "link", "set", "ib0", "down"),
          command("ip", "link", "set", "ib0", "up")),
    Cause("cables flap", flap, lambda _: None, on=NOBODY, flows=False, most_moves=PULLS),
    Cause("both cables pulled", pull("h2:0", "h2:1"), plug("h2:0", "h2:1"), on=NOBODY, flows=False,
          most_moves=2),
    Cause("the peer fails, too", pull("h1:0", "h2:0"), plug("h1:0", "h2:0"), on=BOTH, sm=1),
    Cause("there and back", there_and_back, plug("h2:1"), on={"h2": "ib0"}, most_moves=2),
]
CASES = [pytest.param(cause, mode, id=f"{cause.name}-{mode}")
         for mode in ("datagram", "connected") for cause in CAUSES]


@contextlib.contextmanager
def sm_on(lab, port):
    """The subnet manager at this port of h1, and back at the first."""
    if port:
        _move_sm(lab, 0, port)
    try:
        yield
    finally:
        if port:
            _move_sm(lab, port, 0)


def _move_sm(lab, here, there):
    lab.run("h1", "lab-sm", "stop", here)
    lab.run("h1", "lab-sm", "start", there)
    _master_seen(lab, 40)


def _master_seen(lab, deadline):
    until(lambda: "SMINFO_MASTER" in lab.out("h2", "sminfo", "-C", "sib1", check=False), deadline,
          "h2 sees a master SM")


@contextlib.contextmanager
def in_mode(lab, mode):
    """Both hosts' first interfaces in this mode; the daemons see to the others."""
    def enter(host):
        lab.sh(host, f"echo connected > /sys/class/net/ib0/mode; ip link set ib0 mtu {CONNECTED_MTU}")

    # A peer that was cut off is not told: set down, no end of a connection is left.
    def leave(host):
        lab.sh(host, "for port in 0 1; do ip link set ib$port down; "
               "echo datagram > /sys/class/net/ib$port/mode; "
               f"ip link set ib$port mtu {lab.config.ib_mtu - 4}; done")

    try:
        if mode == "connected":
            on_hosts(enter)
        yield
    finally:
        if mode == "connected":
            on_hosts(leave)


def as_found(lab):
    """What a host loses when its interfaces or devices go, and nobody moves, comes back."""
    def address(host):
        for port in (0, 1):
            lab.sh(host, f"ip link set ib{port} up; "
                   f"ip addr replace {ipv4(host, port)}/24 dev ib{port}; "
                   f"ip addr replace {ipv6(host, port)}/64 dev ib{port} nodad")

    on_hosts(address)


def sides(daemons):
    return {host: daemon.active() for host, daemon in daemons.items()}


def while_it_lasts(lab, cause, daemons, traffic):
    for host, name in cause.on.items():
        daemons[host].becomes_active(name)
    if cause.flows:
        traffic.flows()
        note("traffic flows")
        traffic.groups_reach("meanwhile", sides(daemons))
        note("groups reach both")
        # Paths are asked of the subnet manager, which is at one of the switches. Either host may
        # have moved when these lost each other.
        if not cause.probed or daemons["h1"].active() == f"ib{cause.sm}":
            rping(lab)


def options_for(lab, cause):
    """Of the daemon of each host."""
    if not cause.probed:
        return {"h1": (), "h2": cause.options}
    return {host: ("--probe-every", 20, *ha_silent.probes_of(lab, other(host))) for host in HOSTS}


@pytest.fixture(scope="session")
def built():
    programs.build(["ipoib-ha", "ha-probe"])


def pytest_generate_tests(metafunc):
    if "manager" in metafunc.fixturenames:
        kinds = metafunc.config.getoption("--manager").split(",")
        if unknown := set(kinds) - set(managers.KINDS):
            raise pytest.UsageError(f"--manager: {', '.join(unknown)}: "
                                    f"not one of {', '.join(managers.KINDS)}")
        metafunc.parametrize("manager", kinds)


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(("cause", "mode"), CASES)
def test_failover(lab, record_property, cause, mode, manager):
    with contextlib.ExitStack() as stack:
        stack.callback(as_found, lab)
        stack.enter_context(in_mode(lab, mode))
        stack.enter_context(sm_on(lab, cause.sm))
        stack.enter_context(managers.managed(lab, manager, mode))
        traffic = stack.enter_context(Traffic(lab))
        daemons = {host: stack.enter_context(Daemon(lab, host, *options))
                   for host, options in options_for(lab, cause).items()}
        traffic.flows()
        note(f"traffic flows; now: {cause.name}")
        try:
            cause.fail(lab, daemons)
            while_it_lasts(lab, cause, daemons, traffic)
        finally:
            note("repair")
            cause.repair(lab)
        for daemon in daemons.values():
            daemon.healthy()
        note("healthy")
        traffic.flows()
        moves = daemons["h2"].pair()["moves"]
        assert len(moves) <= cause.most_moves, moves
        for daemon in daemons.values():
            if manager != managers.ALONE:
                daemon.left_alone()
            daemon.switch_to("ib0")
        traffic.flows()
        note("as before")
        amounts = traffic.totals()
        gap = figures.silence(traffic.finish())
    # In-tree ib_ipoib does not tell a peer that a connection is gone: what TCP makes of it varies.
    if cause.flows and lab.config.h1 == lab.config.h2 == "ours":
        assert gap.seconds <= stretched(cause.outage), f"an outage of {gap.seconds:.1f} s: {moves}"
    row = (cause.name, f"{lab.config} {mode}", manager, f"{gap.seconds * 1000:.0f}", str(gap.lost),
           str(len(moves)), f"{moves[-1]['announced_ms']:.1f}" if moves else "-",
           f"{amounts[0] / 1e6:.1f}", str(amounts[1]))
    record_property("failover", row)
    print(" | ".join(row))


@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("built")
def test_soak(lab, request, record_property):
    """Back and forth by hand; the connections are heard of after each time."""
    count = request.config.getoption("--soak")
    with contextlib.ExitStack() as stack:
        stack.callback(as_found, lab)
        traffic = stack.enter_context(Traffic(lab))
        daemon = stack.enter_context(Daemon(lab, "h2"))
        traffic.flows()
        for number in range(count):
            before = traffic.totals()
            lab.run("h2", HA, "switch")
            until(lambda: all(now > then for now, then in zip(traffic.totals(), before)), 60,
                  lambda: f"more than {before} after {number + 1} times, but {traffic.totals()}",
                  interval=0.01)
        daemon.switch_to("ib0")
        moves = daemon.pair()["move_count"]
        traffic.flows()
        gap = figures.silence(traffic.finish())
    assert moves >= count
    record_property("failover", (f"{moves} by hand", f"{lab.config} datagram", managers.ALONE,
                                 f"{gap.seconds * 1000:.0f}", str(gap.lost), str(moves), "-", "-", "-"))


@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("built")
def test_busy(lab, request, record_property):
    """Hosts whose processors are overloaded, and probes at their fastest: nobody moves without a fault.

    A fault at the end must still be noticed.
    """
    seconds = request.config.getoption("--busy")
    with contextlib.ExitStack() as stack:
        stack.callback(as_found, lab)
        traffic = stack.enter_context(Traffic(lab))
        daemons = {host: stack.enter_context(Daemon(lab, host, "--probe-every", 20,
                                                    *ha_silent.probes_of(lab, other(host))))
                   for host in HOSTS}
        traffic.flows()
        with contextlib.ExitStack() as busy:
            for host in HOSTS:
                busy.enter_context(lab.background(host, "sh", "-c", HOGS))
            nobody_moves(daemons, seconds)
            amounts = traffic.totals()
            lose("ingress")(lab)
            busy.callback(lose_no_more, lab)
            daemons["h2"].becomes_active("ib1")
        for daemon in daemons.values():
            daemon.healthy()
            daemon.switch_to("ib0")
        traffic.finish()
    record_property("failover", (f"{seconds} s of busy hosts", f"{lab.config} datagram", managers.ALONE,
                                 "-", "-", "0", "-", f"{amounts[0] / 1e6:.1f}", str(amounts[1])))


def nobody_moves(daemons, seconds):
    """For so long, though all sessions have come up."""
    def states():
        return [session["state"] for daemon in daemons.values()
                for session in daemon.pair().get("sessions", {"all": []})["all"]]

    until(lambda: states() == ["Up"] * 2 * SESSIONS, 120, lambda: f"all sessions are up: {states()}")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        moves = {host: daemon.pair()["moves"] for host, daemon in daemons.items()}
        assert not any(moves.values()), moves
        time.sleep(1)
