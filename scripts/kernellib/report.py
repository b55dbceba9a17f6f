# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Results of a run: for people, as JUnit XML, and as an exit status."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass
class Case:
    """One test: its name, its result, why if not passed, and its seconds."""

    name: str
    result: str
    reason: str = ""
    seconds: float = 0.0


def write_junit(path: str, suite: str, cases: list[Case]) -> None:
    root = ET.Element("testsuite", name=suite, tests=str(len(cases)),
                      failures=str(sum(c.result == FAILED for c in cases)),
                      skipped=str(sum(c.result == SKIPPED for c in cases)))
    for case in cases:
        element = ET.SubElement(root, "testcase", classname=suite, name=case.name,
                                time=f"{case.seconds:.3f}")
        if case.result != PASSED:
            tag = "failure" if case.result == FAILED else "skipped"
            ET.SubElement(element, tag, message=case.reason)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(root).write(path, encoding="unicode", xml_declaration=True)


def finish(suite: str, cases: list[Case], junit: str | None) -> int:
    """Print the sum, write the XML and return the exit status.

    A run in which nothing passed proves nothing: it is red.
    """
    count = {r: sum(c.result == r for c in cases) for r in (PASSED, FAILED, SKIPPED)}
    for case in cases:
        if case.result != PASSED:
            print(f"{case.result}: {case.name}: {case.reason}")
    if not count[PASSED] and not count[FAILED]:
        cases = cases + [Case(f"{suite}.any", FAILED, "no test ran")]
        count[FAILED] = 1
        print("failed: no test ran")
    if junit:
        write_junit(junit, suite, cases)
    tail = f", {count[SKIPPED]} skipped" if count[SKIPPED] else ""
    print(f"{suite}: {count[PASSED]} passed, {count[FAILED]} failed{tail}", flush=True)
    return 2 if count[FAILED] else 0
