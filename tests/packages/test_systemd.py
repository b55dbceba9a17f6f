# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A Debian with its systemd: the packages from their installation to their end."""

import re

import pytest

from conftest import OFED_LINES

CONF = "/etc/infiniband/openib.conf"
ADDRESS = "10.9.0.1/24"  # what systemd-networkd gives to ib0
HA_LINES = (*OFED_LINES, "IPOIBHA_ENABLE=yes", "PRIMARY_IPOIB_DEV=ib0", "SECONDARY_IPOIB_DEV=ib1")
NETWORK = "/etc/systemd/network/ib0.network"
MOVED = "/usr/local/sbin/ipoib-moved"
IS_READY = "[[ $(cat /sys/class/net/ib0/mode) = connected && " \
    "$(cat /sys/class/net/ib0/mtu) = 65520 ]] && " \
    f"ip -4 -br addr show dev ib0 | grep -qF {ADDRESS}"


@pytest.fixture(scope="module")
def guest(boot):
    return boot()


def configure(guest, *lines):
    text = "\\n".join(lines)
    guest.run(f"printf '%b\\n' '{text}' > {CONF}; cat {CONF}")


def is_connected(guest):
    assert guest.read("cat /sys/class/net/ib0/mode") == "connected"
    assert guest.read("cat /sys/class/net/ib0/mtu") == "65520"


def reboot(guest):
    guest.reboot("systemctl reboot")
    assert guest.run("systemctl is-system-running --wait", None).text in ("running\n", "degraded\n")


def said(guest, since_lines=40):
    """What the service has said in this boot, line by line."""
    return guest.read(f"journalctl -b -o cat -u openibd -n {since_lines}").splitlines()


def replug(guest):
    """Pull ib0's adapter out and plug it in again; until it is as it was."""
    since = guest.read("date +%s")
    guest.run("rdma link delete sib0")
    gone = guest.wait("[[ ! -e /sys/class/net/ib0 ]]", 20)
    guest.run("rdma link add sib0 type sib netdev cable0")
    back = guest.wait(IS_READY, 60)
    guest.run("ip -4 -br addr show dev ib0; cat /sys/class/net/ib0/mode /sys/class/net/ib0/mtu")
    print(f"replug: ib0 gone within {gone:.2f} s; "
          f"back with mode, MTU and address {back:.2f} s after its adapter")
    guest.wait(f"journalctl -q -b -u openib-apply@ib0 --since @{since} | grep -q Finished", 30)


def test_before(guest):
    guest.run("systemctl is-system-running --wait", None)
    assert guest.read("readlink /proc/1/exe") == "/usr/lib/systemd/systemd"
    guest.run("command -v openib", 1)
    guest.run("rdma link show")


def test_installed_and_started(guest):
    guest.run("dpkg -i /var/cache/openipoib/earlier/openipoib-tools_*.deb")
    assert "/updates/dkms/" in guest.read("modinfo -n ib_ipoib")
    configure(guest, *OFED_LINES)
    guest.run("openib check-config")
    assert guest.read("systemctl is-enabled openibd") == "enabled"
    guest.run("systemctl start openibd")
    is_connected(guest)
    guest.run("openib status")


def test_after_a_reboot_without_hands(guest):
    reboot(guest)
    is_connected(guest)
    assert guest.read("systemctl is-active openibd") == "active"
    guest.wait(IS_READY, 20)
    assert guest.read("cat /sys/module/ib_ipoib/version") == \
        guest.read("modinfo -F version ib_ipoib")
    lines = [line for line in said(guest) if line.startswith("set ib0")]
    assert lines == ["set ib0 to connected mode"]


def test_restart(guest):
    before = guest.read("cat /sys/class/net/ib0/ifindex")
    guest.run("systemctl restart openibd")
    is_connected(guest)
    assert guest.read("cat /sys/class/net/ib0/ifindex") != before, "nothing was restarted"
    guest.wait(IS_READY, 20)


