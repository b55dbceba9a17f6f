# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Packages of Debian's for another processor or of another release, unpacked.

Nothing of them runs on this machine: their scripts would have to. They are the root file
system of guests of that processor, or what programs for it are compiled and linked against.
A folder is CACHE/foreign/<suite>-<processor>-<digest of the packages' names>, laid out as
from /, and may be removed.
"""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from . import debian, debian_suite
from .error import LabError
from .place import CACHE

FOLDER = CACHE / "foreign"
HERE = debian_suite.HERE    # this machine's processor
# Folders that are links to those of /usr before anything is unpacked, as Debian has them
MERGED = ("bin", "lib", "lib32", "lib64", "sbin")
# Where programs look for users and groups, and what has the first of them
ACCOUNTS = {"passwd": "passwd.master", "group": "group.master"}


def _download(suite, processor, packages, folder, with_dependencies):
    """Files of @packages and of what they depend on."""
    apt = debian_suite.Apt(suite, folder, processor)
    apt.get("update")
    if not with_dependencies:
        apt.get("download", *packages, cwd=folder)
        return sorted(folder.glob("*.deb"))
    apt.get("install", "--download-only", "--no-install-recommends", "--yes",
            *(f"{package}:{processor}" for package in packages))
    return sorted(folder.glob("apt/cache/archives/*.deb"))


def _unpack(files, root):
    """Unpack packages into the folder @root, which is made."""
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for file in files:
        # --keep-directory-symlink: a package that has /bin must not replace the link.
        debian.run(["sh", "-c", 'dpkg-deb --fsys-tarfile "$0" | '
                    'tar -x -C "$1" --keep-directory-symlink --no-same-owner', file, root])
    for name, master in ACCOUNTS.items():
        origin = root / "usr/share/base-passwd" / master
        if origin.exists():
            shutil.copy(origin, root / "etc" / name)


def _mend_links(root):
    """Have absolute links point below @root, since it is used from outside."""
    for path in root.rglob("*"):
        if path.is_symlink() and os.path.isabs(target := os.readlink(path)):
            inside = root / target.lstrip("/")
            path.unlink()
            path.symlink_to(os.path.relpath(inside, path.parent))


def provide(suite, processor, packages, progress, with_dependencies=True):
    """The folder with @packages of @suite for @processor, by Debian's names; made if missing.

    with_dependencies: also what they depend on, else what is installed here has to do
    Raises LabError with what apt said if they cannot be had.
    """
    said = "\n".join(sorted(packages)) + ("" if with_dependencies else "\nalone")
    names = hashlib.sha256(said.encode()).hexdigest()[:12]
    target = FOLDER / f"{suite}-{processor}-{names}"
    with debian.locked(FOLDER, progress):
        FOLDER.chmod(0o700)     # some programs there will be set-uid, and nobody updates them
        if target.exists():
            return target
        with tempfile.TemporaryDirectory(prefix=debian.UNFINISHED, dir=FOLDER) as name:
            folder = Path(name)
            progress(f"downloading packages of {suite} for {processor}")
            files = _download(suite, processor, packages, folder, with_dependencies)
            if not files:
                raise LabError(f"apt has downloaded nothing of {', '.join(packages)}")
            progress(f"unpacking {len(files)} packages into {target}")
            (folder / "root").mkdir()
            _unpack(files, folder / "root")
            _mend_links(folder / "root")
            (folder / "root").rename(target)
    return target
