# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""udev's rule and the unit that it wants: `openib apply` is given the name of the interface."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SERVICE = Path(__file__).resolve().parents[2] / "scripts/service"
UNIT = (SERVICE / "openib-apply@.service.in").read_text(encoding="utf-8")

# In a network of its own there is one interface to rename, and it is no InfiniBand one (772).
TEST = """\
mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /run && mkdir -p /run/udev/rules.d || exit 77
sed 's/=="32"/=="772"/' "$0" > /run/udev/rules.d/90-openib.rules
ip link set lo name "$1" && exec udevadm test --action=add "/sys/class/net/$1"
"""


def wanted_by(name):
    if not shutil.which("udevadm") or not shutil.which("systemd-escape"):
        pytest.skip("no udevadm, or no systemd-escape")
    done = subprocess.run(["unshare", "-mn", "sh", "-c", TEST, SERVICE / "90-openib.rules", name],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 77 or "unshare failed" in done.stdout:
        pytest.skip("no namespaces: not root")
    found = re.search(r"^ *SYSTEMD_WANTS=(.*)$", done.stdout, re.MULTILINE)
    assert found, done.stdout
    return found.group(1)


def applied_to(unit):
    """What the unit's command names as the interface."""
    specifier = re.search(r"^ExecStart=@SBINDIR@/openib apply (\S+)$", UNIT, re.MULTILINE).group(1)
    if specifier == "%i":
        return unit.partition("@")[2].removesuffix(".service")
    assert specifier == "%I"
    return subprocess.run(["systemd-escape", "--unescape", "--instance", unit], capture_output=True,
                          text=True, check=True).stdout.removesuffix("\n")


@pytest.mark.parametrize("name", ["ib0", "ib-a", "ib0.8001", "ibp59s0-data", "ib_x+1", "-ib"])
def test_the_interface_is_the_one_that_appeared(name):
    unit = wanted_by(name)
    assert unit.startswith("openib-apply@") and unit.endswith(".service")
    assert re.fullmatch(r"[\w:.\\@-]+", unit), "systemd would change this name"
    assert applied_to(unit) == name
