# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Results of tests, read from and written to JUnit XML."""

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


def write(path, suite, cases):
    root = ET.Element("testsuite", name=suite, tests=str(len(cases)),
                      failures=str(sum(c.result == FAILED for c in cases)),
                      skipped=str(sum(c.result == SKIPPED for c in cases)))
    for case in cases:
        element = ET.SubElement(root, "testcase", classname=suite, name=case.name,
                                time=f"{case.seconds:.3f}")
        if case.result == FAILED:
            ET.SubElement(element, "failure", message=case.reason)
        elif case.result == SKIPPED:
            ET.SubElement(element, "skipped", message=case.reason)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(root).write(path, encoding="unicode", xml_declaration=True)


def _reason(element):
    text = element.get("message") or (element.text or "").strip() or "no reason given"
    return " ".join(text.split())


def _case(element):
    name = ".".join(filter(None, (element.get("classname"), element.get("name"))))
    seconds = float(element.get("time") or 0)
    for child in element:
        if child.tag in ("failure", "error"):
            return Case(name, FAILED, _reason(child), seconds)
    skipped = element.find("skipped")
    if skipped is not None:
        return Case(name, SKIPPED, _reason(skipped), seconds)
    if element.get("status") in ("notrun", "disabled"):  # as ctest says it
        return Case(name, SKIPPED, "not run", seconds)
    return Case(name, PASSED, "", seconds)


def read(path):
    """The cases in a JUnit file, whatever its nesting of suites."""
    return [_case(element) for element in ET.parse(path).getroot().iter("testcase")]
