# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The KUnit suites, in one kernel, and the tests of these tests.

The kernel is UML's, or one of another processor, emulated.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import splat  # noqa: E402

from checklib import junit  # noqa: E402

from . import build, coverage, emulator, ktap, uml  # noqa: E402

SCRIPT = build.TOP / "tests/kernel/kunit.sh"
SUITES = build.TOP / "tests/kunit"
MODULE = re.compile(r"^obj-m \+= (\w+)\.o$", re.MULTILINE)
MARK = re.compile(r"openipoib-kunit: (begin|end|cannot load) (\S+)")
LIMIT_SECONDS = 600
EMULATED_SECONDS = 3600

# What each planted fault has to be found by: a kind of splat, or a result.
PLANTED = {
    "assertion_kunit": "failed case",
    "uaf_kunit": "kasan",
    "abba_kunit": "lockdep",
    "leak_kunit": "kmemleak",
    "skip_kunit": "no test ran",
}


def names() -> list[str]:
    """The modules with suites, in the order in which they run."""
    return MODULE.findall((SUITES / "Kbuild").read_text(encoding="utf-8"))


def matching(patterns: str) -> list[str]:
    """The modules that one of the patterns, with commas between them, means."""
    wanted = [pattern for pattern in patterns.split(",") if pattern]
    return [name for name in names()
            if any(fnmatch(name, pattern) or pattern in name for pattern in wanted)]


def compile_suites(tree: Path, mirror: Path, folder: str, covered: bool,
                   wanted: list[str] | None = None) -> list[Path]:
    """Build the modules of a folder below tests/kunit, or those @wanted of it; their files."""
    words = ["COVERAGE=1"] if covered else []
    if wanted is not None:
        words.append(f"SUITES={' '.join(wanted)}")
    return uml.compile_modules(tree, mirror / "tests/kunit" / folder, *words)


def kunit_module(tree: Path) -> Path:
    for base in (tree / "modroot", tree / "lib/kunit"):
        for path in base.rglob("kunit.ko"):
            return path
    raise build.BuildError(f"no kunit.ko in {tree}")


def _boot_uml(tree: Path, modules: list[Path], out: Path, covered: bool) -> int:
    # Nothing in a suite waits for real time; what waits does so at once.
    command = [str(uml.RUN), "--quiet", "--clock", "jump", "--kernel", str(tree), "--out", str(out),
               "--timeout", str(LIMIT_SECONDS)]
    if covered:
        command += ["--env", "GCOV_OUT=1"]
    command += [str(SCRIPT), str(kunit_module(tree)), *map(str, modules)]
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "run.log", "w", encoding="utf-8") as log:
        return subprocess.run(command, stdout=log, stderr=log, check=False).returncode


@dataclass(frozen=True)
class Kernel:
    """What a run boots, again and again.

    tree:    that it was built in
    results: folder for what it leaves
    variant: which it is, if it is another processor's
    """

    tree: Path
    results: Path
    variant: build.Variant | None = None

    def boot(self, modules: list[Path], out: Path, covered: bool = False) -> int:
        """Load the modules in a fresh kernel; the exit status of uml-run, or as it would be."""
        if self.variant is None:
            return _boot_uml(self.tree, modules, out, covered)
        return emulator.boot(self.variant, [kunit_module(self.tree), *modules], SCRIPT, out,
                             EMULATED_SECONDS)


