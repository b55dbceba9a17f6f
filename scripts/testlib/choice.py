# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What to run for files that have changed, fastest first."""

from checklib.tree import PROCESSORS, TOP

from . import kernel_units, kinds, scenarios, table
from .python_units import PythonUnits
from .step import QUICK, USUAL, VM, Step
from .units import Units

CMAKE = "build/cmake"
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
NEAREST = 6     # kernel units of a quick run: each takes seconds to compile


def _build(target):
    configure = [] if (TOP / CMAKE / "build.ninja").exists() else \
        [["cmake", "-S", ".", "-B", CMAKE, "-G", "Ninja"]]
    return [*configure, ["cmake", "--build", CMAKE, "-j", str(PROCESSORS), "--target", target]]


def _checks(names, level, name):
    return Step(name, level, dict.fromkeys(names, ""), [["scripts/check", *names]])


def _units(changed):
    units = Units.here()
    found = units.reached(changed)
    return Step("C++ units", QUICK, found,
                [*_build("unit-tests"),
                 [f"{CMAKE}/bin/unit-tests", "--gtest_brief=1", f"--gtest_filter={units.filter(found)}"]])


def _python_units(python, changed):
    found = python.reached(changed)
    return Step("Python units", QUICK, found, [[*PYTEST, *found]])


def _kernel_units(changed, level):
    found, note = kernel_units.suites(changed), ""
    if level == QUICK and len(found) > NEAREST:
        note = f"the nearest of {len(found)}; all without --quick"
        found = dict(list(found.items())[:NEAREST])
    return Step("kernel units", QUICK, found,
                [["scripts/test-kernel", "kunit", "--filter", ",".join(found)]], note)


def _ctest(rows, changed):
    found = table.wanted(rows, "ctest", changed)
    names = "|".join(name.replace(".", r"\.") for name in found)
    return Step("programs", USUAL, found,
                [*_build("all"), ["ctest", "--test-dir", CMAKE, "-j", str(PROCESSORS), "--output-on-failure",
                                  "-R", f"^({names})$"]])


def _stack(rows, changed):
    found = table.wanted(rows, "stack", changed) | scenarios.stack_scenarios(changed)
    return Step("stack", USUAL, found, [["scripts/test-kernel", "stack", *found]])


def _vm(rows, changed, imported):
    own = scenarios.vm_tests(changed, imported)
    others = {name: why for name, why in table.wanted(rows, "vm", changed).items() if name not in own}
    # What takes long is left to others, but who changes a test wants to see it run.
    commands = [[*PYTEST, *(f"{scenarios.VM}/{name}" for name in found), *options]
                for found, options in ((others, ()), (own, ("--full",))) if found]
    return Step("virtual hosts", VM, others | own, commands)


def steps(changed, level):
    """Everything there is for these files, also what this level leaves out.

    A quick one only bounds the kernel units.
    """
    rows = table.read()
    quick, slow = kinds.checks(changed)
    python = PythonUnits.here()
    every = [_checks(quick, QUICK, "checks"),
             _python_units(python, changed),
             _units(changed),
             _kernel_units(changed, level),
             _checks(slow, USUAL, "checks that take longer"),
             _ctest(rows, changed),
             _stack(rows, changed),
             _vm(rows, changed, python.imported)]
    return [step for step in every if step.chosen]


def by_hand(changed):
    """Targets of make that go further: target -> the file for which."""
    return table.wanted(table.read(), "make", changed)
