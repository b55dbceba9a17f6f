# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Two to four hosts with two ports each in one subnet, with our driver or with both."""

import re
import subprocess
from itertools import permutations

import pytest

from harness import LAB, until

UP_SECONDS = 300
REACHED_SECONDS = 60

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]


def lab(*words):
    return subprocess.run([LAB, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=UP_SECONDS, check=False)


def done(*words):
    result = lab(*words)
    assert result.returncode == 0, result.stdout
    return result.stdout


def pings(host, address):
    return lab("exec", f"h{host}", "--", "ping", "-q", "-c1", "-W1", address).returncode == 0


@pytest.fixture(scope="module", params=[(2, (2,)), (3, ()), (3, (2,)), (4, ()), (4, (2, 4))],
                ids=["2-mixed", "3-ours", "3-mixed", "4-ours", "4-mixed"])
def hosts(request, current_lab):
    """How many hosts are up, some of them with the in-tree driver."""
    count, intree = request.param
    current_lab.end()
    done("up", "-q", "--hosts", str(count), "--ports", "2",
         "--kernel", request.config.getoption("--kernel").split(",")[0],
         *(word for host in intree for word in ("--driver", f"h{host}=intree")))
    yield count
    done("down")


def test_all_hosts_reach_all(hosts):
    for source, target in permutations(range(1, hosts + 1), 2):
        for port in (0, 1):
            until(lambda: pings(source, f"10.10.{port}.{target}"), REACHED_SECONDS,
                  lambda: f"h{source} does not reach h{target} by ib{port}")


def cross(host):
    """Have h1 and a host talk from switch to switch."""
    done("exec", "h1", "--", "ip", "route", "replace", f"10.10.1.{host}/32", "dev", "ib0",
         "src", "10.10.0.1")
    done("exec", f"h{host}", "--", "ip", "route", "replace", "10.10.0.1/32", "dev", "ib1",
         "src", f"10.10.1.{host}")


def links():
    """The ports of sw1 with links to sw2 that are up."""
    return re.findall(r"(\d+) -+ sw2:", done("topo"))


def test_a_failed_link_is_routed_around(hosts):
    for host in range(2, hosts + 1):
        cross(host)
    ports = links()
    assert len(ports) == 2
    for port in ports:
        done("fault", "link", f"sw1:{port}", "down")
        until(lambda: links() == [one for one in ports if one != port], REACHED_SECONDS,
              lambda: f"sw1:{port} is not down: {done('topo')}")
        for host in range(2, hosts + 1):
            until(lambda: pings(1, f"10.10.1.{host}"), REACHED_SECONDS,
                  lambda: f"h1 does not reach h{host} around sw1:{port}")
        done("fault", "link", f"sw1:{port}", "up")
        until(lambda: links() == ports, REACHED_SECONDS, lambda: done("topo"))
