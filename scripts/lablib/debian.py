# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Debian's kernels with their headers, unpacked into the cache.

Guests boot them, and modules are built for them, but this machine never runs them.
So their packages are downloaded and unpacked, not installed: /boot, the boot loader
and /lib/modules stay as they are, and no initramfs is made.

A kernel is in CACHE/debian/<release>, laid out as from / (boot, lib/modules, usr).
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import host
from .error import LabError
from .place import CACHE

# A series, and the suite that has its newest kernel where apt's own lists have none of it.
SERIES = {"6.1": "bookworm-security", "6.12": "trixie-security", "7.3": "trixie-backports"}
META = "linux-image-amd64"      # depends on the kernel of a release
KERNELS = CACHE / "debian"
UNFINISHED = ".new-"


def image(root, release):
    """The image of the kernel @release below @root; None if there is none."""
    places = (root / f"boot/vmlinuz-{release}", root / "lib/modules" / release / "vmlinuz")
    return next((place for place in places if place.exists()), None)


def is_whole(root, release):
    """Whether image, modules and headers of the kernel @release are below @root."""
    modules = root / "lib/modules" / release
    return image(root, release) is not None and all(
        path.exists() for path in (modules / "modules.dep", modules / "build/Makefile"))


def _complaint(said):
    """What is wrong, of all that a command has said: the first error if it is apt."""
    return next((line for line in said.splitlines() if line.startswith("E: ")), said.strip())


def run(command, called=None, **options):
    """Run a command; its output. Raises LabError with what it said if it fails.

    @called: its name in that error, if the whole of it is not
    """
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False,
                                env=os.environ | {"LC_ALL": "C"}, **options)
    except FileNotFoundError:
        if command[0] in ("apt-cache", "apt-get"):
            raise LabError(f"no {command[0]}: kernels are taken from Debian's packages", 1) from None
        raise LabError(host.no_program(command[0]), 1) from None
    if result.returncode:
        raise LabError(f"{called or ' '.join(map(str, command))}: {_complaint(result.stderr)}")
    return result.stdout


class NotInLists(LabError):
    """apt's lists have kernels, but none of that series."""


def depends(record):
    """The packages that the one of this record depends on, without alternatives."""
    found = re.search(r"^Depends: (.*)$", record, re.MULTILINE)
    return [entry.split()[0] for entry in found[1].split(",")] if found else []


def _needs(package):
    """The packages that @package depends on, in the version that apt would install."""
    return depends(run(["apt-cache", "show", "--no-all-versions", package]))


def image_of(release, needs):
    """The packages with image and modules of the kernel @release.

    @needs: returns the packages that one depends on
    """
    image = f"linux-image-{release}"
    # Since 6.17 the image depends on others, which have what it consisted of.
    names = [f"linux-{part}-{release}" for part in ("binary", "modules", "base")]
    return [image, *(name for name in needs(image) if name in names)]


def headers_of(release, needs):
    """The packages with headers and tools of the kernel @release; @needs as of image_of()."""
    headers = f"linux-headers-{release}"
    return [headers, *(name for name in needs(headers)
                       if re.match(r"linux-(headers|kbuild)-", name))]


def _release_of(series):
    """The release of the newest kernel of @series in apt's lists."""
    needed = _needs(META)       # before all else: it tells whether there are lists
    found = [name for name in needed if name.startswith(f"linux-image-{series}.")]
    if not found:
        try:
            found = [name for name in _needs(f"linux-image-{series}-amd64")
                     if name.startswith(f"linux-image-{series}.")]
        except LabError:
            pass
    if not found:
        raise NotInLists(f"{META} depends on {', '.join(needed)}, not on a kernel {series}", 1)
    return found[0].removeprefix("linux-image-")


def resolve(series):
    """The release of the newest kernel of @series, and the packages that it consists of."""
    release = _release_of(series)
    return release, image_of(release, _needs) + headers_of(release, _needs)


def own_series():
    """The series of the kernel that this distribution has; None if apt's lists have none."""
    try:
        found = re.search(r"linux-image-(\d+\.\d+)[.+-]", " ".join(_needs(META)))
    except LabError:
        found = None
    return found[1] if found else None


