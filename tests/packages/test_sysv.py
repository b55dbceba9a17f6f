# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The same Debian with SysV init: openibd is what starts the stack."""

import pytest

from conftest import OFED_LINES

CONF = "/etc/infiniband/openib.conf"


@pytest.fixture(scope="module")
def guest(boot, folder):
    if not (folder / "root/opt/sysvinit").exists():
        pytest.skip("this Debian's systemd-sysv and initscripts exclude each other")
    return boot(init="/opt/sysvinit/sbin/init")


def is_connected(guest):
    assert guest.read("cat /sys/class/net/ib0/mode") == "connected"
    assert guest.read("cat /sys/class/net/ib0/mtu") == "65520"


def test_installed_and_started(guest):
    assert guest.read("readlink /proc/1/exe") == "/opt/sysvinit/sbin/init"
    guest.run("ls -d /run/systemd/system", 2)
    guest.run("dpkg -i /var/cache/openipoib/openipoib-tools_*.deb; ls -d /etc/rc?.d/*openibd")
    text = "\\n".join(OFED_LINES)
    guest.run(f"printf '%b\\n' '{text}' > {CONF}")
    guest.run("/etc/init.d/openibd restart")
    is_connected(guest)
    guest.run("/etc/init.d/openibd status")


def test_after_a_reboot_without_hands(guest):
    guest.reboot("/opt/sysvinit/sbin/reboot")
    guest.wait("[[ $(/opt/sysvinit/sbin/runlevel) = *2 ]]", 30)
    is_connected(guest)


def test_removed_while_in_use(guest):
    text = "\\n".join((*OFED_LINES, "IPOIBHA_ENABLE=yes", "PRIMARY_IPOIB_DEV=ib0", "SECONDARY_IPOIB_DEV=ib1"))
    guest.run(f"printf '%b\\n' '{text}' > {CONF}; /etc/init.d/openibd restart")
    guest.wait("pgrep -x ipoib-ha", 30)
    guest.run("dpkg --remove openipoib-tools")
    guest.run("pgrep -x ipoib-ha", 1)
    is_connected(guest)
    guest.run("dpkg -i /var/cache/openipoib/openipoib-tools_*.deb")


def test_stopped_and_removed(guest):
    guest.run("/etc/init.d/openibd stop")
    guest.run("ls -d /sys/module/ib_ipoib", 2)
    guest.run("dpkg --purge openipoib-tools")
    guest.run("ls -d /etc/rc?.d/*openibd", 2)
