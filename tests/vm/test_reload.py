# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Devices and modules removed and brought back under traffic."""

import contextlib
import json

import pytest

from harness import HOSTS, ipv4, ipv6, is_full, on_hosts, other, until


def times(request, most):
    return most if is_full(request) else 3


def has_netdev(lab, host, netdev="ib0"):
    return lab.ok(host, "test", "-d", f"/sys/class/net/{netdev}")


def comes_back(lab, host):
    lab.address(host)
    on_hosts(lambda h: lab.reachable(h, ipv4(other(h)), ipv6(other(h)), deadline=40))


def remove_link(lab, host):
    lab.run(host, "rdma", "link", "del", "sib0")
    until(lambda: not has_netdev(lab, host), 10, f"{host}'s ib0 goes with sib0")


def add_link(lab, host):
    lab.run(host, "rdma", "link", "add", "sib0", "type", "sib", "netdev", "eth1")


@contextlib.contextmanager
def traffic(lab, host):
    """UDP unicast and multicast, IPv4 and IPv6, and echo from both hosts."""
    with contextlib.ExitStack() as stack:
        floods = []
        for source in HOSTS:
            peer = other(source)
            flood = stack.enter_context(lab.helper_background(
                source, "flood.py", ipv4(source), ipv4(peer), ipv6(peer), "239.3.3.3"))
            assert flood.line() == "running"
            floods.append(flood)
        stack.enter_context(lab.background(other(host), "ping", "-q", "-i0.02", ipv4(host)))
        yield
        for flood in floods:
            flood.tell("end")
            done = flood.finish(30)
            assert done.status == 0, str(done)
            assert all(json.loads(done.out).values()), f"traffic to all was sent: {done.out}"


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed"])
def test_ib_ipoib_reloaded_under_traffic(lab, request):
    with traffic(lab, "h2"):
        for number in range(times(request, 20)):
            host = HOSTS[(number + 1) % 2]
            lab.run(host, "modprobe", "-r", "ib_ipoib")
            assert not has_netdev(lab, host)
            lab.run(host, "modprobe", "ib_ipoib")
            comes_back(lab, host)


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed"])
def test_device_deleted_and_added_under_traffic(lab, request):
    with traffic(lab, "h2"):
        for _ in range(times(request, 20)):
            remove_link(lab, "h2")
            add_link(lab, "h2")
            comes_back(lab, "h2")


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours"])
def test_sib_reloaded_under_traffic(lab, request):
    with traffic(lab, "h2"):
        for _ in range(times(request, 20)):
            lab.run("h2", "modprobe", "-r", "sib")
            assert not has_netdev(lab, "h2")
            assert lab.out("h2", "rdma", "dev").strip() == ""
            add_link(lab, "h2")  # loads the module by its alias
            comes_back(lab, "h2")


@pytest.mark.race
@pytest.mark.full("unplug")
def test_device_of_the_sm_deleted_and_added(lab):
    """h1's device goes while OpenSM uses it; a new OpenSM makes all well again.

    The command may wait for ib_core, which tries to leave the groups of ib0 when nobody
    answers any more: four tries of three seconds.
    """
    try:
        lab.run("h1", "rdma", "link", "del", "sib0")
        assert not has_netdev(lab, "h1")
        lab.run("h1", "lab-sm", "stop", check=False)
        add_link(lab, "h1")
    finally:
        lab.run("h1", "lab-sm", "start", check=False)
    comes_back(lab, "h1")


@pytest.mark.race
@pytest.mark.full("unplug")
def test_lower_netdev_unregistered(lab):
    """The cable's driver is unbound from the NIC and bound again."""
    driver = "/sys/bus/virtio/drivers/virtio_net"
    device = lab.out("h2", "readlink", "-f", "/sys/class/net/eth1/device").strip()
    name = device.rsplit("/", 1)[1]
    with traffic(lab, "h2"):
        lab.sh("h2", f"echo {name} > {driver}/unbind")
        until(lambda: lab.out("h2", "rdma", "dev").strip() == "", 10, "sib0 goes with eth1")
        lab.sh("h2", f"echo {name} > {driver}/bind")
        netdev = until(lambda: lab.out("h2", "ls", f"{device}/net", check=False).strip(), 10,
                       "the NIC is back")
        if netdev != "eth1":
            lab.run("h2", "ip", "link", "set", netdev, "name", "eth1")
        lab.run("h2", "ip", "link", "set", "eth1", "mtu", "65535", "up")
        add_link(lab, "h2")
        comes_back(lab, "h2")


@pytest.mark.race
@pytest.mark.full("updown")
def test_interface_set_down_and_up_under_traffic(lab, request):
    with traffic(lab, "h2"):
        for number in range(times(request, 10)):
            host = HOSTS[number % 2]
            lab.run(host, "ip", "link", "set", "ib0", "down")
            comes_back(lab, host)
