# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The guests' initramfs: mounts the host's root under a tmpfs and goes there.

Built from a static busybox and the few modules needed to get at the root. Not
compressed: under emulation, unpacking would cost more than it saves.
"""

import gzip
import hashlib
import lzma
import os
import stat
import subprocess
from pathlib import Path

from . import busybox, machine
from .debian_suite import HERE
from .error import LabError
from .state import BUILD

MODULES = ("9pnet_virtio", "9p", "overlay", "virtio_console", "virtio_net")
PROBE_MARK = "openipoib-probe: booted"  # init.sh prints it

INIT = Path(__file__).with_name("init.sh")


class Archive:
    """A cpio archive in the format that Linux unpacks ("newc")."""

    def __init__(self):
        self._parts = []
        self._inode = 0

    def _entry(self, name, mode, data=b"", rdev=(0, 0)):
        self._inode += 1
        encoded = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev, len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        head = header + encoded
        self._parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def folder(self, name):
        self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o644):
        self._entry(name, stat.S_IFREG | mode, data)

    def device(self, name, major, minor):
        self._entry(name, stat.S_IFCHR | 0o600, rdev=(major, minor))

    def bytes(self):
        self._entry("TRAILER!!!", 0)
        return b"".join(self._parts)


def module_files(kernel):
    """The files of the modules that @kernel needs to reach its root, in order."""
    if kernel.modules is None:
        return []
    base = kernel.modules.parents[2]
    files = []
    for module in filter(None, (machine.of(kernel.processor).driver, *MODULES)):
        result = subprocess.run(
            ["/sbin/modprobe", "-d", str(base), "-S", kernel.release, "--show-depends", module],
            capture_output=True, text=True, check=False)
        if result.returncode and not kernel.is_stock:
            continue  # a test kernel has it built in and knows no modules.builtin
        if result.returncode:
            raise LabError(f"modprobe {module}: {result.stderr.strip()}")
        for line in result.stdout.splitlines():
            words = line.split()
            if words[0] == "insmod" and words[1] not in files:
                files.append(words[1])
    return files


def _unpack_zstd(path):
    try:
        done = subprocess.run(["zstd", "-dcq", str(path)], capture_output=True, check=False)
    except FileNotFoundError:
        raise LabError(f"{path}: no program zstd to unpack it; install zstd", code=1) from None
    if done.returncode:
        raise LabError(f"{path}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


# How distributions compress modules
UNPACK = {".xz": lambda path: lzma.decompress(path.read_bytes()),
          ".gz": lambda path: gzip.decompress(path.read_bytes()),
          ".zst": _unpack_zstd}


def _read_module(path):
    """Name, without what says how it is compressed, and content of a module's file."""
    path = Path(path)
    unpack = UNPACK.get(path.suffix)
    return (path.stem, unpack(path)) if unpack else (path.name, path.read_bytes())


def build(kernel, progress):
    """The initramfs for @kernel; made again only if one of its parts changed."""
    files = module_files(kernel)
    program = busybox.find() if kernel.processor == HERE else \
        busybox.fetch(kernel.processor, progress)
    digest = hashlib.sha256(INIT.read_bytes())
    for path in [str(program), *files]:
        status = os.stat(path)
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}".encode())
    target = BUILD / f"initramfs-{kernel.release}-{digest.hexdigest()[:12]}"
    if target.exists():
        return target
    archive = Archive()
    for name in ("bin", "dev", "proc", "sys", "host", "layer", "rw", "root", "lib"):
        archive.folder(name)
    archive.device("dev/console", 5, 1)
    archive.file("init", INIT.read_bytes(), 0o755)
    archive.file("bin/busybox", program.read_bytes(), 0o755)
    names = []
    for path in files:
        name, content = _read_module(path)
        archive.file(f"lib/{name}", content)
        names.append(f"/lib/{name}")
    archive.file("modules", "\n".join(names).encode())
    BUILD.mkdir(parents=True, exist_ok=True)
    for old in BUILD.glob(f"initramfs-{kernel.release}-*"):
        old.unlink()
    temporary = target.with_name("initramfs.new")
    temporary.write_bytes(archive.bytes())
    temporary.rename(target)
    return target
