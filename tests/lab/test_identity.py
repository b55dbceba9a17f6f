# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Labs that are cabled together: no address and no GUID is in both."""

import re
from pathlib import Path

import pytest

from lablib import cli, fabric, identity, plan
from lablib.kernel import Kernel


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """A function that makes this another machine; with "" it is one without an id."""
    monkeypatch.setattr(plan.kernels, "own", lambda: "6.1")
    monkeypatch.setattr(plan.kernels, "provide", lambda name, progress: Kernel(
        name, "6.1.0-1-amd64", Path("vmlinuz"), None, name, Path("headers")))
    monkeypatch.setattr(identity, "MACHINE", tmp_path / "machine-id")

    def become(number):
        identity.MACHINE.write_text(number + "\n" if number else "")
    become("1" * 32)
    return become


def addresses(monkeypatch, folder):
    """The addresses of a lab's lower devices, by its plan."""
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", folder)
    arguments = cli.parser().parse_args(["up", "--hosts", "3", "--ports", "2"])
    hosts = plan.make(arguments, print)[0]["hosts"]
    return [port["mac"] for host in hosts for port in host["ports"]]


def test_a_lab_has_the_same_addresses_again(monkeypatch):
    assert addresses(monkeypatch, "/run/one") == addresses(monkeypatch, "/run/one")


def test_two_labs_of_a_machine_have_no_address_in_common(monkeypatch):
    both = addresses(monkeypatch, "/run/one") + addresses(monkeypatch, "/run/two")
    assert len(set(both)) == 12


def test_labs_of_two_machines_have_no_address_in_common(monkeypatch, machine):
    both = addresses(monkeypatch, "/run/one")
    machine("2" * 32)
    assert len({*both, *addresses(monkeypatch, "/run/one")}) == 12


def test_labs_of_machines_without_an_id_have_no_address_in_common(monkeypatch, machine):
    machine("")
    both = addresses(monkeypatch, "/run/one") + addresses(monkeypatch, "/run/one")
    assert len(set(both)) == 12


def test_addresses_are_local_ones_of_single_stations(monkeypatch):
    for address in addresses(monkeypatch, "/run/one"):
        assert re.fullmatch("([0-9a-f]{2}:){5}[0-9a-f]{2}", address)
        assert int(address[:2], 16) & 3 == 2


def test_switches_have_no_guids_of_every_lab():
    assert "guid" not in fabric.topology(["h1", "h2", "h3"], 1)
