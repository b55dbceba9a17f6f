# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A kernel that a user has as packages, files of the kind .deb, unpacked into the cache.

The user names the one with the image. Of the files beside it those are taken that it
depends on, and the headers of its release with what these depend on; headers that are
installed do as well. It is in CACHE/packages/<release>, laid out as from /.
"""

import re
import shutil
from pathlib import Path

from . import debian, debian_suite
from .error import LabError
from .place import CACHE

SUFFIX = ".deb"
KERNELS = CACHE / "packages"
MADE_OF = "made-of"     # file: the packages, with their sizes and times
INSTALLED = Path("/lib/modules")


def _field(path, name):
    return debian.run(["dpkg-deb", "-f", path, name]).strip()


def _beside(path):
    """Name of a package -> its file, of those of kernels in the folder of @path."""
    return {_field(file, "Package"): file for file in sorted(path.parent.glob(f"linux-*{SUFFIX}"))}


def _parts(path):
    """The release of a kernel, the files with its image and those with its headers."""
    name = _field(path, "Package")
    found = re.fullmatch(r"linux-image-(?:unsigned-)?(\d.*)", name)
    if not found:
        raise LabError(f"{path}: {name} is no package of a kernel's image", code=1)
    release, files = found[1], _beside(path)
    files[f"linux-image-{release}"] = path

    def needs(package):
        return debian.depends("Depends: " + _field(files[package], "Depends")) if package in files else []

    image = debian.image_of(release, needs)
    if absent := [f"{one}{SUFFIX}" for one in image if one not in files]:
        raise LabError(f"{path}: {', '.join(absent)}, which it depends on, is not beside it", code=1)
    headers = [files[one] for one in debian.headers_of(release, needs) if one in files]
    if not headers and not (INSTALLED / release / "build/Makefile").exists():
        raise LabError(f"{path}: linux-headers-{release}{SUFFIX} is not beside it, nor installed: "
                       "there is nothing to build modules with", code=1)
    return release, [files[one] for one in image], headers


def _unpack(root, release, image, headers, made_of):
    debian.unpack(image + headers, root)
    if headers:
        prefix = debian_suite.CROSS.get(debian_suite.processor(release), "")
        debian_suite.adapt(root, release, root / "libc", prefix)
    else:
        build = root / "lib/modules" / release / "build"
        build.unlink(missing_ok=True)
        build.symlink_to((INSTALLED / release / "build").resolve())
    debian.index_modules(root, release)
    if not debian.is_whole(root, release):
        raise LabError(f"{', '.join(path.name for path in image + headers)}: these do not have all of "
                       "image, modules and headers", code=1)
    (root / MADE_OF).write_text(made_of)


def unpack(path, progress):
    """Unpack the kernel whose image is in the file @path, unless it is; its release."""
    if not path.is_file():
        raise LabError(f"{path}: no such file", code=1)
    release, image, headers = _parts(path.resolve())
    made_of = "".join(f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}\n"
                      for file in image + headers)
    target = KERNELS / release
    with debian.locked(KERNELS, progress):
        if debian.is_whole(target, release) and (target / MADE_OF).read_text() == made_of:
            return release
        progress(f"unpacking {', '.join(file.name for file in image + headers)}")
        shutil.rmtree(target, ignore_errors=True)
        try:    # where it stays: its headers name their place
            _unpack(target, release, image, headers, made_of)
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise
    return release
