# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The machine that the tests themselves run on in the place of a lab: a kernel that
scripts/uml-run has booted for them. Its host h1 is all there is."""

import contextlib
import os
import subprocess

from harness import MARK, Background, Lab, Result, set_stretch, stretched, until


class Here(Lab):
    """A lab of one host, which is up already and stays up: sib0 and sib1 are on one cable.

    The kernel's messages are scanned by the fixture, and by scripts/uml-run at the end.
    """

    def __init__(self, config):  # pylint: disable=super-init-not-called
        self.config = config
        self.consoles = {}
        self.state = None
        self.build_seconds = self.boot_seconds = 0.0
        self.has_kmemleak = False   # scripts/uml-run scans when all is over
        set_stretch(config.slowness)

    def down(self):
        return 0, ""

    def begin(self, name, deadline=40):
        with open("/dev/kmsg", "w", encoding="utf-8") as log:
            log.write(f"{MARK}start {name}\n")

    @contextlib.contextmanager
    def far_end(self):
        """The other end of sib0's cable, without its HCA: host and netdev."""
        self.run("h1", "rdma", "link", "delete", "sib1")
        try:
            yield "h1", "eth2"
        finally:
            self.run("h1", "rdma", "link", "add", "sib1", "type", "sib", "netdev", "eth2")
            until(lambda: "ACTIVE" in self.port_state("h1", "sib1"), 40, "sib1 is ACTIVE")

    def background(self, host, *argv):
        return Background(host, [str(a) for a in argv], reach=())

    def run(self, host, *argv, timeout=60, check=True):
        argv = [str(a) for a in argv]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, errors="replace",
                                  timeout=stretched(timeout), check=False)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{argv}: not done within {stretched(timeout)} s") from None
        except OSError as error:
            done = subprocess.CompletedProcess(argv, 127, "", os.strerror(error.errno))
        result = Result(host, argv, done.returncode, done.stdout, done.stderr)
        assert not check or result.status == 0, str(result)
        return result
