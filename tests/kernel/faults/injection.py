# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The kernel's knobs for allocations that fail: of threads, and of all."""

import os
from pathlib import Path

DEBUG = Path("/sys/kernel/debug")
SLAB, PAGES = DEBUG / "failslab", DEBUG / "fail_page_alloc"
ENOUGH = 1_000_000      # more allocations than any operation makes


def write(path, value):
    path.write_text(f"{value}\n", encoding="ascii")


def prepare():
    """Failures may hit what may sleep, pages too, and each is told in the log,
    so that a complaint about it is known for what it is."""
    for attribute in (SLAB, PAGES):
        write(attribute / "ignore-gfp-wait", "N")
        write(attribute / "verbose", 1)
        write(attribute / "verbose_ratelimit_interval_ms", 0)
    write(PAGES / "min-order", 0)


class OwnThread:
    """fail-nth of the calling thread: what a system call allocates."""

    def __init__(self):
        self.knob = os.open("/proc/thread-self/fail-nth", os.O_RDWR)

    def arm(self, number):
        os.write(self.knob, b"%d" % number)

    def disarm(self):
        """Stop. Returns the least number of allocations left to a failure, 0 if it came."""
        left = int(os.pread(self.knob, 16, 0))
        os.write(self.knob, b"0")
        return left


class Workers:
    """fail-nth of each kernel worker: what work items allocate.

    Which worker gets an item is up to the kernel, so all count, each for
    itself; one that is started meanwhile does not.
    """

    def __init__(self):
        self.knobs = []

    def arm(self, number):
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "comm").read_text(encoding="ascii").startswith("kworker/"):
                    knob = os.open(process / "fail-nth", os.O_RDWR)
                    self.knobs.append(knob)
                    os.write(knob, b"%d" % number)
            except (FileNotFoundError, ProcessLookupError):
                continue

    def disarm(self):
        least = ENOUGH
        for knob in self.knobs:
            try:
                least = min(least, int(os.pread(knob, 16, 0)))
                os.write(knob, b"0")
            except ProcessLookupError:
                pass
            os.close(knob)
        self.knobs = []
        return least


class Atomic:
    """One allocation that must not wait, of anybody: softirqs make them.

    kind: SLAB, counted in steps of STEP bytes, or PAGES, counted in pages
    """

    STEP = 192

    def __init__(self, kind):
        self.kind, self.step = kind, self.STEP if kind == SLAB else 1

    def arm(self, number):
        write(self.kind / "ignore-gfp-wait", "Y")
        write(self.kind / "space", number * self.step)
        write(self.kind / "times", 1)
        write(self.kind / "probability", 100)

    def disarm(self):
        write(self.kind / "probability", 0)
        write(self.kind / "ignore-gfp-wait", "N")
        left = int((self.kind / "times").read_text(encoding="ascii"))
        write(self.kind / "times", 0)
        return left
