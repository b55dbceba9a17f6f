# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Where the time of a run went: read from results, and from the machine's own account."""

import pytest
from checklib import junit, suites, times


def case(seconds, boot=0.0, build=0.0, name="a"):
    return junit.Case(name, junit.PASSED, "", seconds,
                      [(junit.BOOT, str(boot)), (junit.BUILD, str(build))])


def test_the_parts_are_the_whole():
    spent = times.spent(100.0, 10.0, [case(50, boot=20, build=5), case(30)], {}, 0.25)
    assert (spent.build, spent.boot) == (15.0, 20.0)
    assert spent.waiting == pytest.approx(65 * 0.25)
    assert spent.build + spent.boot + spent.waiting + spent.work == pytest.approx(100)


def test_tests_at_once_wait_for_their_boots_at_once():
    spent = times.spent(60.0, 0.0, [case(50, boot=20), case(50, boot=10)],
                        {junit.LANES: "2", junit.BUILD: "6"}, 0.0)
    assert (spent.build, spent.boot, spent.work) == (6.0, 15.0, 39.0)


def test_idle_share(monkeypatch, tmp_path):
    stat = tmp_path / "stat"
    monkeypatch.setattr(times, "STAT", stat)
    #                user nice system idle iowait irq softirq steal
    stat.write_text("cpu  100 0 100 100 100 0 0 0 0 0\ncpu0 1 2 3\n")
    processors = times.Processors()
    assert processors.idle_share() == 0.0
    stat.write_text("cpu  150 0 110 120 110 0 0 10 0 0\ncpu0 1 2 3\n")
    assert processors.idle_share() == pytest.approx(0.3)


def test_properties_survive_the_file(tmp_path):
    path = tmp_path / "x.xml"
    junit.write(path, "x", [case(2.0, boot=1.5), case(1.0, name="b")], [(junit.LANES, 2)])
    assert junit.properties(path) == {junit.LANES: "2"}
    read = junit.read(path)
    assert [c.spent(junit.BOOT) for c in read] == [1.5, 0.0]


def test_slowest_first_and_no_more_than_asked_for():
    suite = suites.Suite("x", "", "", [], 1, cases=[case(n, name=f"t{n}") for n in range(30)])
    lines = times.slowest([suite], 3)
    assert [line.split()[-1] for line in lines] == ["t29", "t28", "t27"]


def test_every_suite_has_a_level_and_check_is_part_of_test():
    by_level = {level: [s.name for s in suites.all_suites() if level in s.levels]
                for level in suites.LEVELS}
    assert all(set(s.levels) <= set(suites.LEVELS) and s.levels for s in suites.all_suites())
    assert set(by_level[suites.CHECK]) < set(by_level[suites.TEST])
    assert {"check", "unit", "kunit", "stack", "vm"} <= set(by_level[suites.TEST])
