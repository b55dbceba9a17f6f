# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Lines that the KUnit suites cover, by gcov."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path


def show(objects: Path, data: Path) -> None:
    """Print the share of lines executed in each driver source.

    objects: folder of the .gcno files; data: folder of the .gcda files
    """
    best: dict[str, tuple[float, int]] = {}
    for counts in sorted(data.glob("*_kunit.gcda")):
        notes = objects / counts.with_suffix(".gcno").name
        if not notes.exists():
            continue
        with tempfile.TemporaryDirectory() as place:
            shutil.copy(counts, place)
            shutil.copy(notes, place)
            done = subprocess.run(["gcov", "-n", "-o", place, counts.with_suffix(".c").name],
                                  capture_output=True, text=True, cwd=place, check=False)
        for name, share, lines in re.findall(
                r"File '[^']*drivers/((?:sib|ipoib)/\w+\.c)'\nLines executed:([\d.]+)% of (\d+)",
                done.stdout):
            if float(share) >= best.get(name, (0.0, 0))[0]:
                best[name] = (float(share), int(lines))
    if not best:
        print("  coverage: no data (is CONFIG_GCOV_KERNEL on?)")
    for name, (share, lines) in sorted(best.items()):
        print(f"  coverage {name:24} {share:6.1f} % of {lines} lines")
