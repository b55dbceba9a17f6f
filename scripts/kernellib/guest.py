# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A User-Mode Linux kernel that runs one scenario after another.

scripts/uml-run boots it with tests/kernel/serve.sh, which takes the scenarios from
numbered folders that both see. A kernel in which something went wrong gets no more of
them: what comes after a splat, a leak or something left behind cannot be told apart.
"""

from __future__ import annotations

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
RESULTS = ("output", "kmemleak", "leftovers")
EXIT_SPLAT = 97         # of uml-run
DAY_SECONDS = 24 * 3600


class Died(Exception):
    """The kernel has ended, or does not answer."""


@dataclass
class Outcome:
    """What a scenario came to.

    problems: what the kernel has to say against it, a text each; empty if nothing
    seconds:  from the beginning of the script to the end of the scan for leaks
    boot:     seconds that the scenario has waited for its kernel
    """

    status: int | None = None
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    boot: float = 0.0


class Guest:
    """A kernel that is up, or about to be."""

    def __init__(self, name: str, tree: Path, options: list[str], single: bool):
        """Boot the kernel.

        @name: of the folder with what it has to say; @options: of uml-run
        @single: it is for one scenario. On a clock that skips idle time a kernel must
        not wait for a second one: the machine's time is not its own.
        """
        self.out = uml.RESULTS / name
        self.is_single = single
        self._number = 0
        self._scanned = 0
        self._boot_start = time.monotonic()
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        self._log = open(self.out / "run.log", "w", encoding="utf-8")  # noqa: SIM115
        self._options = [str(uml.RUN), "--quiet", "--no-leaks", "--kernel", str(tree), "--timeout",
                         str(DAY_SECONDS), "--out", str(self.out), *options, str(SERVE)]
        self._process = None

    def _start(self) -> None:
        self._process = subprocess.Popen(self._options, stdout=self._log, stderr=self._log)

    def _leave(self, name: str, script: Path | str, variables: dict[str, str]) -> Path:
        """Leave the next job for the kernel; its folder."""
        self._number += 1
        folder = self.out / str(self._number)
        folder.mkdir()
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

    def _console(self) -> list[str]:
        """What the kernel has said since the last time, by lines."""
        data = (self.out / "console").read_bytes()
        new, self._scanned = data[self._scanned:], len(data)
        return new.decode(errors="replace").splitlines()

    def run(self, name: str, script: Path, variables: dict[str, str], seconds: float,
            place: Path, ended=lambda: None) -> Outcome:
        """Run a scenario and leave its results in @place; @ended() is called when its script
        has ended, before the scan for leaks."""
        outcome = Outcome()
        folder = self._leave(name, script, variables)
        if self._process is None:
            if self.is_single:
                self._leave("", "", {})
            self._start()
        start = time.monotonic()
        try:
            self._wait(folder / "begun", BOOT_SECONDS, "the scenario began")
            if self._number <= 2 and self._boot_start:
                outcome.boot = time.monotonic() - self._boot_start
                self._boot_start = 0.0
            start = time.monotonic()
            try:
                self._wait(folder / "ended", seconds, "the scenario ended")
            finally:
                ended()
            self._wait(folder / "status", SCAN_SECONDS, "the scan for leaks ended")
            outcome.status = int((folder / "status").read_text(encoding="utf-8"))
        except Died as error:
            outcome.problems.append(str(error))
            self.kill()
        outcome.seconds = time.monotonic() - start + outcome.boot
        outcome.problems += self._judge(folder, place)
        return outcome

    def _judge(self, folder: Path, place: Path) -> list[str]:
        """Move a scenario's results to @place; what they have against it."""
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        console = self._console()
        (place / "console").write_text("\n".join(console) + "\n", encoding="utf-8")
        problems = [splat.render(found, "console") for found in splat.scan(console, splat.ALLOW)
                    if not splat.NEW_LEAKS.match(found.headline)]
        for name in RESULTS:
            if (folder / name).exists():
                shutil.copy(folder / name, place / name)
        if (place / "kmemleak").exists():
            text = (place / "kmemleak").read_text(encoding="utf-8", errors="replace")
            problems += [splat.render(found, "kmemleak") for found in splat.scan(text, splat.ALLOW)]
        if (place / "leftovers").exists():
            text = (place / "leftovers").read_text(encoding="utf-8", errors="replace").strip()
            problems += [f"left behind (<: was there before, >: is there now):\n{text}"] if text else []
        return problems

    def kill(self) -> None:
        """End the kernel at once."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def end(self) -> str:
        """Have the kernel end. What went wrong outside of scenarios, or nothing."""
        if self._process is None or self._process.poll() is not None and not self.is_single:
            return ""
        if not self.is_single:
            self._leave("", "", {})
        try:
            self._process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"the kernel did not end within {END_SECONDS} s"
        found = splat.scan(self._console(), splat.ALLOW)
        return "\n".join(splat.render(item, "console") for item in found)
