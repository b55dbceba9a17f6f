# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The subnet manager ends, dies and comes back."""

import pytest

from harness import HOSTS, other, until
from test_multicast import count, is_member, receiver, send, flows


def sm_runs(lab):
    return lab.ok("h1", "lab-sm", "status")


def start(lab):
    lab.run("h1", "lab-sm", "start")
    until(lambda: "SMINFO_MASTER" in lab.out("h2", "sminfo", check=False), 30,
          "h2 sees a master SM")


@pytest.fixture
def sm(lab):
    """The SM runs again after the test, whatever happened."""
    yield
    if not sm_runs(lab):
        start(lab)


@pytest.mark.race
@pytest.mark.smoke
@pytest.mark.usefixtures("sm")
@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_restart(lab, end):
    group = "239.2.0.1"
    with receiver(lab, "h2", group) as process:
        flows(lab, process, "h1", group)
        if end == "stopped":
            lab.run("h1", "lab-sm", "stop")
        else:
            lab.sh("h1", "kill -9 $(cat /run/lab/opensm-0/pid)")
        until(lambda: not sm_runs(lab), 15, "the SM has ended")
        lab.ping("h1", "10.10.0.2", "-c20", "-i0.05")
        lab.ping("h2", "10.10.0.1", "-c20", "-i0.05")
        send(lab, "h1", group, 10, "without-sm")
        until(lambda: count(process, "without-sm") == 10, 15, "groups work without an SM")
        start(lab)
        until(lambda: is_member(lab, "h2", group), 40, f"h2 has joined {group} again")
        flows(lab, process, "h1", group)
    for host in HOSTS:
        lab.run(host, "ip", "neigh", "flush", "dev", "ib0")
        lab.reachable(host, f"10.10.0.{other(host)[1:]}")
        lab.ping(host, f"10.10.0.{other(host)[1:]}", "-c20", "-i0.05")


@pytest.mark.full("sm")
@pytest.mark.usefixtures("sm")
def test_interface_set_up_without_an_sm_waits_for_it(lab):
    """ib0 gets no carrier while nobody can let it join, and one soon after."""
    lab.run("h1", "lab-sm", "stop")
    lab.run("h2", "ip", "link", "set", "ib0", "down")
    lab.run("h2", "ip", "link", "set", "ib0", "up")
    lab.run("h2", "ip", "addr", "replace", "fd10::2/64", "dev", "ib0", "nodad")
    assert not lab.ok("h2", "ping", "-c2", "-W1", "10.10.0.1")
    assert not lab.carrier("h2")
    start(lab)
    until(lambda: lab.carrier("h2"), 30, "h2's ib0 has a carrier")
    lab.reachable("h2", "10.10.0.1")
    lab.reachable("h1", "10.10.0.2")
