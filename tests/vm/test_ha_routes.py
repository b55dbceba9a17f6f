# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Routes with several legs under ipoib-ha: its own leg moves, those of others stay."""

import json

import pytest

from checklib import programs
from harness import ipv4, ipv6, until

HA = programs.BIN / "ipoib-ha"
OTHER = "eth-other"     # has nothing to do with ipoib-ha
FIRST, SECOND = "ib0", "ib1"

pytestmark = pytest.mark.labs(drivers=["ours"], ports=2)

# Family, where to, the way by ipoib-ha's pair, the way by the other interface
ROUTES = [("-4", "10.77.0.0/16", ipv4("h1"), "10.78.0.9"),
          ("-6", "fd77::/64", ipv6("h1"), "fd78::9")]


@pytest.fixture
def other_interface(lab):
    lab.sh("h2", f"ip link add {OTHER} type dummy && ip link set {OTHER} up && "
           f"ip addr add 10.78.0.1/24 dev {OTHER} && ip addr add fd78::1/64 dev {OTHER} nodad")
    yield
    lab.run("h2", "ip", "link", "del", OTHER)


@pytest.fixture
def daemon(lab):
    """ipoib-ha on h2; what nobody moves back is put right."""
    programs.build(["ipoib-ha"])
    with lab.background("h2", HA, "-p", FIRST, "-s", SECOND):
        lab.wait("h2", f"{HA} status > /dev/null", 60, "ipoib-ha finds nothing wrong")
        yield
        print(lab.run("h2", HA, "explain", check=False).out)
    for port, device in enumerate((FIRST, SECOND)):
        lab.sh("h2", f"ip addr replace {ipv4('h2', port)}/24 dev {device}; "
               f"ip addr replace {ipv6('h2', port)}/64 dev {device} nodad")


def legs(lab, family, prefix):
    """Interface, next hop and weight of each leg."""
    found = []
    for route in json.loads(lab.out("h2", "ip", family, "-j", "route", "show", prefix)):
        found += [(leg["dev"], leg["gateway"], leg["weight"]) for leg in route.get("nexthops", [])]
    return sorted(found)


@pytest.fixture
def routes(lab, other_interface, daemon):
    for family, prefix, ours, theirs in ROUTES:
        lab.run("h2", "ip", family, "route", "add", prefix,
                "nexthop", "via", ours, "dev", FIRST, "weight", 3,
                "nexthop", "via", theirs, "dev", OTHER, "weight", 2)
    yield
    for family, prefix, *_ in ROUTES:
        lab.run("h2", "ip", family, "route", "del", prefix)


@pytest.mark.usefixtures("routes")
def test_legs_of_others_stay(lab):
    """Also of routes that were made the moment before."""
    for device in (SECOND, FIRST):
        lab.run("h2", HA, "switch")
        for family, prefix, ours, theirs in ROUTES:
            expected = sorted([(device, ours, 3), (OTHER, theirs, 2)])
            until(lambda: legs(lab, family, prefix) == expected, 20,
                  lambda: f"{prefix} has {expected}, not {legs(lab, family, prefix)}")
        lab.wait("h2", f"{HA} status > /dev/null", 60, "ipoib-ha finds nothing wrong")
