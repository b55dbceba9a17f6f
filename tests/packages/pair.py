# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A machine with ipoib-ha for ib0 and ib1, each at a cable of its own, which can be pulled."""

from conftest import OFED_LINES

CONF = "/etc/infiniband/openib.conf"
NETWORK = "/etc/systemd/network/ib0.network"
HA_LINES = (*OFED_LINES, "IPOIBHA_ENABLE=yes", "PRIMARY_IPOIB_DEV=ib0", "SECONDARY_IPOIB_DEV=ib1")


def write(guest, path, *lines):
    text = "\\n".join(lines)
    guest.run(f"printf '%b\\n' '{text}' > {path}; cat {path}")


def pair_of(guest):
    """The pair, and the other ends of its cables: ib2 and ib3, by which subnet managers run."""
    guest.run("systemctl is-system-running --wait", None)
    guest.run(f"rm {NETWORK}; systemctl stop systemd-networkd systemd-networkd.socket")
    guest.run("dpkg -i /var/cache/openipoib/openipoib-tools_*.deb")
    guest.run("rdma link delete sib0; rdma link delete sib1")
    guest.run("ip link add cable2 mtu 9000 type veth peer name cable3 mtu 9000; "
              "ip link set cable2 up; ip link set cable3 up")
    for device, cable in (("sib0", 0), ("sib1", 2), ("sib2", 1), ("sib3", 3)):
        guest.run(f"rdma link add {device} type sib netdev cable{cable}")
    write(guest, CONF, *HA_LINES)
    guest.run("systemctl restart openibd", None)
    for device in ("sib2", "sib3"):
        gid = guest.read(f"cat /sys/class/infiniband/{device}/ports/1/gids/0").replace(":", "")
        guest.run(f"opensm -B -f /var/log/opensm-{device}.log -g 0x{gid[16:]} > /dev/null 2>&1")
    guest.run("ip link set ib0 up; ip link set ib1 up")
    guest.wait("[[ $(cat /sys/class/net/ib{0,1}/carrier) = $'1\\n1' ]]", 120)
    guest.wait("ipoib-ha status", 60)
    return guest
