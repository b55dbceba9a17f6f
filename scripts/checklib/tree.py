# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The files of the repository, by kind."""

import os
import subprocess
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "build"
LOGS = BUILD / "logs"
PROCESSORS = os.cpu_count() or 1
SPDX = "SPDX-License-Identifier: GPL-2.0-only OR MIT"
# Texts that carry no licence line: .reuse/dep5 covers them.
NO_SPDX_LINE = ("LICENSES/", ".reuse/", "CHANGELOG.md", "VERSION",
                ".gitignore", ".editorconfig", "debian/changelog", "debian/copyright",
                "debian/source/format", "docs/man/", "docs/ipoib-ha.schema.json",
                "docs/ipoib-ha-monitor.schema.json", "docs/openib-diagnose.schema.json")


@cache
def files():
    """Every file of the repository that is not ignored, relative to its top."""
    result = subprocess.run(["git", "-C", TOP, "ls-files", "-z", "-co", "--exclude-standard"],
                            capture_output=True, check=False)
    if result.returncode == 0:
        names = sorted(set(os.fsdecode(result.stdout).split("\0")) - {""})
    else:  # an unpacked archive
        names = sorted(str(path.relative_to(TOP)) for path in TOP.rglob("*")
                       if not {"build", ".git", "__pycache__"} & set(path.relative_to(TOP).parts))
    return [name for name in names if (TOP / name).is_file()]


@cache
def _first_line(name):
    with (TOP / name).open("rb") as file:
        return file.readline(200).decode(errors="replace")


def with_suffix(*suffixes, under=""):
    return [name for name in files() if name.endswith(suffixes) and name.startswith(under)]


def scripts(interpreter, *suffixes):
    """Files with one of @suffixes, or with @interpreter in their #! line."""
    return [name for name in files() if name.endswith(suffixes)
            or (_first_line(name).startswith("#!") and interpreter in _first_line(name))]


def kernel_sources():
    """C of the kernel: the drivers, their KUnit tests, what others test and measure with."""
    return [name for name in with_suffix(".c", ".h")
            if name.startswith(("drivers/", "tests/kunit/", "tests/kernel/lender/",
                                "tests/kernel/planted_race/", "tests/bench/loop_module/"))]
