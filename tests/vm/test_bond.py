# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""ib-bond between two hosts whose ports are all in one subnet of two switches.

Cables are pulled at h2, for h1 has the subnet manager: the bond of h2 fails over,
and the one of h1 has to learn its new hardware address.
"""

import contextlib
import json

import pytest

from harness import HOSTS, TOP, on_hosts, other, until

BIN = TOP / "build/cmake/bin"
CONF = "/run/bond-test.conf"
OFED_LINE = ("--slaves", "ib0,ib1", "--miimon", "50")


def bond_ip(host):
    return f"10.30.0.{host[1:]}"


@pytest.fixture
def ib_bond(lab):
    """Run ib-bond on a host: (host, *argv, status=0); bonds end with the test."""
    assert (BIN / "ib-bond").exists(), "ib-bond is not built: cmake --build build/cmake"

    def run(host, *argv, status=0):
        done = lab.run(host, "ib-bond", *argv, check=False)
        assert done.status == status, str(done)
        return done

    # openib looks for it where it is installed.
    on_hosts(lambda host: lab.run(host, "cp", BIN / "ib-bond", "/usr/sbin/ib-bond"))
    yield run
    on_hosts(lambda host: run(host, "--stop-all"))


def status(lab, host, name="bond0"):
    return json.loads(lab.out(host, "ib-bond", "-j", "status", name, check=False))


def healthy(lab, host, name="bond0"):
    lab.wait(host, f"ib-bond status {name} > /dev/null", 40, f"{name} has nothing wrong")


def active_is(lab, host, slave):
    lab.wait(host, f"ib-bond status bond0 | grep -q 'active {slave}'", 20, f"{slave} is active")


def up(lab, ib_bond, *options):
    """OFED's line on both hosts; then they reach each other."""
    on_hosts(lambda host: ib_bond(host, "--bond-name", "bond0", "--bond-ip", bond_ip(host),
                                  *OFED_LINE, "--take", *options))
    on_hosts(lambda host: healthy(lab, host))
    lab.reachable("h1", bond_ip("h2"))


@contextlib.contextmanager
def stream(lab):
    """A checked TCP stream over the bond; yields a function: bytes h2 has got."""
    with lab.helper_background("h2", "stream.py", "serve", bond_ip("h2"), 7004) as server:
        assert server.line() == "listening"
        with lab.helper_background("h1", "stream.py", "send", bond_ip("h2"), 7004) as client:
            def total():
                server.tell("total")
                return int(server.line())

            yield total
            client.tell("end")
            assert client.finish(90).status == 0
            assert server.finish(60).status == 0


def fail_over(lab, port, slave):
    """Pull the cable of a port of h2; the other slave takes over."""
    lab.cable(f"h2:{port}", "down")
    active_is(lab, "h2", slave)
    lab.reachable("h1", bond_ip("h2"))


def fail_back(lab, port):
    lab.cable(f"h2:{port}", "up")
    on_hosts(lambda host: healthy(lab, host))


@pytest.mark.full
@pytest.mark.labs(ports=2)
def test_commands_of_ofed_failover_and_stop(lab, ib_bond):
    up(lab, ib_bond, "--primary", "ib0")
    assert status(lab, "h2")["active"] == "ib0"
    again = ib_bond("h1", "--bond-name", "bond0", "--bond-ip", bond_ip("h1"), *OFED_LINE,
                    "--primary", "ib0", "-n")
    assert not again.out, "a second time there is something to do"
    with stream(lab) as total:
        until(total, 20, "data flows")
        with lab.background("h1", "ping", "-i0.05", "-q", bond_ip("h2")) as ping:
            fail_over(lab, 0, "ib1")
            seen = total()
            until(lambda: total() > seen, 30, "data flows by the second port")
            shown = ib_bond("h2", "status", "bond0", status=2).out
            assert "problem: ib0 has no link" in shown and "last change" in shown
            fail_back(lab, 0)
            active_is(lab, "h2", "ib0")
            print(ping.stop().out)
    ib_bond("h1", "--status-all")
    on_hosts(lambda host: ib_bond(host, "--stop", "--bond-name", "bond0"))


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


@pytest.mark.full
@pytest.mark.labs(ports=2)
def test_wrong_invocations_change_nothing(lab, ib_bond):
    for expected, line, message in WRONG:
        before = lab.out("h1", "ip", "-d", "address")
        done = ib_bond("h1", *line.split(), status=expected)
        assert message in done.err, str(done)
        print(f"ib-bond {line}\n  {expected}: {done.err.strip()}")
        after = lab.out("h1", "ip", "-d", "address")
        assert before == after, line


