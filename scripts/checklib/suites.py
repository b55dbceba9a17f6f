# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The suites of tests, which level of a run takes which, and how they run."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import junit, times
from .allowance import Allowance
from .tree import BUILD, LOGS, TOP

# What a run may ask for: docs/tests.md says what each leaves to the next.
CHECK, TEST, FULL = "check", "test", "full"
ALL = LEVELS = (CHECK, TEST, FULL)
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-v", "-p", "no:cacheprovider"]
END_SECONDS = 60
GROUP_SECONDS = 10
SILENT_SECONDS = 1


@dataclass
class Suite:
    """A suite: its commands, of which the last writes build/logs/<name>.xml.

    needs:   the file or folder it lives in
    seconds: it is ended and failed after that long; longer where others load the machine
    levels:  those of LEVELS that run it
    builds:  how many of its commands, from the first one on, only build
    may_skip: all of it may be skipped, with a reason
    """

    name: str
    what: str
    needs: str
    commands: list
    seconds: int
    levels: tuple = ()
    builds: int = 0
    may_skip: bool = False
    cases: list = field(default_factory=list)
    taken: float = 0.0
    spent: times.Spent = field(default_factory=times.Spent)

    @property
    def xml(self):
        return LOGS / f"{self.name}.xml"

    @property
    def log(self):
        return LOGS / f"{self.name}.log"

    def count(self, result):
        return sum(case.result == result for case in self.cases)


def pytest_suite(name, what, folder, seconds, *options, **more):
    # The folder first: options of its own are known only from there.
    command = [*PYTEST, folder, *options, f"--junitxml={LOGS / name}.xml"]
    return Suite(name, what, folder, [command], seconds, **more)


def kernel_suite(name, what, seconds, *words, **more):
    """A run of scripts/test-kernel that writes its results itself."""
    command = ["scripts/test-kernel", *words, "--junit", LOGS / f"{name}.xml"]
    return Suite(name, what, "scripts/test-kernel", [command], seconds, **more)


def _quick_suites():
    """What needs no kernel."""
    cmake = BUILD / "cmake"
    return [
        Suite("check", "format, lint, licences, headers: what has changed", "scripts/check",
              [["scripts/check"]], 3600, levels=(CHECK, TEST)),
        Suite("check-all", "format, lint, licences, headers: everything", "scripts/check",
              [["scripts/check", "--fresh", "--junit", LOGS / "check-all.xml"]], 9000, levels=(FULL,)),
        Suite("unit", "C++ units (ASan, UBSan)", "CMakeLists.txt",
              [["cmake", "-S", ".", "-B", cmake, "-G", "Ninja"],
               ["cmake", "--build", cmake],
               ["ctest", "--test-dir", cmake, "-j", str(os.cpu_count()), "--output-on-failure",
                "--output-junit", LOGS / "unit.xml"]], 3600, levels=ALL, builds=2),
        Suite("kernels", "every kernel that Debian serves: modules build, hosts talk",
              "tests/kernels/run", [["tests/kernels/run", "--junit", LOGS / "kernels.xml"]], 3 * 3600,
              levels=(FULL,)),
        pytest_suite("splat", "the scanner for kernel splats", "tests/splat", 300, levels=ALL),
        pytest_suite("lab", "the lab's own parts", "tests/lab", 300, "-m", "not guests", levels=ALL),
        Suite("fuzz", "fuzz targets, ten minutes each", "tests/fuzz/run",
              [["tests/fuzz/run", "--build", "--seconds", "600", "--junit", LOGS / "fuzz.xml"]], 7200,
              levels=(FULL,)),
    ]


