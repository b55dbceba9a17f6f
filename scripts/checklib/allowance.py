# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""How long a suite may take on a machine that has other work as well."""

import os
import threading
import time

STEP_SECONDS = 5


class Allowance:
    """Seconds that a suite may take, where every program that can run has a processor.

    Where more programs want to run than there are processors, a second counts for the
    share of it that each of them gets: with twice as many, for half. The load is the
    average of a minute (getloadavg(3)). A suite that hangs adds none, so the limit of one
    that hangs by itself stays what it is.
    """

    def __init__(self, seconds):
        self._left = seconds
        self._last = time.monotonic()
        self._lock = threading.Lock()

    def left(self):
        """Seconds that are left, as if nobody else were there; zero or less: none."""
        share = min(1.0, os.cpu_count() / max(os.getloadavg()[0], 1.0))
        with self._lock:
            now = time.monotonic()
            self._left -= (now - self._last) * share
            self._last = now
            return self._left

    def wait(self, event):
        """Wait until @event is set or nothing is left. Returns whether it is set."""
        while (left := self.left()) > 0:
            if event.wait(min(left, STEP_SECONDS)):
                return True
        return event.is_set()
