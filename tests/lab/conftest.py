# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Makes scripts/ importable; what tests share."""

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))


def pytest_configure(config):
    # The runner ends a suite so: labs come down.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.addinivalue_line("markers", "guests: boots virtual hosts")


ENDLESS = """\
#!/bin/sh
while [ "$1" != --out ]; do shift; done
cd "$2"
trap 'touch was-ended; exit 143' TERM
until [ -e {job} ]; do sleep 0.05; done
touch {begun}
while :; do sleep 0.05; done
"""


@pytest.fixture
def endless_kernel(tmp_path):
    """Make a program in place of uml-run, and return its path: a kernel that never ends.

    In the folder of its results it touches @begun once there is @job, and was-ended when it
    is told to end.
    """
    def make(begun, job="."):
        run = tmp_path / "uml-run"
        run.write_text(ENDLESS.format(begun=begun, job=job))
        run.chmod(0o755)
        return run
    return make
