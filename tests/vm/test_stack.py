# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What other programs and parts of the kernel make of an IPoIB interface."""

import pytest

from harness import HOSTS, ipv4

SMC_PORT = 7878
SMC_OCTETS = 4 << 20

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


@pytest.mark.labs(drivers=["ours", "intree"])
def test_af_smc_falls_back_to_tcp(lab):
    """SMC-R is for RoCE: over an IPoIB interface its sockets find TCP by themselves."""
    if lab.run("h1", "modinfo", "smc", check=False).status:
        pytest.skip("the kernel has no AF_SMC (CONFIG_SMC; Debian's 7.3 has none)")
    with lab.helper_background("h1", "smc.py", "hear", ipv4("h1"), SMC_PORT) as ear:
        assert ear.line() == "ready"
        asked = lab.helper("h2", "smc.py", "ask", ipv4("h1"), SMC_PORT, SMC_OCTETS)
        assert asked.out == "TCP\n", str(asked)
        heard = ear.finish()
        assert heard.status == 0 and heard.out == "TCP\n", str(heard)
    for host in HOSTS:
        lab.wait(host, "modprobe -r smc_diag smc", 20, "the modules of AF_SMC are not in use")
