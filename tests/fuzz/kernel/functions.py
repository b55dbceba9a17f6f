# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which functions of the module a run has executed, and which it must.

The file <target>.reach names the functions of sib that a target must get to, one a line.
"""

import subprocess
from bisect import bisect_right

import machine  # noqa: F401  (it knows where the others are)

import reach


def parse(text):
    """(offset, name) of the functions in .text, in order, from what `nm -f sysv` prints."""
    found = []
    for line in text.splitlines():
        words = [word.strip() for word in line.split("|")]
        if len(words) == 7 and words[6] == ".text" and words[2] in "tT":
            found.append((int(words[1], 16), words[0]))
    return sorted(found)


def of(module):
    done = subprocess.run(["nm", "-f", "sysv", module], check=True, stdout=subprocess.PIPE, text=True)
    return parse(done.stdout)


def executed(functions, offsets):
    """The names of the functions that the offsets are in."""
    begins = [begin for begin, _ in functions]
    return {functions[at - 1][1] for at in (bisect_right(begins, offset) for offset in offsets) if at}


def offsets(place):
    """What a run has noted in its folder."""
    path = place / "reached"
    text = path.read_text(encoding="ascii") if path.exists() else ""
    return {int(word, 16) for word in text.split()}


def missing(target, names):
    """Functions that the target must get to and that are not among @names."""
    # The compiler makes variants of functions, with names of their own.
    plain = {name.partition(".")[0] for name in names}
    return [name for name in reach.wanted(machine.HERE / f"{target}.reach") if name not in plain]
