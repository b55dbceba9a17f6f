# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Our ib_ipoib and the in-tree one in turns on the hosts of one lab."""

from harness import ipv4, on_hosts, other

DRIVERS = ("ours", "intree")
CONNECTED_MTU = 65520


def modules(lab):
    """Driver -> path of its ib_ipoib module in the hosts."""
    release = lab.out("h1", "uname", "-r").strip()
    ours = lab.out("h1", "modinfo", "-n", "ib_ipoib").strip()
    found = lab.out("h1", "find", f"/lib/modules/{release}/kernel/drivers/infiniband/ulp/ipoib",
                    "-name", "ib_ipoib.ko*").split()
    assert len(found) == 1 and ours not in found, f"ours: {ours}, in-tree: {found}"
    return {"ours": ours, "intree": found[0]}


def use(lab, driver, path):
    """Run this module on both hosts, with the lab's addresses."""
    def swap(host):
        lab.run(host, "rmmod", "ib_ipoib")
        lab.run(host, "insmod", path)
        # Only ours has a version: that the right one runs is not left to trust.
        ours = lab.ok(host, "test", "-e", "/sys/module/ib_ipoib/version")
        assert ours == (driver == "ours"), f"{host} does not run the driver {driver}"
        lab.address(host)

    on_hosts(swap)
    on_hosts(lambda host: lab.reachable(host, ipv4(other(host))))


def set_mode(lab, mode):
    """Both interfaces in this mode, with its largest MTU."""
    def enter(host):
        lab.run(host, "sh", "-c", f"echo {mode} > /sys/class/net/ib0/mode")
        lab.run(host, "ip", "link", "set", "ib0", "mtu",
                CONNECTED_MTU if mode == "connected" else lab.config.ib_mtu - 4)

    on_hosts(enter)
    on_hosts(lambda host: lab.reachable(host, ipv4(other(host))))
