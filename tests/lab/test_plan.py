# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Options become hosts, drivers, addresses; wrong ones are refused."""

import re
from pathlib import Path

import pytest

from lablib import cli, plan
from lablib.kernel import Kernel
from lablib.state import LabError

HOSTS = ["h1", "h2"]
OF = plan.machine.of
RELEASES = {"6.1": "6.1.0-1-amd64", "6.1:s390x": "6.1.0-1-s390x"}


@pytest.fixture(autouse=True)
def kernel_of_no_machine(monkeypatch):
    """Whatever distribution this is, and whether its kernel is here or not."""
    provide = plan.kernels.provide

    def own(name, progress):
        if name not in RELEASES:
            return provide(name, progress)
        return Kernel(name, RELEASES[name], Path("vmlinuz"), None, RELEASES[name], Path("headers"))

    monkeypatch.setattr(plan.kernels, "own", lambda: "6.1")
    monkeypatch.setattr(plan.machine, "of", plan.machine.MACHINES.get)      # QEMU may not be here
    monkeypatch.setattr(plan.machine.newer_qemu, "version", lambda program: (10, 0))
    monkeypatch.setattr(plan.kernels, "provide", own)


def make(*words):
    return plan.make(cli.parser().parse_args(["up", *words]), print)[0]


@pytest.mark.parametrize(("choices", "expected"), [
    ([], {"h1": "ours", "h2": "ours"}),
    (["intree"], {"h1": "intree", "h2": "intree"}),
    (["h2=intree"], {"h1": "ours", "h2": "intree"}),
    (["h1=ours", "intree"], {"h1": "ours", "h2": "intree"}),
])
def test_drivers(choices, expected):
    assert plan.drivers(HOSTS, choices) == expected


def test_a_qemu_that_is_too_old(monkeypatch):
    """It is said before anything is downloaded for such a host."""
    def fail(*_, **__):
        raise LabError("no network")

    monkeypatch.setattr(plan.machine.newer_qemu, "version", lambda program: (7, 2))
    monkeypatch.setattr(plan.machine.newer_qemu.foreign, "provide", fail)
    monkeypatch.setattr(plan.kernels, "provide", lambda name, _: pytest.fail(f"{name} was fetched"))
    with pytest.raises(LabError, match="s390x 8.2 or later is needed, because .*: no network"):
        make("--kernel", "6.1:s390x")


def test_hcas():
    hosts = make("--hca", "mlx5", "--hca", "h2=rdmavt", "--append", "quiet")["hosts"]
    assert [host["hca"] for host in hosts] == ["mlx5", "rdmavt"]
    assert [host["append"] for host in hosts] == ["sib.profile=mlx5 quiet", "sib.profile=rdmavt quiet"]
    assert plan.hcas(HOSTS, []) == {"h1": "sib", "h2": "sib"}


def test_dmas():
    hosts = make("--dma", "h2=mapped", "--hca", "h2=mlx5", "--append", "quiet")["hosts"]
    assert [host["dma"] for host in hosts] == ["virtual", "mapped"]
    assert [host["append"] for host in hosts] == ["quiet", "sib.profile=mlx5 sib.dma=mapped quiet"]
    assert plan.dmas(HOSTS, ["mapped"]) == {"h1": "mapped", "h2": "mapped"}
    with pytest.raises(LabError, match="--dma"):
        plan.dmas(HOSTS, ["real"])


def test_the_mtu_is_what_all_hcas_have():
    assert make()["ib_mtu"] == 4096
    assert make("--hca", "h2=mthca")["ib_mtu"] == 2048
    assert make("--ib-mtu", "2048")["ib_mtu"] == 2048
    with pytest.raises(LabError, match="--ib-mtu 4096: --hca mthca has 2048 at most"):
        make("--hca", "h2=mthca", "--ib-mtu", "4096")


@pytest.mark.parametrize("choice", ["mlx", "h3=mlx4", "h1=", ""])
def test_wrong_hca(choice):
    with pytest.raises(LabError, match="--hca"):
        plan.hcas(HOSTS, [choice])


def test_hcas_are_those_that_sib_knows():
    names = re.findall(r'\.name = "(.+)"', (plan.place.SOURCES / "drivers/sib/profile.c").read_text())
    assert sorted(names) == sorted(plan.HCAS)
    assert names[0] == plan.HCAS[0]


@pytest.mark.parametrize("choice", ["theirs", "h3=ours", "h1=", "h1=theirs", ""])
def test_wrong_driver(choice):
    with pytest.raises(LabError):
        plan.drivers(HOSTS, [choice])


def test_a_processor_that_is_emulated_is_not_accelerated():
    with pytest.raises(LabError, match="--accel kvm: no host has the processor of this machine, amd64"):
        make("--accel", "kvm", "--kernel", "6.1:s390x")
    assert make("--accel", "kvm", "--kernel", "h2=6.1:s390x")


@pytest.mark.parametrize("path", ["/home/some one/openipoib", "/run/openipoib"])
def test_sources_that_a_host_of_another_processor_cannot_mount(monkeypatch, path):
    monkeypatch.setattr(plan.place, "SOURCES", Path(path))
    assert make()
    with pytest.raises(LabError, match=f"^h2: hosts of another processor want the sources, {path}, in"):
        make("--kernel", "h2=6.1:s390x")


def test_kernels_of_hosts():
    document = make("--kernel", "h2=6.1:s390x")
    assert [(host["kernel"], host["processor"]) for host in document["hosts"]] == \
        [("6.1.0-1-amd64", "amd64"), ("6.1.0-1-s390x", "s390x")]
    assert document["kernel"] == "6.1.0-1-amd64 and 6.1.0-1-s390x"
    assert make("--kernel", "h2=6.1", "--kernel", "6.1:s390x")["kernel"] == \
        "6.1.0-1-s390x and 6.1.0-1-amd64"


