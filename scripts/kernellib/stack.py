# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The whole stack in one UML process: sib over veth, ib_ipoib, OpenSM."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from checklib import junit, programs
from lablib.plan import HCAS

from . import build, ending, kunit, uml
from .guest import Guest

SCENARIOS = build.TOP / "tests/kernel/stack"
PLANTED = build.TOP / "tests/kernel/planted"
# What each planted fault has to be found by: the words of a scenario's failure
FAULTS = {"clean": "", "leak": "kmemleak", "splat": "BUG: KASAN", "leftover": "left behind",
          "process": "left behind", "status": "status 3", "death": "the kernel died",
          "endless": "but when its processes had been looked at"}
# In the header of a scenario:
BY_NAME = "\n# run: by name\n"            # it takes long; `stack` alone leaves it out
CLOCK = re.compile(r"^# clock: (\w+)$", re.MULTILINE)    # of uml-run
MEMORY = re.compile(r"^# memory: (\w+)$", re.MULTILINE)  # of the guest
SOURCED = re.compile(r'^source "\$STACK/(.+)"$', re.MULTILINE)
LIMIT_SECONDS = 600
# Of those that need another one
LIMITS = {"endless": 10, "connections": 1800, "fault": 1800, "fault-make": 1800, "ha-soak": 3600,
          "impostors": 3600, "many": 1800, "modes": 3600, "queues": 1800, "requests": 3600,
          "soak": 7200, "strangers": 3600, "thousand": 5400}
# Of the environment, for a scenario that has them
KNOBS = ("SOAK", "CROWD", "NEIGHBOURS", "HOURS", "PEERS", "SEED", "HCA_SEED", "SWITCHES",
         "STRANGERS", "IMPOSTORS", "REQUESTS", "KILLS")
# What takes longest comes first, so that nothing is left to wait for at the end.
LONGEST = ("fault-make", "failover", "fault", "queues", "kill", "loss", "groups", "ha", "reload")

# Variable of a scenario's environment: the program of ours that it names. Who runs ibfabric
# runs ibfabric-ctl, too.
BINARIES = {"IB_PEERS": "ib-peers", "IB_FRAMES": "ib-frames", "OPENIB": "openib",
            "IPOIB_HA": "ipoib-ha", "IBFABRIC": "ibfabric", "IB_BOND": "ib-bond", "IB_FLEET": "ib-fleet"}

# Scenarios that send frames without a copy, by a module
LENT = ("hostile",)

# Scenarios with programs that must not be installed here
UNPACKED = ("managers",)


def names() -> list[str]:
    found = sorted(p.stem for p in SCENARIOS.glob("*.sh") if not p.stem.endswith("lib"))
    return sorted(found, key=lambda name: LONGEST.index(name) if name in LONGEST else len(LONGEST))


def text_of(script: Path) -> str:
    """A scenario's text, with what it sources."""
    text = script.read_text(encoding="utf-8")
    return text + "".join(text_of(SCENARIOS / name) for name in SOURCED.findall(text))


def programs_of(name: str) -> list[str]:
    """What a scenario runs of ours, in user space."""
    text = text_of(SCENARIOS / f"{name}.sh")
    found = [program for variable, program in BINARIES.items() if re.search(rf"\${variable}\b", text)]
    return found + ["ibfabric-ctl"] if "ibfabric" in found else found


def build_programs(chosen: list[str]) -> None:
    """What the scenarios run besides the distribution's programs, built if need be."""
    targets = [target for name in chosen for target in programs_of(name)]
    try:
        if targets:
            programs.build(targets)
    except RuntimeError as error:
        raise build.BuildError(str(error)) from None


def unpacked(chosen: list[str]) -> str:
    """The folder of programs that are not installed, if a scenario has them.

    Where they cannot be had, only that scenario fails.
    """
    if not set(chosen) & set(UNPACKED):
        return ""
    return subprocess.run([build.TOP / "scripts/unpack-programs"], text=True,
                          stdout=subprocess.PIPE, check=False).stdout.strip()


