#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Find kernel splats in a console log or dmesg.

A splat is anything the kernel prints when it has caught itself at fault: a
WARN, an Oops, a KASAN or lockdep report, a leak. Every test run scans its
kernel log with this, so that no run is green on a kernel that complained.

    from splat import scan
    for s in scan(log_text):
        print(s.kind, s.line, s.excerpt)

On the command line: splat.py [--no-allow] [--list-allow] FILE...
Exit status 0 when clean, 1 on a splat, 2 when a file cannot be read.

Nothing is found by a word in the middle of a line: a headline has to start the
kernel's message, so that a test may talk about KASAN without tripping this.

A data race counts only if a module of ours makes a plain access, one that is not marked as
atomic, or if modules of ours call what makes both accesses: Linux itself has races that KCSAN
reports.
"""
from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from typing import Iterable

# What stands before the kernel's own text: a syslog level, a time, a task or
# CPU number (CONFIG_PRINTK_CALLER), in any combination.
PREFIX = re.compile(r"^(?:<\d+>)?(?:\[\s*\d+\.\d+\]\s?)?(?:\[\s*[TC]\d+\]\s?)?")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")

# kmemleak says so after each scan; its listing at the end knows better.
NEW_LEAKS = re.compile(r"kmemleak: \d+ new suspected memory leaks")
EXCERPT_LINES = 60      # an excerpt is cut after this many lines
RACE_LINES = 150        # that of a data race, which has two traces
TRACE_REACH = 60        # a trace this close below a headline belongs to it

# (kind, pattern at the start of the message). The first match names the splat,
# so the special stands before the general.
HEADLINES = [(kind, re.compile(pattern)) for kind, pattern in (
    ("kasan", r"BUG: KASAN: "),
    ("kasan", r"kasan: (?:GPF could be caused|.*invalid-free)"),
    ("kfence", r"BUG: KFENCE: "),
    ("kcsan", r"BUG: KCSAN: "),
    ("ubsan", r"UBSAN: "),
    ("suspicious-rcu", r"WARNING: suspicious RCU usage"),
    ("lockdep", r"WARNING: possible (?:circular locking dependency|recursive locking"
                r"|irq lock inversion dependency) detected"),
    ("lockdep", r"WARNING: (?:HARDIRQ|SOFTIRQ|RECLAIM_FS)-safe -> \S+-unsafe lock order detected"),
    ("lockdep", r"WARNING: inconsistent lock state"),
    ("lockdep", r"WARNING: bad (?:unlock balance|contention) detected"),
    ("lockdep", r"WARNING: (?:held lock freed!|Nested lock was not taken"
                r"|lock held when returning to user space!)"),
    ("lockdep", r"WARNING: \S+/\d+ still has locks held!"),
    ("lockdep", r"\[ BUG: Invalid wait context \]"),
    ("lockdep", r"INFO: trying to register non-static key"),
    ("lockdep", r"BUG: (?:MAX_LOCK\w*|MAX_STACK_TRACE_ENTRIES) too low"),
    ("lockdep", r"BUG: (?:key \S+ (?:has not been registered|not in \.data)|looking up invalid subclass)"),
    ("lockdep", r"BUG: workqueue leaked (?:lock|atomic)"),
    ("lockdep", r"DEBUG_LOCKS_WARN_ON\("),
    ("lockdep", r"lockdep: (?:fixing up|.*bad lock)"),
    ("lockdep", r"turning off the locking correctness validator"),
    ("atomic-sleep", r"BUG: sleeping function called from invalid context"),
    ("atomic-sleep", r"BUG: scheduling while atomic"),
    ("atomic-sleep", r"BUG: (?:using \w+\(?\)? in preemptible|assuming (?:non migratable|atomic) context)"),
    ("atomic-sleep", r"do not call blocking ops when !TASK_RUNNING"),
    ("atomic-sleep", r"(?:initcall|softirq:|huh, entered softirq) .*preempt"),
    ("soft-lockup", r"(?:watchdog: )?BUG: soft lockup"),
    ("soft-lockup", r"(?:watchdog: |NMI watchdog: )?Watchdog detected hard LOCKUP"),
    ("soft-lockup", r"BUG: workqueue lockup"),
    ("hung-task", r"INFO: task .+ blocked for more than \d+ seconds"),
    ("rcu-stall", r"(?:rcu: )?INFO: rcu_\w+ (?:self-)?detected (?:expedited )?stall"),
    ("rcu-stall", r"(?:rcu: )?INFO: rcu_\w+ detected expedited stalls"),
    ("refcount", r"refcount_t: "),
    ("refcount", r"ref_tracker: "),
    ("kmemleak", r"unreferenced object 0x"),
    ("kmemleak", r"kmemleak: \d+ new suspected memory leaks"),
    ("kmemleak", r"kmemleak: (?:Cannot (?!allocate a scan area)|Memory pool|Freeing"
                 r"|Kernel memory leak detector disabled)"),
    ("netdev-refcount", r"unregister_netdevice: waiting for "),
    ("netdev-refcount", r"leaked reference\."),
    ("odebug", r"ODEBUG: "),
    ("list-corruption", r"(?:list_add|list_del|slist\w*|hlist\w*)(?:_\w+)? corruption"),
    ("bad-page", r"BUG: Bad (?:page|rss-counter|page map|swap)"),
    ("slab", r"BUG \S.* \((?:Not tainted|Tainted|[GPFSRMBUDAWCIOELKXTN ]+)[^)]*\): "),
    ("slab", r"kmem_cache_destroy \S+: Slab cache still has objects"),
    ("slab", r"Slab .*(?:corruption|redzone)"),
    ("spinlock", r"BUG: (?:spinlock|rwlock|raw_spinlock|mutex)"),
    ("page-alloc", r"\S.*: page allocation failure: order:"),
    ("out-of-memory", r"Out of memory: "),
    ("general-protection", r"general protection fault"),
    ("oops", r"(?:Oops|invalid opcode|double fault|stack segment|divide error|int3|alignment check): "),
    ("oops", r"BUG: (?:unable to handle|kernel NULL pointer|stack guard page|TASK stack)"),
    ("oops", r"Unable to handle kernel "),
    ("bug", r"kernel BUG at "),
    ("panic", r"Kernel panic - not syncing"),
    ("net-debug", r"(?:DEBUG_NET_WARN_ON|skb_assert_len|\S+: caps=\(0x)"),
    ("net-debug", r"(?:hw csum failure|\S+: hw csum failure)"),
    # of the IOMMU of a HCA of sib whose memory has to be mapped (dma=mapped)
    ("dma", r"sib: \S+: DMA: "),
    ("warn", r"WARNING: CPU: \d+ PID: "),
    ("warn", r"WARNING: "),
    ("bug", r"BUG: "),
)]

# These carry a stack trace of their own and are no fault: an injected failure
# is what the test asked for.
EXPECTED = re.compile(r"FAULT_INJECTION: forcing a failure")
TRACE = re.compile(r"Call Trace:")
# A report of KCSAN: what was accessed and how, the frames of it, and the line that ends all.
RACE = "kcsan"
ACCESS = re.compile(r"(?:race at unknown origin, with )?(?:read|write|read-write|assert no \w+)"
                    r"(?: \(([\w, ]+)\))? to 0x[0-9a-f]+ of \d+ bytes by (?:task \d+|interrupt) on cpu")
MARKED = "marked"
FRAME = re.compile(r" [\w.]+\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(\w+)\])?$")
OUR_MODULE = re.compile(r"sib|ib_ipoib|planted_race|\w+_kunit")
NEAR_FRAMES = 3         # how far below a function of ours what it calls may access memory
END_RACE = re.compile(r"={60,}$")
CUT_HERE = re.compile(r"-+\[ cut here \]-+")
END_TRACE = re.compile(r"---\[ end (?:trace|Kernel panic)")
# Said by user space or by the boot on healthy machines, or of a tracker of references that
# got no memory for itself, as when allocations are made to fail.
HARMLESS = re.compile(
    r"WARNING: (?:Unprivileged|.* is deprecated|.*spectre|All config files need)"
    r"|ref_tracker: memory allocation failure", re.IGNORECASE)


@dataclass(frozen=True)
class Allow:
    """One known splat that does not fail a run.

    kind: the splat's kind
    line: an exact line of the report, without the time stamp and without what
          stands before a path of the kernel's tree
    trace: a function that has to stand in the report as well
    why: what it is and why it cannot be ours
    """
    kind: str
    line: str
    trace: str
    why: str

    def covers(self, splat: "Splat") -> bool:
        body = [message(l).strip() for l in splat.excerpt.splitlines()]
        return (splat.kind == self.kind and any(self.trace in l for l in body)
                and any(l == self.line or l.endswith("/" + self.line) for l in body))


@dataclass(frozen=True)
class Splat:
    """One report: its kind, the 1-based line of its headline, and its text."""
    kind: str
    line: int
    headline: str
    excerpt: str


_MAPLE = ("UML copies the parent's memory map in the child's first switch, where 6.1 "
          "walks the maple tree without rcu_read_lock; on every fork-heavy run, before "
          "and without our modules")
ALLOW = (
    Allow("suspicious-rcu", "lib/maple_tree.c:816 suspicious rcu_dereference_check() usage!",
          "fork_handler", _MAPLE),
    Allow("suspicious-rcu", "lib/maple_tree.c:860 suspicious rcu_dereference_check() usage!",
          "fork_handler", _MAPLE),
)


def message(line: str) -> str:
    """The kernel's text of a log line, without level, time and colours."""
    return PREFIX.sub("", CONTROL.sub("", line), count=1).rstrip()


