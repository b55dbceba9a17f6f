# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The root of a release of Debian, made once and never changed: CACHE/distros/<suite>.

It has what debootstrap's minbase has, and apt's sources. It is there whole or not at all.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path

from lablib import debian
from lablib.error import LabError
from lablib.place import CACHE

SUITES = ("bookworm", "trixie", "forky", "sid")
WITHOUT_SECURITY = ("sid",)
DISTROS = CACHE / "distros"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def mirror(archive="debian"):
    """Where this machine's apt has the packages of @archive from."""
    uris = debian.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"]).split()
    found = next((uri for uri in uris if re.search(rf"/{archive}/?$", uri)), None)
    if found is None:
        raise LabError(f"apt has no packages of the archive '{archive}' here, or no lists of them "
                       "(apt-get update)", 1)
    return found


def sources(suite):
    """The text of apt's sources.list for @suite."""
    lines = [f"deb {mirror()} {suite} main"]
    if suite not in WITHOUT_SECURITY:
        lines.append(f"deb {mirror('debian-security')} {suite}-security main")
    return "\n".join(lines) + "\n"


def _make(suite, root, progress):
    if shutil.which("debootstrap") is None:
        raise LabError("no debootstrap, which makes a root (scripts/bootstrap packages)", 1)
    listed = sources(suite)
    progress(f"making a root of {suite}")
    debian.run(["debootstrap", "--variant=minbase", f"--keyring={KEYRING}", suite, root, mirror()])
    (root / "etc/apt/sources.list").write_text(listed)


def provide(suite, progress):
    """The folder with the root of @suite, made unless it is there. LabError unless one is root."""
    if os.getuid():
        raise LabError("only root can make a root of a release and enter it")
    target = DISTROS / suite
    if target.is_dir():
        return target
    with debian.locked(DISTROS, progress):
        if not target.is_dir():
            with tempfile.TemporaryDirectory(prefix=debian.UNFINISHED, dir=DISTROS) as folder:
                root = Path(folder, "root")
                _make(suite, root, progress)
                root.rename(target)
    return target


def archives(suite):
    """The folder in which apt of @suite keeps what it has downloaded."""
    folder = DISTROS / f"{suite}.archives"
    (folder / "partial").mkdir(parents=True, exist_ok=True)
    return folder
