# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Where the lab finds what it runs, and where it keeps what it makes.

In a checkout all of it is below the checkout's top. Installed, this package is
<prefix>/share/openipoib-lab/lablib; the modules' sources are those for DKMS, and
ibfabric is where administrators' programs are.
"""

import os
from pathlib import Path

from .error import LabError

HERE = Path(__file__).resolve().parents[1]
IS_INSTALLED = HERE.name == "openipoib-lab"
PROGRAM = "openipoib-lab" if IS_INSTALLED else "scripts/lab"
PREFIX = HERE.parents[1]  # if installed


def _sources():
    if not IS_INSTALLED:
        return HERE.parent
    folder = "openipoib-" + (HERE / "VERSION").read_text().strip()
    places = (PREFIX / "src" / folder, Path("/usr/src") / folder)
    return next((place for place in places if place.is_dir()), places[-1])


def _work():
    if not IS_INSTALLED:
        return HERE.parent / "build"
    default = Path("/var/cache") if os.getuid() == 0 else Path.home() / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME", default)) / "openipoib-lab"


def _cache():
    if IS_INSTALLED:
        return WORK
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "openipoib"


SOURCES = _sources()
WORK = _work()
CACHE = _cache()  # kernels, which all checkouts of a user share

BIN = PREFIX / "sbin" if IS_INSTALLED else WORK / "cmake/bin"


def provide(programs):
    """See that these programs are in BIN; in a checkout they are built if need be."""
    if IS_INSTALLED:
        for name in programs:
            if not (BIN / name).exists():
                raise LabError(f"no {BIN / name}: the package openipoib-fabric has it", code=1)
        return
    from checklib.programs import build
    try:
        build(programs)
    except RuntimeError as error:
        raise LabError(str(error)) from None
