# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A cable pulled and plugged under traffic."""

import contextlib

import pytest

from harness import HOSTS, ipv4, is_full, on_hosts, other, until

STATE = "/sys/class/infiniband/sib0/ports/1/state"
CARRIER = "/sys/class/net/ib0/carrier"


def is_down(lab, host):
    lab.wait(host, f"grep -q DOWN {STATE} && grep -q 0 {CARRIER}", 15,
             "the port is down and ib0 has no carrier")


def is_up(lab, host):
    lab.wait(host, f"grep -q ACTIVE {STATE} && grep -q 1 {CARRIER}", 40,
             "the port is ACTIVE and ib0 has a carrier")


def pull(lab):
    lab.cable("h1:0", "down")
    on_hosts(lambda host: is_down(lab, host))


def plug(lab):
    lab.cable("h1:0", "up")
    on_hosts(lambda host: is_up(lab, host))


@contextlib.contextmanager
def stream(lab):
    """A checked TCP stream from h1 to h2; yields a function: bytes h2 has got."""
    with lab.helper_background("h2", "stream.py", "serve", ipv4("h2"), 7003) as server:
        assert server.line() == "listening"
        with lab.helper_background("h1", "stream.py", "send", ipv4("h2"), 7003) as client:
            def total():
                server.tell("total")
                return int(server.line())

            yield total
            client.tell("end")
            done = client.finish(90)
            assert done.status == 0, str(done)
            checked = server.finish(60)
            assert checked.status == 0, str(checked)
            assert checked.out.split()[-1] == done.out.split()[-1], "bytes sent and received"


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed", "intree"])
def test_pulled_and_plugged_under_traffic(lab, request):
    try:
        with stream(lab) as total:
            until(total, 20, "data flows")
            for number in range(20 if is_full(request) else 3):
                pull(lab)
                before = total()
                plug(lab)
                until(lambda b=before: total() > b, 60, f"data flows again after pull {number + 1}")
    finally:
        lab.cable("h1:0", "up")
    for host in HOSTS:
        lab.reachable(host, ipv4(other(host)))
        lab.ping(host, ipv4(other(host)), "-c20", "-i0.05")


@pytest.mark.race
def test_short_glitches(lab):
    """Pulled and plugged at once: whether anyone notices or not, all works after."""
    try:
        with stream(lab) as total:
            until(total, 20, "data flows")
            for _ in range(10):
                lab.cable("h1:0", "down")
                lab.cable("h1:0", "up")
            plug(lab)
            before = total()
            until(lambda: total() > before, 60, "data flows again")
    finally:
        lab.cable("h1:0", "up")
    lab.reachable("h1", ipv4("h2"))


def test_lower_carrier_lost_means_port_down(lab):
    """The lower netdev set down and up in one host only."""
    try:
        lab.run("h2", "ip", "link", "set", "eth1", "down")
        on_hosts(lambda host: is_down(lab, host))
    finally:
        lab.run("h2", "ip", "link", "set", "eth1", "up")
    plug(lab)
    lab.reachable("h1", ipv4("h2"))