def kind_of(text: str) -> str | None:
    """The kind of splat that a message starts, or None."""
    if HARMLESS.match(text):
        return None
    for kind, pattern in HEADLINES:
        if pattern.match(text):
            return kind
    return None


def is_our_race(lines: Iterable[str]) -> bool:
    """Whether a report of KCSAN is about a module of ours.

    That is so if it makes a plain access itself, or if both are made by what modules of ours
    call, and one of them is plain.
    """
    accesses: list[tuple[bool, list[bool]]] = []    # is it plain, and which frames are ours
    for line in lines:
        text = message(line)
        if access := ACCESS.match(text):
            accesses.append((MARKED not in (access[1] or ""), []))
        elif accesses and (frame := FRAME.match(text)):
            accesses[-1][1].append(bool(frame[1] and OUR_MODULE.fullmatch(frame[1])))
    ours = [(plain, frames) for plain, frames in accesses if any(frames[:NEAR_FRAMES])]
    return any(plain and (frames[0] or len(ours) == 2) for plain, frames in ours)


class _Report:
    """A report while its lines come in."""

    def __init__(self, number: int, kind: str | None, boxed: bool):
        self.number = number
        self.kind = kind
        self.boxed = boxed      # opened by a cut-here line: all up to end trace is one
        self.headline = ""
        self.named = False
        self.lines: list[str] = []

    def splat(self) -> Splat | None:
        if self.kind is None or (self.kind == RACE and not is_our_race(self.lines)):
            return None
        most = RACE_LINES if self.kind == RACE else EXCERPT_LINES
        return Splat(self.kind, self.number, self.headline, "\n".join(self.lines[:most]))

    def is_ended_by(self, text: str) -> bool:
        return bool(END_TRACE.match(text) or (self.kind == RACE and END_RACE.match(text)))


