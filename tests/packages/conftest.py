# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The packages in machines of their own: see docs/packages.md.

Tests of a file share a machine and build on each other, in order; the first
that fails ends the run.
"""

import re
import sys
from pathlib import Path

import pytest

from guest import TOP, Guest

sys.path.insert(0, str(TOP / "scripts"))
import splat  # noqa: E402

OFED_LINES = ("# Enable IPoIB Connected Mode", "SET_IPOIB_CM=yes", "# Set IPoIB MTU",
              "IPOIB_MTU=65520", "ONBOOT=yes", "IPOIB_LOAD=yes")


def pytest_addoption(parser):
    group = parser.getgroup("openipoib")
    group.addoption("--folder", type=Path, default=TOP / "build" / "packages",
                    help="where packaging/test-deb has worked (default build/packages)")
    group.addoption("--kernel", default="", help="which kernel to boot (default: the oldest there)")


@pytest.fixture(scope="session")
def folder(request):
    return request.config.getoption("--folder").resolve()


@pytest.fixture(scope="session")
def release(request, folder):
    """The release of the kernel to boot, such as 6.1.0-1-amd64."""
    wanted = request.config.getoption("--kernel")
    found = sorted((tuple(map(int, re.findall(r"\d+", path.name)[:3])), path.name)
                   for path in (folder / "root/lib/modules").glob("*-amd64")
                   if re.match(re.escape(wanted) + r"([.-]|$)" if wanted else "", path.name))
    assert found, f"no kernel {wanted} in {folder}/root"
    return found[-1 if wanted else 0][1]


@pytest.fixture(scope="module")
def start(request, folder, release):
    """Start a machine of this module, without waiting for it; the words are Guest's.

    may_panic: what its kernel complains of is no failure.
    """
    machines = []
    looked_at = []

    def one(role="", may_panic=False, **words):
        name = request.module.__name__.removeprefix("test_") + role
        machines.append(Guest(folder, release, name, **words))
        if not may_panic:
            looked_at.append(machines[-1])
        return machines[-1]

    yield one
    for machine in machines:
        machine.end()
    for machine in looked_at:
        splats = splat.scan(machine.console.read_text(errors="replace"))
        assert not splats, f"kernel splats, see {machine.console}: {splats}"


@pytest.fixture(scope="module")
def boot(start):
    """Start the machine of this module; init: another init than systemd."""
    def one(init=None):
        machine = start(init=init)
        machine.ready()
        return machine

    return one
