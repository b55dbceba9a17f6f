# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Mutations of C and C++: one small fault in one source, that compiles in most cases.

A source is read line by line, as the project formats it: a function is what stands between a "{" and
a "}" in the first column, a statement ends with ";". What only looks at the program (assertions,
messages, tracepoints) is left as it is: without it nothing behaves otherwise.
"""

import re
from dataclasses import dataclass

CONDITION, BOUND, LOCK, LINE = KINDS = ("condition turned", "bound moved", "lock left out", "line removed")

_IF = re.compile(r"^(\s*(?:\} else )?if(?: constexpr)? )\((.+)\)( \{)?$")
_BOUND = re.compile(r" (<=?|>=?) ")
_MOVED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_COMPARES = re.compile(r"^\s*(?:\} else |\} )?(?:if|while|for|return)\b|\?|&&|\|\|")
_LOCK = re.compile(r"^\s+(\w*?(?:lock|lock_bh|lock_irq|lock_irqsave|lock_nested))\((.*)\);$")
_CALL = re.compile(r"^\s+[\w.>&*\[\]:-]+\(.*\);$")
_ASSIGNMENT = re.compile(r"^\s+\*?[\w.>\[\]()-]+ (?:[-+*/|&^]|<<|>>)?= .+;$")
_STEP = re.compile(r"^\s+(?:\+\+|--)?[\w.>\[\]()-]+(?:\+\+|--)?;$")
_WATCHES = re.compile(r"\b(?:lockdep_\w+|ASSERT_\w+|(?:VM_|BUILD_)?(?:BUG|WARN)(?:_ON)?\w*|trace_\w+|"
                      r"pr_\w+|dev_\w+|"
                      r"net(?:dev|if)_(?:err|warn|info|dbg)\w*|ibdev_\w+|ipoib_(?:warn|dbg|info|err)\w*|"
                      r"static_assert|assert|might_sleep|kmsan_\w+|log|return|break|continue|goto|using|"
                      r"throw|delete)\b")
# Where a statement may begin: after the end of another, of a block, or of a condition.
_BEGINS_AFTER = re.compile(r"(?:[;{}:]|^|\*/)$")


@dataclass(frozen=True)
class Mutation:
    """A fault of a kind in a file.

    line:    number of its first line, from 1
    changed: (number, text) of each line that is other than before
    before:  the first of them, as it was
    """

    file: str
    kind: str
    line: int
    before: str
    changed: tuple

    def apply(self, text):
        """The source with the fault."""
        lines = text.split("\n")
        for number, line in self.changed:
            lines[number - 1] = line
        return "\n".join(lines)

    def __str__(self):
        after = self.changed[0][1].strip() or "(nothing)"
        others = f" and {len(self.changed) - 1} more" if len(self.changed) > 1 else ""
        return f"{self.file}:{self.line}: {self.kind}: {self.before.strip()} -> {after}{others}"


def _functions(lines):
    """(first, last) index of the lines between the braces of each function."""
    first = None
    for index, line in enumerate(lines):
        if line == "{":
            first = index + 1
        elif line == "}" and first is not None:
            yield first, index
            first = None


def _is_balanced(text):
    depth = 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return False
    return depth == 0


def _conditions(line):
    found = _IF.match(line)
    if found and _is_balanced(found[2]) and ";" not in found[2]:
        yield f"{found[1]}(!({found[2]})){found[3] or ''}"


def _bounds(line):
    if not _COMPARES.search(line) or "operator" in line:
        return
    for found in _BOUND.finditer(line):
        yield f"{line[:found.start(1)]}{_MOVED[found[1]]}{line[found.end(1):]}"


def _locks(lines, index, last):
    """The lines that take a lock and give it back, up to the end of the function."""
    taken = _LOCK.match(lines[index])
    if not taken or taken[1].startswith(("un", "try")) or "unlock" in taken[1]:
        return None
    lock = re.escape(taken[2].split(",")[0])
    given = []
    for number in range(index + 1, last):
        if re.match(rf"^\s+{taken[1]}\({lock}[,)]", lines[number]):
            break   # It is taken again: what follows belongs to that.
        if re.match(rf"^\s+\w*unlock\w*\({lock}[,)]", lines[number]):
            given.append(number)
    return [index, *given] if given else None


def _is_statement(lines, index):
    """Whether a line is all of a statement that does something."""
    line = lines[index]
    if not (_CALL.match(line) or _ASSIGNMENT.match(line) or _STEP.match(line)) or _WATCHES.search(line):
        return False
    if _LOCK.match(line) or "unlock" in line or not _is_balanced(line):
        return False
    before = lines[index - 1].rstrip() if index else ""
    return bool(_BEGINS_AFTER.search(before)) or bool(_IF.match(before)) or before.strip() == "else"


def _of_line(lines, index, last):
    """(kind, changed lines) of each mutation that begins in a line."""
    line = lines[index]
    for after in _conditions(line):
        yield CONDITION, ((index + 1, after),)
    for after in _bounds(line):
        yield BOUND, ((index + 1, after),)
    held = _locks(lines, index, last)
    if held:
        yield LOCK, tuple((number + 1, "") for number in held)
    if _is_statement(lines, index):
        # Braces, for it may be all that belongs to an if.
        indent = line[:len(line) - len(line.lstrip())]
        yield LINE, ((index + 1, f"{indent}{{}}"),)


def mutations(file, text):
    """Every mutation there is of a source."""
    lines = text.split("\n")
    return [Mutation(file, kind, index + 1, lines[index], changed)
            for first, last in _functions(lines)
            for index in range(first, last) if not lines[index].lstrip().startswith(("//", "*", "/*", "#"))
            for kind, changed in _of_line(lines, index, last)]


def draw(found, random):
    """Mutations in the order in which they are tried: of each kind in turn, each kind shuffled."""
    heaps = [[one for one in found if one.kind == kind] for kind in KINDS]
    for heap in heaps:
        random.shuffle(heap)
    while any(heaps):
        for heap in heaps:
            if heap:
                yield heap.pop()
