# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A part of a run: what has been chosen and why, and the commands that do it."""

import shlex
import subprocess
import time
from dataclasses import dataclass

from checklib.tree import TOP

# How far a run goes: about a minute; minutes; virtual hosts as well
QUICK, USUAL, VM = range(3)
SHOWN = 8


@dataclass(frozen=True)
class Step:
    """What of a kind is run.

    level:    how far a run has to go for it
    chosen:   name -> why
    commands: one after another, until one fails
    note:     what is not chosen
    """

    name: str
    level: int
    chosen: dict
    commands: list
    note: str = ""

    def show(self):
        """Print what is chosen, and why."""
        print(f"{self.name}: {len(self.chosen)}{', ' if self.note else ''}{self.note}")
        reasons = [f"{name}  ({why})" for name, why in self.chosen.items() if why][:SHOWN]
        for reason in reasons:
            print(f"  {reason}")
        if len(self.chosen) > len(reasons):
            print(f"  {'and ' if reasons else ''}{', '.join(list(self.chosen)[len(reasons):])}")
        for command in self.commands:
            print(f"  $ {shlex.join(map(str, command))}", flush=True)


def run(step):
    """Run a step. Returns the command that failed, if one did, and the seconds that it took."""
    start = time.monotonic()
    for command in step.commands:
        print(f"$ {shlex.join(map(str, command))}", flush=True)
        try:
            status = subprocess.run(command, cwd=TOP, stdin=subprocess.DEVNULL, check=False).returncode
        except OSError as error:
            print(f"{command[0]}: {error.strerror}")
            status = 127
        if status:
            return f"{command[0]}: status {status}", time.monotonic() - start
    return "", time.monotonic() - start
