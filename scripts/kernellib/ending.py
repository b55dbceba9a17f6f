# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Runs that are ended from outside, and have kernels to end."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager


@contextmanager
def signals_raise():
    """Signals that end a program raise SystemExit meanwhile, but for those that are ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    mine = [number for number, handler in before.items() if handler != signal.SIG_IGN]
    for number in mine:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, before[number])
