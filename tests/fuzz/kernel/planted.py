# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Faults that are planted into a copy of the driver, to see that the targets find them.

planted/<name>.patch begins with what it plants, and lines `Target:` (who has to find it)
and `Found:` (a regular expression of what it says then).
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import machine

FOLDER = machine.HERE / "planted"
FIELDS = re.compile(r"^(Target|Found): (.+)$", re.MULTILINE)
NEEDED = ("drivers", "Kbuild", "VERSION")      # of the tree, to build the module


@dataclass(frozen=True)
class Fault:
    """A planted fault: its patch, the target that has to find it, and by what words."""

    name: str
    path: Path
    target: str
    words: str

    @classmethod
    def read(cls, path):
        head = path.read_text(encoding="utf-8").partition("\n--- ")[0]
        fields = dict(FIELDS.findall(head))
        if set(fields) != {"Target", "Found"}:
            raise machine.Trouble(f"{path.name} does not say its Target and what is Found")
        return cls(path.stem, path, fields["Target"], fields["Found"])

    def is_shown_by(self, what):
        return bool(re.search(self.words, what))


def faults(folder=FOLDER):
    return {path.stem: Fault.read(path) for path in sorted(folder.glob("*.patch"))}


def plant(fault, sources, place):
    """Copy what the module is built of to @place, with the fault in it."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name in NEEDED:
        if (sources / name).is_dir():
            shutil.copytree(sources / name, place / name,
                            ignore=shutil.ignore_patterns("*.o", "*.ko", "*.mod*", ".*"))
        else:
            shutil.copy(sources / name, place / name)
    done = subprocess.run(["patch", "-p1", "-N", "--fuzz=1", "--no-backup-if-mismatch",
                           "-i", fault.path], cwd=place, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise machine.Trouble(f"{fault.path.name} does not apply:\n{done.stdout}")
    return place