def test_what_is_set_by_hand_outlives_modprobe(guest):
    guest.run("echo 1 > /sys/class/net/ib1/umcast && "
              "ip link add link ib1 name data0 type ipoib pkey 0x8001 mode connected umcast 1")
    guest.run("modprobe -r ib_ipoib")
    guest.wait("[[ ! -e /sys/class/net/ib1 ]]", 20)
    guest.run("modprobe ib_ipoib")
    guest.wait("[[ $(cat /sys/class/net/{ib1,data0}/umcast) = $'1\\n1' ]]", 60)
    assert guest.read("cat /sys/class/net/data0/pkey") == "0x8001"
    guest.wait(IS_READY, 60)
    guest.run("ip link delete data0")


def test_no_stop_under_a_subnet_manager(guest):
    guid = guest.read("cat /sys/class/infiniband/sib1/ports/1/gids/0").replace(":", "")[16:]
    guest.run(f"opensm -B -g 0x{guid} > /dev/null 2>&1")
    guest.wait("grep -q ACTIVE /sys/class/infiniband/sib0/ports/1/state", 60)
    refused = guest.run("/etc/init.d/openibd stop", 7)
    assert "not stopped: opensm (process" in refused.text
    assert guest.read("systemctl is-active openibd") == "active"
    guest.run("systemctl stop openibd", None)
    assert any("not stopped: opensm (process" in line for line in said(guest, 8))
    assert guest.run("systemctl is-failed openibd").text == "failed\n"
    is_connected(guest)
    guest.run("systemctl start openibd")
    is_connected(guest)


def test_unplugged_and_plugged_in(guest):
    guest.wait(f"{IS_READY} && grep -q 1 /sys/class/net/ib0/carrier", 30)
    replug(guest)
    guest.wait("grep -q 1 /sys/class/net/ib0/carrier", 60)
    guest.run("kill $(pgrep -x opensm)")
    guest.wait("! pgrep -x opensm", 20)


def service(guest, what):
    """A property of ipoib-ha.service."""
    return guest.read(f"systemctl show -P {what} ipoib-ha")


def address_is_on(guest, name):
    guest.wait(f"[[ $(ip -4 -o addr show to {ADDRESS} | awk '{{ print $2 }}') = {name} ]]", 30)


def starts_again(guest, signal, times, limit):
    """The daemon ends of @signal, or is ended for it; nothing of the identity changes."""
    guest.run(f"systemctl kill -s {signal} ipoib-ha")
    guest.wait(f"[[ $(systemctl show -P NRestarts ipoib-ha) = {times} ]]", limit)
    guest.wait("ipoib-ha status", 60)


def test_upgraded_while_in_use(guest):
    """An upgrade restarts ipoib-ha and nothing else: the interface and what it has stays."""
    configure(guest, *HA_LINES)
    guest.run(f"mv {NETWORK} /run && systemctl restart systemd-networkd")    # nobody else gives addresses
    guest.run("systemctl restart openibd")
    guest.run("ip link set ib0 up && opensm -B > /dev/null 2>&1")
    guest.wait("ipoib-ha status", 60)
    # On a slow machine ib1 may have had a carrier first.
    guest.run("ipoib-ha status | grep -q '^ib0 *active' || ipoib-ha switch")
    guest.run(f"ip addr replace {ADDRESS} dev ib0")
    guest.wait(f"ipoib-ha status | grep -qF {ADDRESS}", 20)
    guest.run("ipoib-ha switch")
    address_is_on(guest, "ib1")
    kept = "cat /sys/class/net/ib{0,1}/{ifindex,mode,mtu}; " \
        f"systemctl show -P ActiveEnterTimestamp openibd; md5sum {CONF}"
    before, daemon = guest.read(kept), service(guest, "MainPID")
    guest.run("mv /usr/sbin/policy-rc.d /run")      # with it no service is restarted
    guest.run("dpkg -i /var/cache/openipoib/openipoib-tools_*.deb")
    guest.wait("ipoib-ha status", 60)
    assert guest.read(kept) == before
    assert service(guest, "ActiveState") == "active"
    assert service(guest, "MainPID") != daemon, "the daemon of the earlier version runs"
    assert guest.read("systemctl show -P NeedDaemonReload openibd ipoib-ha").split() == ["no", "no"]
    address_is_on(guest, "ib1")
    guest.run("ipoib-ha switch")
    address_is_on(guest, "ib0")