def _sections(console: str) -> dict[str, list[str]]:
    """The log's lines by the module that was loaded meanwhile."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for raw in console.splitlines():
        mark = MARK.search(raw)
        if mark and mark[1] == "begin":
            current = found.setdefault(mark[2], [])
        elif mark and mark[1] == "end":
            current = None
        elif current is not None:
            current.append(raw)
    return found


def evaluate(out: Path, modules: list[Path], status: int) -> list[junit.Case]:
    """The cases of a run, with a failed one for each splat and for a dead kernel."""
    console = (out / "console").read_text(encoding="utf-8", errors="replace")
    sections = _sections(console)
    cases: list[junit.Case] = []
    seen = 0
    for module in modules:
        lines = sections.get(module.stem, [])
        results = ktap.parse([splat.message(line) for line in lines])
        results += [junit.Case(module.stem, junit.FAILED, f"cannot {what} it ({out}/console)")
                    for what in ("load", "unload")
                    if any(f"openipoib-kunit: cannot {what} " in line for line in lines)]
        if not results:
            results = [junit.Case(module.stem, junit.FAILED, "printed no result")]
        cases += results
        for found in splat.scan(lines):
            seen += 1
            cases.append(junit.Case(f"{module.stem}.{found.kind}", junit.FAILED,
                                    f"{found.headline} ({out}/console)"))
    leaks = out / "kmemleak"
    if leaks.exists():
        found = splat.scan(leaks.read_text(encoding="utf-8", errors="replace"))
        seen += len(found)
        cases += [junit.Case("kunit.kmemleak", junit.FAILED, leak.excerpt[:600])
                  for leak in found[:5]]
    if status and not (status == 97 and seen):
        cases.append(junit.Case("kunit.kernel", junit.FAILED,
                                f"status {status}, see {out}/run.log"))
    return cases


def _caught(name: str, cases: list[junit.Case]) -> str:
    """How a planted fault showed, in the words of PLANTED."""
    failed = [c for c in cases if c.result == junit.FAILED]
    if not failed and all(c.result == junit.SKIPPED for c in cases):
        return "no test ran"
    for case in failed:
        kind = case.name.rsplit(".", 1)[-1]
        if kind in PLANTED.values():
            return kind
    if any(c.name.startswith("planted_") for c in failed):
        return "failed case"
    return "; ".join(f"{c.name}: {c.reason}" for c in failed) or "nothing"


def check_planted(kernel: Kernel, modules: list[Path]) -> list[junit.Case]:
    """Each planted fault turns a run of its own red, for the reason it should."""
    missing = set(PLANTED) ^ {m.stem for m in modules}
    cases = [junit.Case(f"planted.{name}", junit.FAILED, "not built, or not expected")
             for name in sorted(missing)]

    def one(module: Path) -> junit.Case:
        out, start = kernel.results / f"planted-{module.stem}", time.monotonic()
        caught = _caught(module.stem, evaluate(out, [module], kernel.boot([module], out)))
        wanted = PLANTED.get(module.stem, "")
        good = caught == wanted
        return junit.Case(f"planted.{module.stem}", junit.PASSED if good else junit.FAILED,
                          "" if good else f"to be found by '{wanted}', found: {caught}",
                          time.monotonic() - start)

    with ThreadPoolExecutor(2) as pool:
        return cases + list(pool.map(one, modules))


def _suites(args, kernel: Kernel, mirror: Path) -> list[junit.Case]:
    """Build and run the suites of the command line."""
    wanted = matching(args.filter)
    if not wanted:
        return []
    modules = compile_suites(kernel.tree, mirror, "", args.coverage, wanted)
    out, start = kernel.results / "kunit", time.monotonic()
    cases = evaluate(out, modules, kernel.boot(modules, out, args.coverage))
    for module in modules:
        prefix = module.stem.removesuffix("_kunit")
        mine = [c for c in cases if c.name.startswith((prefix + ".", module.stem))]
        bad = sum(c.result == junit.FAILED for c in mine)
        print(f"  {prefix:20} {len(mine):4} cases, {bad} failed")
    print(f"  {time.monotonic() - start:.0f} s, log in {out}/console", flush=True)
    if args.coverage:
        coverage.show(mirror / "tests/kunit", out)
    return cases


def _kernel(args) -> Kernel:
    """The kernel of the command line, built if need be."""
    variant = build.VARIANTS.get(args.kernel)
    if not variant or not variant.processor:
        return Kernel(uml.kernel(args), uml.RESULTS)
    if args.coverage:
        raise build.BuildError("lines are counted on UML alone")
    emulator.provide(variant)
    return Kernel(build.build(variant).resolve(), emulator.RESULTS / variant.name, variant)


def cases(args) -> list[junit.Case]:
    """What the run of the command line comes to."""
    kernel = _kernel(args)
    with uml.exclusive():
        mirror = uml.modules(kernel.tree)
        found = _suites(args, kernel, mirror)
        if not args.no_planted and args.filter in ("*", "planted"):
            found += check_planted(kernel, compile_suites(kernel.tree, mirror, "planted", False))
    return found


def run(args) -> int:
    return junit.finish("kunit", cases(args), args.junit)


def add_arguments(parser) -> None:
    uml.add_arguments(parser, [name for name, variant in build.VARIANTS.items() if variant.processor])
    parser.add_argument("--filter", default="*", metavar="P[,P...]",
                        help="build and run only the modules with a name like one of these")
    parser.add_argument("--no-planted", action="store_true", help="without the tests of the tests")
    parser.add_argument("--coverage", action="store_true",
                        help="measure lines of the sources under test (needs CONFIG_GCOV_KERNEL)")
    parser.set_defaults(run=run)
