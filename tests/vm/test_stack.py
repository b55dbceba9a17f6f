# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What other programs and parts of the kernel make of an IPoIB interface."""

import pytest

pytestmark = pytest.mark.full


@pytest.mark.labs(drivers=["ours", "intree"])
def test_vlans_are_refused(lab):
    done = lab.run("h1", *"ip link add link ib0 name v5 type vlan id 5".split(), check=False)
    assert done.status and "not supported" in done.err, str(done)
    lab.run("h1", "modprobe", "-r", "8021q")


@pytest.mark.labs(drivers=["ours", "intree"])
def test_driver_and_speed(lab):
    """What ethtool says of the driver, and the speed that the port has negotiated."""
    info = dict(line.split(": ", 1) for line in lab.out("h1", "ethtool", "-i", "ib0").splitlines()
                if ": " in line)
    assert info["driver"] == "ib_ipoib", info
    assert info["bus-info"] in lab.out("h1", "readlink", "-f", "/sys/class/infiniband/sib0/device")
    rate = float(lab.read("h1", "/sys/class/infiniband/sib0/ports/1/rate").split()[0])
    assert f"Speed: {rate * 1000:.0f}Mb/s" in lab.out("h1", "ethtool", "ib0")
