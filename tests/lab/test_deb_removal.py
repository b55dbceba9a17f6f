# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What debhelper and the package's own script do when openipoib-tools is removed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
UNITS = ("openibd", "ipoib-ha", "openib-apply@")
TARGETS = ("override_dh_installsystemd", "override_dh_installinit")
STUB = """\
#!/bin/sh
echo "${0##*/} $*" >> "${0%/*}/log"
"""


@pytest.fixture(name="prerm")
def _prerm(tmp_path):
    """The script as debhelper completes it: run it below the folder that it is in."""
    if not shutil.which("dh_installsystemd"):
        pytest.skip("no debhelper")
    shutil.copytree(TOP / "debian", tmp_path / "debian")
    units = tmp_path / "debian/openipoib-tools/usr/lib/systemd/system"
    init = tmp_path / "debian/openipoib-tools/etc/init.d"
    for folder in (units, init, tmp_path / "debian/openipoib-tools/lib/systemd/system"):
        folder.mkdir(parents=True)
    for name in UNITS:
        text = (TOP / f"scripts/service/{name}.service.in").read_text(encoding="utf-8")
        for folder in (units, tmp_path / "debian/openipoib-tools/lib/systemd/system"):
            (folder / f"{name}.service").write_text(text, encoding="utf-8")
            shutil.copy(TOP / "scripts/service/ipoib-ha-metrics.timer", folder)
    shutil.copy(TOP / "scripts/openibd", init)
    for argv in (["make", "-sf", "debian/rules", *TARGETS], ["dh_installdeb", "-popenipoib-tools"]):
        subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True,
                       env=os.environ | {"DEB_RULES_REQUIRES_ROOT": "no"})
    return tmp_path / "debian/openipoib-tools/DEBIAN/prerm"


def removal(prerm, *arguments):
    """Run it where there is systemd. Its words, and what it asks for."""
    folder = prerm.parent
    for name in ("deb-systemd-invoke", "invoke-rc.d", "systemctl", "start-stop-daemon"):
        (folder / name).write_text(STUB, encoding="utf-8")
        (folder / name).chmod(0o755)
    text = prerm.read_text(encoding="utf-8").replace("/run/systemd/system", str(folder))
    done = subprocess.run(["sh", "-c", text, "prerm", *arguments], capture_output=True, text=True, check=True,
                          env={"PATH": f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin"})
    log = folder / "log"
    return done.stdout, log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def test_removal_leaves_the_stack_in_use(prerm):
    words, asked = removal(prerm, "remove")
    assert not [line for line in asked if "openibd" in line]
    for name in ("ipoib-ha.service", "ipoib-ha-metrics.timer"):
        assert any(name in line for line in asked), f"{name} would go on"
    assert "interfaces stay as they are" in words and "no longer fail over" in words


def test_an_upgrade_stops_nothing(prerm):
    assert removal(prerm, "upgrade", "9.9") == ("", [])
