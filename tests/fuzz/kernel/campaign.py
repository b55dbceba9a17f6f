# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A target for a while: one kernel after another, until something is found."""

import hashlib
import time
from dataclasses import dataclass, field

import machine  # first: it knows where the others are

import corpora
import culprit
import functions
import journal

BATCH_SECONDS = 300     # of a kernel: then it is looked for leaks
MINIMISE_SECONDS = 240


@dataclass
class Result:
    """outcome: of the run that has found something, or of the last; seconds: until then."""

    outcome: machine.Outcome
    seconds: float = 0.0
    executed: int = 0
    features: list = field(default_factory=list)
    names: set = field(default_factory=set)


def fuzz(parts, place, seconds, with_cache=True):
    """Fuzz for so many seconds, or until something is found."""
    corpus = place / "corpus"
    corpora.give(parts.target, corpus, with_cache)
    known = functions.of(parts.module)
    result = Result(machine.Outcome())
    start = time.monotonic()
    while True:
        left = seconds - (time.monotonic() - start)
        if left < 1:
            return result
        batch = max(int(min(left, BATCH_SECONDS)), 1)
        outcome = machine.run(parts, place, [*machine.options(batch), "/run/out/corpus"])
        result.outcome = outcome
        result.seconds = time.monotonic() - start
        result.executed += outcome.executed
        result.features += outcome.features[:1] + outcome.features[-1:]
        result.names |= functions.executed(known, functions.offsets(place))
        if with_cache:
            corpora.take(parts.target, corpus)
        if outcome.what:
            return result


def explain(parts, place, outcome, command, budget=MINIMISE_SECONDS):
    """Find the input to blame, make it small, and say how to see it again; the text."""
    tries = culprit.Tries(parts, place / "tries", outcome.signature, outcome.is_leak,
                          time.monotonic() + budget)
    case = culprit.find(tries, outcome)
    inputs = [one.data for one in outcome.inputs[-1:]]
    again = "it did not come again with the inputs before it"
    if case:
        before = sum(map(len, case.inputs))
        case = culprit.minimise(tries, case)
        inputs = case.inputs
        again = (f"shown again and minimised in {tries.kernels} kernels: {before} octets, "
                 f"of which {sum(map(len, inputs))} are left")
    name = hashlib.sha1(b"".join(inputs)).hexdigest()[:10]
    path = machine.WORK / f"found/{parts.target}-{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    journal.write(path, inputs)
    path.with_suffix(".txt").write_text(outcome.text + "\n", encoding="utf-8")
    return "\n".join([f"{parts.target}: found: {outcome.what}", outcome.text[:6000], again + ":",
                      culprit.listing(inputs), f"see it again: {command} --replay {path}"])
