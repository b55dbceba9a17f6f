# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What fuzz targets have found worth keeping, from run to run and in every checkout.

A target's inputs are in ~/.cache/openipoib/fuzz/<target>. When there are too many,
libFuzzer picks those that still reach something that the others do not.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
from pathlib import Path

MOST = 4000  # files; twice as many as were left the last time are all right as well
MERGE_SECONDS = 300


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "openipoib/fuzz"


def _count(folder):
    return sum(1 for _ in os.scandir(folder))


def _forget(folder):
    """Remove the older half."""
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    for path in files[:len(files) // 2]:
        path.unlink(missing_ok=True)


def _merge(command, folder, left):
    """Replace a corpus by the part of it that reaches as much, or forget what is oldest.

    libFuzzer leaves out inputs that fail now, and says nothing of it in the end. They are
    kept: the run that comes is to find them.
    """
    places = [folder.with_suffix(suffix) for suffix in (".merged", ".old", ".failed")]
    merged, old, failed = places
    for path in places:
        shutil.rmtree(path, ignore_errors=True)
    merged.mkdir()
    failed.mkdir()
    try:
        done = subprocess.run([*command, f"-artifact_prefix={failed}/", "-merge=1", merged, folder],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                              timeout=MERGE_SECONDS)
        is_good = done.returncode == 0 and _count(merged) > 0
    except subprocess.TimeoutExpired:
        is_good = False
    if is_good:
        folder.rename(old)
        merged.rename(folder)
        left.write_text(f"{_count(folder)}\n")
    else:
        _forget(folder)
    for path in failed.iterdir():
        path.rename(folder / path.name)
    for path in places:
        shutil.rmtree(path, ignore_errors=True)


def _tidy(command, folder):
    left = folder.with_suffix(".left")
    try:
        most = max(MOST, 2 * int(left.read_text()))
    except (FileNotFoundError, ValueError):
        most = MOST
    if _count(folder) > most:
        _merge(command, folder, left)


@contextlib.contextmanager
def of(name, command):
    """The folder of a target's corpus, of bearable size, for as long as it is in use.

    @command: the target, with its options
    """
    folder = cache() / name
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _tidy(command, folder)
        except BlockingIOError:
            pass  # another run uses it as it is
        fcntl.flock(lock, fcntl.LOCK_SH)
        folder.mkdir(exist_ok=True)
        yield folder
