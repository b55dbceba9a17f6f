# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A fuzz target in a kernel of its own: what it is built of, and a run of it.

A kernel that has complained is done, so each run has a fresh one. The program in it notes
each input before it runs (journal.py), so that what was under way is known when the
kernel stops.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(TOP / "scripts")]

import journal  # noqa: E402
import splat  # noqa: E402
from checklib import programs  # noqa: E402
from kernellib import build, uml  # noqa: E402

WORK = TOP / "build/fuzz-kernel"
UML_RUN = TOP / "scripts/uml-run"
LONGEST = 512           # octets of an input
HANG_SECONDS = 60       # without a further input, and the kernel hangs
BOOT_SECONDS = 60
DAY_SECONDS = 24 * 3600  # more than any run takes: what hangs is noticed here
END_SECONDS = 120       # for a kernel to end, with its scan for leaks
FOUND, LEFT = 77, 78    # exit statuses: of a program that has found something; rmmod fails
RUNS = re.compile(r"^stat::number_of_executed_units: (\d+)", re.MULTILINE)
FEATURES = re.compile(r"^#\d+\s+\w+\s.*\bft: (\d+)", re.MULTILINE)
NUMBERS = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\+0x\S+|\d+")


class Trouble(Exception):
    """The machine cannot run, whatever the input."""


@dataclass
class Parts:
    """What a run is made of: the kernel's tree, the modules, the target's program."""

    target: str
    tree: Path
    module: Path
    lender: Path
    program: Path


@dataclass
class Outcome:
    """What a run has come to.

    what:     that it has found, a line; empty if nothing
    text:     all there is to say of it
    inputs:   that ran, in their order
    is_leak:  something was lost by one of the inputs, only the end of the run tells
    leaks:    when it was allocated, in seconds since boot
    executed: how many inputs libFuzzer says it ran
    features: of coverage, as libFuzzer counts them, from first to last
    """

    what: str = ""
    text: str = ""
    inputs: list = field(default_factory=list)
    is_leak: bool = False
    leaks: list = field(default_factory=list)
    executed: int = 0
    features: list = field(default_factory=list)
    seconds: float = 0.0

    @property
    def signature(self):
        """The finding without what differs from time to time."""
        return NUMBERS.sub("N", self.what)


def build_program(target):
    """Build the target's program; its path."""
    try:
        programs.build([f"kernel-{target}-fuzz"])
    except RuntimeError as error:
        raise Trouble(str(error)) from error
    return programs.BIN / f"kernel-{target}-fuzz"


def build_module(tree, sources, name, jobs):
    """Build sib with coverage out of @sources, in a mirror that keeps what has not changed.

    Returns a copy of the module, which later builds leave alone.
    """
    done = subprocess.run([TOP / "scripts/build-modules", tree, f"-j{jobs}", "KCOV_INSTRUMENT=y",
                           "drivers/sib/sib.ko"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False,
                          env=os.environ | {"MODULES_SOURCES": str(sources),
                                            "MODULES_MIRROR": str(WORK / "modules")})
    if done.returncode:
        raise Trouble(f"sib does not build with coverage:\n{done.stdout[-4000:]}")
    module = WORK / f"{name}/sib.ko"
    module.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(done.stdout.splitlines()[-1]) / "drivers/sib/sib.ko", module)
    return module


def build_lender(tree):
    return uml.lender(tree, WORK)


def kernel(name):
    """The tree of a User-Mode Linux kernel, built if need be."""
    return build.build(build.named(name)).resolve() if "/" not in name else Path(name).resolve()


def _headlines(place):
    """Splats of the console, but for the leaks that the kernel announces: the list says more."""
    console = place / "console"
    text = console.read_text(encoding="utf-8", errors="replace") if console.exists() else ""
    return [found for found in splat.scan(text) if not splat.NEW_LEAKS.match(found.headline)]


def _where(found):
    """A splat's headline; of a leak of locks or the like, the first line that says more."""
    return f"{found.kind}: {found.headline}"