@dataclass(frozen=True)
class Scenario:
    """A scenario, and what its header asks for.

    kind:   of kernel: its options of uml-run. Scenarios of a kind may share a kernel
    single: it has a kernel to itself
    """

    name: str
    script: Path
    kind: tuple[str, ...]
    single: bool
    seconds: float

    @classmethod
    def read(cls, script: Path, prefix: str = "") -> Scenario:
        text = script.read_text(encoding="utf-8")
        clock, memory = CLOCK.search(text), MEMORY.search(text)
        kind = ("--clock", clock[1] if clock else "real", *(("--mem", memory[1]) if memory else ()))
        return cls(prefix + script.stem, script, kind, bool(clock),
                   LIMITS.get(script.stem, LIMIT_SECONDS))


class Run:
    """Scenarios under way: as many at once as there are processors, in one kernel more.

    The kernel whose scenario has ended waits, idle, to look for leaks; meanwhile another
    one has its processor.
    """

    def __init__(self, scenarios: list[Scenario], tree: Path, variables: dict[str, str], results: Path,
                 quiet: bool = False):
        self._left = list(scenarios)    # to be run
        self._tree = tree
        self._variables = variables
        self._results = results         # the folder for a folder of each scenario
        self._quiet = quiet
        self._guests: list[Guest] = []
        self._is_over = False           # before its time: kernels are not wanted any more
        self._name = "planted-" if quiet else ""    # of its kernels
        self._lock = threading.Lock()
        self.lanes = min(os.cpu_count() or 1, len(scenarios))
        self._processors = threading.Semaphore(self.lanes)
        self.cases: list[junit.Case] = []

    def _take(self, kind: tuple[str, ...] | None) -> Scenario | None:
        """The next scenario, of this kind of kernel if there is one."""
        with self._lock:
            mine = [s for s in self._left if s.kind == kind and not s.single]
            found = (mine or self._left or [None])[0]
            if found:
                self._left.remove(found)
            return found

    def _work(self, number: int) -> None:
        """One kernel after another, until no scenario is left."""
        guest, kind, kernels = None, None, 0
        while scenario := self._take(kind):
            if guest and (scenario.single or scenario.kind != kind):
                self._end(guest)
                guest = None
            if guest is None:
                kernels += 1
                kind = scenario.kind
                guest = self._guest(f"{number}-{kernels}", scenario)
            if not self._one(guest, scenario) or scenario.single:
                self._end(guest)
                guest = kind = None
        if guest:
            self._end(guest)

    def _guest(self, number: str, scenario: Scenario) -> Guest:
        """A kernel for scenarios such as this one."""
        guest = Guest(f"kernel-{self._name}{os.getpid()}-{number}", self._tree, [*scenario.kind],
                      scenario.single)
        with self._lock:
            self._guests.append(guest)
            is_over = self._is_over
        if is_over:
            guest.kill()
        return guest

    def _one(self, guest: Guest, scenario: Scenario) -> bool:
        """Run a scenario; print what it printed when it is done. Whether all was well."""
        place = self._results / f"stack-{scenario.name}"
        before = guest.names[-1:]
        self._processors.acquire()   # given back when the script has ended
        outcome = guest.run(scenario.name, scenario.script, self._variables, scenario.seconds, place,
                            self._processors.release)
        output = place / "output"
        text = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
        against = "".join(f"{problem}\n" for problem in outcome.problems)
        if against:
            against += f"after {', '.join(guest.names[:-1]) or 'none'} in {guest.out}\n"
        self._note(scenario.name, outcome.problems, place, f"=== stack {scenario.name}: "
                   f"{outcome.seconds:.0f} s\n{text}{against}", outcome.seconds, outcome.boot)
        if outcome.earlier:
            name = f"{before[0]}.later" if before else f"{scenario.name}.boot"
            self._note(name, outcome.earlier, guest.out, "\n".join(outcome.earlier) + "\n")
        return not outcome.problems and not outcome.earlier

    def _note(self, name: str, problems: list[str], place: Path, text: str, seconds: float = 0.0,
              boot: float = 0.0) -> None:
        """Note and print how it went."""
        # The first line says only that something is wrong; often nothing but the summary is kept.
        reason = f"{' | '.join(problems[0].splitlines()[:8])}, see {place}" if problems else ""
        case = junit.Case(f"stack.{name}", junit.FAILED if problems else junit.PASSED, reason, seconds,
                          [(junit.BOOT, f"{boot:.1f}")])
        with self._lock:
            self.cases.append(case)
            if not self._quiet:
                print(text, end="", flush=True)

    def _end(self, guest: Guest) -> None:
        trouble = guest.end()
        if trouble:
            self._note(f"{guest.names[0]}.kernel", [trouble], guest.out, f"{trouble}\n")

    def all(self) -> None:
        """Run them all. What ends this early, a signal too, ends the kernels that run."""
        with ending.signals_raise(), ThreadPoolExecutor(self.lanes + 1) as pool:
            work = [pool.submit(self._work, number) for number in range(1, self.lanes + 2)]
            try:
                for done in work:
                    done.result()
            except BaseException:
                self._stop()
                raise

    def _stop(self) -> None:
        with self._lock:
            self._left.clear()
            self._is_over = True
            guests = list(self._guests)
        for guest in guests:
            guest.kill()


