# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Hardware virtualisation: what a probe has said, and how long that is believed."""

from types import SimpleNamespace

import pytest

from lablib import accel

KERNEL = SimpleNamespace(release="6.1.0-1-amd64", processor="amd64")


@pytest.fixture(name="probes")
def _probes(tmp_path, monkeypatch):
    """The answers of the probes to come; what is left was not asked. The clock is @now."""
    answers = SimpleNamespace(left=[], now=1000.0)
    monkeypatch.setattr(accel, "BUILD", tmp_path)
    monkeypatch.setattr(accel, "_probe", lambda kernel, initramfs: answers.left.pop(0))
    monkeypatch.setattr(accel.os, "access", lambda path, mode: True)
    monkeypatch.setattr(accel.time, "monotonic", lambda: answers.now)
    return answers


def choice():
    return accel.choose("auto", KERNEL, "initramfs")[0]


def test_another_processor_is_emulated(probes):
    other = SimpleNamespace(release="6.1.0-1-s390x", processor="s390x")
    assert accel.choose("kvm", other, "initramfs") == ("tcg", "for s390x")
    assert probes.left == []


def test_yes_is_believed(probes):
    probes.left = [True, False]
    assert [choice(), choice()] == ["kvm", "kvm"]
    probes.now += 10 * accel.DOUBT_SECONDS
    assert choice() == "kvm"
    assert probes.left == [False]


def test_no_is_believed_for_a_while(probes):
    probes.left = [False, True]
    assert [choice(), choice()] == ["tcg", "tcg"]
    assert probes.left == [True]
    probes.now += accel.DOUBT_SECONDS
    assert choice() == "kvm"


def test_what_cannot_be_read_is_asked_again(probes, tmp_path):
    (tmp_path / "kvm-probe.json").write_text("{")
    probes.left = [True]
    assert choice() == "kvm"