def judge(place, status, hung):
    """What a run in @place has come to, with this exit status of uml-run."""
    outcome = Outcome()
    said = (place / "said").read_text(encoding="utf-8", errors="replace") if (
        place / "said").exists() else ""
    outcome.inputs = journal.read(place / "journal")
    runs = RUNS.search(said)
    outcome.executed = int(runs[1]) if runs else len(outcome.inputs)
    outcome.features = [int(one) for one in FEATURES.findall(said)]
    splats = _headlines(place)
    told = (place / "found").read_text(encoding="utf-8").strip() if (place / "found").exists() else ""
    leaks = (place / "kmemleak").read_text(encoding="utf-8", errors="replace") if (
        place / "kmemleak").exists() else ""
    texts = [splat.render(found, "console") for found in splats]
    if splats:
        outcome.what = _where(splats[0])
    elif told:
        outcome.what = told
    elif hung:
        outcome.what = hung
    elif "unreferenced object" in leaks:
        outcome.what = f"leak: {_allocator(leaks)}"
        outcome.is_leak = True
        outcome.leaks = journal.seconds_of_leaks(leaks)
        texts.append(leaks)
    elif status:
        outcome.what = f"the run ended with status {status}"
    # What is said only once all inputs have run is not of the last one.
    if (place / "ended").exists() and not told and outcome.what and not outcome.is_leak:
        outcome.is_leak = _status(place) in (0, LEFT)
    outcome.text = "\n".join([told, *texts, said[-3000:] if outcome.what else ""]).strip()
    return outcome


def _status(place):
    try:
        return int((place / "status").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _allocator(leaks):
    """The function of ours that has allocated what is lost; its size where no trace is kept."""
    first = leaks.split("unreferenced object", 2)[1]
    trace = re.findall(r"^ +\[<[0-9a-f]+>\] (\S+)", first, re.MULTILINE)
    size = re.search(r"\(size (\d+)\)", first)
    ours = [name for name in trace if "sib_" in name] or trace
    return ours[0].partition("+")[0] if ours else f"an object of {size[1] if size else '?'} octets"


def _follow(process, place):
    """Wait for a run to end. Returns what makes it a hang, or nothing.

    As long as inputs end, it goes on: libFuzzer first runs those that it was given, which
    on a loaded machine may take longer than it is to fuzz.
    """
    begun, last, size = time.monotonic(), time.monotonic(), -1
    limit = None
    while process.poll() is None:
        time.sleep(0.1)
        now = time.monotonic()
        fresh = (place / "journal").stat().st_size if (place / "journal").exists() else 0
        ended = (place / "ended").exists()
        if fresh != size or ended:
            size, last = fresh, now
        if ended and limit is None:
            limit = now + END_SECONDS
        started = (place / "begun").exists()
        hung = ""
        if not started and now - begun > BOOT_SECONDS:
            hung = "the kernel did not boot"
        elif started and now - last > HANG_SECONDS:
            hung = f"no input ended within {HANG_SECONDS} s"
        elif limit is not None and now > limit:
            hung = "the kernel did not end"
        if hung:
            process.terminate()
            process.wait()
            return hung
    return ""


def run(parts, place, options, inputs=None, to_the_end=True):
    """Run a target in a fresh kernel.

    @place: folder with all it leaves, and before that its corpus
    @options: of libFuzzer
    @inputs: to be run once more, in place of fuzzing
    @to_the_end: take everything down and look for leaks
    """
    place.mkdir(parents=True, exist_ok=True)
    for name in ("journal", "found", "said", "begun", "ended", "replay", "reached"):
        (place / name).unlink(missing_ok=True)
    if inputs is not None:
        journal.write(place / "replay", inputs)
    start = time.monotonic()
    command = [str(UML_RUN), "--quiet", "--kernel", str(parts.tree), "--out", str(place),
               "--timeout", str(DAY_SECONDS),
               "--panic-on-oops", *([] if to_the_end else ["--no-leaks"])]
    for name, value in (("TARGET", parts.target), ("PROGRAM", parts.program),
                        ("SIB_KO", parts.module), ("LENDER_KO", parts.lender), ("OPTIONS", " ".join(options)),
                        ("TO_THE_END", "yes" if to_the_end else "")):
        command += ["--env", f"{name}={value}"]
    with open(place / "run.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen([*command, str(HERE / "guest.sh")], stdout=log, stderr=log)
        try:
            hung = _follow(process, place)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    outcome = judge(place, process.returncode, hung)
    outcome.seconds = time.monotonic() - start
    if not outcome.inputs and inputs is None:
        raise Trouble(f"{parts.target} has run nothing, see {place}/said and console: {outcome.what}")
    return outcome


def options(seconds):
    """libFuzzer's, for so many seconds of fuzzing."""
    return [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-timeout={HANG_SECONDS}",
            "-rss_limit_mb=0", "-print_final_stats=1", "-print_pcs=0", "-reload=0",
            "-len_control=20", "-artifact_prefix=/run/out/"]
