# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which tests reach which files, and how far away these are."""

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Reach:
    """Why a test is chosen: the nearest changed file, and how many steps it is away."""

    steps: int
    name: str

    def __str__(self):
        return self.name if self.steps < 2 else f"{self.name}, {self.steps} steps away"


def steps_from(start, neighbours):
    """Each file that can be reached from @start, with the number of steps to it.

    @neighbours: file -> the files that it is made of
    """
    steps, todo = {start: 0}, deque([start])
    while todo:
        name = todo.popleft()
        for other in neighbours(name):
            if other not in steps:
                steps[other] = steps[name] + 1
                todo.append(other)
    return steps


def reached(tests, neighbours, changed):
    """The tests that reach a changed file, nearest first: test -> Reach."""
    found = {}
    for test in tests:
        steps = steps_from(test, neighbours)
        near = [Reach(steps[name], name) for name in changed if name in steps]
        if near:
            found[test] = min(near)
    return dict(sorted(found.items(), key=lambda item: (item[1].steps, item[0])))
