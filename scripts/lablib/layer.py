# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The layer a guest has over the host's root: our modules and the agent.

A layer holds usr/lib/modules/<release>/ with our modules in updates/, and modules.dep and
its like made by depmod of ours and the kernel's own, so that `modprobe`, `modinfo` and
autoload by alias in the guest find ours before the kernel's own. These are mounted on
kernel/ there, unless the guest's root has them. It is made on
the host, where depmod takes a second, not under emulation.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from .error import LabError
from .place import CACHE, HERE, SOURCES, WORK
from .state import BUILD

GUEST_FILES = ("agent.py", "channel.py", "bringup.sh", "lab-sm")
MADE_OF = ("drivers", "Kbuild", "VERSION")
BUILD_MODULES = HERE / "build-modules"
DRIVERS = ("ours", "intree")
LAYOUT = Path(__file__)     # one that an earlier version of it has made is laid out otherwise
IN_USE = BUILD / "in-use"  # a file to lock for each layer that guests have

_held = []  # descriptors of locks on layers; the daemon inherits them


def _newest(path):
    """The latest change of a file, or of any file under a folder."""
    if path.is_file():
        return path.stat().st_mtime
    return max((_newest(entry) for entry in path.iterdir()), default=0.0)


def build_modules(kernel):
    """Build our modules for @kernel unless they are newer than their sources.

    Returns the modules by name.
    """
    if not (SOURCES / "Kbuild").exists():
        raise LabError(f"no sources of the modules in {SOURCES}: "
                       "the package openipoib-dkms has them", code=1)
    mirror = WORK / "modules"
    folder = mirror / Path(kernel.build).name / "drivers"
    modules = {"sib": folder / "sib/sib.ko", "ib_ipoib": folder / "ipoib/ib_ipoib.ko"}
    newest = max(_newest(path) for path in [BUILD_MODULES, *(SOURCES / name for name in MADE_OF)])
    if all(m.exists() and m.stat().st_mtime > newest for m in modules.values()):
        return modules
    environment = os.environ | {"MODULES_SOURCES": str(SOURCES), "MODULES_MIRROR": str(mirror),
                                "OPENIPOIB_PROBES": str(CACHE / "probes")}
    result = subprocess.run([BUILD_MODULES, kernel.build], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False)
    if result.returncode:
        raise LabError(f"the modules do not build for {kernel.release}:\n{result.stdout}")
    for module in modules.values():
        if not module.exists():
            raise LabError(f"scripts/build-modules made no {module}")
        os.utime(module)
    return modules


def _depmod(kernel, staging, target):
    """Run depmod over the kernel's modules plus updates/ of @target."""
    root = staging / "lib/modules" / kernel.release
    root.mkdir(parents=True)
    if kernel.modules is not None:
        for entry in kernel.modules.iterdir():
            if entry.name.startswith("modules."):
                shutil.copy(entry, root)
            elif entry.name == "kernel":
                (root / "kernel").symlink_to(entry)
    (root / "updates").symlink_to(target / "updates")
    result = subprocess.run(["/sbin/depmod", "-b", staging, kernel.release],
                            capture_output=True, text=True, check=False)
    if result.returncode:
        raise LabError(f"depmod: {result.stderr.strip()}")
    for entry in root.iterdir():
        if entry.name.startswith("modules."):
            shutil.copy(entry, target)


def _digest(kernel, files):
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    if kernel.modules is not None:
        digest.update(bytes(kernel.modules.resolve()))
        order = kernel.modules / "modules.order"
        if order.exists():
            digest.update(str(order.stat().st_mtime_ns).encode())
    return digest.hexdigest()[:12]


def _lock(layer, how):
    """Lock a layer; the lock's descriptor, or None if another lab's lock is in the way."""
    IN_USE.mkdir(parents=True, exist_ok=True)
    fd = os.open(IN_USE / layer.name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def _remove_unused(layers):
    for layer in layers:
        fd = _lock(layer, fcntl.LOCK_EX)
        if fd is not None:
            shutil.rmtree(layer)
            (IN_USE / layer.name).unlink()
            os.close(fd)


def build(kernel, driver, modules):
    """The layer for @kernel with @driver ('ours' or 'intree'); cached.

    It stays for as long as this process and what it starts have its lock. Not for
    several labs at once: see state.building().
    """
    target = _build(kernel, driver, modules)
    _held.append(_lock(target, fcntl.LOCK_SH))
    return target


def _build(kernel, driver, modules):
    chosen = [modules["sib"]] + ([modules["ib_ipoib"]] if driver == "ours" else [])
    here = Path(__file__).resolve().parent
    helpers = [here / name for name in GUEST_FILES]
    digest = _digest(kernel, [*chosen, *helpers, LAYOUT])
    target = BUILD / f"layer-{kernel.release}-{driver}-{digest}"
    if target.exists():
        return target
    BUILD.mkdir(parents=True, exist_ok=True)
    _remove_unused(BUILD.glob(f"layer-{kernel.release}-{driver}-*"))
    temporary = BUILD / f"layer-{kernel.release}-{driver}.new"
    staging = BUILD / f"staging-{kernel.release}-{driver}"
    for leftover in (temporary, staging):
        shutil.rmtree(leftover, ignore_errors=True)
    tree = temporary / "usr/lib/modules" / kernel.release
    (tree / "updates").mkdir(parents=True)
    if kernel.modules is not None and not kernel.is_installed:
        (tree / "kernel").mkdir()
    for module in chosen:
        shutil.copy(module, tree / "updates")
    _depmod(kernel, staging, tree)
    shutil.rmtree(staging)
    lib = temporary / "usr/lib/openipoib-lab"
    lib.mkdir(parents=True)
    for helper in helpers:
        shutil.copy(helper, lib)
    sbin = temporary / "usr/sbin"
    sbin.mkdir(parents=True)
    shutil.copy(here / "lab-sm", sbin)
    temporary.rename(target)
    return target
