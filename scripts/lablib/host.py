# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which distribution this machine has, what packages are called there, and who installs them.

As scripts/bootstraplib has it, which is not installed with the lab.
"""

import platform
import shutil

DEBIAN, UBUNTU, FEDORA, OPENSUSE, UNKNOWN = "debian", "ubuntu", "fedora", "opensuse", "unknown"
INSTALL = {DEBIAN: "apt-get install", UBUNTU: "apt-get install", FEDORA: "dnf install",
           OPENSUSE: "zypper install"}
# Programs -> the package that has them, by one name on all of these
PROGRAMS = {"dpkg-deb": "dpkg", "depmod": "kmod"}
# What --kernel takes on any of them
KERNELS = ("RELEASE, as uname -r says it, of a kernel that is installed with its headers; FILE.deb, the "
           "package of an image, with those of its modules and headers beside it; or the path of a "
           "kernel build tree")


def _about():
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def codename():
    """What this release of the distribution is called; empty if it does not say."""
    return _about().get("VERSION_CODENAME", "")


def name():
    """Debian and what is made of it without being Ubuntu are DEBIAN; RHEL is FEDORA."""
    about = _about()
    words = f"{about.get('ID', '')} {about.get('ID_LIKE', '')}".split()
    if "ubuntu" in words:
        return UBUNTU
    if {"fedora", "rhel", "centos"}.intersection(words):
        return FEDORA
    if any(word == "suse" or word.startswith("opensuse") for word in words):
        return OPENSUSE
    return DEBIAN if shutil.which("apt-get") and shutil.which("dpkg-query") else UNKNOWN


def no_program(program):
    """What to tell a user who lacks @program."""
    program = program.rpartition("/")[2]
    package, install = PROGRAMS.get(program), INSTALL.get(name())
    if package is None:
        return f"there is no program {program} here"
    if install is None:
        return f"there is no program {program} here: Debian has it in the package {package}"
    return f"there is no program {program} here: the package {package} has it ({install} {package}, as root)"


def _packages_of_kernel(here, release):
    """Packages of the distribution @here, in words."""
    parts = {DEBIAN: ("linux-image", "linux-headers"),
             UBUNTU: ("linux-image", "linux-modules", "linux-headers"),
             FEDORA: ("kernel-core", "kernel-modules", "kernel-devel")}.get(here)
    if parts is None:   # openSUSE's versions have more parts than the release
        flavour = release.rpartition("-")[2]
        return f"kernel-{flavour} and kernel-{flavour}-devel, of the version that is {release}"
    *first, last = (f"{part}-{release}" for part in parts)
    return f"{', '.join(first)} and {last}"


def kernel_packages(release):
    """Where image, modules and headers of the kernel @release come from: a sentence without its end."""
    here = name()
    if here == UNKNOWN:
        return "the headers of a kernel may be a package of their own, which has to be installed, too"
    return f"they are in the packages {_packages_of_kernel(here, release)}: {INSTALL[here]}, as root"
