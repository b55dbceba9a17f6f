# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The lines that modprobe has a shell run for ib_ipoib, with openib and where there is none."""

import shutil
import subprocess
from pathlib import Path

import pytest

CONF = Path(__file__).resolve().parents[2] / "scripts/service/modprobe.conf.in"
SHELLS = [[name, "-c"] for name in ("sh", "bash", "dash") if shutil.which(name)] + \
    [["busybox", "sh", "-c"]] * bool(shutil.which("busybox"))


def program(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture(name="shell", params=SHELLS, ids=lambda argv: argv[0])
def _shell(request):
    return request.param


@pytest.fixture(name="run")
def _run(tmp_path, shell):
    """Run the line of that kind as modprobe does, with the options that it was given."""
    program(tmp_path / "modprobe", f'echo "modprobe $*" >> {tmp_path}/log')
    text = CONF.read_text(encoding="utf-8").replace("@SBINDIR@", str(tmp_path / "sbin"))
    conf = tmp_path / "openib.conf"
    conf.write_text(text.replace("/sbin/modprobe", str(tmp_path / "modprobe")), encoding="utf-8")
    lines = subprocess.run(["/sbin/modprobe", "-C", conf, "-c"], capture_output=True, text=True,
                           check=True).stdout.splitlines()

    def run(kind, options=""):
        line, = [line for line in lines if line.startswith(f"{kind} ib_ipoib ")]
        command = line.split(maxsplit=2)[2].replace("$CMDLINE_OPTS", options)
        done = subprocess.run([*shell, command], capture_output=True, text=True, check=False)
        assert not done.stderr
        log = tmp_path / "log"
        said = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return done.returncode, said

    return run


def test_without_openib(run):
    assert run("install", "debug_level=1") == (0, ["modprobe --ignore-install ib_ipoib debug_level=1"])


def test_removal_without_openib(run):
    assert run("remove") == (0, ["modprobe -r --ignore-remove ib_ipoib"])


def test_options_of_openib(run, tmp_path):
    program(tmp_path / "sbin/openib", f'echo "openib $*" >> {tmp_path}/log; echo own_queues=all')
    assert run("install", "debug_level=1") == (
        0, ["openib allows ipoib", "modprobe --ignore-install ib_ipoib debug_level=1 own_queues=all"])


def test_openib_forbids_it(run, tmp_path):
    program(tmp_path / "sbin/openib", "exit 7")
    status, log = run("install")
    assert status and not log


@pytest.mark.parametrize("status", [0, 2])
def test_removal(run, tmp_path, status):
    program(tmp_path / "sbin/openib", f'echo "openib $*" >> {tmp_path}/log; exit {status}')
    assert run("remove") == (0, ["openib keep", "modprobe -r --ignore-remove ib_ipoib"])
