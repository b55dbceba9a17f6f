# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""ARP and neighbour discovery: resolution, expiry, re-resolution."""

import pytest

from harness import HOSTS, ipv4, ipv6, other, until

FAMILIES = {"4": ("-4", ipv4, "ipv4"), "6": ("-6", ipv6, "ipv6")}


def entry(lab, host, family):
    option, name, _ = FAMILIES[family]
    entries = lab.json(host, "ip", "-j", option, "neigh", "show", "dev", "ib0")
    return next((e for e in entries if e["dst"] == name(other(host))), {})


def flush(lab, host, family):
    lab.run(host, "ip", FAMILIES[family][0], "neigh", "flush", "dev", "ib0")


@pytest.mark.smoke
@pytest.mark.labs(drivers=["ours", "mixed", "mixed-swapped"])
@pytest.mark.parametrize("family", FAMILIES)
def test_flushed_entries_are_resolved_again_without_loss(lab, family):
    name = FAMILIES[family][1]
    for host in HOSTS:
        peer = lab.json(other(host), "ip", "-j", "link", "show", "ib0")[0]["address"]
        for _ in range(5):
            flush(lab, host, family)
            lab.ping(host, name(other(host)), "-c3", "-i0.05", "-W5")
            assert entry(lab, host, family)["lladdr"] == peer


@pytest.mark.full("time-idle")
@pytest.mark.parametrize("family", FAMILIES)
def test_expiry(lab, family):
    """An entry stops being valid by itself and is confirmed again by use."""
    _, name, table = FAMILIES[family]
    own = f"net.{table}.neigh.ib0"
    wanted = {f"{own}.base_reachable_time_ms": "4000", f"{own}.delay_first_probe_time": "1"}
    saved = {key: lab.out("h1", "sysctl", "-n", key).strip() for key in wanted}

    def confirmed_by_use():
        lab.ping("h1", name("h2"), "-c2", "-i0.1", "-W5")
        return entry(lab, "h1", family).get("state") == ["REACHABLE"]

    try:
        for key, value in wanted.items():
            lab.run("h1", "sysctl", "-qw", f"{key}={value}")
        flush(lab, "h1", family)
        for _ in range(3):
            until(confirmed_by_use, 30, lambda: f"entry is reachable: {entry(lab, 'h1', family)}")
            until(lambda: entry(lab, "h1", family).get("state") != ["REACHABLE"], 20,
                  lambda: f"entry expires: {entry(lab, 'h1', family)}")
        lab.ping("h1", name("h2"), "-c20", "-i0.3", "-W5")
    finally:
        for key, value in saved.items():
            lab.run("h1", "sysctl", "-qw", f"{key}={value}")


@pytest.mark.full("peers")
def test_absent_host_fails_and_disturbs_nobody(lab):
    sent, received = lab.ping("h1", "10.10.0.77", "-c3", "-i0.2", "-W1", check=False)
    assert (sent, received) == (3, 0)
    lab.ping("h1", "10.10.0.2", "-c10", "-i0.02")
    until(lambda: not any(e["dst"] == "10.10.0.77" and "lladdr" in e for e in
                          lab.json("h1", "ip", "-j", "neigh", "show", "dev", "ib0")), 20,
          "no address for an absent host")
    lab.run("h1", "ip", "neigh", "flush", "all", "dev", "ib0")


@pytest.mark.race
def test_a_changed_hardware_address_takes_effect_at_once(lab):
    """An entry set by hand with a wrong QPN loses traffic; removing it heals at once."""
    good = lab.json("h2", "ip", "-j", "link", "show", "ib0")[0]["address"]
    parts = good.split(":")
    wrong = ":".join([parts[0], "00", "ff", "fe", *parts[4:]])
    lab.run("h1", "ip", "neigh", "replace", "10.10.0.2", "lladdr", wrong, "dev", "ib0",
            "nud", "permanent")
    assert lab.ping("h1", "10.10.0.2", "-c2", "-i0.2", "-W1", check=False)[1] == 0
    lab.run("h1", "ip", "neigh", "replace", "10.10.0.2", "lladdr", good, "dev", "ib0",
            "nud", "reachable")
    lab.ping("h1", "10.10.0.2", "-c5", "-i0.05", "-W2")