@pytest.mark.parametrize("word", ["6.1:m68k", "sid:ppc64el"])
def test_a_processor_without_a_machine(monkeypatch, word):
    monkeypatch.setattr(plan.machine, "of", OF)
    with pytest.raises(LabError, match="no machine with the processor"):
        make("--kernel", f"h2={word}")


def test_a_model_of_processor_is_for_this_machine_s_kind():
    hosts = make("--cpu", "qemu64", "--kernel", "h2=6.1:s390x")["hosts"]
    assert [host["cpu"] for host in hosts] == ["qemu64", ""]


def test_a_path_may_have_an_equals_sign():
    assert plan.per_host("--kernel", HOSTS, ["/trees/a=b", "h2=/trees/c=d"], None) == \
        {"h1": "/trees/a=b", "h2": "/trees/c=d"}


@pytest.mark.parametrize(("processors", "load", "expected"), [
    (2, 0.0, 1), (1, 0.5, 1), (2, 2.0, 2), (16, 0.0, 8), (16, 3.5, 10), (32, 0.0, 16),
])
def test_deadlines_by_hosts_and_load(monkeypatch, processors, load, expected):
    monkeypatch.setattr(plan.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(plan.os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert plan.crowding(processors) == expected


def test_slowness_of_hosts(monkeypatch):
    monkeypatch.setattr(plan, "crowding", lambda processors: processors)
    assert make("--hosts", "3")["slowness"] == 3 * make("--hosts", "1")["slowness"]
    assert make("--hosts", "2", "--cpus", "4")["slowness"] == 8


def test_words_for_a_kernel(monkeypatch):
    def words(*options):
        return [host["append"] for host in make(*options)["hosts"]]

    assert words("--append", "own") == ["own", "own"]
    monkeypatch.setitem(plan.kernels.WORDS, "6.1", "always")
    assert words() == ["always", "always"]
    assert words("--append", "own", "--kernel", "h2=6.1:s390x") == ["always own", "own"]


def test_addresses():
    ports = make("--ports", "2")["hosts"][1]["ports"]
    assert [(p["netdev"], p["ibdev"], p["lower"]) for p in ports] == \
        [("ib0", "sib0", "eth1"), ("ib1", "sib1", "eth2")]
    assert [p["ipv4"] for p in ports] == ["10.10.0.2/24", "10.10.1.2/24"]
    assert [p["ipv6"] for p in ports] == ["fd10::2/64", "fd10:1::2/64"]


def test_cables_join_equal_ports():
    assert [c["ends"] for c in make("--ports", "2", "--topology", "b2b")["cables"]] == \
        [["h1:0", "h2:0"], ["h1:1", "h2:1"]]
    assert make("--hosts", "1")["cables"] == []


def test_fabric_when_cables_do_not_do():
    assert make()["topology"] is None
    for words in (["--ports", "2"], ["--hosts", "3"], ["--topology", "leaves"]):
        plan_ = make(*words)
        assert "Switch" in plan_["topology"]
        assert plan_["cables"][0]["ends"] == ["h1:0"]
    assert [c["ends"] for c in make("--hosts", "3", "--ports", "2")["cables"]][-1] == ["h3:1"]


def test_topology_from_a_file(tmp_path):
    file = tmp_path / "mine"
    file.write_text("a topology")
    assert make("--topology", str(file))["topology"] == "a topology"


def ends(text, switch):
    """What the ports of a switch are cabled to."""
    block = text.split(f'"{switch}"\t#')[1].split("\n\n")[0]
    return [line.split()[1] for line in block.splitlines() if line.startswith("[")]


def test_leaves_take_a_port_of_each_host():
    text = make("--hosts", "3", "--ports", "2")["topology"]
    assert ends(text, "sw1") == ['"h1"[1]', '"h2"[1]', '"h3"[1]', '"sw2"[4]', '"sw2"[5]']
    assert ends(text, "sw2") == ['"h1"[2]', '"h2"[2]', '"h3"[2]', '"sw1"[4]', '"sw1"[5]']


def test_hosts_of_one_port_are_spread():
    text = make("--hosts", "3")["topology"]
    assert ends(text, "sw1")[:2] == ['"h1"[1]', '"h3"[1]']
    assert ends(text, "sw2")[:1] == ['"h2"[1]']


@pytest.mark.parametrize("name", ["h2:0", "h2:ib0", "h2:sib0", "h2:eth1"])
def test_port_names(name):
    assert plan.port_name(name, make()["hosts"]) == "h2:0"


@pytest.mark.parametrize("name", ["h2", "h2:1", "h3:0", "ib0", "h2:ib1", ""])
def test_wrong_port_names(name):
    with pytest.raises(LabError):
        plan.port_name(name, make()["hosts"])


@pytest.mark.parametrize("words", [["--hosts", "17"], ["--hosts", "0"],
                                   ["--hosts", "3", "--topology", "b2b"],
                                   ["--topology", "/no/such/file"], ["--ports", "0"],
                                   ["--kernel", "5.10"], ["--kernel", "6"]])
def test_wrong_options(words):
    with pytest.raises(LabError) as error:
        make(*words)
    assert error.value.code == 1


def test_usage_error_is_status_1():
    with pytest.raises(SystemExit) as stop:
        cli.parser().parse_args(["up", "--ib-mtu", "1000"])
    assert stop.value.code == 1
