# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Kernels that guests can boot."""

import re
from dataclasses import dataclass
from pathlib import Path

from . import debian, debian_suite, host, package
from .error import LabError
from .place import HERE, WORK

ROOT = Path("/")
# Our own test kernels, and how many times longer than a stock kernel on one
# processor they may take: every deadline, of the lab and of tests, is stretched
# by this. They run on two processors.
TEST_KERNELS = {"test": 3, "debug": 8, "race": 12}
# More words for the command line. A processor that watches for data races may come late to
# a link, which then gives it up.
WORDS = {"race": "sib.hello_timeout=5000"}
# The same of User-Mode Linux, in which tests run that need no lab.
UML = {"uml": 3}


def slowness(name):
    """By how much deadlines for the kernel that a user calls @name are stretched."""
    return (TEST_KERNELS | UML).get(Path(name).name, 1)


def words(name):
    """What the kernel that a user calls @name has on its command line besides."""
    return WORDS.get(Path(name).name, "")


@dataclass(frozen=True)
class Kernel:
    """A kernel image with its modules.

    name:    what the user asked for
    release: as in `uname -r`
    image:   bzImage
    modules: folder like /lib/modules/<release>; None if all is built in
    build:   the argument for scripts/build-modules
    headers: the folder in which make builds modules for it
    """

    name: str
    release: str
    image: Path
    modules: Path | None
    build: str
    headers: Path

    @property
    def processor(self):
        """Debian's name of the processor that it is for."""
        return debian_suite.processor(self.release) if self.is_stock else debian_suite.HERE

    @property
    def is_installed(self):
        """Whether its modules are where the guest's root has them anyway."""
        return self.processor == debian_suite.HERE and \
            self.modules == ROOT / "lib/modules" / self.release

    @property
    def is_stock(self):
        """Whether it is a distribution's, not one from a build tree."""
        return self.build == self.release


def _version_key(release):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", release)]


def _roots():
    """Below what there may be kernels: the cache's come last, and count more when equal.

    What has headers alone is for those who ask for its suite.
    """
    return [ROOT, *(root for folder in (debian_suite.KERNELS, package.KERNELS, debian.KERNELS)
                    for root in folder.glob("[0-9]*")
                    if folder == debian.KERNELS or debian.is_whole(root, root.name))]


def _cure(name):
    """How a user comes by the kernel @name, which is not here."""
    if not re.fullmatch(r"[\d.]+", name):
        return host.kernel_packages(name)
    if host.name() != host.DEBIAN:
        return f"lab up --kernel takes {host.KERNELS}"
    if name in debian.SERIES:
        return f"{HERE}/debian-kernel get {name}"
    return (f"Debian's {', '.join(debian.SERIES)} and the newest of its suites, such as sid, can be fetched; "
            f"lab up --kernel also takes {host.KERNELS}")


def _newest(name, files, what):
    """The newest of @files, (release, path), whose release is @name or starts with it.

    Kernels for other processors count only if the whole of the release is named.
    """
    if not re.match(r"\d+\.\d+", name):
        raise LabError(f"kernel '{name}': a version such as 6.12, a release, or a path", code=1)
    pattern = re.compile(re.escape(name) + r"([.+-].*)?$")
    found = [file for file in files if pattern.match(file[0])
             and (file[0] == name or debian_suite.processor(file[0]) == debian_suite.HERE)]
    if not found:
        raise LabError(f"no kernel '{name}' with {what}, neither installed nor in "
                       f"{debian.KERNELS} ({_cure(name)})", code=1)
    best = max(_version_key(release) for release, _ in found)
    return [file for file in found if _version_key(file[0]) == best][-1]


def _suite_of(name):
    """@name, or the suite that has the newest kernel of a series for another processor (6.1:arm64)."""
    series, _, processor = name.partition(":")
    return f"{debian.SERIES[series]}:{processor}" if processor and series in debian.SERIES else name


def find(name):
    """The kernel a user means by @name: 6.1, a release, a suite of Debian's, or a build tree.

    Of series and suites also that for another processor: 6.1:arm64.
    """
    name = _suite_of(name)
    if name in TEST_KERNELS:
        return _from_tree(name, WORK / "kernels" / name)
    if debian_suite.parse(name):
        return find(debian_suite.release(name))
    if "/" in name:
        return _from_tree(name, Path(name))
    folders = [(modules.name, root) for root in _roots() for modules in (root / "lib/modules").glob("*")
               if debian.is_whole(root, modules.name)]
    release, root = _newest(name, folders, "its image, modules and headers")
    modules = root / "lib/modules" / release
    return Kernel(name, release, debian.image(root, release), modules, release, modules / "build")


def headers(name):
    """The folder in which make builds modules for the newest kernel @name; it may lack an image."""
    trees = [(makefile.parents[1].name, makefile.parent)
             for root in _roots() for makefile in (root / "lib/modules").glob("*/build/Makefile")]
    return _newest(name, trees, "headers")[1]


def own():
    """The kernel that this distribution has: a series, the suite that it is, or else the oldest series."""
    series, oldest = debian.own_series(), next(iter(debian.SERIES))
    if series in debian.SERIES:
        return series
    is_newer = series is not None and _version_key(series) > _version_key(oldest)
    # os-release of sid names the next release, whose suite is not sid.
    return host.codename() if is_newer and debian_suite.parse(host.codename()) else oldest


def provide(name, progress):
    """find(), after fetching a kernel of Debian's, or unpacking a package, that is not here."""
    if name.endswith(package.SUFFIX):
        return find(package.unpack(Path(name), progress))
    asked, name = name, _suite_of(name)
    try:
        return find(name)
    except LabError:
        if name not in debian.SERIES and not debian_suite.parse(name):
            raise
    is_debian = host.name() == host.DEBIAN
    try:
        if name in debian.SERIES and is_debian:     # else apt's lists have other kernels
            debian.fetch(name, progress)
            return find(name)
    except debian.NotInLists:
        pass
    name = debian.SERIES.get(name, name)
    try:
        debian_suite.fetch(name, progress, with_image=True)
    except LabError as error:
        if is_debian:
            raise
        raise LabError(f"kernel '{asked}' is not here and cannot be fetched: {error}. "
                       f"lab up --kernel also takes {host.KERNELS}", code=1) from None
    return find(name)


def _from_tree(name, tree):
    """A kernel from its build tree; modules, if any, installed to <tree>/modroot."""
    image = tree / "arch/x86/boot/bzImage"
    release_file = tree / "include/config/kernel.release"
    if not image.exists() or not release_file.exists():
        raise LabError(f"kernel '{name}': no {image} (scripts/test-kernel of a checkout builds it)",
                       code=1)
    release = release_file.read_text().strip()
    modules = tree / "modroot/lib/modules" / release
    return Kernel(name, release, image, modules if modules.is_dir() else None, str(tree),
                  tree)
