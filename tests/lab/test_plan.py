# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Options become hosts, drivers, addresses; wrong ones are refused."""

import pytest

from lablib import cli, plan
from lablib.state import LabError

HOSTS = ["h1", "h2"]


def make(*words):
    return plan.make(cli.parser().parse_args(["up", *words]))[0]


@pytest.mark.parametrize(("choices", "expected"), [
    ([], {"h1": "ours", "h2": "ours"}),
    (["intree"], {"h1": "intree", "h2": "intree"}),
    (["h2=intree"], {"h1": "ours", "h2": "intree"}),
    (["h1=ours", "intree"], {"h1": "ours", "h2": "intree"}),
])
def test_drivers(choices, expected):
    assert plan.drivers(HOSTS, choices) == expected


@pytest.mark.parametrize("choice", ["theirs", "h3=ours", "h1=", "h1=theirs", ""])
def test_wrong_driver(choice):
    with pytest.raises(LabError):
        plan.drivers(HOSTS, [choice])


def test_addresses():
    ports = make("--ports", "2")["hosts"][1]["ports"]
    assert [(p["netdev"], p["ibdev"], p["lower"]) for p in ports] == \
        [("ib0", "sib0", "eth1"), ("ib1", "sib1", "eth2")]
    assert [p["ipv4"] for p in ports] == ["10.10.0.2/24", "10.10.1.2/24"]
    assert [p["ipv6"] for p in ports] == ["fd10::2/64", "fd10:1::2/64"]


def test_cables_join_equal_ports():
    assert [c["ends"] for c in make("--ports", "2")["cables"]] == \
        [["h1:0", "h2:0"], ["h1:1", "h2:1"]]
    assert make("--hosts", "1")["cables"] == []


@pytest.mark.parametrize("name", ["h2:0", "h2:ib0", "h2:sib0", "h2:eth1"])
def test_port_names(name):
    assert plan.port_name(name, make()["hosts"]) == "h2:0"


@pytest.mark.parametrize("name", ["h2", "h2:1", "h3:0", "ib0", "h2:ib1", ""])
def test_wrong_port_names(name):
    with pytest.raises(LabError):
        plan.port_name(name, make()["hosts"])


@pytest.mark.parametrize("words", [["--hosts", "3"], ["--hosts", "0"], ["--ports", "0"],
                                   ["--kernel", "5.10"], ["--kernel", "6"]])
def test_wrong_options(words):
    with pytest.raises(LabError) as error:
        make(*words)
    assert error.value.code == 1


def test_usage_error_is_status_1():
    with pytest.raises(SystemExit) as stop:
        cli.parser().parse_args(["up", "--ib-mtu", "1000"])
    assert stop.value.code == 1
