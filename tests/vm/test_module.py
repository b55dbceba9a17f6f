# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The modules say who they are, and ib0 is what a user expects."""

import pytest

from harness import HOSTS, TOP


@pytest.mark.smoke
@pytest.mark.ours_only
def test_modinfo_shows_our_version(lab):
    version = (TOP / "VERSION").read_text().strip()
    for host in HOSTS:
        for module in ("ib_ipoib", "sib"):
            assert lab.out(host, "modinfo", "-F", "version", module).strip() == version
            assert lab.read(host, f"/sys/module/{module}/version") == version
            assert lab.out(host, "modinfo", "-F", "license", module).strip() == "Dual MIT/GPL"


@pytest.mark.smoke
@pytest.mark.labs(mtus=[2048, 4096])
def test_interface(lab):
    for host in HOSTS:
        link = lab.json(host, "ip", "-j", "-d", "link", "show", "ib0")[0]
        assert link["link_type"] == "infiniband"
        assert link["mtu"] == lab.config.ib_mtu - 4
        assert {"BROADCAST", "MULTICAST", "UP", "LOWER_UP"} <= set(link["flags"])
        assert len(link["address"].split(":")) == 20
        assert link["broadcast"] == ("00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:"
                                     "ff:ff:ff:ff")
        gid = lab.read(host, "/sys/class/infiniband/sib0/ports/1/gids/0").replace(":", "")
        assert link["address"].replace(":", "")[8:] == gid
        assert lab.read(host, "/sys/class/net/ib0/mode") == "datagram"
        assert lab.read(host, "/sys/class/net/ib0/pkey") == "0xffff"


def test_mtu_can_be_lowered_and_not_raised_beyond_the_group(lab):
    top = lab.config.ib_mtu - 4
    lab.run("h1", "ip", "link", "set", "ib0", "mtu", "1280")
    lab.ping("h1", "10.10.0.2", "-c3", "-i0.1", "-s", "1252", "-M", "do")
    assert not lab.ok("h1", "ping", "-c1", "-W1", "-M", "do", "-s", "1253", "10.10.0.2")
    lab.run("h1", "ip", "link", "set", "ib0", "mtu", str(top))
    lab.run("h1", "ip", "addr", "replace", "fd10::1/64", "dev", "ib0", "nodad")
    lab.ping("h1", "10.10.0.2", "-c3", "-i0.1", "-s", str(top - 28), "-M", "do")
    assert not lab.ok("h1", "ip", "link", "set", "ib0", "mtu", "65536")
