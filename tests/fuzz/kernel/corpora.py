# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Inputs that are kept: a few of each target in the tree, more in the cache.

In the tree a target's inputs are the lines of corpus/<target>, in hexadecimal.
"""

import hashlib
import shutil

import machine  # first: it knows where the others are

import corpus

TREE = machine.HERE / "corpus"
MOST = 150          # in the tree
CACHED = 2000       # the newest of them


def in_tree(target, folder=TREE):
    """The inputs of a target that are in the tree."""
    path = folder / target
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    return [bytes.fromhex(line) for line in lines if line and not line.startswith("#")]


def write_tree(target, inputs, folder=TREE):
    """Keep inputs in the tree, the short ones first."""
    chosen = sorted(set(inputs), key=lambda data: (len(data), data))[:MOST]
    folder.mkdir(exist_ok=True)
    lines = ["# SPDX-License-Identifier: GPL-2.0-only OR MIT",
             f"# Inputs of the target {target}, each a line of octets: what run --keep has chosen"]
    (folder / target).write_text("\n".join(lines + [data.hex() for data in chosen]) + "\n",
                                 encoding="ascii")


def cached(target):
    folder = corpus.cache() / f"kernel-{target}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def give(target, place, with_cache):
    """Fill the corpus of a run."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for data in in_tree(target):
        (place / hashlib.sha1(data).hexdigest()).write_bytes(data)
    if with_cache:
        files = sorted(cached(target).iterdir(), key=lambda path: path.stat().st_mtime)
        for path in files[-CACHED:]:
            shutil.copy(path, place / path.name)
        for path in files[:-CACHED]:
            path.unlink()


def take(target, place):
    """Keep what a run has found worth keeping."""
    folder = cached(target)
    for path in place.iterdir():
        if not (folder / path.name).exists():
            shutil.copy(path, folder / path.name)
