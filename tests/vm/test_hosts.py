# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Two to four hosts with two ports each in one subnet, with our driver or with both."""

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


@pytest.fixture(params=[(2, (2,)), (3, ()), (3, (2,)), (4, ()), (4, (2, 4))],
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
