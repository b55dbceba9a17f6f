# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Where the time of a test run goes: builds, boots, waiting and work.

All figures are seconds of the run as it was, so that those of a suite add up to what
the suite has taken. Work is the share of the rest in which the machine's processors were
busy, whoever kept them so: on a machine with other load, waiting seems to be less.
"""

from dataclasses import dataclass
from pathlib import Path

from . import junit

STAT = Path("/proc/stat")
IDLE, IOWAIT = 3, 4     # columns of /proc/stat's line of all processors (proc(5))
SLOWEST = 20


@dataclass
class Spent:
    """What a suite has spent, in seconds.

    build:   of compiling before its tests and during them
    boot:    of kernels that its tests have waited for
    waiting: of the rest, while the processors were idle
    work:    of the rest, while they were not
    """

    build: float = 0.0
    boot: float = 0.0
    waiting: float = 0.0
    work: float = 0.0


class Processors:
    """How busy the machine's processors are from now on."""

    def __init__(self):
        self._first = self._read()

    @staticmethod
    def _read():
        """All processors' ticks since boot, and those of them in which one was idle."""
        ticks = [int(word) for word in STAT.read_text().split("\n", 1)[0].split()[1:9]]
        return sum(ticks), ticks[IDLE] + ticks[IOWAIT]

    def idle_share(self):
        """The share of all processors' time since the start in which they had nothing to do."""
        total, idle = (now - then for now, then in zip(self._read(), self._first))
        return idle / total if total else 0.0


def spent(taken, built, cases, noted, idle_share):
    """What a suite has spent of the seconds that it has taken.

    @built: seconds of its build commands; @cases: its cases; @noted: its properties
    """
    lanes = float(noted.get(junit.LANES, 1))
    build = built + float(noted.get(junit.BUILD, 0)) + sum(c.spent(junit.BUILD) for c in cases) / lanes
    boot = sum(c.spent(junit.BOOT) for c in cases) / lanes
    rest = max(0.0, taken - build - boot)
    return Spent(build, boot, rest * idle_share, rest * (1 - idle_share))


def table(suites):
    """A line for each suite, and one for all."""
    form = "{:10}{:>7}{:>8}{:>8}{:>9}{:>9}{:>8}{:>7}{:>9}{:>7}  {}"
    lines = [form.format("suite", "tests", "passed", "failed", "skipped", "seconds", "build", "boot",
                         "waiting", "work", "what")]
    sums = [0] * 9
    for suite in suites:
        spent_ = suite.spent
        row = [len(suite.cases), *(suite.count(result) for result in
                                   (junit.PASSED, junit.FAILED, junit.SKIPPED)),
               suite.taken, spent_.build, spent_.boot, spent_.waiting, spent_.work]
        sums = [total + value for total, value in zip(sums, row)]
        lines.append(form.format(suite.name, *(f"{value:.0f}" for value in row), suite.what))
    return [*lines, form.format("all", *(f"{value:.0f}" for value in sums), "").rstrip()]


def _rows(suites):
    return [(case.seconds, case.spent(junit.BUILD), case.spent(junit.BOOT), suite.name, case.name)
            for suite in suites for case in suite.cases]


def tests(suites):
    """A line for each test, in the order of the run: seconds, of these build and boot, names."""
    return [f"{seconds:9.3f} {build:8.1f} {boot:8.1f}  {suite}: {name}"
            for seconds, build, boot, suite, name in _rows(suites)]


def slowest(suites, number=SLOWEST):
    """The tests that have taken longest, with what they waited for builds and boots."""
    rows = sorted(_rows(suites), key=lambda row: -row[0])[:number]
    return [f"{seconds:8.1f} s  build {build:5.1f}  boot {boot:5.1f}  {suite}: {name}"
            for seconds, build, boot, suite, name in rows]