def test_after_a_move_a_program_is_run(guest):
    """IPOIBHA_NOTIFY, read by a reload; the unit's confinement lets it use nft and systemctl."""
    lines = ("#!/bin/sh", 'echo "$*: $IPOIBHA_CAUSE"', 'ip link set "$3" alias moved',
             "systemctl --no-block start moved.service", "touch /usr/moved || exit 3")
    guest.run("printf '%s\\n' " + " ".join(f"'{line}'" for line in lines) + f" > {MOVED}")
    guest.run(f"chmod 755 {MOVED}; printf '[Service]\\nExecStart=touch /run/moved\\n' > "
              "/run/systemd/system/moved.service; systemctl daemon-reload")
    daemon = service(guest, "MainPID")
    configure(guest, *HA_LINES, f"IPOIBHA_NOTIFY={MOVED}")
    guest.run("systemctl reload ipoib-ha")
    guest.run("ipoib-ha switch")
    address_is_on(guest, "ib1")
    guest.wait("test -e /run/moved", 20)
    guest.wait(f"journalctl -u ipoib-ha -p warning | grep 'IPOIBHA_NOTIFY: {MOVED}: exit status 3'", 20)
    assert "moved ib0+ib1 ib1: by hand" in guest.read("journalctl -u ipoib-ha -o cat")
    guest.run("ip link show ib1 | grep -q 'alias moved'")
    guest.run("test -e /usr/moved", 1)
    assert service(guest, "MainPID") == daemon, "a reload is no restart"
    guest.run("ipoib-ha switch")
    address_is_on(guest, "ib0")


def test_status_by_the_group_of_the_unit(guest):
    as_games = "setpriv --reuid games --regid {} --clear-groups --"
    guest.run(f"{as_games.format('games')} ipoib-ha status", 3)
    folder = "/run/systemd/system/ipoib-ha.service.d"
    guest.run(f"mkdir -p {folder} && printf '[Service]\\nGroup=operator\\n' > {folder}/group.conf")
    guest.run("systemctl daemon-reload && systemctl restart ipoib-ha")
    guest.wait("ipoib-ha status", 60)
    guest.run(f"{as_games.format('operator')} ipoib-ha status")
    assert "ipoib_ha_" in guest.read(f"{as_games.format('operator')} ipoib-ha metrics")
    guest.run(f"{as_games.format('operator')} ipoib-ha switch 2>&1 | grep 'only root can switch'")
    guest.run(f"{as_games.format('operator')} cat /run/ipoib-ha/ib0+ib1.json", 1)
    guest.run(f"{as_games.format('games')} ipoib-ha status", 3)
    address_is_on(guest, "ib0")
    guest.run(f"rm -r {folder} && systemctl daemon-reload && systemctl restart ipoib-ha")
    guest.wait("ipoib-ha status", 60)


@pytest.mark.parametrize("unit, most", [("ipoib-ha", 3.0), ("openibd", 5.0)])
def test_confined(guest, unit, most):
    """As systemd-analyze counts exposure: of 10, with 0 for the least."""
    said_ = guest.read(f"systemd-analyze security --no-pager {unit} | tail -n 1")
    found = float(re.search(r"Overall exposure level for .*: ([0-9.]+) ", said_).group(1))
    assert found <= most, said_


