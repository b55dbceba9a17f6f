# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which kernels DKMS tries to build for: those that the probes of drivers/compat may know."""

import subprocess
from pathlib import Path

import pytest

CONF = Path(__file__).resolve().parents[2] / "scripts/service/dkms.conf.in"
# As DKMS matches it
MATCH = 'kernel_source_dir= dkms_tree=; . "$0"; [[ $1 =~ $BUILD_EXCLUSIVE_KERNEL ]]'


def is_tried(release):
    done = subprocess.run(["bash", "-c", MATCH, CONF, release], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    return done.returncode == 0


@pytest.mark.parametrize("release", [
    "6.1.0-56-amd64", "6.4.0-150700.53.11-default", "6.8.0-60-generic", "6.12.117+deb13-amd64",
    "7.3.4+deb13-arm64", "10.0.1",
    "5.14.0-70.13.1.el9_0.x86_64", "5.14.0-687.5.1.el9_8.x86_64", "5.14.0-611.el9.aarch64",
    "5.14.0-570.el9.x86_64+rt", "6.12.0-124.8.1.el10_1.x86_64"])
def test_tried(release):
    assert is_tried(release)


@pytest.mark.parametrize("release", [
    "4.18.0-553.el8_10.x86_64", "5.10.0-35-amd64", "5.14.0-1-generic", "5.14.21-150500.55.7-default",
    "5.15.0-140-generic", "5.15.0-300.161.13.el9uek.x86_64", "6.0.19"])
def test_left_out(release):
    assert not is_tried(release)
