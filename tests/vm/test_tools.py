# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The usual InfiniBand tools show a sane fabric."""

import re

import pytest

from harness import HOSTS, other, until


def lid(lab, host):
    return int(lab.read(host, "/sys/class/infiniband/sib0/ports/1/lid"), 16)


def guid(lab, host):
    return lab.read(host, "/sys/class/infiniband/sib0/node_guid").replace(":", "")


def fields(text):
    """`Name:.....value` lines as a dictionary."""
    return {m[1].strip(): m[2].strip() for m in re.finditer(r"^\s*(?:# )?([\w ()/#-]+):\.*(.*)$",
                                                            text, re.M)}


@pytest.mark.smoke
def test_ibstat(lab):
    lids = set()
    for host in HOSTS:
        text = lab.out(host, "ibstat", "sib0")
        assert "State: Active" in text and "Physical state: LinkUp" in text
        assert "Link layer: InfiniBand" in text
        assert f"Node GUID: 0x{guid(lab, host)}" in text
        base = int(re.search(r"Base lid: (\d+)", text)[1])
        assert base == lid(lab, host) and 0 < base < 0xC000
        assert int(re.search(r"SM lid: (\d+)", text)[1]) == lid(lab, "h1")
        lids.add(base)
        status = lab.out(host, "ibstatus", "sib0")
        assert "4: ACTIVE" in status and "5: LinkUp" in status
    assert len(lids) == 2


def test_ibnetdiscover(lab):
    for host in HOSTS:
        text = lab.out(host, "ibnetdiscover")
        ends = re.findall(r"^Ca\s+\d+ \"H-([0-9a-f]{16})\"", text, re.M)
        assert sorted(ends) == sorted(guid(lab, h) for h in HOSTS), text
        for end in HOSTS:
            peer = other(end)
            assert re.search(rf'^\[1\]\([0-9a-f]+\)\s+"H-{guid(lab, peer)}"\[1\] .*'
                             rf'# lid {lid(lab, end)} lmc 0 .* lid {lid(lab, peer)} ', text, re.M), text


@pytest.mark.labs(mtus=[2048, 4096])
def test_saquery_groups(lab):
    text = lab.out("h2", "saquery", "-g")
    broadcast = [part for part in text.split("MCMemberRecord group dump:")
                 if "ff12:401b:ffff::ffff:ffff" in part]
    assert len(broadcast) == 1, text
    mtu = re.search(r"Mtu\.+(0x[0-9A-Fa-f]+)", broadcast[0])[1]
    assert int(mtu, 16) & 0x3F == {2048: 4, 4096: 5}[lab.config.ib_mtu]
    mlid = int(re.search(r"Mlid\.+(0x[0-9A-Fa-f]+)", broadcast[0])[1], 16)
    assert 0xC000 <= mlid < 0xFFFF
    members = lab.out("h2", "saquery", "--smkey", "1", "-m", hex(mlid))
    assert members.count("PortGid") == 2, members


def test_saquery_paths_and_nodes(lab):
    text = lab.out("h2", "saquery", "-p", "--src-to-dst", f"{lid(lab, 'h2')}:{lid(lab, 'h1')}")
    assert text.count("PathRecord dump:") == 1, text
    ends = dict(re.findall(r"^\s*([sd]lid)\.+(\d+)$", text, re.M))
    assert ends == {"slid": str(lid(lab, "h2")), "dlid": str(lid(lab, "h1"))}, text
    nodes = lab.out("h2", "saquery")
    assert nodes.count("node_guid") == 2, nodes


def test_smpquery(lab):
    for host in HOSTS:
        for target in HOSTS:
            number = str(lid(lab, target))
            node = fields(lab.out(host, "smpquery", "nodeinfo", number))
            assert node["NodeType"] == "Channel Adapter"
            assert node["Guid"] == f"0x{guid(lab, target)}"
            assert node["NumPorts"] == "1"
            port = fields(lab.out(host, "smpquery", "portinfo", number, "1"))
            assert int(port["Lid"], 0) == lid(lab, target)
            assert port["LinkState"] == "Active" and port["PhysLinkState"] == "LinkUp"
        directed = fields(lab.out(host, "smpquery", "-D", "nodeinfo", "0,1"))
        assert directed["Guid"] == f"0x{guid(lab, other(host))}"
        assert lab.out(host, "smpquery", "nodedesc", str(lid(lab, other(host)))).strip()
        keys = lab.out(host, "smpquery", "pkeys", str(lid(lab, other(host))), "1")
        assert "0xffff" in keys
        assert guid(lab, other(host)) in lab.out(host, "smpquery", "guidinfo",
                                                 str(lid(lab, other(host)))).replace(":", "")


@pytest.mark.race
@pytest.mark.parametrize("options", [[], ["-x"]], ids=["basic", "extended"])
def test_perfquery_counts_traffic(lab, options):
    number = str(lid(lab, "h2"))

    def counters():
        values = fields(lab.out("h1", "perfquery", *options, number, "1"))
        return {name: int(value, 0) for name, value in values.items() if value.isdigit()}

    before = counters()
    lab.ping("h1", "10.10.0.2", "-c100", "-i0.01", "-s", "1000")
    after = counters()
    grown = {name: after[name] - before[name] for name in before}
    for way in ("Xmit", "Rcv"):
        assert grown[f"Port{way}Pkts"] >= 100, grown
        # in words of four bytes
        assert grown[f"Port{way}Data"] >= 100 * 1000 // 4, grown
        assert grown[f"Port{way}Data"] < 100 * 4000, grown
    for name in ("SymbolErrorCounter", "PortRcvErrors", "PortXmitDiscards"):
        if name in grown:
            assert grown[name] == 0, grown


def test_perfquery_reset(lab):
    number = str(lid(lab, "h1"))
    lab.ping("h1", "10.10.0.2", "-c50", "-i0.01")
    lab.out("h2", "perfquery", "-R", number, "1")
    values = fields(lab.out("h2", "perfquery", number, "1"))
    assert int(values["PortXmitPkts"]) < 40, values


@pytest.mark.smoke
def test_rdma_tool(lab):
    for host in HOSTS:
        link = lab.json(host, "rdma", "-j", "link", "show", "sib0/1")[0]
        assert link["state"] == "ACTIVE" and link["physical_state"] == "LINK_UP"
        assert link["lid"] == lid(lab, host) and link["sm_lid"] == lid(lab, "h1")
        until(lambda h=host: lab.hw_counters(h), 5, "hw_counters can be read")
