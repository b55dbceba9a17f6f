# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Lines that the KUnit suites cover, by gcov.

A suite compiles the sources it tests into itself, so a source has counts of
each suite that tests it: a line is covered if any of them ran it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from itertools import groupby
from pathlib import Path

GOAL = 80       # percent
SOURCE = re.compile(r"drivers/((?:sib|ipoib)/\w+\.[ch])$")


def _counts(notes: Path, data: Path) -> list[dict]:
    """What gcov says of the sources of one module."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(data, place)
        shutil.copy(notes, place)
        done = subprocess.run(["gcov", "--json-format", "--stdout", "-o", place, data.name],
                              capture_output=True, text=True, cwd=place, check=False)
    return [source for line in done.stdout.splitlines() if line.startswith("{")
            for source in json.loads(line)["files"]]


def lines(objects: Path, data: Path) -> dict[str, dict[int, bool]]:
    """Which lines of which driver source have run.

    objects: folder of the .gcno files; data: folder of the .gcda files
    """
    found: dict[str, dict[int, bool]] = {}
    for counts in sorted(data.glob("*_kunit.gcda")):
        notes = objects / counts.with_suffix(".gcno").name
        for source in _counts(notes, counts) if notes.exists() else []:
            if name := SOURCE.search(source["file"]):
                mine = found.setdefault(name[1], {})
                for line in source["lines"]:
                    number = line["line_number"]
                    mine[number] = mine.get(number, False) or line["count"] > 0
    return found


def _ranges(numbers: list[int]) -> str:
    """3, 5, 6, 7 as "3 5-7"."""
    words = []
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        words.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return " ".join(words)


def show(objects: Path, data: Path) -> None:
    """Print the share of lines executed in each driver source, and which were not."""
    found = lines(objects, data)
    if not found:
        print("  coverage: no data (is CONFIG_GCOV_KERNEL on?)")
        return
    print(f"  {'source':22}{'lines':>6}{'run':>8}   not run")
    total = ran = 0
    for name, mine in sorted(found.items()):
        covered = sum(mine.values())
        total, ran = total + len(mine), ran + covered
        share = 100 * covered / len(mine)
        print(f"  {name:22}{len(mine):6}{share:6.1f} % {' ' if share >= GOAL else '<'} "
              + _ranges(sorted(n for n, hit in mine.items() if not hit)))
    print(f"  {'all':22}{total:6}{100 * ran / total:6.1f} %")
