# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Data races, on the kernel `race`: planted ones are found, and what users do at any time
has none.

What the kernel reports fails a test as any other splat does (scripts/splat.py).
"""

import contextlib
import re
import subprocess

import pytest

import splat        # where harness has made it findable
from harness import HOSTS, TOP, until
from test_connected import MODE, connected
from test_reload import comes_back, traffic

KERNEL = "race"
PLANTED = "tests/kernel/planted_race"
# What may be wrong with a planted race: of each kind, a function planted_KIND is under way.
KINDS = ("plain", "half", "barrier")
TRIES, TRIES_NONE = 10, 3
pytestmark = [pytest.mark.race, pytest.mark.kernel(KERNEL)]


@pytest.fixture(scope="module")
def planted():
    """The module with the planted races, built."""
    tree = TOP / "build/kernels" / KERNEL
    for command in ([TOP / "scripts/build-modules", tree],
                    ["make", "-s", "-C", tree, f"M={TOP / 'build/modules' / KERNEL / PLANTED}"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return TOP / "build/modules" / KERNEL / PLANTED / "planted_race.ko"


def run_planted(lab, module, kind):
    """Load the module, which counts while it is loaded, and unload it."""
    lab.run("h1", "insmod", module, f"kind={kind}", timeout=30)
    lab.run("h1", "rmmod", "planted_race")


def races(lab):
    """Data races of ours on the consoles since the last call."""
    return [text for text in lab.splats() if f": {splat.RACE}: " in text]


def test_planted_races_are_found(lab, current_lab, planted):
    """Each is found in a few tries, and what is right is not taken for one."""
    for _ in range(TRIES_NONE):
        run_planted(lab, planted, "none")
    assert not races(lab)
    try:
        for kind in KINDS:
            found = []
            for _ in range(TRIES):
                run_planted(lab, planted, kind)
                found += races(lab)
                if found:
                    break
            # A report may name but one side of the race: of `half`, perhaps the one with the lock.
            place = re.compile(rf"planted_{kind}\+\S+ \[planted_race\]")
            assert found and all(place.search(text) for text in found), f"{kind}: {found}"
    finally:
        current_lab.discard("a race was planted")   # and its console has splats


@contextlib.contextmanager
def readers(lab):
    """Everything is read on both hosts; yields a function that waits until it was, once more."""
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(lab.helper_background(host, "readers.py", "ib0", "sib0"))
                   for host in HOSTS]
        for reader in running:
            assert reader.line() == "running"

        def again():
            for reader in running:
                reader.tell("count")
            return [int(reader.line().split()[0]) for reader in running]

        yield again
        for reader in running:
            reader.tell("end")
            done = reader.finish(60)
            assert done.status == 0, str(done)


def changes(mode, mtu):
    """What is changed while everything is read, in a mode with this MTU: to and back."""
    another = "datagram" if mode == "connected" else "connected"
    return [
        (f"echo {another} > {MODE}", f"echo {mode} > {MODE} && ip link set ib0 mtu {mtu}"),
        ("echo 1 > /sys/class/net/ib0/umcast", "echo 0 > /sys/class/net/ib0/umcast"),
        ("ip link set ib0 mtu 1500", f"ip link set ib0 mtu {mtu}"),
        ("ethtool -L ib0 tx 4", "ethtool -L ib0 tx 1"),
        ("ethtool -G ib0 rx 512 tx 256", "ethtool -G ib0 rx 1024 tx 512"),
        ("ethtool -K ib0 tso off gro off", "ethtool -K ib0 tso on gro on"),
        ("ip link set ib0 allmulticast on", "ip link set ib0 allmulticast off"),
        ("ip link set ib0 down", "ip link set ib0 up"),
    ]


@pytest.mark.parametrize("mode", ["datagram", "connected"])
def test_read_while_all_changes(lab, mode):
    """Settings, modes and statistics are read and set under traffic."""
    with contextlib.ExitStack() as stack:
        if mode == "connected":
            stack.enter_context(connected(lab, *HOSTS))
        mtu = int(lab.read("h1", "/sys/class/net/ib0/mtu"))
        stack.enter_context(traffic(lab, "h2"))
        again = stack.enter_context(readers(lab))
        for number, steps in enumerate(changes(mode, mtu)):
            host = HOSTS[number % 2]
            change, back = steps
            lab.sh(host, change)
            before = again()
            until(lambda b=before: all(n > o for n, o in zip(again(), b, strict=True)), 20,
                  "everything is read again")
            lab.sh(host, back)
            comes_back(lab, host)
