# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""ipoib-ha of openib.conf: in a VRF, stopped for a while, with another pair than before, and removed.

What removes it comes through a session over ib0.
"""

import re

import pytest

from pair import CONF, HA_LINES, pair_of, write

ADDRESS, PEER, OTHER = "10.9.0.1", "10.9.0.2", "10.9.0.3"
FAR = "192.0.2.0/24"
TABLE = 10
WHERE = f"$(ip -4 -o addr show to {ADDRESS} | awk '{{ print $2 }}')"
DEB = "/var/cache/openipoib/openipoib-tools_*.deb"
KEY = "/root/.ssh/id_ed25519"


@pytest.fixture(scope="module")
def guest(boot):
    return pair_of(boot())


def has_the_address(guest):
    guest.run("ipoib-ha status | grep -q '^ib0 *active' || ipoib-ha switch")
    guest.run(f"ip addr replace {ADDRESS}/24 dev ib0")
    guest.wait(f"ipoib-ha status | grep -qF {ADDRESS}", 20)


def routes_by(guest, name):
    """Both routes are by this interface first, and in no table but the VRF's."""
    for network in ("10.9.0.0/24", FAR):
        guest.wait(f"[[ $(ip route show table {TABLE} {network} | head -n 1) = *' dev {name} '* ]]", 30)
        everywhere = guest.read(f"ip route show table all {network}").splitlines()
        assert all(f" table {TABLE} " in line or " table red " in line for line in everywhere)


def test_vrf(guest):
    """Both ports are in a VRF: its table has the routes, before a failover and after."""
    guest.run(f"ip link add red type vrf table {TABLE} && ip link set red up && "
              "ip link set ib0 master red && ip link set ib1 master red")
    has_the_address(guest)
    guest.run(f"ip route add {FAR} via {PEER} dev ib0 vrf red")
    guest.wait("ipoib-ha status", 60)
    routes_by(guest, "ib0")
    guest.run("ip link set cable0 down")
    guest.wait(f"[[ {WHERE} = ib1 ]]", 60)
    routes_by(guest, "ib1")
    guest.run("ip link set cable0 up")
    guest.wait("ipoib-ha status", 60)
    guest.run("ipoib-ha explain; ipoib-ha switch")
    guest.wait(f"[[ {WHERE} = ib0 ]]", 60)
    routes_by(guest, "ib0")
    guest.run(f"ip route del {FAR} via {PEER} dev ib0 vrf red; ip link delete red")


def test_addresses_moved_while_it_was_stopped(guest):
    """What is seen at the start counts, not what was noted at the end."""
    has_the_address(guest)
    guest.run("ipoib-ha switch")
    guest.wait(f"[[ {WHERE} = ib1 ]]", 60)
    guest.run("systemctl stop ipoib-ha")
    guest.run(f"ip addr del {ADDRESS}/24 dev ib1; ip addr add {ADDRESS}/24 dev ib0")
    guest.run("systemctl start ipoib-ha")
    guest.wait("ipoib-ha status | grep -q '^ib0 *active'", 60)
    guest.run("ip link set cable0 down")
    guest.wait(f"[[ {WHERE} = ib1 ]]", 60)
    guest.run("ip link set cable0 up")
    guest.wait("ipoib-ha status", 60)


def test_another_interface_than_when_it_was_stopped(guest):
    """The HCA was made again meanwhile, with another address: the former may be a peer's by now."""
    has_the_address(guest)
    guest.run("systemctl stop ipoib-ha")
    guest.run("rdma link delete sib0; rdma link add sib0 type sib netdev cable0")
    guest.run(f"ip addr add {OTHER}/24 dev ib0; ip link set ib0 up")
    guest.wait("grep -q 1 /sys/class/net/ib0/carrier", 120)
    guest.run("systemctl start ipoib-ha")
    guest.wait(f"ipoib-ha status | grep -qF {OTHER}", 60)
    guest.wait("ipoib-ha status", 60)
    assert not guest.read(f"ip -4 -o addr show to {ADDRESS}")
    guest.run("ip link set cable0 down")
    guest.wait(f"[[ $(ip -4 -o addr show to {OTHER}) = *' ib1 '* ]]", 60)
    assert not guest.read(f"ip -4 -o addr show to {ADDRESS}")
    guest.run("ip link set cable0 up")
    guest.wait("ipoib-ha status", 60)
    guest.run(f"ip addr del {OTHER}/24 dev ib1")
    guest.wait(f"! ipoib-ha status | grep -qF {OTHER}", 20)


