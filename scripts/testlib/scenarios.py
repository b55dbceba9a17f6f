# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Scenarios of the stack and tests on virtual hosts that are changed themselves, or by what they run."""

from pathlib import PurePath

from checklib.tree import TOP
from kernellib import stack

STACK, VM = "tests/kernel/stack", "tests/vm"
MANY = 4    # of what more scenarios or tests share, the table says which of them try it


def _few(found, name):
    return {test: name for test in found} if len(found) <= MANY else {}


def _uses(scenario, name):
    """Whether a scenario that does not take long runs or sources @name."""
    text = stack.text_of(stack.SCENARIOS / f"{scenario}.sh")
    return name in text and stack.BY_NAME not in text


def stack_scenarios(changed):
    """Scenario -> the changed file that is it, or that it runs or sources."""
    names = stack.names()
    chosen = {}
    for name in changed:
        path = PurePath(name)
        if str(path.parent) != STACK or not (TOP / name).is_file():
            continue
        if path.suffix == ".sh" and path.stem in names:
            chosen[path.stem] = name
        else:
            chosen |= _few([other for other in names if _uses(other, path.name)], name)
    return chosen


def vm_tests(changed, imported):
    """File of tests/vm -> the changed file that is it, or that it or its modules name.

    @imported: Python file -> the files that it imports
    """
    tests = {path.name: path.read_text(encoding="utf-8") for path in sorted((TOP / VM).glob("test_*.py"))}
    chosen = {}
    for name in changed:
        path = PurePath(name)
        if not name.startswith(f"{VM}/") or not (TOP / name).is_file():
            continue
        if path.name in tests:
            chosen[path.name] = name
        else:
            chosen |= _few([test for test, text in tests.items()
                            if path.name in text or name in imported(f"{VM}/{test}")], name)
    return chosen
