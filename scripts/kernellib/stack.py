# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The whole stack in one UML process: sib over veth, ib_ipoib, OpenSM."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from . import build, report

SCENARIOS = build.TOP / "tests/kernel/stack"
RESULTS = build.TOP / "build/uml"
CLOCK = re.compile(r"^# clock: (\w+)$", re.MULTILINE)    # of uml-run, in a scenario


def names() -> list[str]:
    return sorted(p.stem for p in SCENARIOS.glob("*.sh") if p.stem != "lib")


def modules(tree: Path) -> Path:
    """Build the drivers for the kernel; the folder that holds them."""
    # A mirror of its own: a run may last, and others build meanwhile.
    done = subprocess.run([str(build.TOP / "scripts/build-modules"), str(tree)],
                          stdout=subprocess.PIPE, text=True, check=False,
                          env=dict(os.environ, MODULES_MIRROR=str(RESULTS / "modules")))
    if done.returncode:
        raise build.BuildError("the drivers do not build for this kernel")
    return Path(done.stdout.splitlines()[-1])


@contextmanager
def exclusive():
    """One run at a time in a checkout: they share modules and result folders."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    with open(RESULTS / "lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("test-kernel: another run is under way here; waiting for it", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def kernel(args) -> Path:
    """The UML tree of the command line, or the cached one, built if need be."""
    if args.kernel:
        return Path(args.kernel).resolve()
    return build.build(build.VARIANTS["uml"]).resolve()


def run_one(name: str, tree: Path, mirror: Path, intree: bool) -> report.Case:
    out = RESULTS / f"stack-{name}"
    ipoib = mirror / "drivers/ipoib/ib_ipoib.ko"
    if intree:
        ipoib = next(p for base in (tree / "modroot", tree / "drivers/infiniband")
                     for p in base.rglob("ib_ipoib.ko"))
    command = [str(build.TOP / "scripts/uml-run"), "--kernel", str(tree), "--timeout", "400",
               "--out", str(out), "--env", f"STACK={SCENARIOS}",
               "--env", f"SIB_KO={mirror}/drivers/sib/sib.ko", "--env", f"IPOIB_KO={ipoib}"]
    clock = CLOCK.search((SCENARIOS / f"{name}.sh").read_text(encoding="utf-8"))
    command += ["--clock", clock[1] if clock else "skip"]
    start = time.monotonic()
    status = subprocess.run([*command, str(SCENARIOS / f"{name}.sh")], check=False).returncode
    reason = {0: "", 97: "kernel splat", 98: "did not finish", 99: "kernel died"}.get(
        status, f"status {status}")
    return report.Case(f"stack.{name}", report.FAILED if status else report.PASSED,
                       f"{reason}, see {out}" if status else "", time.monotonic() - start)


def run(args) -> int:
    chosen = args.scenarios or names()
    for name in chosen:
        if name not in names():
            print(f"test-kernel: no scenario '{name}': one of {', '.join(names())}", file=sys.stderr)
            return 1
    tree = kernel(args)
    cases = []
    with exclusive():
        mirror = modules(tree)
        for name in chosen:
            print(f"=== stack {name}", flush=True)
            cases.append(run_one(name, tree, mirror, args.intree))
    return report.finish("stack", cases, args.junit)


def add_arguments(parser) -> None:
    parser.add_argument("--kernel", metavar="TREE", help="UML build tree (default: the cached one)")
    parser.add_argument("--junit", metavar="FILE", help="write the results there as well")
    parser.add_argument("--intree", action="store_true",
                        help="with the kernel's own ib_ipoib, to tell whose fault it is")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(names()))
    parser.set_defaults(run=run)