def interfaces(guest):
    """Those of the pairs that the daemon keeps, as it has them in its status."""
    return re.findall(r'"name": "(\w+)"', guest.read("ipoib-ha --json status | grep '\"name\"'"))


def test_another_pair_than_before(guest):
    """The file names another pair while ipoib-ha runs: start has it read again, and no more."""
    daemon = guest.read("systemctl show -P MainPID ipoib-ha")
    guest.run("openib start")
    assert interfaces(guest) == ["ib0", "ib1"]
    write(guest, CONF, *HA_LINES[:-1], "SECONDARY_IPOIB_DEV=ib3")
    assert "have ipoib-ha read its configuration again, for ib0+ib3" in guest.run("openib start").text
    guest.wait("ipoib-ha status | grep '^ib3 '", 30)
    assert interfaces(guest) == ["ib0", "ib3"]
    assert "again" not in guest.run("openib start").text
    write(guest, CONF, *HA_LINES)
    guest.run("systemctl reload ipoib-ha")      # does without openib
    guest.wait("ipoib-ha status | grep '^ib1 '", 30)
    assert interfaces(guest) == ["ib0", "ib1"]
    assert guest.read("systemctl show -P MainPID ipoib-ha") == daemon


@pytest.fixture(scope="module")
def session(guest):
    """A command that runs another through a session over ib0; ib2, its other end, is a peer's."""
    guest.run("rm /usr/sbin/policy-rc.d")       # with it a removal could stop no service
    guest.run(f"ssh-keygen -q -t ed25519 -N '' -f {KEY} && cp {KEY}.pub /root/.ssh/authorized_keys && "
              "systemctl start ssh")
    guest.run("ip netns add peer && ip link set ib2 netns peer && "
              f"ip -n peer addr add {PEER}/24 dev ib2 && ip -n peer link set ib2 up")
    guest.wait("[[ $(ip netns exec peer cat /sys/class/net/ib2/carrier) = 1 ]]", 60)
    return "ip netns exec peer ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new " \
        f"-o ServerAliveInterval=5 root@{ADDRESS}"


@pytest.mark.parametrize("remove", ["dpkg --remove", "apt-get -q -y purge"])
def test_removed_through_a_session_over_ib0(guest, session, remove):
    """What ends is ipoib-ha alone: not the session, and no interface loses anything."""
    guest.run(f"dpkg -i {DEB}")
    write(guest, CONF, *HA_LINES)
    guest.run("systemctl restart openibd")
    guest.wait("[[ $(cat /sys/class/net/ib{0,1}/carrier) = $'1\\n1' ]]", 120)
    guest.wait("ipoib-ha status", 60)
    has_the_address(guest)
    kept = "cat /sys/class/net/ib{0,1}/{ifindex,mode,mtu}; ip -4 -o addr show dev ib0"
    before = guest.read(kept)
    words = f"{remove} openipoib-tools && echo $SSH_CONNECTION && ip -4 -o addr show to {ADDRESS}"
    done = guest.run(f"{session} '{words}'")
    ends, address = (line.split() for line in done.text.splitlines()[-2:])
    assert (ends[0], ends[2], address[1]) == (PEER, ADDRESS, "ib0")
    assert guest.read(kept) == before
    guest.run("pgrep -x ipoib-ha", 1)
    guest.run("command -v openib", 1)
    guest.run(f"{session} true")
