# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What `make bench-ha` makes of a log of ha-probe."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import ha_figures as figures  # noqa: E402

AHEAD = 5.0         # seconds that the other end's clock shows more
TRIP = 0.0004       # seconds there and back
LOST = range(40, 60)


def log_text():
    """A probe a millisecond from 1 s on; 20 are lost, and one is late and overtaken."""
    lines = []
    for number in range(100):
        sent = 1 + number / 1000
        late = 0.0021 if number == 80 else 0
        at = sent + TRIP + late
        if number not in LOST:
            lines.append((at, number, sent, sent + TRIP / 2 + late / 2 + AHEAD))
    body = "".join(f"{number} {sent * 1e9:.0f} {echoed * 1e9:.0f} {at * 1e9:.0f}\n"
                   for at, number, sent, echoed in sorted(lines))
    return f"ready\n17\n{body}"


@pytest.fixture
def log():
    return figures.arrivals(log_text())


def test_log_is_read_in_order_of_arrival(log):
    assert len(log) == 80
    assert [one.number for one in log[:3]] == [0, 1, 2]
    assert [one.number for one in log].index(80) > [one.number for one in log].index(82)


def test_longest_silence(log):
    found = figures.silence(log)
    assert found.seconds == pytest.approx(0.021)
    assert found.begin == pytest.approx(1.039 + TRIP)
    assert found.lost == len(LOST)


def test_a_host_that_did_not_run_is_no_failover():
    """Nothing is lost in the longest of all silences."""
    stall = 0.1
    text = "".join(f"{number} {1e6 * number:.0f} {1e6 * number:.0f} {at:.0f}\n"
                   for number in range(100) if number not in LOST
                   for at in [1e6 * number + (1e9 * stall if number >= 80 else 0)])
    found = figures.silence(figures.arrivals(text))
    assert found.seconds == pytest.approx(0.021)
    assert found.lost == len(LOST)


def test_probes_that_were_kept_come_before_the_lost_ones():
    """Some of those of the silence come back after it, before the others are missed."""
    text = "".join(f"{number} {1e6 * number:.0f} {1e6 * number:.0f} {1e6 * at:.0f}\n"
                   for number in range(100) if number not in range(50, 60)
                   for at in [60 + number / 100 if 40 <= number < 60 else number])
    assert figures.silence(figures.arrivals(text)).seconds == pytest.approx(0.0214)


def test_silence_needs_two_answers(log):
    with pytest.raises(ValueError, match="only 1"):
        figures.silence(log[:1])


def test_rhythm_is_that_of_most(log):
    assert figures.rhythm(log) == pytest.approx(0.001)


def test_clocks_are_compared_by_the_fastest_probe(log):
    ahead, error = figures.offset(log)
    assert ahead == pytest.approx(AHEAD)
    assert error == pytest.approx(TRIP / 2)


def move():
    """Noticed 3 ms after the last answer, by the clock of the host that failed over."""
    return {"event_s": 1.039 + TRIP + 0.003 + AHEAD, "decided_ms": 0.5, "announced_ms": 9.0,
            "turned_ms": 9.5, "moved_ms": 10.0}


def test_phases_are_told_from_the_peers_last_packet(log):
    found = figures.phases(log, move())
    assert found.ends == pytest.approx((3.0, 3.5, 12.0, 12.5, 13.0))
    assert found.first == pytest.approx(21.0)
    assert found.error == pytest.approx(TRIP / 2 * 1000)


def test_without_stand_ins_the_kernel_turns_with_the_addresses(log):
    assert figures.phases(log, move() | {"turned_ms": 0.0}).ends[3:] == pytest.approx((13.0, 13.0))


def test_drawing_is_well_formed_and_holds_every_failover(log):
    rows = [figures.phases(log, move())] * 3
    outages = {"a & b": [21.0, 20.0, 24.0], "other": [100.0, 130.0]}
    root = ElementTree.fromstring(figures.drawing("title <1>", outages, rows))
    names = {"s": "http://www.w3.org/2000/svg"}
    assert len(root.findall(".//s:circle", names)) == 5 + 3
    texts = [text.text for text in root.findall(".//s:text", names)]
    assert {"a & b", "title <1>", "failover 3"} <= set(texts)


def test_summary():
    assert figures.summary([3.0, 1.0, 2.0]) == {"median": 2.0, "max": 3.0, "min": 1.0,
                                                "failovers": 3}
