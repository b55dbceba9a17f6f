# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A RDMA device that is moved to a network namespace takes its interface with it since Linux 6.17."""

import contextlib
import json

import pytest

from harness import ipv4, ipv6, series

FAR = ("ip", "netns", "exec", "far")
SINCE = (6, 17)

pytestmark = pytest.mark.full


def interfaces(lab, host, *where):
    return {link["ifname"] for link in json.loads(lab.out(host, *where, "ip", "-j", "link"))}


@contextlib.contextmanager
def moved(lab, host):
    """sib0 of @host is in the namespace far."""
    lab.sh(host, "rdma system set netns exclusive && ip netns add far && ip netns attach home 1 && "
                 "rdma dev set sib0 netns far")
    try:
        yield
    finally:
        lab.run(host, *FAR, "rdma", "dev", "set", "sib0", "netns", "home")
        lab.sh(host, "ip netns delete home; ip netns delete far")
        lab.wait(host, "rdma system set netns shared", 20, "the namespace far is gone")
        lab.address(host)


def reached(lab):
    """h1 reaches h2, whose queue pair is another one: nobody has told h1 of it."""
    lab.reachable("h1", ipv4("h2"), ipv6("h2"), first="ip neighbour flush dev ib0; ")


def test_an_interface_goes_with_its_device(lab):
    with moved(lab, "h2"):
        goes = series(lab, "h2") >= SINCE
        where = FAR if goes else ()
        lab.wait("h2", " ".join((*where, "test -d /sys/class/net/ib0")), 20,
                 f"ib0 is {'there, too' if goes else 'where it was, as it has to be before 6.17'}")
        assert ("ib0" in interfaces(lab, "h2")) != goes
        if goes:
            lab.sh("h2", " && ".join(
                f"ip netns exec far ip {words}" for words in (
                    f"addr replace {ipv4('h2')}/24 dev ib0", f"addr replace {ipv6('h2')}/64 dev ib0 nodad",
                    "link set ib0 up")))
            reached(lab)
            lab.run("h2", *FAR, "rdma", "dev", "show", "sib0")
    reached(lab)
