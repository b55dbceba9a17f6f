# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What the runs on the UML kernel share: the kernel, the drivers, where results go."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from . import build

RUN = build.TOP / "scripts/uml-run"
RESULTS = build.TOP / "build/uml"
LENDER = build.TOP / "tests/kernel/lender"
USUAL = "uml"   # kernel


def add_arguments(parser, others=()) -> None:
    """@others: kernels that are not UML's and can be run, too."""
    names = ", ".join(("uml", "uml-6.12", "uml-7.3", *others))
    parser.add_argument("--kernel", metavar="NAME|TREE", default=USUAL,
                        help=f"{names} or the build tree of another UML one (default: uml)")
    parser.add_argument("--junit", metavar="FILE", help="write the results there as well")


def kernel(args) -> Path:
    """The UML tree of the command line, built if need be."""
    variant = build.VARIANTS.get(args.kernel)
    if variant and variant.arch == "um":
        return build.build(variant).resolve()
    if "/" not in args.kernel:
        raise build.BuildError(f"'{args.kernel}' is no UML kernel, nor the path of one")
    return Path(args.kernel).resolve()


def results(args) -> Path:
    """The folder for what a run leaves: that on another kernel than the usual has its own."""
    return RESULTS if args.kernel == USUAL else RESULTS / Path(args.kernel).name


def exclusive():
    """One run at a time in a checkout: they share modules and result folders."""
    return build.locked(RESULTS, "another run in this checkout")


def modules(tree: Path) -> Path:
    """Build the drivers for the kernel; the folder that holds them."""
    # A mirror of its own: a run may last, and others build meanwhile.
    done = subprocess.run([str(build.TOP / "scripts/build-modules"), str(tree)],
                          stdout=subprocess.PIPE, text=True, check=False,
                          env=dict(os.environ, MODULES_MIRROR=str(RESULTS / "modules")))
    if done.returncode:
        raise build.BuildError("the drivers do not build for this kernel")
    return Path(done.stdout.splitlines()[-1])


def compile_modules(tree: Path, place: Path, *words: str) -> list[Path]:
    """Build the modules of a folder in what modules() has returned; their files."""
    # The tree of another processor's kernel says itself what it is.
    arch = [] if (tree / ".kernelvariables").exists() else ["ARCH=um"]
    done = subprocess.run(["make", "-s", "-C", str(tree), f"M={place}", *arch, "-j2", "modules",
                           *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise build.BuildError(f"the modules in {place} do not build:\n{done.stdout[-4000:]}")
    order = (place / "modules.order").read_text(encoding="utf-8").split()
    return [place / Path(entry).with_suffix(".ko").name for entry in order]


def lender(tree: Path, place: Path) -> Path:
    """Build the module that sends frames without a copy, below @place; its file."""
    place = place / f"lender-{tree.name}"
    shutil.copytree(LENDER, place, dirs_exist_ok=True)
    return compile_modules(tree, place)[0]
