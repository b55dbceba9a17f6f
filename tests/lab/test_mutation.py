# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""tests/mutations: which faults a source can have, and what the units' end says of one."""

import io
import random
import sys

import pytest

from checklib import tree
from lablib.place import SOURCES

sys.path.insert(0, str(SOURCES / "tests/mutations"))
import mutation  # noqa: E402
import trial  # noqa: E402

SOURCE = """\
static int limit = 3;

/* take - a comment (if (it) counts; */
int take(struct box *box, int number)
{
    unsigned long flags;
    int err = 0;

    lockdep_assert_held(&box->outer);
    spin_lock_irqsave(&box->lock, flags);
    if (number <= limit) {
        box->number = number;
    } else if (number == 7)
        forget(box);
    else
        box->lost++;
    spin_unlock_irqrestore(&box->lock, flags);
    pr_warn("%d > %d\\n", number, limit);
    return err;
}
"""


def found(kind=None):
    return [one for one in mutation.mutations("box.c", SOURCE) if kind in (None, one.kind)]


def lines(kind):
    return [(one.line, one.changed[0][1].strip()) for one in found(kind)]


def test_a_condition_is_turned():
    assert lines(mutation.CONDITION) == [(11, "if (!(number <= limit)) {"),
                                         (13, "} else if (!(number == 7))")]


def test_a_bound_is_moved():
    # Neither in a declaration nor in a message
    assert lines(mutation.BOUND) == [(11, "if (number < limit) {")]


def test_a_lock_is_left_out_with_what_gives_it_back():
    one, = found(mutation.LOCK)
    assert one.changed == ((10, ""), (17, ""))


def test_a_lock_that_is_taken_again_keeps_its_other_half():
    source = "void f(void)\n{\n" + "    lock(&a);\n    x = 1;\n    unlock(&a);\n" * 2 + "}\n"
    source = source.replace("lock(&a)", "spin_lock(&a)").replace("unspin_lock", "spin_unlock")
    found = [one.changed for one in mutation.mutations("f.c", source) if one.kind == mutation.LOCK]
    assert found == [((3, ""), (5, "")), ((6, ""), (8, ""))]


def test_a_line_is_removed():
    # Not a declaration, an assertion, a message or a return, and not half of a lock
    assert lines(mutation.LINE) == [(12, "{}"), (14, "{}"), (16, "{}")]


def test_assertions_stay():
    source = "void f(void)\n{\n    ASSERT_RTNL();\n    lockdep_assert_held(&a);\n    WARN_ON(b);\n}\n"
    assert not mutation.mutations("f.c", source)


def test_only_the_fault_changes():
    for one in found():
        before, after = SOURCE.split("\n"), one.apply(SOURCE).split("\n")
        different = [number for number, pair in enumerate(zip(before, after), 1) if pair[0] != pair[1]]
        assert len(before) == len(after)
        assert different == [number for number, _ in one.changed], one


def test_a_part_of_an_expression_is_no_statement():
    source = "void f(void)\n{\n\tresult = g(1,\n\t\t   h(2));\n\tfor (i = 0; i < 3; i++)\n\t\tk(i);\n}\n"
    assert not [one for one in mutation.mutations("f.c", source) if one.kind == mutation.LINE]


def test_the_seed_chooses():
    first, again, other = (list(mutation.draw(found(), random.Random(seed))) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(map(str, first)) == sorted(map(str, other)) == sorted(map(str, found()))


def test_kinds_take_turns():
    assert [one.kind for one in list(mutation.draw(found(), random.Random(1)))[:4]] == list(mutation.KINDS)


def ends(*statuses):
    """In place of execute(): commands end so, one after another."""
    left = list(statuses)
    return lambda command, log: left.pop(0)


@pytest.mark.parametrize(("names", "statuses", "verdict"), [
    (["a_kunit"], [0], trial.SURVIVED),
    (["a_kunit"], [2], trial.KILLED),
    (["a_kunit"], [3], trial.INVALID),
    (["a_kunit"], [None], trial.HANGS),
    (["tests/unit/bytes_test.cc"], [0, 0], trial.SURVIVED),
    (["tests/unit/bytes_test.cc"], [1], trial.INVALID),
    (["tests/unit/bytes_test.cc"], [0, 1], trial.KILLED),
    (["tests/unit/bytes_test.cc"], [0, -6], trial.KILLED),
    ([], [], trial.UNTESTED),
])
def test_verdicts(names, statuses, verdict):
    assert trial.verdict(names, io.StringIO(), ends(*statuses)) == verdict


@pytest.mark.parametrize(("names", "statuses"), [
    (["a_kunit"], [127]), (["a_kunit"], [1]), (["a_kunit"], [-9]), (["tests/unit/bytes_test.cc"], [0, 127]),
])
def test_units_that_cannot_run_have_not_seen_a_fault(names, statuses):
    with pytest.raises(trial.TrialError, match="failed to run"):
        trial.verdict(names, io.StringIO(), ends(*statuses))


def test_units_that_fail_without_a_fault_are_an_error():
    with pytest.raises(trial.TrialError, match="fail without a mutation"):
        trial.check(["a_kunit"], io.StringIO(), ends(2))


def test_the_copy_is_as_before_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "TREE", tmp_path)
    (tmp_path / "box.c").write_text(SOURCE)
    one, seen = found()[0], []
    monkeypatch.setattr(trial, "units_of", lambda file: ["box_kunit"])
    monkeypatch.setattr(trial, "verdict",
                        lambda names, log: seen.append((tmp_path / "box.c").read_text()) or trial.KILLED)
    assert trial.attempt(one, io.StringIO()) == trial.KILLED
    assert seen == [one.apply(SOURCE)] and (tmp_path / "box.c").read_text() == SOURCE


@pytest.mark.parametrize("part", ["drivers/ipoib", "drivers/sib", "ha-daemon/core", "fabric/core"])
def test_every_part_has_units(part):
    sources = [name for name in tree.with_suffix(".c", ".cc") if name.startswith(f"{part}/")]
    assert any(trial.units_of(name) for name in sources)
