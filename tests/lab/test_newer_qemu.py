# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which QEMU emulates a processor, where this machine's own may be too old for that."""

import pytest

from lablib import machine, newer_qemu
from lablib.error import LabError

PROGRAM = "qemu-system-s390x"
NEWER = "QEMU emulator version 10.0.2"


@pytest.fixture
def says(tmp_path, monkeypatch):
    """Have PROGRAM say this when it is asked for its version."""
    def say(text):
        (tmp_path / PROGRAM).write_text(f"#!/bin/sh\necho '{text}'\n", encoding="utf-8")
        (tmp_path / PROGRAM).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return say


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    """What is fetched; it is laid out in tmp_path."""
    asked = []

    def provide(*words, **options):
        asked.append((words[:3], options))
        (tmp_path / "usr/bin").mkdir(parents=True)
        (tmp_path / "usr/bin" / PROGRAM).write_text(f"#!/bin/sh\necho '{NEWER}'\n", encoding="utf-8")
        (tmp_path / "usr/bin" / PROGRAM).chmod(0o755)
        return tmp_path
    monkeypatch.setattr(newer_qemu.foreign, "provide", provide)
    return asked


@pytest.mark.parametrize("text", ["QEMU emulator version 8.2.0",
                                  "QEMU emulator version 10.0.2 (Debian 1:10)"])
def test_one_that_is_new_enough(says, fetched, text):
    says(text)
    assert newer_qemu.words(PROGRAM, (8, 2), print) == [PROGRAM]
    assert not fetched


def test_one_that_is_too_old(says, fetched, tmp_path):
    says("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg)")
    said = []
    assert newer_qemu.words(PROGRAM, (8, 2), said.append) == [
        f"{tmp_path}/usr/bin/{PROGRAM}", "-L", f"{tmp_path}/usr/share/qemu"]
    assert fetched == [(("bookworm-backports", newer_qemu.foreign.HERE, (PROGRAM, "qemu-system-data")),
                        {"with_dependencies": False})]
    assert said == [f"{PROGRAM} is older than 8.2: that of bookworm-backports is used"]


def test_a_newer_one_that_is_none(says, fetched):
    says("QEMU emulator version 7.2.22")
    with pytest.raises(LabError, match="s390x is older than 11.0, too"):
        newer_qemu.words(PROGRAM, (11, 0), print)
    assert fetched


def test_a_newer_one_that_cannot_be_had(says, monkeypatch):
    says("QEMU emulator version 7.2.22")

    def provide(*_, **__):
        raise LabError("apt has no packages of Debian's here")
    monkeypatch.setattr(newer_qemu.foreign, "provide", provide)
    with pytest.raises(LabError, match="s390x 8.2 or later is needed, because .*: apt has no packages"):
        newer_qemu.words(PROGRAM, (8, 2), print)


def test_one_that_does_not_say(says):
    says("hello")
    with pytest.raises(LabError, match="does not say which QEMU it is: 'hello'"):
        newer_qemu.version(PROGRAM)


def test_only_s390x_wants_a_new_one(monkeypatch):
    asked = []
    monkeypatch.setattr(newer_qemu, "version", lambda program: (7, 2))
    monkeypatch.setattr(newer_qemu, "words",
                        lambda program, since, _: asked.append((program, since)) or ["q"])
    for one in machine.MACHINES.values():
        one.command("tcg")
    assert asked == [(PROGRAM, (8, 2))]
