# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A User-Mode Linux kernel that runs one scenario after another.

scripts/uml-run boots it with tests/kernel/serve.sh, which takes the scenarios from
numbered folders that both see. A kernel in which something went wrong gets no more of
them: what comes after a splat, a leak or something left behind cannot be told apart.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import splat  # noqa: E402

from . import build, uml  # noqa: E402

SERVE = build.TOP / "tests/kernel/serve.sh"
BOOT_SECONDS = 120
SCAN_SECONDS = 240      # for leftovers to go and the scan for leaks, once a script has ended
END_SECONDS = 60
POLL_SECONDS = 0.05
TELL_SECONDS = 60       # for a script that does not end to say where it is
RESULTS = ("output", "kmemleak", "leftovers", "status")
BEGINS = re.compile(r"openipoib-test: scenario \S+ begins")   # a scenario's first line of the console
EXIT_SPLAT = 97         # of uml-run
DAY_SECONDS = 24 * 3600


class Died(Exception):
    """The kernel has ended, or does not answer."""


@dataclass
class Outcome:
    """What a scenario came to.

    problems: what there is to say against it, a text each; empty if nothing
    earlier:  what the kernel has said since the scenario before it had ended
    seconds:  from the beginning of the script to the end of the scan for leaks
    boot:     seconds that the kernel took to boot for it
    """

    problems: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    seconds: float = 0.0
    boot: float = 0.0


def _splats(lines: list[str], name: str) -> list[str]:
    return [splat.render(found, name) for found in splat.scan(lines, splat.ALLOW)
            if not splat.NEW_LEAKS.match(found.headline)]


class Guest:
    """A kernel, booted for the first scenario that it gets."""

    def __init__(self, name: str, tree: Path, options: list[str], single: bool):
        """A kernel that has not been booted.

        @name: of the folder with what it has to say; @options: of uml-run
        @single: it is for one scenario. On a clock that skips idle time a kernel must
        not wait for a second one: the machine's time is not its own.
        """
        self.out = uml.RESULTS / name
        self.names: list[str] = []  # of the scenarios that it has had
        self._jobs = 0
        self._is_single = single
        self._is_killed = False
        self._scanned = 0
        self._command = [str(uml.RUN), "--quiet", "--no-leaks", "--kernel", str(tree), "--timeout",
                         str(DAY_SECONDS), "--out", str(self.out), *options, str(SERVE)]
        self._process: subprocess.Popen | None = None

    def _start(self) -> None:
        with open(self.out / "run.log", "w", encoding="utf-8") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        if self._is_killed:     # before there was anything to end
            self._process.terminate()

    def _job(self, name: str, script: Path | str, variables: dict[str, str]) -> Path:
        """Leave the next job for the kernel; its folder. One without a name ends the kernel."""
        self._jobs += 1
        folder = self.out / str(self._jobs)
        folder.mkdir(parents=True)
        lines = [f"NAME={shlex.quote(name)}", f"SCRIPT={shlex.quote(str(script))}",
                 *(f"export {key}={shlex.quote(value)}" for key, value in variables.items())]
        (folder / "job.new").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "job.new").rename(folder / "job")
        return folder

    def _wait(self, path: Path, seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while not path.exists():
            if self._process.poll() is not None and not path.exists():
                raise Died("the kernel died")
            if time.monotonic() > end:
                raise Died(f"{what} not within {seconds:.0f} s")
            time.sleep(POLL_SECONDS)

    def _wait_for_end(self, folder: Path, seconds: float) -> None:
        """Wait for a script to end. If it does not, have the kernel tell what it does."""
        try:
            self._wait(folder / "ended", seconds, "the scenario ended")
        except Died as error:
            if self._process.poll() is not None:
                raise
            (folder / "ask").touch()
            try:
                self._wait(folder / "processes", TELL_SECONDS, "it said where it is")
                self._wait(folder / "ended", TELL_SECONDS, "it ended after that")
            except Died as silence:
                raise Died(f"{error}; {silence}") from None
            raise Died(f"{error}, but when its processes had been looked at") from None

    def _console(self) -> list[str]:
        """What the kernel has said since the last time, by lines."""
        console = self.out / "console"
        data = console.read_bytes() if console.exists() else b""
        new, self._scanned = data[self._scanned:], len(data)
        return new.decode(errors="replace").splitlines()

    def run(self, name: str, script: Path, variables: dict[str, str], seconds: float,
            place: Path, ended) -> Outcome:
        """Run a scenario and leave its results in @place.

        @ended is called once, when its script has ended, before the scan for leaks.
        """
        outcome = Outcome()
        self.names.append(name)
        start = time.monotonic()
        try:
            try:
                folder = self._job(name, script, variables)
                if self._process is None:
                    if self._is_single:
                        self._job("", "", {})
                    self._start()
                self._wait(folder / "begun", BOOT_SECONDS, "the scenario began")
                outcome.boot = time.monotonic() - start if len(self.names) == 1 else 0.0
                self._wait_for_end(folder, seconds)
            finally:
                ended()
            self._wait(folder / "status", SCAN_SECONDS, "the scan for leaks ended")
        except (Died, OSError) as error:
            outcome.problems.append(str(error))
            self.kill()
        outcome.seconds = time.monotonic() - start
        try:
            self._judge(place, outcome)
        except OSError as error:
            outcome.problems.append(f"no results: {error}")
            self.kill()
        return outcome

    def _judge(self, place: Path, outcome: Outcome) -> None:
        """Copy the last scenario's results to @place, and note what is against it."""
        folder = self.out / str(len(self.names))
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for name in RESULTS:
            if (folder / name).exists():
                shutil.copy(folder / name, place / name)
            elif not outcome.problems:
                outcome.problems.append(f"no {name} of it in {folder}")
        if (folder / "processes").exists():
            shutil.copy(folder / "processes", place)
        lines = self._console()
        begin = next((number for number, line in enumerate(lines) if BEGINS.search(line)), 0)
        outcome.earlier = _splats(lines[:begin], "console")
        console = lines[begin:]
        (place / "console").write_text("\n".join(console) + "\n", encoding="utf-8")
        texts = {name: (place / name).read_text(encoding="utf-8", errors="replace").strip()
                 for name in RESULTS if (place / name).exists()}
        if texts.get("status", "0") != "0":
            outcome.problems.insert(0, f"status {texts['status']}")
        outcome.problems += _splats(console, "console")
        outcome.problems += _splats(texts.get("kmemleak", "").splitlines(), "kmemleak")
        if texts.get("leftovers"):
            outcome.problems.append("left behind (<: was there before, >: is there now):\n"
                                    + texts["leftovers"])

    def kill(self) -> None:
        """End the kernel at once, one that is about to boot as well."""
        self._is_killed = True
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def end(self) -> str:
        """Have the kernel end. What went wrong outside of scenarios, or nothing."""
        if self._process is None:
            return ""
        trouble = []
        if not self._is_killed:
            if not self._is_single:
                self._job("", "", {})
            try:
                status = self._process.wait(timeout=END_SECONDS)
                if status not in (0, EXIT_SPLAT):
                    trouble.append(f"uml-run: status {status}")
            except subprocess.TimeoutExpired:
                self.kill()
                trouble.append(f"the kernel did not end within {END_SECONDS} s")
        output = self.out / "output"
        said = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
        if said.strip():
            trouble.append(f"{SERVE.name} has said: {said.strip()}")
        return "\n".join(trouble + _splats(self._console(), "console"))