def _download(series, folder, progress):
    """Put the packages of the newest kernel into @folder, unless it is here; its release."""
    release, packages = resolve(series)
    if is_whole(KERNELS / release, release):
        return release
    records = run(["apt-cache", "show", "--no-all-versions", *packages])
    size = sum(map(int, re.findall(r"^Size: (\d+)$", records, re.MULTILINE)))
    progress(f"downloading Debian's kernel {release} with its headers: {size / 1e6:.0f} MB")
    # Root's cache cannot be entered by apt's own user, as whom apt would download.
    sandbox = [] if os.getuid() else ["-o", "APT::Sandbox::User=root"]
    run(["apt-get", "-q", "-o", "Acquire::Retries=3", *sandbox, "download", *packages], cwd=folder)
    return release


def _download_with_lists(series, folder, progress):
    """_download(), after bringing apt's lists up to date if it fails without."""
    try:
        return _download(series, folder, progress)
    except NotInLists:
        raise
    except LabError as error:
        if os.getuid():
            raise LabError(f"Debian's kernel {series} cannot be had: {error}\n"
                           "If apt's lists are missing or old: apt-get update, as root.") from None
    progress("apt's lists are missing or old: apt-get update")
    run(["apt-get", "-q", "update"])
    try:
        return _download(series, folder, progress)
    except NotInLists:
        raise
    except LabError as error:
        raise LabError(f"Debian's kernel {series} cannot be had: {error}") from None


def relocate(root, release):
    """Turn what points to /usr/src into what points into @root, wherever that is.

    The links are absolute, or relative to where the release has its modules.
    """
    headers = root / f"usr/src/linux-headers-{release}"
    makefile = headers / "Makefile"
    makefile.write_text(re.sub(r"^include /usr/src/", "include ../", makefile.read_text(),
                               flags=re.MULTILINE))
    for name in ("build", "source"):
        link = root / "lib/modules" / release / name
        target = Path("../../../usr/src", link.readlink().name)
        link.unlink()
        link.symlink_to(target)


def unpack(packages, root):
    """Unpack @packages, files of a kernel, into the folder @root, with nothing that nobody needs."""
    root.mkdir(exist_ok=True)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda package: run(["dpkg-deb", "-x", package, root]), packages))
    modules = root / "usr/lib/modules"
    if modules.is_dir():        # as releases with /usr merged have it
        (root / "lib").mkdir(exist_ok=True)
        shutil.copytree(modules, root / "lib/modules", symlinks=True, dirs_exist_ok=True,
                        copy_function=shutil.move)
        shutil.rmtree(modules)
    for path in (root / "boot").glob("*"):
        if not path.name.startswith("vmlinuz-"):
            path.unlink()
    shutil.rmtree(root / "usr/share", ignore_errors=True)


def index_modules(root, release):
    run(["/sbin/depmod", "-b", root, release])


def _make(packages, root, release):
    """Make a kernel of @packages, files, in the folder @root."""
    unpack(packages, root)
    relocate(root, release)
    index_modules(root, release)
    if not is_whole(root, release):
        raise LabError(f"the packages of Debian's kernel {release} do not have all of image, "
                       "modules and headers")


@contextlib.contextmanager
def locked(folder, progress):
    """Hold the lock of a folder of the cache; say what one waits for.

    What others have begun there, and were killed, is removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another download")
            fcntl.flock(file, fcntl.LOCK_EX)
        for leftover in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


def fetch(series, progress):
    """Bring the newest kernel of @series into the cache, whole or not at all.

    NotInLists: apt's lists have none; that of SERIES has it.
    """
    with locked(KERNELS, progress):
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=KERNELS) as folder:
            root = Path(folder, "root")
            release = _download_with_lists(series, folder, progress)
            target = KERNELS / release
            if is_whole(target, release):
                return  # somebody else has fetched it meanwhile
            progress(f"unpacking it into {target}")
            _make(sorted(Path(folder).glob("*.deb")), root, release)
            shutil.rmtree(target, ignore_errors=True)  # in part, if at all
            root.rename(target)
