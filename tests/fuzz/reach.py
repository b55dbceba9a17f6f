# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which functions a fuzz target must execute, and which it has.

The file <target>.reach beside a target names them, one a line: with namespaces and
class, without parameters, without "(anonymous namespace)::". Of several functions
of that name one is enough. Functions that are in a header, or inline for another
reason, cannot be named: no code of theirs need be in the program.
"""

import re
import subprocess

ABI = re.compile(r"\[abi:\w+\]")  # of functions that return a std::string


class Unknown(ValueError):
    """The list names nothing, or what is not in the program."""


def wanted(path):
    """The names in a list."""
    if not path.exists():
        raise Unknown(f"there is no {path.name}, which names the functions to be reached")
    lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
    names = [line for line in lines if line]
    if not names:
        raise Unknown(f"{path.name} names no function")
    return names


def symbols(text):
    """Offset -> names, from what `nm -C --defined-only` prints of a program."""
    found = {}
    start = 0
    for line in text.splitlines():
        words = line.split(maxsplit=2)
        if len(words) != 3:
            continue
        offset, kind, name = int(words[0], 16), words[1], words[2]
        if name == "__executable_start":
            start = offset
        if kind in "tTwW":
            name = name.replace("(anonymous namespace)::", "").partition("(")[0]
            found.setdefault(offset, set()).add(ABI.sub("", name))
    return {offset - start: names for offset, names in found.items()}


def missing(names, functions, offsets):
    """Those of @names that none of the @offsets belongs to, in their order.

    @functions: of the program, as symbols() returns them
    """
    known = set().union(*functions.values())
    if unknown := [name for name in names if name not in known]:
        raise Unknown(f"not in the program: {', '.join(unknown)}")
    reached = set().union(*(functions.get(offset, ()) for offset in offsets))
    return [name for name in names if name not in reached]


def check(program, names, report):
    """Those of @names that the run of @program that wrote @report has not executed."""
    if not report.exists():
        raise Unknown("the run has not said which functions it has executed")
    offsets = [int(line, 16) for line in report.read_text().split()]
    text = subprocess.run(["nm", "-C", "--defined-only", program], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return missing(names, symbols(text), offsets)
