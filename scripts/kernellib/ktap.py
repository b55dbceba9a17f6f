# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Results in the kernel's test protocol (KTAP), as KUnit prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from checklib import junit

RESULT = re.compile(r"^( *)(not )?ok (\d+)(?: -)? (.*?)(?: # (SKIP)\s*(.*))?$")
PLAN = re.compile(r"^( *)1\.\.(\d+)$")
NOISE = re.compile(r" *# (Subtest|Totals|\S+: pass:)")
STEP = 4        # spaces a level


@dataclass
class Node:
    """A result with those below it: a suite, a case, or a parameter."""

    name: str
    result: str
    reason: str
    children: list["Node"] = field(default_factory=list)
    planned: int | None = None

    def leaves(self, path: str) -> list[junit.Case]:
        """What counts: of a case with parameters the parameters, and a plan
        that was not fulfilled."""
        name = f"{path}.{self.name}" if path else self.name
        if not self.children and self.planned is None:
            return [junit.Case(name, self.result, self.reason)]
        cases = [leaf for child in self.children for leaf in child.leaves(name)]
        if self.planned is not None and self.planned != len(self.children):
            cases.append(junit.Case(name, junit.FAILED,
                                    f"{len(self.children)} of {self.planned} ran"))
        elif self.result == junit.FAILED and all(c.result != junit.FAILED for c in cases):
            cases.append(junit.Case(name, junit.FAILED, self.reason))
        return cases


def parse(lines: list[str]) -> list[junit.Case]:
    """The cases of a log that has lost its time stamps.

    A suite that died midway has results without a parent: they count, and so
    does the fact that it did not end.
    """
    open_nodes: dict[int, list[Node]] = {}      # level -> results awaiting their parent
    plans: dict[int, int] = {}
    remarks: list[str] = []
    for line in lines:
        if found := PLAN.match(line):
            plans[len(found[1]) // STEP] = int(found[2])
        elif found := RESULT.match(line):
            level = len(found[1]) // STEP
            result = (junit.FAILED if found[2]
                      else junit.SKIPPED if found[5] else junit.PASSED)
            node = Node(found[4], result, found[6] or " ".join(remarks)[:600],
                        open_nodes.pop(level + 1, []), plans.pop(level + 1, None))
            open_nodes.setdefault(level, []).append(node)
            remarks = []
        elif not NOISE.match(line) and ("FAILED at" in line or remarks):
            remarks.append(line.strip())
    suites = open_nodes.pop(0, [])
    cases = [leaf for suite in suites for leaf in suite.leaves("")]
    for level in sorted(open_nodes):
        cases += [leaf for node in open_nodes[level] for leaf in node.leaves("unfinished")]
    # Since 6.7, a module says how many suites it has.
    if plans.pop(0, len(suites)) != len(suites) or open_nodes or plans:
        cases.append(junit.Case("end", junit.FAILED, "the suite did not end"))
    return cases
