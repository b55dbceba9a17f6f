# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""ib-bond between two hosts whose ports are all in one subnet of two switches.

Ports fail at h2, for h1 has the subnet manager: the bond of h2 fails over, and the
one of h1 has to learn its new hardware address.
"""

import contextlib
import json

import pytest

import verbs_programs
import verbs_runner
from checklib import programs
from harness import HOSTS, on_hosts, other

CONF = "/run/bond-test.conf"
GROUP = "239.30.0.1"
PORT = "7105"
DRIVERS = ["ours", "intree", "mixed"]


def bond_ip(host):
    return f"10.30.0.{host[1:]}"


@pytest.fixture(scope="session")
def built():
    """The programs, built if need be."""
    programs.build(["ib-bond", "openib"])


@pytest.fixture
def ib_bond(lab, built):
    """Run ib-bond on a host: (host, *argv, status=0); bonds end with the test."""

    def run(host, *argv, status=0):
        done = lab.run(host, "ib-bond", *argv, check=False)
        assert done.status == status, str(done)
        return done

    # openib looks for it where it is installed.
    on_hosts(lambda host: lab.sh(host, "test -e /usr/sbin/ib-bond ||"
                                       f" cp {programs.BIN}/ib-bond /usr/sbin/ib-bond"))
    yield run
    on_hosts(lambda host: run(host, "--stop-all"))


def status(lab, host, name="bond0"):
    return json.loads(lab.out(host, "ib-bond", "-j", "status", name, check=False))


def healthy(lab, host, name="bond0"):
    lab.wait(host, f"ib-bond status {name} > /dev/null", 40, f"{name} has nothing wrong")


def active_is(lab, host, slave, name="bond0"):
    lab.wait(host, f"ib-bond status {name} | grep -q 'active {slave}'", 20, f"{slave} is active")


def bond_ip6(host):
    return f"fd30::{host[1:]}"


def up(lab, ib_bond, *options, host=None):
    """OFED's line on one host, or on both, which then reach each other."""
    hosts = HOSTS if host is None else (host,)
    on_hosts(lambda host: ib_bond(host, "--bond-name", "bond0", "--bond-ip",
                                  f"{bond_ip(host)},{bond_ip6(host)}", "--slaves", "ib0,ib1",
                                  "--primary", "ib0", "--take", *options), hosts)
    if host is None:
        on_hosts(lambda host: healthy(lab, host))
        on_hosts(lambda host: lab.reachable(host, bond_ip(other(host)), bond_ip6(other(host))))


class Traffic:
    """UDP, multicast and TCP from h1 to h2, by outage.py."""

    def __init__(self, receiver):
        self.receiver = receiver

    @contextlib.contextmanager
    def interrupted(self):
        """For the time of an interruption; what this yields is then filled with the report."""
        report = {}
        self.receiver.tell("begin")
        yield report
        self.receiver.tell("end")
        report.update(json.loads(self.receiver.line()))
        assert report["TCP"]["lost"] == 0, report

    def flows(self):
        """Wait until all three arrive."""
        self.receiver.tell("flow")
        assert self.receiver.line(60) == "flows"


@contextlib.contextmanager
def traffic(lab):
    """Traffic from bond to bond while the block runs."""
    words = (bond_ip("h2"), PORT, GROUP, "bond0")
    with lab.helper_background("h2", "outage.py", "receive", *words) as receiver:
        assert receiver.line() == "ready"
        with lab.helper_background("h1", "outage.py", "send", *words) as sender:
            one = Traffic(receiver)
            one.flows()
            yield one
            sender.tell("end")
            assert sender.finish(30).status == 0
            assert receiver.finish(30).status == 0


def text_of(report):
    return ", ".join(f"{kind} {one['gap']} ms ({one['lost']} lost)"
                     for kind, one in report.items())


def cable(lab, port, action):
    lab.cable(f"h2:{port}", action)


def switch_port(lab, port, action):
    lab.fault("port", f"h2:{port + 1}", action)


CAUSES = {"cable": cable, "switch port": switch_port}


def fail_over(lab, cause):
    """h2's ib0 fails; ib1 takes over."""
    CAUSES[cause](lab, 0, "down")
    active_is(lab, "h2", "ib1")


def fail_back(lab, cause):
    """h2's ib0, the primary, comes back."""
    CAUSES[cause](lab, 0, "up")
    on_hosts(lambda host: healthy(lab, host))
    active_is(lab, "h2", "ib0")


