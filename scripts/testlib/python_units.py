# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Tests of Python and shell: a test reaches the modules that it imports, and the files it names."""

import ast
import os
import re
from functools import cache
from pathlib import PurePath

from checklib import tree

from .graph import reached

FOLDERS = ("tests/lab", "tests/splat")
GUESTS = "tests/lab/test_guests.py"     # boots virtual hosts
# Where modules are looked for, besides the importing file's own folder
PATHS = ("scripts", "tests/fuzz/kernel", "tests/vm", "tests/bench")
# Tests name them for other reasons than to run them, and a compiler knows better.
COMPILED = (".c", ".h", ".cc", ".hpp")


def names_path(text, name):
    """Whether @text names a file or folder by its whole path."""
    return name in text and re.search(rf"(?<![\w/.-]){re.escape(name)}(?![\w/.-]*\w)", text) is not None


class PythonUnits:
    """The tests in FOLDERS among the @files below @top; @programs: Python without a suffix."""

    def __init__(self, top, files, programs):
        self._top = top
        self._files = set(files)
        self._programs = programs
        self._tests = [name for name in files if os.path.dirname(name) in FOLDERS
                       and PurePath(name).name.startswith("test_") and name.endswith(".py")
                       and name != GUESTS]
        self.imported = cache(self._imported)

    @classmethod
    @cache
    def here(cls):
        programs = [name for name in tree.scripts("python3") if not name.endswith(".py")]
        return cls(tree.TOP, tree.files(), programs)

    def reached(self, changed):
        """The tests that reach a changed file, nearest first: test -> Reach."""
        def neighbours(name):
            if name in self._tests:
                beside = f"{os.path.dirname(name)}/conftest.py"
                return [*self.imported(name), *self._named(name, changed),
                        *([beside] if beside in self._files else [])]
            return self.imported(name)

        return reached(self._tests, neighbours, changed)

    def _text(self, name):
        return (self._top / name).read_text(encoding="utf-8", errors="replace")

    def _named(self, test, changed):
        """What a test names by its path: programs of ours, changed files, their folders."""
        text = self._text(test)
        found = [name for name in {*self._programs, *changed} if names_path(text, name)]
        for name in changed:
            folder = os.path.dirname(name)
            is_other = name.startswith("drivers/compat/") or not name.endswith(COMPILED)
            if "/" in folder and is_other and names_path(text, folder):
                found.append(name)
        return found

    def _imported(self, name):
        """The files of ours that a Python file imports, wherever in it."""
        if not name.endswith(".py") and name not in self._programs:
            return []
        try:
            parsed = ast.parse(self._text(name))
        except SyntaxError:
            return []   # flake8 says so
        found = []
        for node in ast.walk(parsed):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found += self._module(name, 0, alias.name)
            elif isinstance(node, ast.ImportFrom):
                found += self._module(name, node.level, node.module or "")
                for alias in node.names:
                    found += self._module(name, node.level, f"{node.module or ''}.{alias.name}")
        return [other for other in found if other != name]

    def _module(self, name, level, dotted):
        """The file of a module, as a file imports it."""
        path = dotted.strip(".").replace(".", "/")
        folder = os.path.dirname(name)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        places = [folder] if level else [folder, *PATHS]
        candidates = [os.path.normpath(f"{place}/{path}{end}") for place in places
                      for end in (".py", "/__init__.py")]
        return [candidate for candidate in candidates if candidate in self._files][:1]
