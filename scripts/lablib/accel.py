# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Whether guests can use hardware virtualisation.

/dev/kvm may exist and hang whatever boots on it, so it is believed only after
the kernel in question has printed a mark within a few seconds. That it has is
believed until the machine reboots; that it has not, for a while only, since a
machine with much else to do may have been too slow.
"""

import json
import os
import subprocess
import time
from pathlib import Path

from . import machine
from .debian_suite import HERE
from .error import LabError
from .initramfs import PROBE_MARK
from .state import BUILD

PROBE_SECONDS = 6
DOUBT_SECONDS = 600     # after which a probe that failed is tried again


def _boot_id():
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _probe(kernel, initramfs):
    """Boot @kernel on KVM as far as @initramfs."""
    emulated = machine.of(HERE)
    command = ["timeout", "-s", "KILL", str(PROBE_SECONDS), *emulated.command("kvm", "host"),
               "-m", "512", "-nodefaults", "-display", "none", "-no-reboot",
               "-serial", "stdio", "-kernel", str(kernel.image),
               "-initrd", str(initramfs),
               "-append", f"console={emulated.console} quiet panic=-1 lab.probe"]
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                timeout=PROBE_SECONDS + 2, check=False)
    except subprocess.TimeoutExpired:
        return False
    return PROBE_MARK.encode() in result.stdout


def _works(kernel, initramfs):
    """Whether @kernel boots on KVM, from what is known or by a probe."""
    cache = BUILD / "kvm-probe.json"
    try:
        known = json.loads(cache.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        known = {}
    key, now = f"{_boot_id()} {kernel.release}", time.monotonic()
    failed_at = known.get(key)      # None if it booted
    if key in known and (failed_at is None or 0 <= now - failed_at < DOUBT_SECONDS):
        return failed_at is None
    booted = _probe(kernel, initramfs)
    BUILD.mkdir(parents=True, exist_ok=True)
    known[key] = None if booted else now
    cache.write_text(json.dumps(known))
    return booted


def choose(wish, kernel, initramfs):
    """'kvm' or 'tcg', and why."""
    if wish == "tcg":
        return "tcg", "as asked"
    if kernel.processor != HERE:
        return "tcg", f"for {kernel.processor}"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        if wish == "kvm":
            raise LabError("--accel kvm: no access to /dev/kvm", code=1)
        return "tcg", "no /dev/kvm"
    if _works(kernel, initramfs):
        return "kvm", "a probe booted with it"
    if wish == "kvm":
        raise LabError("--accel kvm: a probe did not boot with it", code=1)
    return "tcg", "/dev/kvm is there, but a probe did not boot with it"