def scan(text_or_lines: str | Iterable[str], allow: Iterable[Allow] = ALLOW) -> list[Splat]:
    """All splats of a log, in order, except those that allow covers."""
    lines = text_or_lines.splitlines() if isinstance(text_or_lines, str) else text_or_lines
    found: list[Splat] = []
    allowed = tuple(allow)
    report: _Report | None = None

    def close() -> None:
        nonlocal report
        splat = report.splat() if report else None
        if splat and not any(a.covers(splat) for a in allowed):
            found.append(splat)
        report = None

    for number, raw in enumerate(lines, 1):
        raw = raw.rstrip("\n")
        text = message(raw)
        if CUT_HERE.match(text):
            close()
            report = _Report(number, "warn", True)
            report.headline = text
        elif EXPECTED.match(text):
            close()
            report = _Report(number, None, False)
        elif (kind := kind_of(text)) is not None:
            report = _headline(report, close, number, kind, text)
        elif TRACE.match(text) and (report is None or number - report.number > TRACE_REACH):
            close()
            report = _Report(number, "stack-trace", False)
            report.headline = text
        if report is not None:
            report.lines.append(raw)
            if report.is_ended_by(text):
                close()
    close()
    return found


def _headline(report: _Report | None, close, number: int, kind: str, text: str) -> _Report:
    """Open a report for a headline, or refine the one it stands in."""
    if report is not None and report.boxed and number - report.number < TRACE_REACH:
        # Inside a cut-here box the first headline names it, a special one before WARNING.
        if not report.named or (report.kind == "warn" and kind != "warn"):
            report.kind, report.headline, report.named = kind, text, True
        return report
    if report is not None and report.kind is None and kind == "page-alloc":
        return report           # said about the failure that was injected
    close()
    fresh = _Report(number, kind, False)
    fresh.headline = text
    return fresh


def render(splat: Splat, name: str) -> str:
    """A splat as a person reads it."""
    head = f"{name}:{splat.line}: {splat.kind}: {splat.headline}"
    return head + "\n" + "\n".join("    " + l for l in splat.excerpt.splitlines())


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--no-allow", action="store_true", help="report the known splats as well")
    parser.add_argument("--list-allow", action="store_true", help="print the allow-list and why")
    parser.add_argument("files", nargs="*", metavar="FILE", help="log to scan, - for standard input")
    args = parser.parse_args(argv)
    if args.list_allow:
        for entry in ALLOW:
            print(f"{entry.kind}: {entry.line} (in {entry.trace})\n    {entry.why}")
        return 0
    if not args.files:
        parser.error("no file given")
    status = 0
    for name in args.files:
        try:
            if name == "-":
                text = sys.stdin.read()
            else:
                with open(name, encoding="utf-8", errors="replace") as file:
                    text = file.read()
        except OSError as error:
            print(f"splat.py: {name}: {error.strerror}", file=sys.stderr)
            return 2
        for splat in scan(text, () if args.no_allow else ALLOW):
            print(render(splat, name))
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
