# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The whole stack in one UML process: sib over veth, ib_ipoib, OpenSM."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checklib import junit, programs

from . import build, uml

SCENARIOS = build.TOP / "tests/kernel/stack"
BY_NAME = "\n# run: by name\n"   # in a scenario that `stack` alone leaves out
CLOCK = re.compile(r"^# clock: (\w+)$", re.MULTILINE)    # of uml-run, in a scenario
MEMORY = re.compile(r"^# memory: (\w+)$", re.MULTILINE)  # of the guest, in a scenario
LIMIT_SECONDS = 600
# Of those that need another one
LIMITS = {"connections": 1800, "ha-soak": 3600, "modes": 3600, "soak": 7200, "thousand": 5400}
# Of the environment, for a scenario that has them
KNOBS = ("SOAK", "CROWD", "NEIGHBOURS", "HOURS", "PEERS", "SEED", "SWITCHES")
AT_ONCE = 2             # a scenario keeps one processor busy
# What takes longest comes first, so that nothing is left to wait for at the end.
LONGEST = ("kill", "verbs", "loss", "peers", "fault-make", "reload", "malformed", "fault",
           "unplug")

# Scenario: what it runs of ours, in user space
FABRIC = ("ibfabric", "ibfabric-ctl")
PROGRAMS = {"bond": ("ib-bond",), "connections": ("ib-peers",), "ha": ("ipoib-ha",),
            "malformed": ("ib-frames",), "managers": ("ipoib-ha",), "openib": ("openib",),
            **dict.fromkeys(("ha-children", "ha-soak"), ("ipoib-ha", *FABRIC)),
            **dict.fromkeys(("fabric", "failover", "fat-tree", "groups", "handover", "partitions",
                            "peers", "soak", "thousand"), FABRIC)}

# Scenarios with programs that must not be installed here
UNPACKED = ("managers",)

_printing = threading.Lock()


def names() -> list[str]:
    found = sorted(p.stem for p in SCENARIOS.glob("*.sh") if not p.stem.endswith("lib"))
    return sorted(found, key=lambda name: LONGEST.index(name) if name in LONGEST else len(LONGEST))


def build_programs(chosen: list[str]) -> None:
    """What the scenarios run besides the distribution's programs, built if need be."""
    targets = [target for name in chosen for target in PROGRAMS.get(name, ())]
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


def run_one(name: str, tree: Path, mirror: Path, folder: str) -> junit.Case:
    """Run a scenario; print what it printed when it is done."""
    script = SCENARIOS / f"{name}.sh"
    out = uml.RESULTS / f"stack-{name}"
    text = script.read_text(encoding="utf-8")
    clock, memory = CLOCK.search(text), MEMORY.search(text)
    start = time.monotonic()
    done = subprocess.run(
        [str(uml.RUN), "--kernel", str(tree), "--timeout",
         str(LIMITS.get(name, LIMIT_SECONDS)), "--out", str(out),
         "--clock", clock[1] if clock else "real", *(("--mem", memory[1]) if memory else ()),
         "--env", f"STACK={SCENARIOS}", "--env", f"IB_PEERS={programs.BIN}/ib-peers",
         "--env", f"IB_FRAMES={programs.BIN}/ib-frames", "--env", f"OPENIB={programs.BIN}/openib",
         "--env", f"IPOIB_HA={programs.BIN}/ipoib-ha",
         "--env", f"IBFABRIC={programs.BIN}/ibfabric",
         "--env", f"IB_BOND={programs.BIN}/ib-bond", "--env", f"PROGRAMS={folder}",
         *(word for knob in KNOBS if knob in os.environ
           for word in ("--env", f"{knob}={os.environ[knob]}")),
         "--env", f"SIB_KO={mirror}/drivers/sib/sib.ko",
         "--env", f"IPOIB_KO={mirror}/drivers/ipoib/ib_ipoib.ko", str(script)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    seconds = time.monotonic() - start
    with _printing:
        print(f"=== stack {name}: {seconds:.0f} s\n{done.stdout}", end="", flush=True)
    reason = {0: "", 97: "kernel splat", 98: "did not finish", 99: "kernel died"}.get(
        done.returncode, f"status {done.returncode}")
    return junit.Case(f"stack.{name}", junit.FAILED if reason else junit.PASSED,
                      f"{reason}, see {out}" if reason else "", seconds)


def run(args) -> int:
    chosen = args.scenarios or [name for name in names() if BY_NAME not in
                                (SCENARIOS / f"{name}.sh").read_text(encoding="utf-8")]
    for name in chosen:
        if name not in names():
            print(f"test-kernel: no scenario '{name}': one of {', '.join(names())}", file=sys.stderr)
            return 1
    tree = uml.kernel(args)
    with uml.exclusive(), ThreadPoolExecutor(min(AT_ONCE, os.cpu_count() or 1)) as pool:
        mirror = uml.modules(tree)
        build_programs(chosen)
        folder = unpacked(chosen)
        cases = list(pool.map(lambda name: run_one(name, tree, mirror, folder), chosen))
    return junit.finish("stack", cases, args.junit)


def add_arguments(parser) -> None:
    uml.add_arguments(parser)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(names()))
    parser.set_defaults(run=run)
