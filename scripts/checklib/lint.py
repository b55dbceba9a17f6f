# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""clang-tidy over the C++ sources, each file with the flags of its build."""

import json
import os
import shlex
import shutil
from pathlib import Path

from . import memo, tree
from .checks import CMAKE, configure, run
from .tree import TOP

# Those that scripts/bootstrap takes, in its order. clang-tidy 14 cannot read std::expected; 16
# implements the concepts that it asks for, but announces an older version of them.
TIDY = ("clang-tidy-16", "clang-tidy-19", "clang-tidy")
EXTRA = ("-U__cpp_concepts", "-D__cpp_concepts=202002L", "-Wno-builtin-macro-redefined")
# gtest's macros take it minutes, and fuzz targets are for another compiler.
LEFT_OUT = (TOP / "tests/unit", TOP / "tests/fuzz", CMAKE)


def _flags(entry):
    """The flags of a compile command, without launcher, compiler, input and output."""
    words = shlex.split(entry["command"])
    del words[:next(n for n, word in enumerate(words) if word.startswith("-"))]
    for option in ("-o", "-c"):
        at = words.index(option)
        del words[at:at + 2]
    return words


def _units():
    """Source file -> flags of one of its builds: lint does not differ between them."""
    units = {}
    for entry in json.loads((CMAKE / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if TOP in path.parents and not set(LEFT_OUT) & set(path.parents):
            units.setdefault(path, _flags(entry))
    return units


def _included(path, flags):
    """The files that a source file consists of; ours relative to the top."""
    status, output = run(["g++", *flags, "-M", path])
    if status:
        raise RuntimeError(output)
    names = output.replace("\\\n", " ").split(":", 1)[1].split()
    return sorted({os.path.realpath(name).removeprefix(f"{TOP}/") for name in names})


def _state(name):
    """What changes with a file: the content of ours, the date of the system's."""
    path = TOP / name
    if not path.exists():
        return f"{name} is gone"
    return f"{name} {path.stat().st_mtime_ns}" if os.path.isabs(name) else path


def _digest(path, flags):
    """The digest of all that a source file consists of.

    Which files these are is remembered: as long as each is as it was, and no header of ours
    has come or gone, the preprocessor would say the same.
    """
    headers = tree.with_suffix(".h", ".hpp")
    known = memo.key("included by", memo.version("g++"), *headers, *flags, path)
    names, before = json.loads(memo.recall(known) or '[[], ""]')
    digest = memo.key(*map(_state, names))
    if digest != before:
        names = _included(path, flags)
        digest = memo.key(*map(_state, names))
        memo.keep(known, json.dumps([names, digest]))
    return digest


def cxx_lint():
    """clang-tidy is content."""
    configure()
    binary = next(filter(None, map(shutil.which, TIDY)), None)
    if binary is None:
        raise RuntimeError("no clang-tidy: run scripts/bootstrap")
    units = _units()

    def key_of(path):
        flags = units[path]
        return memo.key(memo.version(binary), TOP / ".clang-tidy", *flags, *EXTRA, path,
                        _digest(path, flags))

    def look(path):
        status, output = run([binary, "--quiet", path, "--", *units[path], *EXTRA])
        return output.splitlines() if status else []

    return memo.each(units, key_of, look)
