# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which inputs of a run are to blame, and what of them can be left out.

Each try takes a kernel that has not complained yet; as long as it does not, it takes one
candidate after another.
"""

import time
from dataclasses import dataclass

import journal
import machine

RECORD = 8              # octets, as in records.hpp
RECENT = (1, 30, 1000)  # how many inputs to try again, from the last one back


@dataclass
class Case:
    """Inputs that, in this order, lead to a finding."""

    inputs: list
    outcome: machine.Outcome


class Tries:
    """Runs of candidates in fresh kernels, up to a time."""

    def __init__(self, parts, place, signature, is_leak, deadline):
        self._parts = parts
        self._place = place
        self._signature = signature
        self._is_leak = is_leak
        self._deadline = deadline
        self.kernels = 0

    def in_time(self):
        return time.monotonic() < self._deadline

    def run(self, inputs):
        """What these inputs lead to, in a kernel of their own."""
        self.kernels += 1
        return machine.run(self._parts, self._place, [], inputs, self._is_leak)

    def same(self, outcome):
        """Whether it is the finding that is looked for."""
        return bool(outcome.what) and outcome.signature == self._signature

    def first(self, candidates):
        """The number of the first candidate, each one input, that leads to the finding."""
        if self._is_leak:       # only the end of a run tells
            for number, candidate in enumerate(candidates):
                if not self.in_time():
                    return None
                if self.same(self.run([candidate])):
                    return number
            return None
        begin = 0
        while begin < len(candidates) and self.in_time():
            outcome = self.run(candidates[begin:])
            if not outcome.what:
                return None
            at = begin + max(len(outcome.inputs), 1) - 1
            if self.same(outcome):
                return at
            begin = at + 1
        return None


def find(tries, outcome):
    """The case that a run's finding can be shown with again, or None."""
    if outcome.is_leak:
        return _find_leak(tries, outcome)
    data = [one.data for one in outcome.inputs]
    for count in RECENT:
        if not tries.in_time():
            return None
        inputs = data[-count:]
        again = tries.run(inputs)
        if again.what:
            tries._signature = again.signature      # it may show otherwise, as itself
            return Case(inputs[:max(len(again.inputs), 1)], again)
        if count >= len(data):
            break
    return None


def _find_leak(tries, outcome):
    near = journal.around(outcome.inputs, outcome.leaks) if outcome.leaks else []
    for inputs in (near, outcome.inputs):
        data = [one.data for one in inputs]
        if not data or not tries.in_time():
            continue
        again = tries.run(data)
        if tries.same(again):
            return _halve(tries, Case(data, again))
    return None


def _halve(tries, case):
    """The half that has it, as long as one half has."""
    while len(case.inputs) > 1 and tries.in_time():
        middle = len(case.inputs) // 2
        for half in (case.inputs[:middle], case.inputs[middle:]):
            again = tries.run(half)
            if tries.same(again):
                case = Case(half, again)
                break
        else:
            return case
    return case


def without(data):
    """Candidates: @data without some of its records, from many to one."""
    count = len(data) // RECORD
    size = max(count // 2, 1)
    while size:
        for begin in range(0, count, size):
            candidate = data[:begin * RECORD] + data[(begin + size) * RECORD:]
            if candidate != data:
                yield candidate
        size //= 2


def plainer(data):
    """Candidates: @data with one octet 0 that is not."""
    for at, octet in enumerate(data):
        if octet and at % RECORD:
            yield data[:at] + b"\0" + data[at + 1:]


def minimise(tries, case):
    """A case with as little as possible in it, of what there is time for."""
    if len(case.inputs) != 1:
        return case
    best = case.inputs[0]
    best += bytes(-len(best) % RECORD)
    for simpler in (without, plainer):
        while tries.in_time():
            candidates = list(simpler(best))
            number = tries.first(candidates)
            if number is None:
                break
            best = candidates[number]
    return Case([best], case.outcome)


def listing(inputs):
    """Inputs as a person reads them: a record a line."""
    lines = []
    for number, data in enumerate(inputs):
        if len(inputs) > 1:
            lines.append(f"  input {number + 1}:")
        lines += [f"    {data[at:at + RECORD].hex(' ')}" for at in range(0, len(data), RECORD)]
    return "\n".join(lines)
