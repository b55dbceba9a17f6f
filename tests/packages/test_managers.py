# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""ipoib-ha beside who has ib0 as well: systemd-networkd and NetworkManager, with their defaults.

Both take addresses from an interface that has lost its carrier. When a leaf switch restarts,
both ports lose it, and the one that comes back first must have the identity.
"""

import pytest

from pair import pair_of, write

NETWORK = "/etc/systemd/network/ib0.network"
ADDRESS = "10.9.0.1/24"
WHERE = f"$(ip -4 -o addr show to {ADDRESS} | awk '{{ print $2 }}')"
HEARD = "/run/addresses"
# What fails -> how, and how it is mended
FAULTS = {"cable pulled": ("ip link set cable0 down", "ip link set cable0 up"),
          "interface set down": ("ip link set ib0 down", "ip link set ib0 up"),
          "device deleted": ("rdma link delete sib0", "rdma link add sib0 type sib netdev cable0")}
NETWORKD_LINES = ("[Match]", "Name=ib0", "", "[Network]", f"Address={ADDRESS}")


@pytest.fixture(scope="module")
def guest(boot):
    return pair_of(boot())


def the_one_that_is_back_first_has_the_identity(guest, is_given_again):
    guest.run("ipoib-ha status | grep -q '^ib0 *active' || ipoib-ha switch")
    guest.wait(f"[[ {WHERE} = ib0 ]]", 60)
    guest.wait(f"ipoib-ha status | grep -qF {ADDRESS}", 20)
    guest.run(f"ip -o monitor address >> {HEARD} & echo $! > {HEARD}.pid")
    guest.run("ip link set cable2 down")
    guest.wait("grep -q 0 /sys/class/net/ib1/carrier", 30)
    guest.run("ip link set cable0 down")
    # Whoever manages ib0 takes it away, or nothing is shown; ipoib-ha gives it back at once.
    guest.wait(f"grep 'Deleted.* {ADDRESS} ' {HEARD}", 60)
    guest.run("ipoib-ha status", None)
    guest.run("ip link set cable2 up")
    guest.wait(f"[[ {WHERE} = ib1 ]]", 60)
    guest.run(f": > {HEARD}; ip link set cable0 up")
    guest.wait("grep -q 1 /sys/class/net/ib0/carrier", 60)
    guest.wait("ipoib-ha status", 60)
    if is_given_again:      # by who manages ib0, and ipoib-ha takes it away
        guest.wait(f"grep -v Deleted {HEARD} | grep -q 'ib0 .*{ADDRESS} '", 60)
    guest.run(f"kill $(cat {HEARD}.pid); rm {HEARD}; ipoib-ha explain")
    guest.wait(f"[[ {WHERE} = ib1 ]]", 60)
    guest.run("ipoib-ha switch")
    guest.wait(f"[[ {WHERE} = ib0 ]]", 60)


def it_moves_whatever_fails(guest):
    for name, (fault, repair) in FAULTS.items():
        print(f"{name}:")
        guest.run(fault)
        guest.wait(f"[[ {WHERE} = ib1 ]]", 60)
        guest.run(repair)
        guest.wait("grep -q 1 /sys/class/net/ib0/carrier", 120)
        guest.wait("ipoib-ha status", 60)
        guest.wait(f"[[ {WHERE} = ib1 ]]", 60)
        guest.run("ipoib-ha switch")
        guest.wait(f"[[ {WHERE} = ib0 ]]", 60)
    guest.run("ipoib-ha explain")


def test_networkd(guest):
    write(guest, NETWORK, *NETWORKD_LINES)
    guest.run("systemctl start systemd-networkd")
    the_one_that_is_back_first_has_the_identity(guest, is_given_again=True)
    it_moves_whatever_fails(guest)
    guest.run("ipoib-ha status | grep -q systemd-networkd")     # it is said who interferes
    guest.run(f"rm {NETWORK}; systemctl stop systemd-networkd systemd-networkd.socket")
    guest.run(f"ip addr del {ADDRESS} dev ib0", None)


def test_network_manager(guest):
    guest.run("systemctl start NetworkManager")
    guest.run("nmcli connection add type infiniband con-name ib0 ifname ib0 transport-mode connected "
              f"ipv4.method manual ipv4.addresses {ADDRESS} && nmcli connection up ib0")
    the_one_that_is_back_first_has_the_identity(guest, is_given_again=False)
    it_moves_whatever_fails(guest)
    guest.run("ipoib-ha status | grep -q NetworkManager")
    guest.run("systemctl stop NetworkManager")
