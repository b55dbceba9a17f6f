# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Whether unit tests see a mutation: a copy of the tree, in which they are built and run with it."""

import contextlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass

from checklib.tree import BUILD, PROCESSORS, TOP, files
from testlib import kernel_units
from testlib.units import Units

TREE = BUILD / "mutations"
KILLED, HANGS, SURVIVED, UNTESTED, INVALID = (
    "killed", "hangs", "survived", "no unit reaches it", "does not compile")
# Most units take milliseconds; suites of the kernel boot one, which has 600 s by itself.
SECONDS = 900
END_SECONDS = 30
# Of scripts/test-kernel
KUNIT_FAILED, KUNIT_BUILD_FAILED = 2, 3
CANNOT_RUN = (126, 127)


class TrialError(Exception):
    """The units cannot be run, or fail without a mutation."""


@dataclass(frozen=True)
class Command:
    """A command of a trial.

    builds: its failure tells that the program does not compile
    boots:  it runs suites in a kernel
    """

    words: tuple
    builds: bool = False
    boots: bool = False


def units_of(file):
    """The names of the units that reach a source, nearest first."""
    if file.endswith(".c"):
        return list(kernel_units.suites([file]))
    return list(Units.here().reached([file]))


def commands(names):
    """How units are built and run, fastest first."""
    kernel = [name for name in names if name.endswith("_kunit")]
    tests = [name for name in names if name not in kernel]
    found = []
    if tests:
        found += [Command(("cmake", "--build", "build/cmake", "-j", str(PROCESSORS),
                           "--target", "unit-tests"), builds=True),
                  Command(("build/cmake/bin/unit-tests", "--gtest_brief=1",
                           f"--gtest_filter={Units.here().filter(tests)}"))]
    if kernel:
        found.append(Command(("scripts/test-kernel", "kunit", "--filter", ",".join(kernel)), boots=True))
    return found


def environment():
    """The copy is in no repository: all its files are to be seen."""
    return dict(os.environ, GIT_CEILING_DIRECTORIES=str(TREE.parent))


def execute(command, log):
    """Run a command in the copy. Returns its status, or None if it did not end in time."""
    log.write(f"$ {' '.join(command.words)}\n")
    log.flush()
    with subprocess.Popen(command.words, cwd=TREE, env=environment(), stdin=subprocess.DEVNULL,
                          stdout=log, stderr=log, start_new_session=True) as process:
        try:
            return process.wait(None if command.builds else SECONDS)
        except BaseException as error:
            end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                return None
            raise


def end(process):
    """End a command with all that it has started: what boots a kernel ends that itself."""
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def verdict(names, log, run=execute):
    """Build and run units in the copy as it is now."""
    if not names:
        return UNTESTED
    for command in commands(names):
        status = run(command, log)
        if status is None:
            return HANGS
        if status and (command.builds or command.boots and status == KUNIT_BUILD_FAILED):
            return INVALID
        if status in CANNOT_RUN or command.boots and status not in (0, KUNIT_FAILED):
            raise TrialError(f"failed to run {command.words[0]}: status {status}")
        if status:
            return KILLED
    return SURVIVED


def prepare(log):
    """Copy the tree, but for what has not changed, and configure its build of C++."""
    TREE.mkdir(parents=True, exist_ok=True)
    names = "".join(f"{name}\0" for name in files())
    done = subprocess.run(["rsync", "-a", "--checksum", "--from0", "--files-from=-", f"{TOP}/", f"{TREE}/"],
                          input=names, stdout=log, stderr=log, text=True, check=False)
    if done.returncode:
        raise TrialError(f"failed to copy the tree to {TREE}: rsync: status {done.returncode}")
    if not (TREE / "build/cmake/build.ninja").exists():
        shutil.rmtree(TREE / "build/cmake", ignore_errors=True)
        if execute(Command(("cmake", "-S", ".", "-B", "build/cmake", "-G", "Ninja"), builds=True), log):
            raise TrialError("failed to configure the C++ units")


def check(names, log, run=execute):
    """Without a mutation all units pass, or else they would tell nothing."""
    if not names:
        raise TrialError("no unit reaches any of these files")
    seen = verdict(names, log, run)
    if seen != SURVIVED:
        raise TrialError(f"the units fail without a mutation ({seen})")


def attempt(mutation, log):
    """What the units say of a mutation; the copy is afterwards as before."""
    source = TREE / mutation.file
    text = source.read_text(encoding="utf-8")
    log.write(f"== {mutation}\n")
    try:
        source.write_text(mutation.apply(text), encoding="utf-8")
        return verdict(units_of(mutation.file), log)
    finally:
        source.write_text(text, encoding="utf-8")
