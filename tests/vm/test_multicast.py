# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""IPv4 and IPv6 multicast between the hosts: join, receive, leave."""

import contextlib
import ipaddress
import re

import pytest

from harness import HOSTS, until

PORT = 7100
NEIGHBOURS = "cat /sys/kernel/debug/ipoib/ib0_neighbours /sys/kernel/debug/ipoib/ib0_mcg"
GROUPS = ("239.1.2.3", "ff05::1:2345")


def mgid(group):
    """The MGID that saquery prints for an IP group in the default partition."""
    address = ipaddress.ip_address(group)
    if address.version == 4:
        raw = bytes.fromhex("ff12401bffff0000") + bytes(4) + \
            (int(address) & 0x0FFFFFFF).to_bytes(4, "big")
    else:
        raw = bytes.fromhex("ff12601bffff") + address.packed[6:]
    return ipaddress.IPv6Address(raw).compressed


def groups_of_sm(lab):
    """MGID -> MLID of every group the subnet manager knows."""
    text = lab.out("h1", "saquery", "-g")
    found = re.findall(r"MGID\.+(\S+).*?Mlid\.+(0x[0-9a-fA-F]+)", text, re.S)
    return {ipaddress.IPv6Address(name).compressed: lid for name, lid in found}


def is_member(lab, host, group):
    """Whether the port of @host is a member of the group at the SA."""
    gid = ipaddress.IPv6Address(lab.read(host, "/sys/class/infiniband/sib0/ports/1/gids/0"))
    mlid = groups_of_sm(lab).get(mgid(group))
    if mlid is None:
        return False
    text = lab.out("h1", "saquery", "--smkey", "1", "-m", mlid, check=False)
    ports = re.findall(r"PortGid\.+(\S+)", text)
    return gid.compressed in (ipaddress.IPv6Address(port).compressed for port in ports)


@contextlib.contextmanager
def receiver(lab, host, group):
    """A socket on @host that has joined @group."""
    with lab.helper_background(host, "multicast.py", "receive", group, PORT, "ib0") as process:
        assert process.line() == "joined"
        yield process


def count(process, tag):
    process.tell(f"count {tag}")
    return int(process.line())


def send(lab, host, group, number, tag):
    lab.helper(host, "multicast.py", "send", group, PORT, "ib0", number, tag)


def maddr(lab, host):
    return lab.out(host, "ip", "maddr", "show", "dev", "ib0")


def flows(lab, process, host, group):
    """Wait until a datagram from @host comes out of @process."""
    def one():
        send(lab, host, group, 1, "probe")
        return count(process, "probe")

    def seen():
        known = "".join(f"{name} {lab.sh(name, NEIGHBOURS, check=False).out}" for name in HOSTS)
        return (f"multicast to {group} arrives; the SA has {groups_of_sm(lab).get(mgid(group))}, "
                f"the hosts {known}{maddr(lab, 'h2')}")
    until(one, 30, seen)


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed", "mixed-swapped", "intree"])
@pytest.mark.parametrize("group", GROUPS)
def test_join_receive_leave(lab, group):
    assert group not in maddr(lab, "h2")
    with receiver(lab, "h2", group) as process:
        assert group in maddr(lab, "h2")
        until(lambda: is_member(lab, "h2", group), 20, f"h2 is a member of {group} at the SA")
        flows(lab, process, "h1", group)
        send(lab, "h1", group, 50, "data")
        until(lambda: count(process, "data") == 50, 15,
              lambda: f"50 datagrams; got {count(process, 'data')}")
        process.tell("leave")
        assert process.line() == "left"
        assert group not in maddr(lab, "h2")
        until(lambda: not is_member(lab, "h2", group), 20, f"h2 has left {group} at the SA")


@pytest.mark.ours_only
@pytest.mark.parametrize("group", ["239.7.7.1", "ff05::7:1"])
def test_first_burst_to_a_group_is_queued_while_joining(lab, group):
    """Datagrams sent before the sender's own join is done are not lost."""
    with receiver(lab, "h2", group) as process:
        until(lambda: is_member(lab, "h2", group), 20, f"h2 is a member of {group} at the SA")
        send(lab, "h1", group, 20, "first")
        until(lambda: count(process, "first") == 20, 15,
              lambda: f"20 datagrams; got {count(process, 'first')}")


def test_both_hosts_receive_and_nobody_hears_himself_over_the_fabric(lab):
    group = "239.1.2.4"
    with receiver(lab, "h1", group) as one, receiver(lab, "h2", group) as two:
        flows(lab, two, "h1", group)
        flows(lab, one, "h2", group)
        before = lab.net_stats("h1")["rx"]["packets"]
        send(lab, "h1", group, 40, "both")
        until(lambda: count(two, "both") == 40, 15, "h2 receives 40 datagrams")
        got = lab.net_stats("h1")["rx"]["packets"] - before
        assert got < 40, f"h1 received {got} packets while only it was sending"


@pytest.mark.race
def test_many_groups(lab):
    """Eighteen memberships of one socket: all known to the SA, all gone afterwards."""
    groups = [f"239.9.0.{number}" for number in range(1, 19)]
    want = {mgid(group) for group in groups}
    with lab.helper_background("h2", "join_many.py", "ib0", *groups) as process:
        assert process.line() == "joined"
        until(lambda: want <= groups_of_sm(lab).keys(), 40,
              lambda: f"the SA knows all groups; missing: {want - groups_of_sm(lab).keys()}")
    until(lambda: not want & groups_of_sm(lab).keys(), 40, "the SA has forgotten the groups")
