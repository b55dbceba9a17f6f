# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The files that have changed, relative to the top of the checkout."""

import os
import subprocess
from pathlib import Path

from checklib.tree import TOP


class ChangeError(Exception):
    """What has changed cannot be told."""


def _git(*words):
    done = subprocess.run(["git", "-C", TOP, *words], capture_output=True, check=False)
    if done.returncode:
        raise ChangeError(f"git {words[0]} failed: {os.fsdecode(done.stderr).strip()}")
    return [name for name in os.fsdecode(done.stdout).split("\0") if name]


def since(revision):
    """What differs between @revision and the working tree, deleted files too, and what is untracked."""
    changed = _git("diff", "--name-only", "--no-renames", "-z", revision, "--")
    return sorted({*changed, *_git("ls-files", "-z", "--others", "--exclude-standard")})


def staged():
    """What the next commit adds or changes."""
    return _git("diff", "--cached", "--name-only", "--no-renames", "--diff-filter=d", "-z")


def given(paths):
    """Files as a user names them from the current folder; a folder stands for all its files."""
    found = set()
    for path in paths:
        place = Path(path).resolve()
        if place != TOP and TOP not in place.parents:
            raise ChangeError(f"{path}: not in {TOP}")
        name = str(place.relative_to(TOP))
        names = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", name)
        if not names and not place.is_file():
            raise ChangeError(f"{path}: no such file")
        found.update(names or [name])
    return sorted(found)
