# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What the benchmarks share."""

import argparse
import contextlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vm"))
from harness import ipv4, until  # noqa: E402


class Parser(argparse.ArgumentParser):
    """argparse with a status of its own for wrong usage; shows the program's docstring."""

    def __init__(self, description):
        super().__init__(description=description,
                         formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


def iperf3(lab, seconds, *options):
    """One transfer between h1 and h2; what iperf3 says at its end."""
    text = lab.out("h1", "iperf3", "-J", "-c", ipv4("h2"), "-t", seconds, *options,
                   timeout=seconds + 60)
    return json.loads(text)["end"]


def tcp(lab, seconds, streams=1):
    """Bits per second received of TCP from h1 to h2, and back; `served` is around it."""
    # The first second is the connections' start and does not count.
    return [iperf3(lab, seconds, "-O", 1, "-P", streams, *way)["sum_received"]["bits_per_second"]
            for way in ([], ["-R"])]


@contextlib.contextmanager
def served(lab):
    """An iperf3 that listens on h2."""
    with lab.background("h2", "iperf3", "-s") as server:
        until(lambda: ":5201" in lab.out("h2", "ss", "-Hltn"), 20, "iperf3 listens")
        yield
        server.stop()
