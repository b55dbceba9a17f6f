# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The sources of Linux as Debian packs them, for the test kernels and their style checker.

They are those of an installed package, linux-source-6.1; where the release of Debian has
none, those of the release that has it, whose package is downloaded, and unpacked into
CACHE/sources/<package>, not installed.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from lablib import debian
from lablib.debian_suite import Apt
from lablib.error import LabError
from lablib.place import CACHE

from .error import BuildError

INSTALLED = Path("/usr/src")
FETCHED = CACHE / "sources"
# Which release of Debian has the sources of which, with its security updates.
HOMES = {f"linux-source-{series}": suite for series, suite in debian.SERIES.items()}


def _installed_version(package: str) -> str | None:
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package],
                              capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    status, _, version = done.stdout.partition(" ")
    return version if status == "installed" else None


def version(package: str) -> str:
    """The version of the sources that are here."""
    found = _installed_version(package)
    if found is None and (FETCHED / package / "version").exists():
        found = (FETCHED / package / "version").read_text(encoding="utf-8")
    if found is None:
        raise BuildError(f"the package {package} is not installed (scripts/bootstrap test features), "
                         "nor fetched (scripts/test-kernel build fetches it)")
    return found


def tarball(package: str) -> Path:
    """The archive of the sources that are here."""
    folder = INSTALLED if _installed_version(package) is not None else FETCHED / package
    place = folder / f"{package}.tar.xz"
    if not place.exists():
        raise BuildError(f"no {place} (scripts/bootstrap test features)")
    return place


def _download(package: str, folder: Path, progress) -> None:
    """Put the archive and its version into @folder/new."""
    apt = Apt(HOMES[package], folder)
    apt.get("update")
    progress(f"downloading {package} of {HOMES[package]}")
    apt.get("download", package, cwd=folder)
    (deb,) = folder.glob("*.deb")
    debian.run(["dpkg-deb", "-x", deb, folder / "root"])
    (folder / "new").mkdir()
    (folder / f"root/usr/src/{package}.tar.xz").rename(folder / f"new/{package}.tar.xz")
    found = debian.run(["dpkg-deb", "-f", deb, "Version"]).strip()
    (folder / "new/version").write_text(found, encoding="utf-8")


def provide(package: str, progress) -> None:
    """See that the sources are here."""
    try:
        version(package)
        return
    except BuildError:
        if package not in HOMES:
            raise
    with debian.locked(FETCHED, progress), \
            tempfile.TemporaryDirectory(prefix=debian.UNFINISHED, dir=FETCHED) as folder:
        if (FETCHED / package / "version").exists():
            return  # somebody else has fetched it meanwhile
        try:
            _download(package, Path(folder), progress)
        except LabError as error:
            raise BuildError(f"no {package} is installed, and that of {HOMES[package]} cannot be had: "
                             f"{error}") from None
        shutil.rmtree(FETCHED / package, ignore_errors=True)
        Path(folder, "new").rename(FETCHED / package)
