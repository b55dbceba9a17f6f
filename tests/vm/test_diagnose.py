# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""openib diagnose: nothing is wrong with a healthy lab, and of a fault its first line tells the cause.

FAULTS is a table of faults, each a context manager that makes it and takes it away again, and what
the first line is to be. One lab serves them all, one after the other.
"""

import contextlib
import json
import re
import shlex
import time
from dataclasses import dataclass
from typing import Callable

import pytest

from checklib import programs
from harness import HOSTS, ipv4, other, series, until

OPENIB = programs.BIN / "openib"
CONF = "/run/diagnose-test.conf"
PARTITIONS = "/run/lab/partitions"
CHILD = "ib0.8002"
SPARE = "10.10.0.77/24"     # nobody's
SECONDS = 40


@pytest.fixture(scope="session")
def program():
    """The program, built if need be."""
    programs.build(["openib"])


def diagnose(lab, host, *words):
    """Run it with the configuration file of these tests, which need not be there."""
    return lab.run(host, OPENIB, "-c", CONF, "diagnose", *words, check=False, timeout=60)


def first(result):
    return result.out.partition("\n")[0]


def well(lab, host, interface="ib0"):
    """Wait until nothing is wrong with it."""
    seen = []

    def healthy():
        seen[:] = [diagnose(lab, host, interface)]
        return seen[0].status == 0

    until(healthy, SECONDS, lambda: str(seen[0]))


@pytest.mark.smoke
@pytest.mark.usefixtures("program")
@pytest.mark.labs(drivers=["ours", "intree", "mixed"])
def test_nothing_is_wrong_with_a_healthy_lab(lab, record_property):
    for host in HOSTS:
        well(lab, host)
        start = time.monotonic()
        done = diagnose(lab, host)
        record_property(f"seconds on {host}", f"{time.monotonic() - start:.1f}")
        assert done.status == 0, str(done)
        assert first(done) == "nothing wrong with ib0 (sib0 port 1)"
        assert not done.err, done.err
        done = diagnose(lab, host, "ib0", "--peer", ipv4(other(host)))
        assert done.status == 0, str(done)
        assert "FAILS" not in done.out and "long packets      4092 octets" in done.out, done.out
        shown = lab.out(other(host), "ip", "-6", "addr", "show", "dev", "ib0", "scope", "link")
        local = re.search(r"inet6 (fe80:\S+)/", shown)[1]
        done = diagnose(lab, host, "--peer", f"{local}%ib0")
        assert done.status == 0 and "FAILS" not in done.out, str(done)
        document = json.loads(diagnose(lab, host, "--json").out)
        assert document["verdict"] == "healthy" and not document["findings"]
        manager = document["ports"][0]["manager"]
        assert manager["gid"].startswith("fe80::") and manager["answer_ms"] is not None, document
        # Null where the cable goes to the other host.
        assert document["ports"][0]["highest_lid"] in (None, *range(len(HOSTS), 100)), document


@pytest.mark.usefixtures("program")
def test_an_ordinary_user_is_told_what_was_not_looked_at(lab):
    done = lab.run("h2", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", OPENIB,
                   "diagnose", "ib0", check=False)
    assert done.status == 0, str(done)
    assert "not looked at: subnet manager and groups of sib0 port 1: /dev/infiniband/umad0: " \
        "Permission denied" in done.out, done.out


@pytest.mark.usefixtures("program")
def test_what_cannot_be_asked_about(lab):
    done = diagnose(lab, "h2", "lo")
    assert done.status == 2 and first(done) == "lo: it is no IPoIB interface", str(done)
    assert lab.run("h2", OPENIB, "diagnose", "--peer", "h1", check=False).status == 1


# Faults. Each gets the lab, and is looked at on h2.


def undone(make, undo):
    """A fault that a shell command on h2 makes, and another one takes away."""

    @contextlib.contextmanager
    def fault(lab):
        lab.sh("h2", make)
        try:
            yield
        finally:
            lab.sh("h2", undo)
            lab.address("h2")

    return fault


def wait_for_manager(lab):
    until(lambda: "SMINFO_MASTER" in lab.out("h2", "sminfo", check=False), 30, "there is a subnet manager")
    for host in HOSTS:
        lab.wait(host, "grep -q 1 /sys/class/net/ib0/carrier", SECONDS, f"{host}'s ib0 has a carrier")
    lab.reachable("h2", ipv4("h1"))


@contextlib.contextmanager
def sm_dead(lab):
    lab.run("h1", "lab-sm", "stop")
    try:
        yield
    finally:
        lab.run("h1", "lab-sm", "start")
        wait_for_manager(lab)


def partitions(*lines):
    """The subnet manager starts again with other partitions."""

    @contextlib.contextmanager
    def fault(lab):
        text = shlex.join(lines)
        lab.sh("h1", f"printf '%s\\n' {text} > {PARTITIONS} && lab-sm stop && lab-sm start")
        try:
            yield
        finally:
            lab.sh("h1", f"rm {PARTITIONS}; lab-sm stop; lab-sm start")
            wait_for_manager(lab)

    return fault


@contextlib.contextmanager
def no_manager_since_the_link_came(lab):
    lab.run("h1", "lab-sm", "stop")
    lab.cable("h2:0", "down")
    lab.wait("h2", "grep -q DOWN /sys/class/infiniband/sib0/ports/1/state", 20, "the port is down")
    lab.cable("h2:0", "up")
    try:
        yield
    finally:
        lab.run("h1", "lab-sm", "start")
        wait_for_manager(lab)


@contextlib.contextmanager
def cable_pulled(lab):
    lab.cable("h2:0", "down")
    try:
        yield
    finally:
        lab.cable("h2:0", "up")
        wait_for_manager(lab)


@contextlib.contextmanager
def adapter_again(lab, mtu=65535):
    """Afterwards h2's adapter is made again, which forgets all that was set."""
    try:
        yield
    finally:
        make_adapter(lab, mtu)
        lab.address("h2")
        wait_for_manager(lab)


