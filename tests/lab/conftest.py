# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Makes scripts/ importable."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))


def pytest_configure(config):
    # The runner ends a suite so: labs come down.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.addinivalue_line("markers", "guests: boots virtual hosts")
