# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""C++ unit tests: a test reaches the headers that it includes, and the sources behind them.

A source is behind the header of its name, or else behind the first header of its own folder
that it includes: pair_steps.cc is part of pair.hpp.
"""

import os
import re
from functools import cache

from checklib import tree
from checklib.includes import Project

from .graph import reached

TESTS = "tests/unit"
# As the programs have them for -I
FOLDERS = ("", "lib", "fabric", "tests")
# Who includes these is a program of its own.
ALONE = ("tests/fuzz/", "tests/bench/")
SUITE = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+)", re.MULTILINE)


class Units:
    """The unit tests of the C++ @sources below @top."""

    def __init__(self, top, sources):
        self._top = top
        self._sources = [name for name in sources if not name.startswith(ALONE)]
        self._project = Project(top)
        self._behind = {}   # header -> the sources that implement it
        for name in self._sources:
            if name.endswith(".cc") and not name.endswith(("_test.cc", "main.cc")):
                for header in self._header(name):
                    self._behind.setdefault(header, []).append(name)

    @classmethod
    @cache
    def here(cls):
        return cls(tree.TOP, tree.with_suffix(".cc", ".hpp"))

    def reached(self, changed):
        """The test files that reach a changed file, nearest first: test -> Reach."""
        tests = [name for name in self._sources
                 if name.startswith(f"{TESTS}/") and name.endswith("_test.cc")]
        return reached(tests, self._neighbours, [name for name in changed if name in self._sources])

    def filter(self, tests):
        """What --gtest_filter has to be for the suites of these files."""
        names = {suite for test in tests
                 for suite in SUITE.findall((self._top / test).read_text(encoding="utf-8"))}
        # Of a suite with parameters the name comes second.
        return ":".join(f"{name}.*:*/{name}.*" for name in sorted(names))

    def _neighbours(self, name):
        return [*self._project.included(name, FOLDERS), *self._behind.get(name, [])]

    def _header(self, source):
        """The header that a source is behind, if there is one."""
        headers = [name for name in self._project.included(source, FOLDERS) if name.endswith(".hpp")]
        own = [name for name in headers if name == source.removesuffix(".cc") + ".hpp"]
        beside = [name for name in headers if os.path.dirname(name) == os.path.dirname(source)]
        return (own or beside)[:1]