@pytest.mark.full
@pytest.mark.labs(drivers=["ours", "intree", "mixed"], ports=2)
def test_a_slave_goes_and_comes_back(lab, ib_bond):
    up(lab, ib_bond)
    lab.run("h2", "sh", "-c", "printf '%s\\n' \"$@\" > " + CONF, "sh", "IPOIBBOND_ENABLE=yes",
            "IPOIB_BONDS=bond0", f"bond0_IP={bond_ip('h2')}", "bond0_SLAVES=ib0,ib1")
    lab.run("h2", "rdma", "link", "delete", "sib1")
    lab.wait("h2", "! test -e /sys/class/net/ib1", 10, "ib1 has gone")
    assert "ib1 has gone" in status(lab, "h2")["problems"]
    lab.reachable("h1", bond_ip("h2"))
    lab.run("h2", "rdma", "link", "add", "sib1", "type", "sib", "netdev", "eth2")
    lab.wait("h2", "test -e /sys/class/net/ib1", 20, "ib1 is there")
    # What udev has done where there is one.
    lab.run("h2", BIN / "openib", "-c", CONF, "apply", "ib1")
    healthy(lab, "h2")
    fail_over(lab, 0, "ib1")
    fail_back(lab, 0)


@pytest.mark.full
@pytest.mark.labs(drivers=["ours", "intree", "mixed"], ports=2)
def test_connected_mode_with_65520_bytes(lab, ib_bond):
    def connect(host):
        return lab.ok(host, "sh", "-c", "echo connected > /sys/class/net/ib0/mode")

    if not all(on_hosts(connect).values()):
        for host in HOSTS:
            lab.ok(host, "sh", "-c", "echo datagram > /sys/class/net/ib0/mode")
        pytest.skip("a driver without connected mode")
    up(lab, ib_bond)
    for host in HOSTS:
        for name in ("bond0", "ib0", "ib1"):
            assert lab.read(host, f"/sys/class/net/{name}/mtu") == "65520"
        assert lab.read(host, "/sys/class/net/ib1/mode") == "connected"
    lab.reachable("h1", bond_ip("h2"))
    lab.ping("h1", bond_ip("h2"), "-c5", "-s", "65000", "-M", "do", "-W", "5")
    fail_over(lab, 0, "ib1")
    lab.ping("h1", bond_ip("h2"), "-c5", "-s", "65000", "-M", "do", "-W", "5")
    fail_back(lab, 0)
    on_hosts(lambda host: ib_bond(host, "--stop", "--bond-name", "bond0"))
    for host in HOSTS:
        assert lab.read(host, "/sys/class/net/ib1/mode") == "datagram"
        lab.sh(host, "echo datagram > /sys/class/net/ib0/mode && "
                     f"ip link set ib0 mtu {lab.config.ib_mtu - 4}")


@pytest.mark.full
@pytest.mark.labs(ports=5)
def test_two_bonds_of_openib_conf(lab, ib_bond):
    """The fragment of OFED's notes, with five ports as they have it."""
    del ib_bond

    def start(host):
        last = host[1:]
        lab.run(host, "sh", "-c", "printf '%s\\n' \"$@\" > " + CONF, "sh",
                "IPOIBBOND_ENABLE=yes", "IPOIB_BONDS=bond0,bond1", f"bond0_IP=10.10.10.{last}",
                "bond0_SLAVES=ib0,ib1", f"bond1_IP=20.10.10.{last}", "bond1_SLAVES=ib2,ib3,ib4")
        for port in range(5):
            lab.run(host, "ip", "address", "flush", "dev", f"ib{port}", "scope", "global")
        lab.run(host, BIN / "openib", "-c", CONF, "apply")

    addresses = on_hosts(lambda host: lab.json(host, "ip", "-j", "address"))
    try:
        on_hosts(start)
        for bond in ("bond0", "bond1"):
            on_hosts(lambda host, bond=bond: healthy(lab, host, bond))
        lab.reachable("h1", "10.10.10.2", "20.10.10.2")
        lab.cable("h2:2", "down")
        lab.wait("h2", "! ib-bond status bond1 | grep -q 'active ib2'", 20, "ib2 is not active")
        lab.reachable("h1", "20.10.10.2")
        lab.cable("h2:2", "up")
        healthy(lab, "h2", "bond1")
    finally:
        for host, links in addresses.items():
            lab.run(host, "ib-bond", "--stop-all", check=False)
            for link in links:
                for one in link["addr_info"]:
                    if link["ifname"].startswith("ib") and one["scope"] == "global":
                        lab.run(host, "ip", "address", "replace",
                                f"{one['local']}/{one['prefixlen']}", "dev", link["ifname"],
                                *(["nodad"] if one["family"] == "inet6" else []))
    lab.reachable(other("h2"), "10.10.0.2")