def make_adapter(lab, mtu):
    lab.sh("h2", f"rdma link del sib0; ip link set eth1 mtu {mtu}; "
           "rdma link add sib0 type sib netdev eth1 && "
           "printf 'h2 sib0' > /sys/class/infiniband/sib0/node_desc")


@contextlib.contextmanager
def management_key(lab):
    """An M_Key that Get does not show (M_KeyProtectBits 1): one that it shows, OpenSM would use."""
    with adapter_again(lab):
        lab.run("h2", "ibportstate", "-C", "sib0", "-D", "0", "1", "mkey", "5", "mkeyprot", "1")
        lab.cable("h2:0", "down")
        lab.wait("h2", "grep -q DOWN /sys/class/infiniband/sib0/ports/1/state", 20, "the port is down")
        lab.cable("h2:0", "up")
        yield


@contextlib.contextmanager
def lid_of_another(lab):
    """The subnet manager, which would mend it, hears of nothing."""
    with adapter_again(lab):
        lid = int(lab.read("h1", "/sys/class/infiniband/sib0/ports/1/lid"), 16)
        lab.run("h1", "pkill", "-STOP", "opensm")
        try:
            lab.run("h2", "ibportstate", "-C", "sib0", "-D", "0", "1", "lid", lid)
            yield
        finally:
            lab.run("h1", "pkill", "-CONT", "opensm")


@contextlib.contextmanager
def short_packets_only(lab):
    """A port whose MTU is less than that of the group."""
    with adapter_again(lab):
        make_adapter(lab, 2300)
        lab.address("h2")
        yield


@contextlib.contextmanager
def other_driver(lab):
    """The kernel's ib_ipoib is loaded, and ours is installed."""
    path = "/lib/modules/$(uname -r)/kernel/drivers/infiniband/ulp/ipoib/ib_ipoib.ko"
    lab.sh("h2", f"modprobe -r ib_ipoib && insmod {path} || {{ xz -dc {path}.xz > /run/ib_ipoib.ko && "
           "insmod /run/ib_ipoib.ko; }")
    lab.address("h2")
    try:
        yield
    finally:
        lab.sh("h2", "modprobe -r ib_ipoib; modprobe ib_ipoib")
        lab.address("h2")
        wait_for_manager(lab)


@contextlib.contextmanager
def connections_refused(lab):
    """h1's hardware address says that it takes connections, and its HCA has no queue pairs for them."""
    failing = "/sys/kernel/debug/sib/sib0/fail_commands"
    for host in HOSTS:
        lab.sh(host, "echo connected > /sys/class/net/ib0/mode")
        lab.address(host)
    lab.sh("h1", f"echo 1000000 > {failing}")
    lab.run("h2", "ip", "neigh", "flush", "dev", "ib0")
    lab.run("h2", "ping", "-q", "-c3", ipv4("h1"), check=False)
    try:
        yield
    finally:
        lab.sh("h1", f"echo 0 > {failing}")
        for host in HOSTS:
            lab.sh(host, "echo datagram > /sys/class/net/ib0/mode")
            lab.address(host)
        wait_for_manager(lab)