def measure(lab, flow, cause, record):
    """A failover and back, under traffic: both outages are noted."""
    for what, change in (("over", fail_over), ("back", fail_back)):
        with flow.interrupted() as report:
            change(lab, cause)
            flow.flows()
        print(f"{cause}, fail {what}: {text_of(report)}")
        record(f"{cause}, fail {what}", report)


@pytest.mark.labs(ports=2)
def test_commands_of_ofed(lab, ib_bond, record_property):
    """Its lines, a cable pulled and plugged under traffic, and everything given back."""
    up(lab, ib_bond, "--miimon", "100")
    assert status(lab, "h2")["active"] == "ib0"
    again = ib_bond("h1", "--bond-name", "bond0", "--bond-ip", bond_ip("h1"),
                    "--slaves", "ib0,ib1", "--miimon", "100", "-n")
    assert not again.out, "a second time there is something to do"
    with traffic(lab) as flow:
        measure(lab, flow, "cable", record_property)
    assert "last change" in ib_bond("h2", "--status", "--bond-name", "bond0").out
    failures = {slave["name"]: slave["failures"] for slave in status(lab, "h2")["slaves"]}
    assert failures["ib0"] > failures["ib1"], failures
    assert "bond0" in ib_bond("h1", "--status-all").out
    on_hosts(lambda host: ib_bond(host, "--stop", "--bond-name", "bond0"))


@pytest.mark.full
@pytest.mark.labs(ports=2)
@pytest.mark.parametrize("miimon", (100, 10))
def test_outages(lab, ib_bond, miimon, record_property):
    """By cable and by switch port, three times each."""
    up(lab, ib_bond, "--miimon", str(miimon))
    with traffic(lab) as flow:
        for cause in CAUSES:
            for number in range(3):
                print(f"miimon {miimon}, {number}: ", end="")
                measure(lab, flow, cause, lambda what, report, number=number: record_property(
                    f"miimon {miimon}, {number}, {what}", report))


@pytest.mark.full
@pytest.mark.labs(ports=2)
@pytest.mark.parametrize("target", (bond_ip("h1"), bond_ip6("h1")))
def test_a_failure_beyond_the_own_port(lab, ib_bond, target):
    """The link stays, and what is sent is lost: only asking somebody tells."""
    up(lab, ib_bond)
    up(lab, ib_bond, "--arp-interval", "200", "--arp-targets", target, host="h2")
    active_is(lab, "h2", "ib0")
    lab.fault("drop", "h2:1", "100%", "--packets", "ud,rc")
    try:
        active_is(lab, "h2", "ib1")
        lab.reachable("h1", bond_ip("h2"), bond_ip6("h2"))
        assert lab.carrier("h2", "ib0")
    finally:
        lab.fault("clear")
    if ":" not in target:
        # A backup hears the questions, which are broadcasts. To IPv6 addresses they are
        # multicasts, and it is no member of their groups.
        healthy(lab, "h2")
        active_is(lab, "h2", "ib0")
    lab.reachable("h1", bond_ip("h2"), bond_ip6("h2"))


WRONG = [
    (1, "--bond-name bond0 --slaves ib0,ib1", "--bond-ip is missing"),
    (1, "--bond-name bond0 --bond-ip 10.30.0.1", "--slaves is missing"),
    (1, "--bond-ip 10.30.0.1 --slaves ib0,ib1", "--bond-name is missing"),
    (1, "--bond-name bond0 --bond-ip 10.30.0.300 --slaves ib0,ib1", "is no address"),
    (1, "--bond-name bond0 --bond-ip 10.30.0.1 --slaves ib0,ib0", "named twice"),
    (1, "--bond-name a/b --bond-ip 10.30.0.1 --slaves ib0,ib1", "is no name"),
    (1, "--bond-name bond0 --bond-ip 10.30.0.1 --slaves ib0 --miimon 0", "no failure would be"),
    (1, "--stop --bond-name bond0 --slaves ib0", "do not go with --stop"),
    (3, "--stop --bond-name bond0", "there is no bond bond0"),
    (7, "--bond-name bond0 --bond-ip 10.30.0.1 --slaves ib0,ib7", "there is no interface ib7"),
    (7, "--bond-name bond0 --bond-ip 10.30.0.1 --slaves ib0,eth1 --take", "is no IPoIB interface"),
    (7, "--bond-name bond0 --bond-ip 10.30.0.1 --slaves ib0,ib1", "ib0 has the address"),
    (7, "--bond-name lo --bond-ip 10.30.0.1 --slaves ib0 --take", "lo is there already"),
    (7, "--bond-name bond0 --bond-ip 10.10.1.1 --slaves ib0 --take", "is an address of ib1"),
    (7, "--bond-name bond0 --bond-ip 10.30.0.1 --slaves ib0,ib1 --take --mode balance-rr",
     "only be in active-backup"),
]
# With a bond0 of ib0 and ib1 there.
CLASHES = [
    (7, "--bond-name bond1 --bond-ip 10.31.0.1 --slaves ib1", "ib1 is in bond0"),
    (7, "--bond-name bond0 --bond-ip 10.30.0.1 --slaves ib0", "name ib1 too, or remove bond0"),
    (7, "--bond-name bond1 --bond-ip 10.30.0.1 --slaves ib1 --take", "is an address of bond0"),
    (7, "--bond-name bond1 --bond-ip 10.31.0.1 --slaves bond0", "bond0 is a bond itself"),
]


