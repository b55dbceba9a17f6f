# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The harness itself: it must notice what the tests rely on it to notice."""

import json

import pytest

import harness
from harness import (MARK, Config, difference, parse_state, set_stretch,
                     splats_since_mark, stretched, until)
from verbs_programs import Program
from verbs_runner import judge

LINK = {"ifname": "ib0", "flags": ["UP"], "mtu": 4092, "operstate": "UP",
        "link_type": "infiniband", "address": "00:00:00:42:fe:80:00:01", "txqlen": 256,
        "addr_info": [{"local": "10.10.0.1", "prefixlen": 24, "scope": "global"}]}


@pytest.fixture(autouse=True)
def stock_kernel(monkeypatch):
    """The lab of another test may be up, whose deadlines stay as they are."""
    monkeypatch.setattr(harness, "_stretch", 1)


def state(link=LINK, resources=(), members=()):
    """A host's state as STATE_SCRIPT prints it."""
    parts = [[link], [{"ifname": "ib0", "maddr": list(members)}], [], [], [], [],
             [dict(ifindex=0, ifname="sib0", **dict(resources))]]
    return parse_state("\n".join(json.dumps(part) for part in parts))


def test_difference_tells_what_changed():
    assert difference(state(), state()) == []
    lines = difference({"h1": state()}, {"h1": state(LINK | {"mtu": 1280})})
    assert lines == ["/h1/links/ib0/mtu: was 4092, is 1280"]
    assert difference(state(), state(LINK | {"addr_info": []}))
    for kind in ("pd", "cq", "qp", "cm_id", "mr", "srq"):
        assert difference(state(resources={kind: 3}), state(resources={kind: 4})) == [
            f"/resources/sib0/{kind}: was 3, is 4"]
    assert difference(state(resources={"ctx": 3}), state(resources={"ctx": 4})) == []
    assert difference(state(), state(members=[{"family": "inet", "address": "239.0.0.1"}]))


def test_only_the_qpn_of_an_address_may_change():
    assert difference(state(), state(LINK | {"address": "00:00:00:43:fe:80:00:01"})) == []
    assert difference(state(), state(LINK | {"address": "00:00:00:42:fe:80:00:02"}))


def test_until_waits_and_gives_up():
    values = iter([0, 0, 7])
    assert until(lambda: next(values), 5, "a value", interval=0) == 7
    with pytest.raises(AssertionError, match="not within 0.05 s: seen 3"):
        until(lambda: False, 0.05, lambda: "seen 3", interval=0.01)


def test_splats_before_the_mark_belong_to_others():
    old = "[    1.0] WARNING: CPU: 0 PID: 1 at mm/slub.c:1 f+0x1/0x2\n"
    mark = f"[    2.0] {MARK}start test_x\n"
    assert splats_since_mark("h1", old + mark) == []
    assert len(splats_since_mark("h1", mark + old)) == 1
    assert len(splats_since_mark("h1", old)) == 1, "no mark: everything counts"


def test_what_was_logged_before_the_mark_belongs_to_others(monkeypatch):
    lab = harness.Lab.__new__(harness.Lab)
    said = "[    1.0] ib0: the SA is wrong: in the path record of fe80::1 it says DLID 0x0\n"
    mark = f"[    2.0] {MARK}start test_x\n"
    for log, is_found in ((said + mark, False), (said + mark + said, True), (said, True)):
        monkeypatch.setattr(lab, "out", lambda host, *argv, log=log: log)
        assert ("the SA is wrong: " in lab.logged("h1")) == is_found


def test_config_names_and_arguments():
    assert str(Config("6.1")) == "6.1-ours-4096"
    assert str(Config("6.12", "ours", "intree", 2048)) == "6.12-ours+intree-2048"
    assert Config("6.1", h2="intree").arguments() == [
        "--kernel", "6.1", "--driver", "h1=ours", "--driver", "h2=intree", "--ib-mtu", "4096",
        "--cpus", "1", "--ports", "1"]
    debug = Config("debug", ports=2)
    assert str(debug) == "debug-ours-4096-2ports"
    assert debug.arguments()[-4:] == ["--cpus", "2", "--ports", "2"]
    preempt = Config("6.12", preempt=True)
    assert str(preempt) == "6.12-ours-4096-preempt"
    assert preempt.arguments()[-6:] == ["--cpus", "1", "--ports", "1", "--append", "preempt=full"]
    assert preempt.slowness > Config("6.12").slowness
    four = Config("race", cpus=4)
    assert str(four) == "race-ours-4096-4cpus"
    assert four.arguments()[-4:] == ["--cpus", "4", "--ports", "1"]


def test_deadlines_are_stretched_on_slow_kernels():
    assert stretched(10) == 10
    set_stretch(Config("debug").slowness)
    assert stretched(10) > 10
    set_stretch(Config("6.1").slowness)
    assert stretched(10) == 10


def ended(status, said=""):
    return harness.Result("h1", ["program"], status, said, "")


def test_what_has_not_run_has_not_refused():
    program = Program("server", "client", refuses="^create: ")
    words = "start\ncreate: Operation not supported\n"
    judge(program, ended(1, words), ended(1))
    judge(program, ended(255, words), ended(255))
    for status in (0, 124, 126, 127, 137, -9):
        for ends in ((status, 1), (1, status)):
            with pytest.raises(AssertionError):
                judge(program, ended(ends[0], words), ended(ends[1]))
    with pytest.raises(AssertionError):
        judge(program, ended(1, "connect: Invalid argument\n"), ended(1))
    judge(Program("server", "client", refuses="create", endless=True), ended(1, words), ended(130))
