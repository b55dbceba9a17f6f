# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What the services may do beside their work, as systemd counts it: 0 nothing, 10 everything."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SERVICE = Path(__file__).resolve().parents[2] / "scripts/service"


@pytest.mark.parametrize(("name", "most"), [
    ("ipoib-ha", 3.0), ("ipoib-ha-metrics", 2.0), ("openibd", 5.0)])
def test_exposure(tmp_path, name, most):
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    text = (SERVICE / f"{name}.service.in").read_text(encoding="utf-8")
    unit = tmp_path / f"{name}.service"
    unit.write_text(text.replace("@SBINDIR@", "/usr/sbin"), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", unit],
                          capture_output=True, text=True, check=True)
    assert not done.stderr, "a line of the unit is not understood"
    exposure = re.search(rf"exposure level for {name}.service: ([0-9.]+)", done.stdout).group(1)
    assert float(exposure) <= most, done.stdout