@contextlib.contextmanager
def no_driver(lab):
    lab.sh("h2", "modprobe -r ib_ipoib")
    try:
        yield
    finally:
        lab.sh("h2", "modprobe ib_ipoib")
        lab.address("h2")
        wait_for_manager(lab)


@contextlib.contextmanager
def two_managers(lab):
    index = lab.read("h2", "/sys/class/net/ib0/ifindex")
    files = f"/run/NetworkManager/devices/{index}", f"/run/systemd/netif/links/{index}"
    lab.sh("h2", f"mkdir -p {' '.join(file.rpartition('/')[0] for file in files)}; "
           f"printf '[device]\\nmanaged=true\\n' > {files[0]}; echo ADMIN_STATE=configured > {files[1]}")
    try:
        yield
    finally:
        lab.sh("h2", f"rm {' '.join(files)}")


@contextlib.contextmanager
def duplicate(lab):
    for host in HOSTS:
        lab.run(host, "ip", "addr", "add", SPARE, "dev", "ib0")
    try:
        yield
    finally:
        for host in HOSTS:
            lab.run(host, "ip", "addr", "del", SPARE, "dev", "ib0")


@contextlib.contextmanager
def firewall(lab):
    if not lab.ok("h2", "sh", "-c", "command -v nft"):
        pytest.skip("there is no nft: scripts/bootstrap test")
    lab.sh("h2", "nft add table inet t; nft add chain inet t in "
           "'{ type filter hook input priority 0; }'; nft add rule inet t in iifname ib0 counter drop")
    try:
        yield
    finally:
        lab.sh("h2", "nft delete table inet t")


@contextlib.contextmanager
def old_firewall(lab):
    """Rules that nft does not list."""
    if not lab.ok("h2", "sh", "-c", "command -v iptables-legacy"):
        pytest.skip("there is no iptables-legacy")
    lab.run("h2", "iptables-legacy", "-A", "INPUT", "-i", "ib0", "-j", "DROP")
    try:
        yield
    finally:
        lab.run("h2", "iptables-legacy", "-D", "INPUT", "-i", "ib0", "-j", "DROP")


@contextlib.contextmanager
def smaller_mtu_of_the_peer(lab):
    lab.run("h1", "ip", "link", "set", "ib0", "mtu", "2000")
    try:
        yield
    finally:
        lab.run("h1", "ip", "link", "set", "ib0", "mtu", lab.config.ib_mtu - 4)


def configured(*lines, make=":", undo=":"):
    """openib.conf has these lines."""

    @contextlib.contextmanager
    def fault(lab):
        lab.sh("h2", f"printf '%s\\n' {shlex.join(lines)} > {CONF}; {make}")
        try:
            yield
        finally:
            lab.sh("h2", f"rm {CONF}; {undo}")

    return fault


@dataclass(frozen=True)
class Fault:
    make: Callable
    line: str           # the first, as a pattern
    words: tuple = ("ib0",)


