# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""openib on a virtual host: what openib.conf says is what becomes of ib0.

The lab has set up ib0 already; openib changes mode, MTU and description of what
is there, and back.
"""

import json

import pytest

from checklib import programs

OPENIB = programs.BIN / "openib"
CONF = "/run/openib-test.conf"
OWN_QUEUES = "/sys/module/ib_ipoib/parameters/own_queues"


@pytest.fixture(scope="session")
def program():
    """The program, built if need be."""
    programs.build(["openib"])


@pytest.fixture
def openib(lab, program):
    """Run openib on h1 with this configuration: (*lines, command=[...], status=0)."""

    def run(*lines, command=("apply",), status=0):
        lab.run("h1", "sh", "-c", f"printf '%s\\n' \"$@\" > {CONF}", "sh", *lines)
        done = lab.run("h1", OPENIB, "-c", CONF, *command, check=False)
        assert done.status == status, str(done)
        return done

    before = lab.read("h1", "/sys/class/infiniband/sib0/node_desc")
    yield run
    lab.run("h1", "sh", "-c", 'printf %s "$1" > /sys/class/infiniband/sib0/node_desc', "sh", before)
    lab.run("h1", "ip", "link", "set", "ib0", "mtu", str(lab.config.ib_mtu - 4))


def test_mtu_and_description(lab, openib):
    top = lab.config.ib_mtu - 4
    openib("IPOIB_MTU=2000", "NODE_DESC=tester")
    assert lab.read("h1", "/sys/class/net/ib0/mtu") == "2000"
    assert lab.read("h1", "/sys/class/infiniband/sib0/node_desc") == "tester HCA-1"
    lab.ping("h1", "10.10.0.2", "-c3", "-i0.1", "-s", "1972", "-M", "do")
    again = openib("IPOIB_MTU=2000", "NODE_DESC=tester")
    assert not again.out, "a second time there is something to do"
    openib(f"IPOIB_MTU={top}")
    assert lab.read("h1", "/sys/class/net/ib0/mtu") == str(top)


@pytest.mark.ours_only
def test_connected_mode(lab, openib):
    top = str(lab.config.ib_mtu - 4)
    for word in ("auto", "yes"):
        openib(f"SET_IPOIB_CM={word}", "IPOIB_MTU=65520")
        assert lab.read("h1", "/sys/class/net/ib0/mode") == "connected"
        assert lab.read("h1", "/sys/class/net/ib0/mtu") == "65520"
        openib("SET_IPOIB_CM=no", f"IPOIB_MTU={top}")
        assert lab.read("h1", "/sys/class/net/ib0/mode") == "datagram"
        assert lab.read("h1", "/sys/class/net/ib0/mtu") == top


@pytest.mark.ours_only
def test_own_queues(lab, openib):
    for value, there in (("'sib0/1 sib9'", "sib0/1,sib9"), ("all", "all"), ("none", "")):
        done = openib(f"IPOIB_OWN_QUEUES={value}")
        assert done.out.endswith(", for interfaces made from now on\n")
        assert lab.read("h1", OWN_QUEUES) == there
        assert not openib(f"IPOIB_OWN_QUEUES={value}").out, "a second time there is something to do"


@pytest.mark.full
@pytest.mark.labs(drivers=["intree"])
def test_own_queues_of_the_in_tree_driver(lab, openib):
    for command in ("apply",), ("status",):
        done = openib("IPOIB_OWN_QUEUES=all", command=command, status=2)
        assert "IPOIB_OWN_QUEUES has no effect: the ib_ipoib that is loaded has no" in done.out + done.err
    openib("IPOIB_OWN_QUEUES=none")


def test_status(lab, openib):
    document = json.loads(openib("IPOIB_LOAD=yes", command=("-j", "status")).out)
    assert document["hcas"][0]["name"] == "sib0"
    assert document["hcas"][0]["ports"][0]["state"] == "ACTIVE"
    ib0 = next(one for one in document["interfaces"] if one["name"] == "ib0")
    assert (ib0["hca"], ib0["port"], ib0["running"]) == ("sib0", 1, True)


@pytest.mark.full("openib")
def test_stop_is_refused_under_a_subnet_manager(lab, openib):
    done = openib("IPOIB_LOAD=yes", command=("stop",), status=7)
    assert "not stopped: opensm (process" in done.err
    assert lab.ok("h1", "test", "-e", "/sys/module/ib_ipoib")


@pytest.mark.full("openib")
def test_a_broken_file_changes_nothing(lab, openib):
    mtu = lab.read("h1", "/sys/class/net/ib0/mtu")
    done = openib("IPOIB_MTU=1500", "SET_IPOB_CM=no", status=6)
    assert f"{CONF}:2:1: error: SET_IPOB_CM: unknown key; did you mean SET_IPOIB_CM?" in done.err
    assert lab.read("h1", "/sys/class/net/ib0/mtu") == mtu
