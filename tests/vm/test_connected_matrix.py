# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Connected mode as a matrix: either driver on either host, each host in either mode,
and a peer built without connected mode. A cell is a row of the table at the end.

`make test-connected` runs them with what test_connected.py does to such pairs.
"""

import contextlib
import os
import subprocess
import time

import pytest

from harness import HOSTS, TOP, ipv4, ipv6, on_hosts, other, until
from lablib import kernel
from test_cable import stream
from test_connected import MODE, MTU, PAIRS, connected, note, pair
from test_ping import echo
from test_transfer import LEAST_BYTES, Server

pytestmark = [pytest.mark.connected, pytest.mark.full]

# Octets of an echo that are not payload
OVERHEAD = {ipv4: 28, ipv6: 48}
# Payloads: around what is copied, one page, the datagram, several of them, and the largest
SIZES = [1, 56, *range(1500, 1511), *range(1528, 1535), *range(2012, 2019), *range(4040, 4091),
         8184, 16384, 32768, 60000, *range(65466, 65493)]
STREAMS = (1, 4, 16)
GIGABYTE = 1 << 30
MODES = {"connected, connected": HOSTS, "connected, datagram": ("h1",),
         "datagram, connected": ("h2",)}


def module_without_cm(name):
    """Our ib_ipoib for this kernel, built without connected mode."""
    build = kernel.find(name).build
    mirror = TOP / "build/modules-no-cm"
    done = subprocess.run([TOP / "scripts/build-modules", build, "CONFIG_OPENIPOIB_CM=n"],
                          env=os.environ | {"MODULES_MIRROR": str(mirror)}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    return f"{done.stdout.splitlines()[-1]}/drivers/ipoib/ib_ipoib.ko"


@contextlib.contextmanager
def without_cm(lab, host):
    """A host whose driver knows no connected mode."""
    def exchange(*load):
        lab.run(host, "rmmod", "ib_ipoib")
        lab.run(host, *load)
        lab.address(host)
        on_hosts(lambda one: lab.reachable(one, ipv4(other(one)), ipv6(other(one))))

    exchange("insmod", module_without_cm(lab.config.kernel))
    try:
        assert not lab.ok(host, "sh", "-c", f"echo connected > {MODE}")
        assert lab.read(host, MODE) == "datagram"
        yield
    finally:
        exchange("modprobe", "ib_ipoib")


def echoes(lab, source, in_one_piece):
    """Echoes of all sizes, fragmented and not; how many."""
    for name, overhead in OVERHEAD.items():
        peer = name(other(source))
        most = (MTU if in_one_piece else lab.config.ib_mtu - 4) - overhead
        lab.wait(source, f"ping -q -c1 -W1 -s 20000 {peer} > /dev/null", 20, "the path MTU is known")
        fitting = [size for size in SIZES if size <= most]
        echo(lab, source, peer, "do", *map(str, fitting))
        echo(lab, source, peer, "dont", *map(str, SIZES))
        lab.ping(source, peer, "-c3", "-i0.02", "-M", "do", "-s", str(most))
        assert not lab.ok(source, "ping", "-c1", "-W1", "-M", "do", "-s", str(most + 1), peer)


def tcp(server):
    """The lower rate of both ways [Mbit/s] for each number of streams."""
    rates = []
    for streams in STREAMS:
        ends = [server.client(ipv4("h2"), "-t", "2", "-P", streams, *way)["sum_received"]
                for way in ([], ["-R"])]
        assert all(end["bytes"] > LEAST_BYTES for end in ends), ends
        rates.append(f"{min(end['bits_per_second'] for end in ends) / 1e6:.0f}")
    return "/".join(rates)


def udp(server):
    """Datagrams of 60,000 octets, at a rate below the machine's; how many are lost."""
    lost = 0
    for way in ([], ["-R"]):
        total = server.client(ipv4("h2"), "-u", "-b", "30M", "-l", "60000", "-t", "2", "-w", "2M",
                              *way)["sum"]
        assert total["packets"] > 50 and total["lost_packets"] <= total["packets"] * 0.005, total
        lost += total["lost_packets"]
    return lost


def cell(lab, modes, hosts, cm=True):
    """What such a pair does; the row of the table. @hosts: those in connected mode."""
    for host in HOSTS:
        lab.run(host, "sysctl", "-qw", "net.core.rmem_max=4194304", "net.core.wmem_max=4194304")
    with connected(lab, *hosts):
        for source in HOSTS:
            echoes(lab, source, cm and source in hosts)
        with Server(lab) as server:
            rates, lost = tcp(server), udp(server)
    return (lab.config.kernel, pair(lab), modes, "ok", "ok", rates, lost)


@pytest.mark.labs(drivers=PAIRS)
@pytest.mark.parametrize("modes", MODES)
def test_pair(lab, record_property, modes):
    record_property("connected", cell(lab, modes, MODES[modes]))


@pytest.mark.labs(drivers=PAIRS)
@pytest.mark.parametrize("modes", MODES)
def test_gigabyte(lab, record_property, modes):
    """2^30 octets, each of them checked."""
    begin = time.monotonic()
    with connected(lab, *MODES[modes]), stream(lab) as total:
        until(lambda: total() >= GIGABYTE, 350, lambda: f"1 GB arrives: {total()}", interval=0.5)
        note(record_property, lab, f"1 GB, {modes}",
             f"every octet checked, {time.monotonic() - begin:.0f} s")


@pytest.mark.labs(drivers=["ours", "mixed-swapped"])
def test_peer_without_connected_mode(lab, record_property):
    with without_cm(lab, "h2"):
        record_property("connected", cell(lab, "connected, without", ("h1",), cm=False))