OTHER_GID = "80:00:00:02:fe:c0:00:00:00:00:00:00:00:00:00:00:00:00:00:07"
GROUP = "Default=0x7fff,ipoib,mtu=5"
FAULTS = {
    "driver not loaded": Fault(no_driver, "ib_ipoib: the module is not loaded", ()),
    "broken openib.conf": Fault(configured("SET_IPOB_CM=no"), f"{CONF}: it has an error, so that openib "
                                "does nothing"),
    "no such interface": Fault(undone(":", ":"), "ib7: there is no interface of that name", ("ib7",)),
    "another namespace": Fault(
        undone(f"ip link add link ib0 name {CHILD} type ipoib; ip netns add blue; "
               f"ip link set {CHILD} netns blue",
               f"ip -n blue link del {CHILD}; ip netns del blue"),
        f"{CHILD}: it is in the network namespace blue", (CHILD,)),
    "cable pulled": Fault(cable_pulled, "sib0 port 1: the port is down, its physical state is Polling"),
    "M_Key": Fault(management_key, "sib0 port 1: the port has an M_Key, and no subnet manager has it"),
    "port INIT": Fault(no_manager_since_the_link_came,
                       "sib0 port 1: the port is INIT: no subnet manager has set it up"),
    "SM dead": Fault(sm_dead, r"sib0 port 1: no subnet manager answers at LID \d+"),
    "LID conflict": Fault(lid_of_another,
                          r'sib0 port 1: its LID (\d+) is that of "h1 sib0" port 1, too'),
    "another subnet prefix": Fault(
        undone(f"ip neigh replace 10.10.0.66 lladdr {OTHER_GID} dev ib0 nud permanent",
               "ip neigh del 10.10.0.66 dev ib0"),
        "ib0: its neighbour 10.10.0.66 has the GID fec0::7, of another subnet"),
    "child without P_Key": Fault(
        undone(f"ip link add link ib0 name {CHILD} type ipoib pkey 0x8002 && ip link set {CHILD} up",
               f"ip link del {CHILD}"),
        f"{CHILD}: its P_Key 0x8002 is not in the table of sib0 port 1", (CHILD,)),
    "limited membership": Fault(partitions(f"{GROUP}:ALL=limited,SELF=full;"),
                                "ib0: sib0 port 1 is a limited member of the partition 0xffff"),
    "interface down": Fault(undone("ip link set ib0 down", "ip link set ib0 up"), "ib0: it is down"),
    "two managers": Fault(two_managers,
                          "ib0: NetworkManager and systemd-networkd manage it at the same time"),
    "no broadcast group": Fault(partitions("Default=0x7fff:ALL=full;"),
                                "ib0: there is no broadcast group in its partition"),
    "rate of the group": Fault(
        partitions(f"{GROUP},rate=16:ALL=full;"),
        "ib0: the rate of its broadcast group, 100 Gb/s, is more than that of sib0 port 1, 40 Gb/s"),
    "MTU of the group": Fault(
        short_packets_only,
        "ib0: the MTU of its broadcast group, 4096, is more than that of sib0 port 1, 2048"),
    "Q_Key": Fault(partitions(f"{GROUP}:", " mgid=ff12:601b::1,Q_Key=0xb1d", " ALL=full;"),
                   "ib0: the Q_Key of its broadcast group is 0xb1b, that of the group of all IPv6 nodes "
                   "0xb1d"),
    "ipoib-ha dead": Fault(
        configured("IPOIBHA_ENABLE=yes", "PRIMARY_IPOIB_DEV=ib0", "SECONDARY_IPOIB_DEV=ib1"),
        "ipoib-ha: it does not run"),
    "mode of a bond": Fault(
        configured("IPOIBBOND_ENABLE=yes", "IPOIB_BONDS=bond7", "bond7_IP=10.30.0.1", "bond7_SLAVES=ib0",
                   make="ip link add bond7 type bond mode balance-rr", undo="ip link del bond7"),
        "bond7: its mode is 0, and not active-backup"),
    "firewall": Fault(firewall, "ib0: a firewall drops its packets"),
    "older firewall": Fault(old_firewall, "ib0: a firewall drops its IPv4 packets"),
    "no address": Fault(undone("ip -4 addr flush dev ib0; ip -6 addr flush dev ib0 scope global", ":"),
                        "ib0: it has no IP address"),
    "address of Ethernet, too": Fault(
        undone("ip link add dum0 type dummy && ip addr add 10.10.0.9/24 dev dum0 && ip link set dum0 up",
               "ip link del dum0"),
        r"ib0: dum0 has an address of its subnet, 10\.10\.0\.9/24, too"),
    "duplicate address": Fault(duplicate, "ib0: another host has its address 10.10.0.77"),
    "neighbour table": Fault(
        undone("sysctl -q -w net.ipv4.neigh.default.gc_thresh3=1",
               "sysctl -q -w net.ipv4.neigh.default.gc_thresh3=1024"),
        r"ipv4: the table of neighbours is full: \d+ entries, gc_thresh3 is 1"),
    "peer that is not there": Fault(
        undone(":", ":"), r"10\.10\.0\.99: it does not answer ARP or neighbour discovery",
        ("ib0", "--peer", "10.10.0.99")),
    "MTU of the peer": Fault(
        smaller_mtu_of_the_peer,
        r"10\.10\.0\.1: (its MTU is less than that of ib0, 4092|"
        "packets of 4092 octets are not answered, short ones are)",
        ("ib0", "--peer", "10.10.0.1")),
    "peer without a route": Fault(undone(":", ":"), r"192\.0\.2\.9: there is no route to it",
                                  ("ib0", "--peer", "192.0.2.9")),
    "peer by Ethernet": Fault(
        undone("ip link add dum0 type dummy && ip link set dum0 up && ip addr add 10.40.0.1/24 dev dum0",
               "ip link del dum0"),
        r"10\.40\.0\.2: packets go by dum0, and not by ib0",
        ("ib0", "--peer", "10.40.0.2")),
}
OURS_ONLY = {
    "another driver": Fault(other_driver,
                            "ib_ipoib: another module is loaded than the one that is installed"),
    "connections refused": Fault(connections_refused, r"10\.10\.0\.1: it refuses connections of ib0",
                                 ("ib0", "--peer", "10.10.0.1")),
}


