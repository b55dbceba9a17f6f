# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What ha-probe's log says about a failover, and drawings of it."""

import bisect
import statistics
from dataclasses import dataclass
from html import escape

NANOSECONDS = 1e9


@dataclass(frozen=True)
class Arrival:
    """A probe that has come back; times in seconds, `echoed` by the other end's clock."""

    number: int
    sent: float
    echoed: float
    at: float


@dataclass(frozen=True)
class Silence:
    """A time without an answer, by the sender's clock, in seconds."""

    begin: float
    end: float
    lost: int  # probes never answered, in the whole log

    @property
    def seconds(self):
        return self.end - self.begin


def arrivals(text):
    """The log of `ha-probe send`: what has come back, in the order in which it did.

    The first lines are the answers to questions.
    """
    found = []
    for words in map(str.split, text.splitlines()):
        if len(words) == 4:
            number, *times = map(int, words)
            found.append(Arrival(number, *(time / NANOSECONDS for time in times)))
    return found


def _sent(log, lost):
    """When lost probes were sent, from those beside them that have come back."""
    known = sorted((one.number, one.sent) for one in log)
    times = []
    for number in lost:
        at = bisect.bisect(known, (number,))
        (first, begin), (last, end) = known[at - 1], known[at]
        times.append(begin + (end - begin) * (number - first) / (last - first))
    return sorted(times)


def silence(log):
    """The longest Silence of a log in which probes were sent that are lost, if there is one.

    When a host is only kept from running for a while, probes are late, but all come back.
    """
    if len(log) < 2:
        raise ValueError(f"only {len(log)} probes have come back")
    numbers = {one.number for one in log}
    lost = sorted(set(range(min(numbers), max(numbers))) - numbers)
    sent = _sent(log, lost)
    pairs = [*zip(log, log[1:])]
    losing = [(before, after) for before, after in pairs
              if bisect.bisect(sent, after.at) > bisect.bisect(sent, before.at)]
    before, after = max(losing or pairs, key=lambda pair: pair[1].at - pair[0].at)
    return Silence(before.at, after.at, len(lost))


def rhythm(log):
    """The median time from one answer to the next, in seconds."""
    return statistics.median(after.at - before.at for before, after in zip(log, log[1:]))


def offset(log):
    """(seconds, error): what the other end's clock shows more than the sender's.

    From the probe that was away for the shortest time; it came to the other end
    at some time between, so the error is half of that.
    """
    best = min(log, key=lambda one: one.at - one.sent)
    return best.echoed - (best.at + best.sent) / 2, (best.at - best.sent) / 2


@dataclass(frozen=True)
class Phases:
    """A failover of ipoib-ha; milliseconds since the peer heard of it last."""

    event: float
    decided: float
    announced: float
    turned: float
    moved: float
    first: float
    error: float  # of all but `first`

    NAMES = ("until the event", "decision", "announced", "kernel turned",
             "addresses moved")

    @property
    def ends(self):
        return (self.event, self.decided, self.announced, self.turned, self.moved)


def phases(log, move):
    """Phases of a failover from the probe's log and an entry of `ipoib-ha status -j`."""
    gap, (ahead, error) = silence(log), offset(log)
    event = (move["event_s"] - ahead - gap.begin) * 1000
    # Where nothing stands in, the kernel turns with the addresses.
    turned = move["turned_ms"] or move["moved_ms"]
    return Phases(event, event + move["decided_ms"], event + move["announced_ms"], event + turned,
                  event + move["moved_ms"], gap.seconds * 1000, error * 1000)


def summary(values):
    """Median and extremes of milliseconds."""
    return {"median": statistics.median(values), "max": max(values), "min": min(values),
            "failovers": len(values)}


# The drawings

WIDTH, MARGIN, LEFT, ROW = 900, 20, 170, 16
COLOURS = ("#bbbbbb", "#4477aa", "#228833", "#66ccee", "#ccbb44")
FIRST = "#ee6677"


def _text(x, y, words, size=12, anchor="start"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">'
            f'{escape(words)}</text>')


def _rectangle(x, y, width, height, colour):
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height}" '
            f'fill="{colour}"/>')


def _circle(x, y, colour):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}" fill-opacity="0.7"/>'


def _axis(top, height, most, y):
    """Vertical lines at round milliseconds, and what they mean."""
    step = next(step for step in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 1e6)
                if most / step <= 8)
    lines, at = [], 0.0
    while at <= most:
        x = LEFT + at / most * (WIDTH - LEFT - MARGIN)
        lines += [f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + height}" '
                  'stroke="#dddddd"/>', _text(x, y, f"{at:g} ms", 11, "middle")]
        at += step
    return lines


def timeline(rows, most, top):
    """The phases of each failover, a row each. Returns (elements, height)."""
    scale = (WIDTH - LEFT - MARGIN) / most
    height = ROW * len(rows)
    out = _axis(top + 26, height, most, top + 42 + height)
    x = LEFT
    for name, colour in [*zip(Phases.NAMES, COLOURS), ("the peer's first packet", FIRST)]:
        out += [_rectangle(x, top + 2, 10, 10, colour), _text(x + 14, top + 11, name, 11)]
        x += 120
    for number, row in enumerate(rows):
        y, begin = top + 28 + number * ROW, 0.0
        out.append(_text(LEFT - 8, y + 10, f"failover {number + 1}", 11, "end"))
        for end, colour in zip(row.ends, COLOURS):
            out.append(_rectangle(LEFT + begin * scale, y, (end - begin) * scale, ROW - 4, colour))
            begin = end
        out.append(_circle(LEFT + row.first * scale, y + (ROW - 4) / 2, FIRST))
    return out, height + 56


def dots(outages, most, top):
    """Every outage of each method and its median. Returns (elements, height)."""
    scale = (WIDTH - LEFT - MARGIN) / most
    height = 30 * len(outages)
    out = _axis(top, height, most, top + 16 + height)
    for number, (name, values) in enumerate(outages.items()):
        y = top + 15 + 30 * number
        out.append(_text(LEFT - 8, y + 4, name, 12, "end"))
        out += [_circle(LEFT + value * scale, y, COLOURS[1]) for value in values]
        x = LEFT + statistics.median(values) * scale
        out += [_rectangle(x - 1, y - 11, 2, 22, FIRST)]
    return out, height + 30


def drawing(title, outages, rows):
    """The SVG of a benchmark: outages by method, the timeline of those of ipoib-ha."""
    most = max(max(values) for values in outages.values()) * 1.05
    out = [_text(MARGIN, 26, title, 15)]
    top = 60
    out.append(_text(MARGIN, top - 10, "outage seen by the peer; the line is the median"))
    upper, height = dots(outages, most, top)
    out += upper
    top += height + 40
    error = max(row.error for row in rows)
    out.append(_text(MARGIN, top - 10, "ipoib-ha: what happened when, since the peer's last packet "
                     f"(the clocks of the hosts are compared to within {error:.2f} ms)"))
    lower, height = timeline(rows, max(max(row.first, *row.ends) for row in rows) * 1.05, top)
    out += lower
    total = top + height + MARGIN
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{total:.0f}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(out) + "\n</svg>\n")