def _variables(mirror: Path, folder: str, lender: str, hca: str) -> dict[str, str]:
    """What scenarios find in their environment."""
    return {"STACK": str(SCENARIOS), "PROGRAMS": folder, "LENDER_KO": lender, "HCA": hca,
            **{name: f"{programs.BIN}/{program}" for name, program in BINARIES.items()},
            **{knob: os.environ[knob] for knob in KNOBS if knob in os.environ},
            "SIB_KO": f"{mirror}/drivers/sib/sib.ko",
            "IPOIB_KO": f"{mirror}/drivers/ipoib/ib_ipoib.ko"}


def check_planted(tree: Path, mirror: Path, results: Path) -> list[junit.Case]:
    """Each planted fault is found, and held against nothing but the scenario that has it.

    Its modules, of tests/kunit/planted, have been built.
    """
    place = mirror / "tests/kunit/planted"
    variables = {"KUNIT_KO": str(kunit.kunit_module(tree)), "PLANTED": str(place)}
    scripts = sorted(PLANTED.glob("*.sh"))
    under_way = Run([Scenario.read(script, "planted-") for script in scripts], tree, variables,
                    results, quiet=True)
    under_way.all()
    found = {case.name: case for case in under_way.cases}
    cases = []
    for name in sorted({script.stem for script in scripts} | set(FAULTS)):
        case = found.pop(f"stack.planted-{name}", junit.Case(name, junit.FAILED, "it has not run"))
        wanted = FAULTS.get(name, "no fault that is known")
        good = wanted in case.reason if wanted else case.result == junit.PASSED
        cases.append(junit.Case(f"stack.planted.{name}", junit.PASSED if good else junit.FAILED,
                                "" if good else f"to be found by '{wanted}', found: '{case.reason}'",
                                case.seconds))
    return cases + [junit.Case(f"stack.planted.{case.name}", junit.FAILED, case.reason)
                    for case in found.values()]


def run(args) -> int:
    by_default = [name for name in names() if (BY_NAME in (SCENARIOS / f"{name}.sh").read_text(
        encoding="utf-8")) == args.long]
    chosen = args.scenarios or by_default
    for name in chosen:
        if name not in names():
            print(f"test-kernel: no scenario '{name}': one of {', '.join(names())}", file=sys.stderr)
            return 1
    with uml.exclusive():
        start = time.monotonic()
        tree = uml.kernel(args)
        mirror = uml.modules(tree)
        for old in uml.RESULTS.glob("kernel-*"):    # a kernel whose folder is gone ends
            shutil.rmtree(old, ignore_errors=True)
        has_planted = not args.scenarios and not args.long
        if has_planted:
            kunit.compile_suites(tree, mirror, "planted", False)
        build_programs(chosen)
        folder = unpacked(chosen)
        lender = str(uml.lender(tree, uml.RESULTS)) if set(chosen) & set(LENT) else ""
        built = time.monotonic() - start
        under_way = Run([Scenario.read(SCENARIOS / f"{name}.sh") for name in chosen], tree,
                        _variables(mirror, folder, lender, args.hca), uml.results(args))
        under_way.all()
        cases = under_way.cases
        if has_planted:
            cases += check_planted(tree, mirror, uml.results(args))
    return junit.finish("stack", cases, args.junit,
                        [(junit.BUILD, f"{built:.1f}"), (junit.LANES, under_way.lanes)])


def add_arguments(parser) -> None:
    uml.add_arguments(parser)
    parser.add_argument("--long", action="store_true",
                        help="those that run by name, instead of the others")
    parser.add_argument("--hca", choices=HCAS, default=HCAS[0],
                        help="what sib's HCAs are like, where a scenario does not choose (default: sib)")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(names()))
    parser.set_defaults(run=run)
