# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Kernels that guests can boot."""

import re
from dataclasses import dataclass
from pathlib import Path

from .error import LabError
from .place import IS_INSTALLED, WORK

BOOT = Path("/boot")
MODULES = Path("/lib/modules")
# Our own test kernels, and how many times longer than a stock kernel on one
# processor they may take: every deadline, of the lab and of tests, is stretched
# by this. They run on two processors.
TEST_KERNELS = {"test": 3, "debug": 8}
# The same of User-Mode Linux, in which tests run that need no lab.
UML = {"uml": 3}


def slowness(name):
    """By how much deadlines for the kernel that a user calls @name are stretched."""
    return (TEST_KERNELS | UML).get(Path(name).name, 1)


@dataclass(frozen=True)
class Kernel:
    """A kernel image with its modules.

    name:    what the user asked for
    release: as in `uname -r`
    image:   bzImage
    modules: folder like /lib/modules/<release>; None if all is built in
    build:   the argument for scripts/build-modules
    """

    name: str
    release: str
    image: Path
    modules: Path | None
    build: str

    @property
    def is_installed(self):
        """Whether its modules are where the guest's root has them anyway."""
        return self.modules == MODULES / self.release


def _version_key(release):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", release)]


def find(name):
    """The kernel a user means by @name: 6.1, a release, or a build tree."""
    if name in TEST_KERNELS:
        return _from_tree(name, WORK / "kernels" / name)
    if "/" in name:
        return _from_tree(name, Path(name))
    if not re.match(r"\d+\.\d+", name):
        raise LabError(f"--kernel {name}: a version such as 6.12, a release, or a path", code=1)
    pattern = re.compile(re.escape(name) + r"([.+-].*)?$")
    releases = [path.name.removeprefix("vmlinuz-") for path in BOOT.glob("vmlinuz-*")]
    releases = [r for r in releases if pattern.match(r) and (MODULES / r / "modules.dep").exists()]
    if not releases:
        cure = "" if IS_INSTALLED else " (scripts/bootstrap installs 6.1 and 6.12)"
        raise LabError(f"no kernel '{name}' in {BOOT} with its modules in {MODULES}{cure}", code=1)
    release = max(releases, key=_version_key)
    return Kernel(name, release, BOOT / f"vmlinuz-{release}", MODULES / release, release)


def _from_tree(name, tree):
    """A kernel from its build tree; modules, if any, installed to <tree>/modroot."""
    image = tree / "arch/x86/boot/bzImage"
    release_file = tree / "include/config/kernel.release"
    if not image.exists() or not release_file.exists():
        raise LabError(f"kernel '{name}': no {image} (scripts/test-kernel of a checkout builds it)",
                       code=1)
    release = release_file.read_text().strip()
    modules = tree / "modroot/lib/modules" / release
    return Kernel(name, release, image, modules if modules.is_dir() else None, str(tree))
