# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Results of tests: as JUnit XML, for people, and as an exit status."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
# Properties, of a case or of a suite
BOOT, BUILD = "boot", "build"   # seconds
LANES = "lanes"                 # how many tests of the suite run at once


@dataclass
class Case:
    """One test: its name, its result, why if not passed, its seconds, and what it noted.

    properties: (name, value as text) in the order noted. BOOT and BUILD say in seconds
                how long the test has waited for a kernel to boot, and for a build
    """

    name: str
    result: str
    reason: str = ""
    seconds: float = 0.0
    properties: list = field(default_factory=list)

    def spent(self, what):
        """Seconds noted under this name, all together."""
        return sum(float(value) for name, value in self.properties if name == what)


def _write_properties(parent, properties):
    if properties:
        element = ET.SubElement(parent, "properties")
        for name, value in properties:
            ET.SubElement(element, "property", name=name, value=str(value))


def write(path, suite, cases, properties=()):
    """Write results; @properties: (name, value) of the suite as a whole.

    A file is replaced as a whole: who reads it meanwhile sees the old one.
    """
    root = ET.Element("testsuite", name=suite, tests=str(len(cases)),
                      failures=str(sum(c.result == FAILED for c in cases)),
                      skipped=str(sum(c.result == SKIPPED for c in cases)))
    _write_properties(root, properties)
    for case in cases:
        element = ET.SubElement(root, "testcase", classname=suite, name=case.name,
                                time=f"{case.seconds:.3f}")
        _write_properties(element, case.properties)
        if case.result == FAILED:
            ET.SubElement(element, "failure", message=case.reason)
        elif case.result == SKIPPED:
            ET.SubElement(element, "skipped", message=case.reason)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(f"{path}.new")
    ET.ElementTree(root).write(fresh, encoding="unicode", xml_declaration=True)
    fresh.replace(path)


def _reason(element):
    text = element.get("message") or (element.text or "").strip() or "no reason given"
    return " ".join(text.split())


def _case(element):
    name = ".".join(filter(None, (element.get("classname"), element.get("name"))))
    seconds = float(element.get("time") or 0)
    properties = [(p.get("name"), p.get("value")) for p in element.iter("property")]
    for child in element:
        if child.tag in ("failure", "error"):
            return Case(name, FAILED, _reason(child), seconds, properties)
    skipped = element.find("skipped")
    if skipped is not None:
        return Case(name, SKIPPED, _reason(skipped), seconds, properties)
    if element.get("status") in ("notrun", "disabled"):  # as ctest says it
        return Case(name, SKIPPED, "not run", seconds, properties)
    return Case(name, PASSED, "", seconds, properties)


def read(path):
    """The cases in a JUnit file, whatever its nesting of suites. ValueError if it is none."""
    try:
        return [_case(element) for element in ET.parse(path).getroot().iter("testcase")]
    except (ET.ParseError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def properties(path):
    """What a JUnit file says of its suite as a whole: name -> value as text."""
    return {p.get("name"): p.get("value") for suite in ET.parse(path).getroot().iter("testsuite")
            for p in suite.findall("properties/property")}


def finish(suite, cases, path=None, noted=(), may_skip=False):
    """Print what has not passed and the sum, write the XML, return the exit status.

    @noted: (name, value) properties of the suite
    @may_skip: all of it may be skipped for a reason

    A run in which nothing passed proves nothing: it is red, unless it @may_skip.
    """
    if not (may_skip and cases) and all(case.result == SKIPPED for case in cases):
        cases = [*cases, Case(f"{suite}.any", FAILED, "no test ran")]
    for case in cases:
        if case.result != PASSED:
            print(f"{case.result}: {case.name}: {case.reason}")
    if path:
        write(path, suite, cases, noted)
    count = {r: sum(case.result == r for case in cases) for r in (PASSED, FAILED, SKIPPED)}
    tail = f", {count[SKIPPED]} skipped" if count[SKIPPED] else ""
    print(f"{suite}: {count[PASSED]} passed, {count[FAILED]} failed{tail}", flush=True)
    return 2 if count[FAILED] else 0
