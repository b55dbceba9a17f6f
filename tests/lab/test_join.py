# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Labs of one subnet: their hosts, their switches' free ports, and what ibfabric is told."""

import asyncio
import json
from pathlib import Path

import pytest

from lablib import cli, fabric, plan
from lablib.error import LabError
from lablib.kernel import Kernel

TOLD = """\
#!/usr/bin/python3
import json, os, socket, sys
from pathlib import Path
Path(__file__).with_name("told").write_text(json.dumps(sys.argv[1:]))
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
"""


@pytest.fixture(autouse=True)
def kernel_of_no_machine(monkeypatch):
    monkeypatch.setattr(plan.kernels, "own", lambda: "6.1")
    monkeypatch.setattr(plan.kernels, "provide", lambda name, progress: Kernel(
        name, "6.1.0-1-amd64", Path("vmlinuz"), None, name, Path("headers")))


def make(*words):
    return plan.make(cli.parser().parse_args(["up", *words]), print)[0]


def names(document):
    return [host["name"] for host in document["hosts"]]


def test_a_lab_that_joins_has_other_hosts():
    first, second = make("--listen", ":7471", "--key", "k"), make("--join", "a:1", "--key", "k")
    assert names(first) == ["h1", "h2"]
    assert names(second) == ["h9", "h10"]
    assert second["hosts"][1]["ports"][0]["ipv4"] == "10.10.0.10/24"
    assert not {host["number"] for host in second["hosts"]} & {1, 2}
    assert names(make("--join", "a:1", "--key", "k", "--first", "3")) == ["h3", "h4"]


@pytest.mark.parametrize("hosts", [1, 2, 3])
@pytest.mark.parametrize("ports", [1, 2, 3])
def test_the_far_cable_has_a_free_port_of_sw1(hosts, ports):
    document = make("--join", "a:1", "--listen", ":2", "--key", "k", "--hosts", str(hosts),
                    "--ports", str(ports))
    head, *lines = document["topology"].split("\n\n")[0].splitlines()
    size = int(head.split()[1])
    taken = {int(line[1:line.index("]")]) for line in lines if line.startswith("[")}
    free = [int(end["at"].removeprefix("sw1:")) for end in document["far"]["cables"]]
    assert free == [size - 1, size]
    assert not taken & set(free)


@pytest.mark.parametrize("words", [
    ["--join", "a:1"], ["--listen", ":1"], ["--key", "k"],
    ["--join", "a:1", "--key", "k", "--first", "1"],
    ["--join", "a:1", "--key", "k", "--hosts", "9"],
    ["--first", "16"], ["--first", "-1"],
    ["--join", "a:1", "--key", "k", "--topology", "b2b"],
])
def test_wrong_options(words):
    with pytest.raises(LabError) as error:
        make(*words)
    assert error.value.code == 1


def test_a_lab_alone_has_no_far_cable():
    assert make("--hosts", "3")["far"] is None


@pytest.mark.timeout(60)
def test_ibfabric_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "ibfabric"
    program.write_text(TOLD)
    program.chmod(0o755)
    far = make("--listen", ":7471", "--key", "k")["far"]

    async def work():
        running = fabric.Fabric()
        await running.start(program, {}, far)
        await running.watch()
    asyncio.run(work())
    told = json.loads((tmp_path / "told").read_text())
    assert told[told.index("--key"):] == ["--key", str(tmp_path / "k"), "--port",
                                          f"{far['cables'][0]['at']}=udp::7471"]
