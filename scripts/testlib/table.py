# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The table tests/reach: which scenarios, tests on virtual hosts and others a file is tried by.

A row has patterns of paths, and after each of the words in KINDS what these files are tried by:

    drivers/ipoib/cm*   stack: connected rnr   vm: test_connected.py

`*` stands for any characters, also for `/`. A line that begins with a blank goes on with the
row before it. All rows that fit count.
"""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from checklib.tree import TOP

PLACE = TOP / "tests/reach"
# stack: scenarios; vm: files of tests/vm; ctest: tests of CMake; make: targets, which are named and not run
KINDS = ("stack", "vm", "ctest", "make")


class TableError(Exception):
    """The table cannot be read."""


@dataclass
class Row:
    patterns: list[str] = field(default_factory=list)
    wanted: dict[str, list[str]] = field(default_factory=dict)

    def fits(self, name):
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)


def _row(text):
    row, into = Row(), None
    for word in text.split():
        if not word.endswith(":"):
            (row.patterns if into is None else into).append(word)
        elif word[:-1] in KINDS:
            into = row.wanted.setdefault(word[:-1], [])
        else:
            raise TableError(f"'{word}' is none of {', '.join(KINDS)}, in: {text.strip()}")
    if not row.patterns or not row.wanted or not all(row.wanted.values()):
        raise TableError(f"no patterns, or nothing that they stand for, in: {text.strip()}")
    return row


def parse(text):
    """The rows of a table."""
    texts = []
    for line in text.splitlines():
        words = line.partition("#")[0]
        if not words.strip():
            continue
        if words[0].isspace() and texts:
            texts[-1] += words
        else:
            texts.append(words)
    return [_row(words) for words in texts]


def read():
    return parse(PLACE.read_text(encoding="utf-8"))


def wanted(rows, kind, changed):
    """What of a kind the changed files are tried by: name -> the first of the files."""
    found = {}
    for row in rows:
        for name in changed:
            if row.fits(name):
                for other in row.wanted.get(kind, []):
                    found.setdefault(other, name)
    return found
