# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The root file system of guests: this machine's, or packages of Debian's for another processor."""

from pathlib import Path

from . import foreign
from .debian_suite import HERE

SUITE = "bookworm"
# What `lab up` runs in a guest, and what people and tests run besides
PACKAGES = (
    "base-files", "base-passwd", "bash", "coreutils", "dash", "findutils", "gawk", "grep", "gzip",
    "hostname", "kmod", "less", "libc-bin", "mount", "procps", "psmisc", "python3", "sed", "tar",
    "util-linux",
    "ethtool", "iperf3", "iproute2", "iputils-ping", "netcat-openbsd", "tcpdump",
    "ibverbs-providers", "ibverbs-utils", "infiniband-diags", "opensm", "perftest", "rdma-core",
    "rdmacm-utils")


def provide(processor, progress):
    """The folder that guests with @processor see as /, made if it is missing."""
    return Path("/") if processor == HERE else foreign.provide(SUITE, processor, PACKAGES, progress)
