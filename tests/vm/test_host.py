# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What labs leave behind on the machine that ran them: nothing."""

import os
import subprocess
from pathlib import Path

from harness import LAB, TOP, until

STATE = Path(os.environ.get("OPENIPOIB_LAB_DIR", "/run/openipoib-lab"))


def lab_processes():
    """Processes that belong to a lab, by their command lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        line = " ".join(words)
        is_host = any(word.startswith("openipoib-lab-") for word in words)
        if str(STATE) in line or ("qemu-system" in words[0] and is_host) or "lablib" in line:
            found.append(f"{path.parent.name}: {line[:120]}")
    return found


def lab_sockets():
    lines = Path("/proc/net/unix").read_text().splitlines()
    return [line for line in lines if str(STATE) in line or "openipoib" in line]


def lab_mounts():
    return [line for line in Path("/proc/mounts").read_text().splitlines()
            if "openipoib" in line or str(TOP / "build") in line]


def test_nothing_is_left_behind(current_lab):
    current_lab.end()
    until(lambda: not lab_processes(), 10, lambda: f"no process is left: {lab_processes()}")
    assert not lab_sockets()
    assert not lab_mounts()
    assert not STATE.exists(), f"{STATE} is left: {list(STATE.iterdir())}"
    netdevs = os.listdir("/sys/class/net")
    assert not [name for name in netdevs if name.startswith(("ib", "sib", "tap"))], netdevs
    done = subprocess.run([LAB, "status"], capture_output=True, text=True, check=False)
    assert done.returncode == 3, "no lab is up"