def refused(lab, ib_bond, wrong):
    """Each ends with its status and message, and changes nothing."""
    script = "ip -d address; cat /sys/class/net/ib*/mode; ls /run/ib-bond"
    for expected, line, message in wrong:
        before = lab.sh("h1", script, check=False).out
        done = ib_bond("h1", *line.split(), status=expected)
        assert message in done.err, str(done)
        print(f"ib-bond {line}\n  {expected}: {done.err.strip()}")
        assert lab.sh("h1", script, check=False).out == before, line


@pytest.mark.full
@pytest.mark.labs(ports=2)
def test_wrong_invocations_change_nothing(lab, ib_bond):
    # What came before may have just set the interfaces up again.
    for name in ("ib0", "ib1"):
        lab.wait("h1", f"ip -6 address show dev {name} scope link -tentative | grep -q inet6", 20,
                 f"{name} has its link-local address")
    refused(lab, ib_bond, WRONG)
    ib_bond("h1", "--bond-name", "bond0", "--bond-ip", bond_ip("h1"), "--slaves", "ib0,ib1",
            "--take")
    healthy(lab, "h1")
    lab.wait("h1", "! ip address | grep -q tentative", 20, "addresses are no longer tentative")
    refused(lab, ib_bond, CLASHES)


def configure(lab, host, *lines):
    lab.run(host, "sh", "-c", "printf '%s\\n' \"$@\" > " + CONF, "sh", "ONBOOT=yes",
            "IPOIB_LOAD=yes", "IPOIBBOND_ENABLE=yes", *lines)


def openib(lab, host, *argv, status=0):
    done = lab.run(host, programs.BIN / "openib", "-c", CONF, *argv, check=False)
    assert done.status == status, str(done)
    return done


@pytest.mark.full
@pytest.mark.labs(drivers=DRIVERS, ports=2)
def test_a_slave_goes_and_comes_back(lab, ib_bond):
    up(lab, ib_bond)
    configure(lab, "h2", "IPOIB_BONDS=bond0", f"bond0_IP={bond_ip('h2')}", "bond0_SLAVES=ib0,ib1")
    with traffic(lab) as flow:
        lab.run("h2", "rdma", "link", "delete", "sib0")
        active_is(lab, "h2", "ib1")
        flow.flows()
        assert "ib0 has gone" in status(lab, "h2")["problems"]
        lab.run("h2", "rdma", "link", "add", "sib0", "type", "sib", "netdev", "eth1")
        lab.wait("h2", "test -e /sys/class/net/ib0", 20, "ib0 is there")
        # What udev has done where there is one.
        openib(lab, "h2", "apply", "ib0")
        healthy(lab, "h2")
        flow.flows()
    fail_over(lab, "cable")
    lab.reachable("h1", bond_ip("h2"))
    fail_back(lab, "cable")


@pytest.mark.full
@pytest.mark.labs(drivers=DRIVERS, ports=2)
def test_connected_mode_with_65520_bytes(lab, ib_bond):
    def connect(host):
        return lab.ok(host, "sh", "-c", "echo connected > /sys/class/net/ib0/mode")

    connected = on_hosts(connect)
    try:
        if not all(connected.values()):
            pytest.skip("a driver without connected mode")
        up(lab, ib_bond)
        for host in HOSTS:
            for name in ("bond0", "ib0", "ib1"):
                assert lab.read(host, f"/sys/class/net/{name}/mtu") == "65520"
            assert lab.read(host, "/sys/class/net/ib1/mode") == "connected"
        with traffic(lab) as flow:
            long_packets(lab)
            fail_over(lab, "cable")
            flow.flows()
            long_packets(lab)
            fail_back(lab, "cable")
            flow.flows()
        on_hosts(lambda host: ib_bond(host, "--stop", "--bond-name", "bond0"))
        for host in HOSTS:
            assert lab.read(host, "/sys/class/net/ib1/mode") == "datagram"
    finally:
        on_hosts(lambda host: lab.sh(host, f"""
            ib-bond --stop-all
            echo datagram > /sys/class/net/ib0/mode
            ip link set ib0 mtu {lab.config.ib_mtu - 4}"""))


