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


def name():
    """Debian and what is made of it without being Ubuntu are DEBIAN; RHEL is FEDORA."""
    try:
        about = platform.freedesktop_os_release()
    except OSError:
        about = {}
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
