# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The KUnit suites on the kernels of other processors, one after another.

A kernel that cannot be had, for want of a compiler or an emulator, is skipped with the reason.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from checklib import junit

from . import build, emulator, kunit

NAMES = tuple(name for name, variant in build.VARIANTS.items() if variant.processor)


def _on(name: str) -> list[junit.Case]:
    """What the suites come to on one kernel."""
    try:
        emulator.provide(build.VARIANTS[name])
    except build.BuildError as error:
        return [junit.Case(name, junit.SKIPPED, str(error))]
    print(f"== {name}", flush=True)
    args = argparse.Namespace(kernel=name, filter="*", no_planted=False, coverage=False)
    try:
        return [replace(case, name=f"{name}.{case.name}") for case in kunit.cases(args)]
    except build.BuildError as error:
        return [junit.Case(name, junit.FAILED, str(error))]


def run(args) -> int:
    for name in args.names:
        if name not in NAMES:
            raise build.BuildError(f"'{name}' is no other processor's kernel: one of {', '.join(NAMES)}")
    cases = [case for name in args.names or NAMES for case in _on(name)]
    return junit.finish("processors", cases, args.junit, may_skip=True)


def add_arguments(parser) -> None:
    parser.add_argument("names", nargs="*", metavar="KERNEL",
                        help=f"of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--junit", metavar="FILE", help="write the results there as well")
    parser.set_defaults(run=run)