def _uml_suites():
    """What runs in User-Mode Linux, and kernel units elsewhere."""
    verbs = ["scripts/verbs", "--kernel", "uml", "--results", LOGS / "verbs-uml",
             "--junit", LOGS / "verbs.xml"]
    return [
        kernel_suite("kunit", "kernel units on a debug kernel", 3600, "kunit", levels=(TEST, FULL)),
        kernel_suite("stack", "OpenSM, sib and ib_ipoib on a debug kernel", 3600, "stack",
                     levels=(TEST, FULL)),
        Suite("profiles", "OpenSM, sib and ib_ipoib, with sib like the HCA of the day", "tests/profiles/run",
              [["tests/profiles/run", "--slice", "--junit", LOGS / "profiles.xml"]], 1800,
              levels=(TEST,)),
        Suite("profiles-all", "the same with each HCA that sib can be like", "tests/profiles/run",
              [["tests/profiles/run", "--junit", LOGS / "profiles-all.xml"]], 4 * 3600,
              levels=(FULL,)),
        kernel_suite("kunit-6.12", "the same kernel units on Linux 6.12", 3600, "kunit",
                     "--kernel", "uml-6.12", levels=(FULL,)),
        kernel_suite("stack-6.12", "the same on Linux 6.12", 7200, "stack", "--kernel", "uml-6.12",
                     levels=(FULL,)),
        kernel_suite("kunit-7.3", "the same kernel units on Linux 7.3", 3600, "kunit",
                     "--kernel", "uml-7.3", levels=(FULL,)),
        kernel_suite("stack-7.3", "the same on Linux 7.3", 7200, "stack", "--kernel", "uml-7.3",
                     levels=(FULL,)),
        kernel_suite("processors", "kernel units on arm64 and s390x, emulated", 4 * 3600,
                     "processors", levels=(FULL,), may_skip=True),
        Suite("programs", "C++ programs and units for arm64 and s390x, by qemu-user",
              "scripts/cross-build", [["scripts/cross-build", "--test", "--junit", LOGS / "programs.xml"]],
              7200, levels=(FULL,), may_skip=True),
        kernel_suite("stack-long", "scenarios that take long, on a debug kernel", 6 * 3600,
                     "stack", "--long", levels=(FULL,)),
        Suite("fuzz-kernel", "fuzz targets in a debug kernel, a minute each", "tests/fuzz/kernel/run",
              [["tests/fuzz/kernel/run", "--seconds", "60", "--junit", LOGS / "fuzz-kernel.xml"]], 3600,
              levels=(FULL,)),
        Suite("fuzz-planted", "faults planted into sib, found by fuzzing", "tests/fuzz/kernel/run",
              [["tests/fuzz/kernel/run", "--seconds", "600", "--planted", "all", "--junit",
                LOGS / "fuzz-planted.xml"]], 3 * 3600, levels=(FULL,)),
        Suite("verbs", "verbs programs, all, in one debug kernel", "scripts/verbs", [verbs], 3600,
              levels=(FULL,)),
    ]


def _host_suites():
    """What runs on virtual hosts."""
    full = pytest_suite("vm-full", "two hosts: every test, stock kernels and one of ours", "tests/vm",
                        8 * 3600, "--full", "--kernel=6.1,6.12,test", levels=(FULL,), builds=1)
    full.commands.insert(0, ["scripts/test-kernel", "build", "test"])
    mixed = pytest_suite("vm-processors", "two hosts, one of them with another processor", "tests/vm",
                         7200, "-m", "smoke", "--driver=ours", "--kernel=6.1:s390x,6.1:arm64",
                         levels=(FULL,))
    preempt = pytest_suite("vm-preempt", "two hosts, preempted", "tests/vm", 4500,
                           "-m", "smoke", "--kernel=6.12:preempt", levels=(FULL,))
    debug = pytest_suite("debug", "two hosts with KASAN, lockdep and kmemleak", "tests/vm", 9000,
                         "--kernel=debug", levels=(FULL,), builds=1)
    debug.commands.insert(0, ["scripts/test-kernel", "build", "debug"])
    race = pytest_suite("race", "two hosts with KCSAN, on two and on four processors", "tests/vm",
                        4 * 3600, "-m", "race", "-k", "not 2048", "--kernel=race", "--cpus=2,4",
                        "--driver=ours", levels=(FULL,), builds=1)
    race.commands.insert(0, ["scripts/test-kernel", "build", "race"])
    mapped = pytest_suite("dma", "two hosts whose HCAs reach only what is mapped", "tests/vm/test_dma.py",
                          3600, "tests/vm/test_ethtool.py", "tests/vm/test_transfer.py", "--full",
                          "--dma=mapped", "--kernel=6.12", "-k", "not 2048", levels=(FULL,))
    packages = pytest_suite("packages", "packages in a fresh Debian with systemd and SysV init",
                            "tests/packages", 3600, levels=(FULL,))
    packages.commands[:0] = [["packaging/test-deb", BUILD / "packages"],
                             ["packaging/test-install", BUILD / "packages"],
                             ["packaging/build-rpm", "--nodeps"]]
    return [
        pytest_suite("vm", "two hosts: stock kernels 6.1 and 6.12", "tests/vm", 4500,
                     "--kernel=6.1,6.12", levels=(TEST,)),
        full,
        mixed,
        preempt,
        debug,
        race,
        mapped,
        packages,
        Suite("distros", "Debian 13: bootstrap, units, packages, demo", "tests/distros/run",
              [["tests/distros/run", "--junit", LOGS / "distros.xml"]], 3 * 3600, levels=(FULL,)),
        pytest_suite("guests", "the lab: commands, crashes, splats", "tests/lab", 900,
                     "-m", "guests", levels=(FULL,)),
    ]


