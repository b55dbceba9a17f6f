# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What has been found clean before: the same input need not be looked at again.

A key is the digest of all that a check depends on: its input, its options and
its tool. Only success is remembered. The memory is in ~/.cache/openipoib/check;
`scripts/check --fresh` does without it.
"""

import functools
import hashlib
import os
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lablib.place import CACHE

from .tree import PROCESSORS, TOP

KEPT_SECONDS = 60 * 24 * 3600  # what nobody has asked for in so long is forgotten

is_used = True


def folder():
    return CACHE / "check"


def key(*parts):
    """The digest of texts, and of files by name and content; the same in every checkout."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else b""
        text = str(part).replace(str(TOP), "")
        digest.update(f"{type(part).__name__} {len(text)} {len(data)} {text}".encode() + data)
    return digest.hexdigest()


@functools.cache
def version(*argv):
    """What a tool says of its version."""
    return subprocess.run([*argv, "--version"], capture_output=True, text=True,
                          check=True).stdout


def is_clean(known):
    """Whether the input of this key was clean."""
    try:
        os.utime(folder() / known)
    except FileNotFoundError:
        return False
    return is_used


def remember(known):
    folder().mkdir(parents=True, exist_ok=True)
    (folder() / known).touch()


def recall(known):
    """The text kept under a key; empty if there is none."""
    return (folder() / known).read_text() if is_clean(known) else ""


def keep(known, text):
    """Keep a text under a key, whole or not at all."""
    folder().mkdir(parents=True, exist_ok=True)
    fresh = folder() / f"{known}.{os.getpid()}.{threading.get_ident()}"
    fresh.write_text(text)
    fresh.rename(folder() / known)


def prune():
    """Forget what has not been asked for in a long time."""
    oldest = time.time() - KEPT_SECONDS
    for path in folder().glob("*"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


def each(items, key_of, look):
    """Look at all items that are not known to be clean, one on each processor.

    @key_of: item -> key; @look: item -> list of what is wrong with it
    Returns all that is wrong, in the order of the items.
    """
    def work(item):
        known = key_of(item)
        if is_clean(known):
            return []
        found = look(item)
        if not found:
            remember(known)
        return found

    with ThreadPoolExecutor(PROCESSORS) as pool:
        return [line for found in pool.map(work, items) for line in found]


def together(items, key_of, look):
    """Look at all items that are not known to be clean, at once.

    @key_of: item -> key; @look: list of items -> (what is wrong, those with nothing wrong)
    """
    unknown = {item: known for item in items if not is_clean(known := key_of(item))}
    if not unknown:
        return []
    found, clean = look(list(unknown))
    for item in clean:
        remember(unknown[item])
    return found


def once(known, look):
    """What @look() finds, unless this key is known to be clean."""
    return each([known], lambda item: item, lambda _: look())