def long_packets(lab):
    """65000 octets in one packet, when both ends have their connections."""
    lab.wait("h1", f"ping -q -c1 -W2 -s 65000 -M do {bond_ip('h2')} > /dev/null", 30,
             "65000 octets are answered")
    lab.ping("h1", bond_ip("h2"), "-c5", "-i0.2", "-s", "65000", "-M", "do", "-W", "5")


RDMA_CM = [verbs_programs.cm("rping -s -a {server} -C 20 -V -S 4000",
                             "rping -c -a {server} -C 20 -V -S 4000", 7174),
           verbs_programs.cm("udaddy -c 5 -C 20 -S 1000",
                             "udaddy -s {server} -c 5 -C 20 -S 1000", 7174,
                             says="return status 0")]


@pytest.mark.full
@pytest.mark.labs(drivers=DRIVERS, ports=2)
def test_rdma_cm_over_the_address_of_a_bond(lab, ib_bond, record_property):
    """By the active port, and after a failover by the other one, from and to it."""
    def both_ways(circumstances):
        for server, client in (HOSTS, HOSTS[::-1]):
            lab.reachable(client, bond_ip(server))
            place = verbs_runner.Place(f"{client} to {server}", (server, client), ("", ""),
                                       (bond_ip(server), bond_ip(client)), bond_ip(server))
            verbs_runner.run_all(lab, place, RDMA_CM, record_property, circumstances)

    up(lab, ib_bond)
    both_ways("bond")
    fail_over(lab, "cable")
    both_ways("bond after a failover")
    fail_back(lab, "cable")


def boot(lab, host):
    """What init does at boot with the fragment of OFED's notes; no driver is loaded yet."""
    last = host[1:]
    configure(lab, host, "IPOIB_BONDS=bond0,bond1,bond2",
              f"bond0_IP=10.10.10.{last}", "bond0_SLAVES=ib0,ib1",
              f"bond1_IP=20.10.10.{last}", "bond1_SLAVES=ib2,ib3", f"bond2_IP=30.10.10.{last}")
    done = openib(lab, host, "start", "--boot")
    assert "'bond2' is not created, because bond2_SLAVES is missing" in done.err, str(done)
    assert not lab.ok(host, "test", "-e", "/sys/class/net/bond2")


@pytest.mark.full
@pytest.mark.labs(ports=4)
def test_two_bonds_of_openib_conf(lab, ib_bond):
    """Made at boot, and again when the driver has been loaded again."""
    try:
        on_hosts(lambda host: lab.run(host, "modprobe", "-r", "ib_ipoib"))
        on_hosts(lambda host: boot(lab, host))
        two_bonds_work(lab)
        lab.run("h2", "modprobe", "-r", "ib_ipoib")
        assert not lab.ok("h2", "test", "-e", "/sys/class/net/bond0")
        openib(lab, "h2", "start")
        two_bonds_work(lab)
        again = openib(lab, "h2", "start")
        assert not again.out, "a second time there is something to do"
        configure(lab, "h2", "IPOIB_BONDS=bond0", "bond0_IP=10.10.10.2", "bond0_SLAVES=ib0,ib1",
                  "IPOIBHA_ENABLE=yes")
        done = openib(lab, "h2", "check-config", status=2)
        assert "bonds are not created, because IPOIBHA_ENABLE=yes" in done.out + done.err
    finally:
        on_hosts(lambda host: lab.sh(host, f"""
            ib-bond --stop-all
            modprobe -r ib_ipoib
            modprobe ib_ipoib
            /usr/lib/openipoib-lab/bringup.sh address {host[1:]} {lab.config.ports} 40"""))


def two_bonds_work(lab):
    for bond in ("bond0", "bond1"):
        on_hosts(lambda host, bond=bond: healthy(lab, host, bond))
    lab.reachable("h1", "10.10.10.2", "20.10.10.2")
    for bond, pair in (("bond0", (0, 1)), ("bond1", (2, 3))):
        pulled, spare = pair if status(lab, "h2", bond)["active"] == f"ib{pair[0]}" else pair[::-1]
        lab.cable(f"h2:{pulled}", "down")
        active_is(lab, "h2", f"ib{spare}", bond)
        lab.reachable("h1", "10.10.10.2", "20.10.10.2")
        lab.cable(f"h2:{pulled}", "up")
        healthy(lab, "h2", bond)