def all_suites():
    """Every suite, in the order in which a run takes them."""
    return [*_quick_suites(), *_uml_suites(), *_host_suites()]


def _end(process, wait):
    """End a command and all it started. A suite may have a lab to take down first.

    wait: process.wait, or process.communicate if nobody else reads what it says
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            wait(timeout=END_SECONDS)
            # What it has started may have something to end, too.
            end = time.monotonic() + GROUP_SECONDS
            while time.monotonic() < end:
                os.killpg(process.pid, 0)
                time.sleep(0.05)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


class _Held:
    """Puts off the signals that interrupt a run, until they are released."""

    def __init__(self):
        self._came = []
        self._before = {number: signal.signal(number, lambda number, _: self._came.append(number))
                        for number in (signal.SIGINT, signal.SIGTERM)}

    def release(self):
        for number, handler in self._before.items():
            signal.signal(number, handler)
        for number in self._came:
            signal.raise_signal(number)


def _show(process, log):
    """Show and log what a command says.

    Until nobody can say more; or until it has ended and is silent, since what it has left
    behind may keep its output open.
    """
    begun = b""
    while True:
        if not select.select([process.stdout], [], [], SILENT_SECONDS)[0]:
            if process.poll() is None:
                continue
            break
        said = os.read(process.stdout.fileno(), 65536)
        log.write(said)
        log.flush()
        *lines, begun = (begun + said).split(b"\n")
        sys.stdout.buffer.write(b"".join(b"  " + line + b"\n" for line in lines))
        sys.stdout.flush()
        if not said:
            break
    if begun:
        sys.stdout.buffer.write(b"  " + begun + b"\n")


def _execute(suite, command, allowance, log):
    """Run one command, output to the terminal and to @log. Returns what went wrong.

    If no test can have failed for that reason, it is a failed case of the suite, too.
    """
    held = _Held()      # as long as nobody could end what has been started
    try:
        process = subprocess.Popen([str(word) for word in command], cwd=TOP, bufsize=0,
                                   start_new_session=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as error:
        held.release()
        return f"{command[0]}: {error.strerror}"
    ended, late = threading.Event(), threading.Event()

    def expire():
        if not allowance.wait(ended):
            late.set()
            _end(process, process.wait)

    watch = threading.Thread(target=expire)
    watch.start()
    try:
        held.release()
        _show(process, log)
        status = process.wait()
    except BaseException:
        # It must not wait for somebody who reads its last words.
        _end(process, process.communicate)
        raise
    finally:
        ended.set()
        watch.join()
    trouble = f"{Path(command[0]).name}: status {status}" if status else ""
    if status < 0:
        trouble = f"{Path(command[0]).name}: ended by signal {-status}"
    if late.is_set():
        trouble = f"not done within {suite.seconds} s"
    if status < 0 or late.is_set():
        suite.cases.append(junit.Case(suite.name, junit.FAILED, f"{trouble}; see {suite.log}"))
    return trouble


def _read(suite):
    """The cases of a suite's results; a failed one if they cannot be read, and no results."""
    if not suite.xml.exists():
        return []
    try:
        return junit.read(suite.xml)
    except ValueError as error:
        suite.xml.replace(f"{suite.xml}.broken")
        return [junit.Case(suite.name, junit.FAILED, str(error))]


def run(suite):
    """Run a suite and fill in its cases. A suite without results is a failure."""
    LOGS.mkdir(parents=True, exist_ok=True)
    suite.xml.unlink(missing_ok=True)
    start = time.monotonic()
    if not (TOP / suite.needs).exists():
        suite.cases = [junit.Case(suite.name, junit.FAILED, f"there is no {suite.needs}")]
        return
    trouble, built = "", 0.0
    allowance = Allowance(suite.seconds)
    processors = times.Processors()
    with suite.log.open("wb") as log:
        for number, command in enumerate(suite.commands):
            if number <= suite.builds:
                built = time.monotonic() - start
            trouble = _execute(suite, command, allowance, log)
            if trouble:
                break
    suite.cases += _read(suite)
    if trouble and not suite.count(junit.FAILED):
        suite.cases.append(junit.Case(suite.name, junit.FAILED, f"{trouble}; see {suite.log}"))
    if not (suite.may_skip and suite.cases) and not suite.count(junit.FAILED) \
            and not suite.count(junit.PASSED):
        suite.cases.append(junit.Case(suite.name, junit.FAILED, "no test ran"))
    suite.taken = time.monotonic() - start
    noted = junit.properties(suite.xml) if suite.xml.exists() else {}
    suite.spent = times.spent(suite.taken, built, suite.cases, noted, processors.idle_share())
