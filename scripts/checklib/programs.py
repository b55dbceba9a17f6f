# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Programs of ours that tests and the lab run."""

import subprocess

from .tree import BUILD, PROCESSORS, TOP

CMAKE = BUILD / "cmake"
BIN = CMAKE / "bin"


def build(targets):
    """Build what is out of date of @targets, into BIN. RuntimeError if that fails."""
    commands = [["cmake", "--build", CMAKE, "-j", str(PROCESSORS), "--target", *targets]]
    if not (CMAKE / "build.ninja").exists():
        commands.insert(0, ["cmake", "-S", TOP, "-B", CMAKE, "-G", "Ninja"])
    for command in commands:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode:
            raise RuntimeError(f"{', '.join(targets)}: no build:\n{done.stdout[-4000:]}")
