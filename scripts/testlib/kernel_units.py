# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""KUnit suites: a suite includes the sources that it tests, and what these include."""

from pathlib import PurePath

from checklib.includes import Project
from checklib.tree import TOP

from .graph import reached

FOLDER = "tests/kunit"
# As tests/kunit/Kbuild has them for -I and -include
FOLDERS = ("drivers/compat", "drivers/sib", "drivers/ipoib")
FORCED = "drivers/compat/compat.h"


def suites(changed, top=TOP):
    """The suites that changed files are part of, nearest first: module -> Reach."""
    project = Project(top)

    def neighbours(name):
        made_of = project.included(name, FOLDERS)
        return [*made_of, FORCED] if name.endswith("_kunit.c") else made_of

    tests = [str(path.relative_to(top)) for path in sorted((top / FOLDER).glob("*_kunit.c"))]
    there = [name for name in changed if (top / name).is_file()]
    return {PurePath(test).stem: reach for test, reach in reached(tests, neighbours, there).items()}
