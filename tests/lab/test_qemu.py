# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The command line of a host's QEMU, for each processor that it may have."""

import re

import pytest

from lablib import machine, qemu
from lablib.error import LabError

OPTIONS = {"cpus": 1, "memory": 1536, "plugin": None, "folder": "/run/lab"}
HOST = {"name": "h2", "processor": "amd64", "kernel": "6.1", "accel": "tcg", "cpu": "", "append": "own",
        "image": "vmlinuz", "initramfs": "initramfs", "console": "/logs/h2", "root": "/",
        "layer": "/layer", "modules": None, "sources": None, "ports": [{"mac": "52:00:00:00:02:00"}]}


def line(**changes):
    """The command line of a host with these changes."""
    return " ".join(qemu.command_line(HOST | changes, OPTIONS,
                                      {"agent": 3, "monitor": 4, "cables": [5]}))


@pytest.fixture(autouse=True)
def programs(monkeypatch):
    """Programs that are not on this machine."""
    absent = set()
    monkeypatch.setattr(machine.newer_qemu, "version", lambda program: (10, 0))
    monkeypatch.setattr(machine.shutil, "which", lambda name: None if name in absent else name)
    return absent


def test_this_machine_s_processor():
    said = line()
    assert said.startswith("qemu-system-x86_64 -M q35 ")
    assert "-accel tcg,thread=multi -cpu max,la57=off " in said
    assert "console=ttyS0 mitigations=off" in said and "lab.host=h2 own " in said
    assert "virtio-net-pci,id=port0,netdev=cable0,event_idx=off,mac=52:00:00:00:02:00,romfile= " in said + " "


def test_a_model_and_hardware_virtualisation():
    assert "-cpu qemu64 " in line(cpu="qemu64")
    assert "-accel kvm -cpu host " in line(accel="kvm", cpu="qemu64")


@pytest.mark.parametrize(("version", "model"), [((7, 2), "max,la57=off,cx16=off"), ((8, 0), "max,la57=off")])
def test_instructions_that_an_old_qemu_emulates_wrongly(monkeypatch, version, model):
    monkeypatch.setattr(machine.newer_qemu, "version", lambda program: version)
    assert f"-accel tcg,thread=multi -cpu {model} " in line()
    assert "-accel kvm -cpu host " in line(accel="kvm")


@pytest.mark.parametrize(("processor", "start", "console", "bus"), [
    ("arm64", "qemu-system-aarch64 -M virt ", "ttyAMA0", "pci"),
    ("s390x", "qemu-system-s390x -M s390-ccw-virtio ", "ttysclp0", "ccw")])
def test_other_processors(processor, start, console, bus):
    said = line(processor=processor, root="/packages", modules="/modules", sources="/checkout")
    assert said.startswith(start)
    assert f"console={console} " in said
    assert set(re.findall(r"virtio-\w+-(\w+)", said)) == {bus}
    assert "fsdev local,id=hostroot,path=/packages," in said
    assert "fsdev local,id=labmodules,path=/modules," in said and " lab.modules " in said
    assert "fsdev local,id=labsources,path=/checkout," in said and " lab.sources=/checkout " in said
    assert ("romfile" in said) == (bus == "pci")


def test_what_the_root_has_is_not_mounted_on_it():
    for word in ("labmodules", "lab.modules", "labsources", "lab.sources"):
        assert word not in line()


def test_no_emulator(programs):
    programs.add("qemu-system-s390x")
    with pytest.raises(LabError, match=r"no qemu-system-s390x, which .* \(scripts/bootstrap features\)"):
        line(processor="s390x")
    with pytest.raises(LabError, match="no machine with the processor ppc64el"):
        line(processor="ppc64el")
