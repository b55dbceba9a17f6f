# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Who has ib0 besides ipoib-ha: systemd-networkd or NetworkManager, with their defaults.

Both take addresses from an interface that loses its carrier, and give them again.
The guests have no systemd: what the two need of it is started beside them.
"""

import contextlib
import functools
import shlex
import subprocess

from harness import TOP, ipv4, ipv6, on_hosts

ALONE, NETWORKD, NETWORK_MANAGER = "alone", "networkd", "NetworkManager"
KINDS = (ALONE, NETWORKD, NETWORK_MANAGER)
BUS = "/run/dbus/system_bus_socket"
LOG = "/run/managers.log"
CONNECTIONS = "/run/NetworkManager/system-connections"
# udev keeps the names that the lab has given.
LINK = ("/run/systemd/network/00-names.link", "[Match]", "OriginalName=*", "[Link]", "NamePolicy=")


@functools.cache
def unpacked():
    """The folder of programs that must not be installed, laid out as from /."""
    return subprocess.run([TOP / "scripts/unpack-programs"], text=True, stdout=subprocess.PIPE,
                          check=True).stdout.strip()


def write(lab, host, path, *lines):
    lab.sh(host, f"mkdir -p $(dirname {path}) && printf '%s\\n' {shlex.join(lines)} > {path}")


def udevd(lab, host):
    write(lab, host, *LINK)
    yield lab.background(host, *logged("/lib/systemd/systemd-udevd"))
    lab.wait(host, "udevadm control --ping 2> /dev/null", 30, "udevd answers")
    lab.run(host, "udevadm", "trigger", "--settle", "--subsystem-match=net", "--action=add")


def networkd(lab, host, _mode):
    write(lab, host, "/run/systemd/network/ib0.network", "[Match]", "Name=ib0", "[Network]",
          f"Address={ipv4(host)}/24", f"Address={ipv6(host)}/64")
    yield lab.background(host, *logged("/lib/systemd/systemd-networkd"))
    lab.wait(host, "grep -qsx ADMIN_STATE=configured "
             "/run/systemd/netif/links/$(cat /sys/class/net/ib0/ifindex)", 60, "networkd has configured ib0")


def network_manager(lab, host, mode):
    mtu = 65520 if mode == "connected" else lab.config.ib_mtu - 4
    write(lab, host, f"{CONNECTIONS}/ib0.nmconnection", "[connection]", "id=ib0", "type=infiniband",
          "interface-name=ib0", "[infiniband]", f"transport-mode={mode}", f"mtu={mtu}", "[ipv4]",
          "method=manual", f"address={ipv4(host)}/24", "[ipv6]", "method=manual",
          f"address={ipv6(host)}/64")
    write(lab, host, "/run/NetworkManager.conf", "[main]", "plugins=keyfile", "dns=none",
          "no-auto-default=*", "auth-polkit=false", "[keyfile]", f"path={CONNECTIONS}",
          "unmanaged-devices=*,except:interface-name:ib0")
    lab.sh(host, f"chmod 600 {CONNECTIONS}/*; mkdir -p /run/dbus /var/lib/NetworkManager")
    # The policy of a session's bus: who is on it may do everything.
    yield lab.background(host, *logged("dbus-daemon", "--session", f"--address=unix:path={BUS}",
                                       "--nofork", "--nopidfile"))
    lab.wait(host, f"test -S {BUS}", 20, "there is a bus")
    yield lab.background(host, *logged(*of_manager("sbin/NetworkManager"), "--debug", "--log-level=INFO",
                                       "--config=/run/NetworkManager.conf"))
    nmcli = shlex.join(of_manager("bin/nmcli"))
    lab.wait(host, f"{nmcli} -g GENERAL.STATE device show ib0 2> /dev/null | grep -q '^100'", 120,
             "NetworkManager has activated ib0")


def logged(*argv):
    """A command whose output goes to a log of the guest."""
    return "sh", "-c", f'exec "$@" >> {LOG} 2>&1', "sh", *argv


def of_manager(program):
    """The command that runs a program of NetworkManager's."""
    folder = unpacked()
    return ["sh", "-c", f"LD_LIBRARY_PATH=$(echo {folder}/usr/lib/*-linux-gnu) "
            f"exec {folder}/usr/{program} \"$@\"", "sh"]


@contextlib.contextmanager
def managed(lab, kind, mode):
    """Until the block ends, ib0 of both hosts with its addresses is this manager's.

    mode: of the interfaces, which NetworkManager sets, too
    """
    if kind == ALONE:
        yield
        return
    manager = {NETWORKD: networkd, NETWORK_MANAGER: network_manager}[kind]

    started = []

    def start(host):
        for steps in (udevd(lab, host), manager(lab, host, mode)):
            for process in steps:
                started.append(process)

    def end(host):
        """Both managers leave on an interface what they had set on it, also when it got another name."""
        print(f"--- {host}: {lab.out(host, 'cat', LOG, check=False)}")
        lab.sh(host, f"rm -rf {CONNECTIONS} {LOG} /run/NetworkManager* {BUS} /run/systemd/network "
               "/run/systemd/netif; for port in 0 1; do "
               "ip link set ib$port down addrgenmode eui64; ip addr flush dev ib$port; done", check=False)

    try:
        on_hosts(start)
        yield
    finally:
        for process in reversed(started):
            process.__exit__()
        on_hosts(end)