def test_the_identity_fails_over(guest):
    assert (service(guest, "Type"), service(guest, "ActiveState")) == ("notify", "active")
    guest.run("ipoib-ha switch")
    address_is_on(guest, "ib1")
    starts_again(guest, "KILL", 1, 30)
    starts_again(guest, "STOP", 2, 90)      # the watchdog ends it
    address_is_on(guest, "ib1")
    guest.run("ipoib-ha switch")
    address_is_on(guest, "ib0")
    guest.run("kill $(pgrep -x opensm)")
    guest.wait("! pgrep -x opensm", 20)
    configure(guest, *OFED_LINES)
    guest.run(f"mv /run/ib0.network {NETWORK} && systemctl restart systemd-networkd")
    guest.run("systemctl restart openibd")
    assert service(guest, "ActiveState") == "inactive"


def test_onboot_no_and_ipoib_load_no(guest):
    configure(guest, "ONBOOT=no", "IPOIB_LOAD=no")
    guest.run("echo ib_ipoib > /etc/modules-load.d/ipoib.conf")
    reboot(guest)
    guest.run("systemctl is-active openibd", 3)
    assert said(guest).count("openib: ONBOOT=no") == 1
    guest.run("ls -d /sys/module/ib_ipoib", 2)
    guest.run("modprobe ib_ipoib", 1)
    guest.run("rm /etc/modules-load.d/ipoib.conf")
    guest.run("systemctl start openibd")
    guest.run("ls -d /sys/module/ib_ipoib", 2)
    configure(guest, *OFED_LINES[:4], "ONBOOT=no")
    guest.run("systemctl restart openibd")
    is_connected(guest)
    guest.run("systemctl stop openibd")
    guest.run("ls -d /sys/module/ib_ipoib", 2)


def test_a_broken_file(guest):
    configure(guest, "SET_IPOIB_CM=yes", "IPOIB_LOD=no")
    guest.run("systemctl start openibd", 1)
    assert guest.read("systemctl show -P ExecMainStatus openibd") == "6"
    message = f"{CONF}:2:1: error: IPOIB_LOD: unknown key; did you mean IPOIB_LOAD?"
    assert said(guest).count(message) == 1
    guest.run("ls -d /sys/module/ib_ipoib", 2)


def test_removed_while_in_use(guest):
    """ipoib-ha ends, and nothing else changes."""
    configure(guest, *HA_LINES)
    guest.run(f"mv {NETWORK} /run && systemctl restart systemd-networkd")
    guest.run("systemctl start openibd")
    guest.run(f"ip link set ib0 up && ip addr replace {ADDRESS} dev ib0")
    assert service(guest, "ActiveState") == "active"
    guest.run("dpkg --remove openipoib-tools")
    guest.run("pgrep -x ipoib-ha", 1)
    address_is_on(guest, "ib0")
    is_connected(guest)
    guest.run("dpkg -i /var/cache/openipoib/openipoib-tools_*.deb")
    configure(guest, *OFED_LINES)
    guest.run(f"mv /run/ib0.network {NETWORK} && systemctl restart systemd-networkd")
    guest.run("systemctl restart openibd")
    is_connected(guest)
    guest.run("systemctl stop openibd")


def test_the_kernels_own_driver(guest):
    configure(guest, *OFED_LINES)
    guest.run("systemctl start openibd")
    is_connected(guest)
    guest.run("dpkg --purge openipoib-dkms")
    assert "/kernel/drivers/infiniband/ulp/ipoib/" in guest.read("modinfo -n ib_ipoib")
    guest.run("systemctl restart openibd")
    guest.run("ls /sys/module/ib_ipoib/version", 2)
    is_connected(guest)
    guest.wait(IS_READY, 20)
    replug(guest)


def test_away(guest):
    guest.run("systemctl stop openibd")
    guest.run("dpkg --purge openipoib-tools")
    guest.run("find / -xdev -path /var/cache -prune -o \\( -iname '*openib*' -o -iname "
              "'*openipoib*' \\) -print | grep -vE 'openipoib-(agent|cable)|/initramfs-tools/'", 1)
    guest.run("modprobe ib_ipoib")
    assert guest.run("cat /sys/class/net/ib0/mode").text == "datagram\n"
