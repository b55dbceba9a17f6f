# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""How each source is compiled, for editors: the compile commands of C++ and of the kernel's C.

CMake writes down those of C++. make leaves those of a module in hidden files beside the objects,
.NAME.o.cmd, in the mirror of the sources that build-modules has made; there a command names the
mirror's files, for which those of the checkout are put in.
"""

import json
import re
import shlex
from pathlib import Path

from .lint import EXTRA
from .tree import TOP

# The command up to the name of its source: objtool comes after it.
COMMAND = re.compile(r"^(?:saved)?cmd_\S+\.o := *(.*?\s(\S+)\.c)\s*(?:;|$)")
# What says what a source means. The rest is how gcc optimises, much of which clangd does not know.
MEANING = re.compile(r"-(I|D|U|isystem|include|nostdinc|std=|m64|fshort-wchar|ffreestanding"
                     r"|Wno-pointer-sign|Wno-address-of-packed-member)")
WITH_VALUE = ("-I", "-D", "-U", "-isystem", "-include")


def flags(words):
    """The words of a command that say what its source means."""
    kept, is_value = [], False
    for word in words:
        if is_value or MEANING.match(word):
            kept.append(word)
        is_value = not is_value and word in WITH_VALUE
    return kept


def of_cxx(entries):
    """The entries of CMake, with what clang needs to read C++23 of this compiler's library."""
    return [{"directory": entry["directory"], "file": entry["file"],
             "arguments": [*shlex.split(entry["command"]), *EXTRA]} for entry in entries]


def of_line(line, mirror, tree, top=TOP):
    """The entry for the first line of a .cmd file, if it is that of a source of ours."""
    found = COMMAND.match(line)
    if not found or found[2].endswith(".mod"):
        return None
    words = shlex.split(found[1].replace(str(mirror), str(top)))
    source = words[-1]
    # Newer kernels build modules in their own folder, older ones in the kernel's.
    directory = tree if Path(source).is_absolute() else top
    file = directory / source
    if top not in file.parents or not file.is_file():
        return None
    return {"directory": str(directory), "file": str(file),
            "arguments": ["gcc", *flags(words[1:-1]), "-c", str(file)]}


def of_mirror(mirror, tree, top=TOP):
    """The entries for all that was built in a mirror, for the kernel whose build tree is @tree."""
    entries = []
    for path in sorted(Path(mirror).rglob(".*.o.cmd")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        entry = of_line(lines[0], mirror, tree, top) if lines else None
        if entry:
            entries.append(entry)
    return entries


def merged(*lists):
    """One entry a file: the first that there is."""
    found = {}
    for entry in (entry for entries in lists for entry in entries):
        found.setdefault(entry["file"], entry)
    return list(found.values())


def write(path, entries):
    """Write a file whole or not at all: an editor may read it at any time."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    fresh.rename(path)