def expect(lab, host, fault, record_property, name):
    """Its first line is soon that of the fault."""
    seen = []

    def told():
        seen[:] = [diagnose(lab, host, *fault.words)]
        return re.fullmatch(fault.line, first(seen[0]))

    until(told, SECONDS, lambda: f"{fault.line}: {seen[0]}")
    record_property("diagnosis", (name, f"{lab.config.kernel}-{lab.config.h2}", first(seen[0])))
    assert seen[0].status == 2, str(seen[0])
    assert re.search(r"^  why: .+\n  cure: .+", seen[0].out, re.MULTILINE), seen[0].out


@pytest.mark.usefixtures("program")
@pytest.mark.labs(drivers=["ours", "intree"])
@pytest.mark.parametrize("name", FAULTS)
def test_the_first_line_tells_the_cause(lab, name, record_property):
    with FAULTS[name].make(lab):
        expect(lab, "h2", FAULTS[name], record_property, name)
    well(lab, "h2")


@pytest.mark.usefixtures("program")
@pytest.mark.ours_only
@pytest.mark.parametrize("name", OURS_ONLY)
def test_of_our_driver(lab, name, record_property):
    with OURS_ONLY[name].make(lab):
        expect(lab, "h2", OURS_ONLY[name], record_property, name)
    well(lab, "h2")


@pytest.mark.usefixtures("program")
@pytest.mark.labs(drivers=["ours", "intree"])
def test_vrf(lab):
    """A note, but where RDMA CM does not look into the tables of VRFs."""
    lab.sh("h2", "ip link add red type vrf table 10 && ip link set red up && ip link set ib0 master red")
    lab.address("h2")
    try:
        done = diagnose(lab, "h2", "ib0")
        if lab.config.h2 == "intree" and series(lab, "h2") < (6, 18):
            assert first(done) == "ib0: it is in the VRF red, where RDMA CM does not find it", str(done)
        else:
            assert done.status == 0 and "note: ib0: it is in the VRF red\n" in done.out, str(done)
    finally:
        lab.run("h2", "ip", "link", "del", "red")
        lab.address("h2")


@pytest.mark.usefixtures("program")
def test_an_mtu_that_differs_is_noted(lab):
    lab.run("h2", "ip", "link", "set", "ib0", "mtu", "2000")
    try:
        done = diagnose(lab, "h2", "ib0")
        assert done.status == 0, str(done)
        assert "note: ib0: its MTU is 2000, its broadcast group allows 4092\n" in done.out, done.out
    finally:
        lab.run("h2", "ip", "link", "set", "ib0", "mtu", lab.config.ib_mtu - 4)


@pytest.mark.usefixtures("program")
@pytest.mark.labs(ports=2)
def test_arp_flux(lab, record_property):
    well(lab, "h2", "ib1")
    setting = "/proc/sys/net/ipv4/conf/all/arp_ignore"
    lab.sh("h2", f"echo 0 > {setting}")
    try:
        expect(lab, "h2", Fault(None, "ib0: it and ib1 answer ARP for each other's addresses", ()),
               record_property, "ARP flux")
    finally:
        lab.sh("h2", f"echo 1 > {setting}")
    done = diagnose(lab, "h2")
    assert done.status == 0 and first(done) == \
        "nothing wrong with ib0 (sib0 port 1), ib1 (sib1 port 1)", str(done)


@pytest.mark.usefixtures("program")
@pytest.mark.labs(ports=2)
def test_a_cable_with_errors(lab, record_property):
    """The switch at the other end counts what comes in damaged."""
    lab.fault("corrupt", "h2:1", "30%", "--packets", "ud")
    try:
        with lab.background("h2", "ping", "-q", "-i0.02", ipv4("h1")):
            expect(lab, "h2", Fault(None, "sib0 port 1: the cable has errors"), record_property,
                   "cable with errors")
    finally:
        lab.fault("clear")
    well(lab, "h2")
