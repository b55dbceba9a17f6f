# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Labs for the VM tests.

A test takes the fixture `lab` and says with @pytest.mark.labs(...) on which
labs it runs (default: our driver on both hosts, IB MTU 4096). Tests that need
the same lab run one after another on one instance of it. Around each test the
state of both hosts is compared and their kernel logs are scanned.

Kernels: the first one of --kernel gets every test but those marked full, the
others those marked smoke; --full gives all of them everything.
"""

import signal
import subprocess

import pytest

from harness import (LAB, TOP, Config, Lab, difference, set_stretch, snapshot,
                     snapshot_and_splats, until)
from here import Here
from checklib import junit      # where harness has made it findable
from lablib.plan import MTU_2048

DRIVER_PAIRS = {"ours": ("ours", "ours"), "intree": ("intree", "intree"),
                "mixed": ("ours", "intree"), "mixed-swapped": ("intree", "ours")}
RESTORE_SECONDS = 40
SCENARIOS = TOP / "tests/kernel/stack"
TEST_SECONDS = 400
PREEMPT = "preempt"


def pytest_addoption(parser):
    group = parser.getgroup("openipoib")
    group.addoption("--kernel", default="6.1,6.12",
                    help="kernels, comma separated (default 6.1,6.12); 6.12:preempt: with "
                         "full preemption, which stock kernels can have; 6.1:s390x or "
                         "6.1:arm64: h2 has that processor")
    group.addoption("--cpus", default="0", metavar="N[,N...]",
                    help="processors of each host (default: two with a kernel of ours, else one); "
                         "all tests are run with each number")
    group.addoption("--full", action="store_true", help="every test on every kernel")
    group.addoption("--switches", type=int, metavar="N",
                    help="mode switches under traffic (default 1000 with --full, else 20)")
    group.addoption("--soak", type=int, default=20, metavar="N",
                    help="failovers of the test of many (default 20)")
    group.addoption("--busy", type=int, default=60, metavar="SECONDS",
                    help="how long hosts are overloaded, and no failover may happen (default 60)")
    group.addoption("--manager", default="alone",
                    help="who has ib0 besides ipoib-ha, comma separated: alone (default), networkd, "
                         "NetworkManager")
    group.addoption("--hca", default="", metavar="PROFILE", help="what the HCAs are like (default: sib)")
    group.addoption("--dma", default="", choices=("virtual", "mapped"),
                    help="how the HCAs reach memory (default: virtual)")
    group.addoption("--driver", default=None, choices=("ours", "intree", "mixed"),
                    help="run everything with this driver on both hosts; mixed: what is for it, with "
                         "ours on h1 and the kernel's own on h2")


def pytest_configure(config):
    config.pluginmanager.register(_Rows(config))
    config.addinivalue_line("markers", "smoke: runs on every kernel")
    config.addinivalue_line("markers", "full(scenario): runs with --full only: it takes long, or "
                            "the scenario proves the same on a debug kernel in less time")
    config.addinivalue_line("markers", "race: of the suite `race`; on the kernel of this name also if "
                            "marked full")
    config.addinivalue_line("markers", "kernel(name): runs on this kernel alone")
    config.addinivalue_line("markers", "ha: about ipoib-ha")
    config.addinivalue_line("markers", "connected: about connected mode")
    config.addinivalue_line("markers", "verbs: about sib's verbs")
    config.addinivalue_line("markers", "labs(drivers, mtus, ports): the labs a test runs on")
    config.addinivalue_line("markers", "ours_only: about what the in-tree driver does worse")


def _wanted(number, pair, mtu, smoke):
    """Whether a lab of the kernel of this number is used without --full."""
    if number:
        return smoke and mtu == 4096 and pair == "ours"
    return pair == "ours" or (smoke and mtu == 4096 and pair != "mixed-swapped")


def _configs(metafunc):
    option = metafunc.config.getoption
    marker = metafunc.definition.get_closest_marker("labs")
    chosen = marker.kwargs if marker else {}
    smoke = metafunc.definition.get_closest_marker("smoke") is not None
    pairs = chosen.get("drivers", ["ours"])
    if option("--driver") == "intree":
        pairs = [] if metafunc.definition.get_closest_marker("ours_only") else ["ours"]
    drivers = dict(DRIVER_PAIRS)
    if option("--driver") == "intree":
        drivers["ours"] = drivers["intree"]
    elif option("--driver"):
        pairs = [pair for pair in pairs if pair == option("--driver")]
    most = 2048 if option("--hca") in MTU_2048 else 4096
    return [Config(kernel, *drivers[pair], min(mtu, most), chosen.get("ports", 1), cpus=int(cpus),
                   preempt=how == PREEMPT, processor=how if how != PREEMPT else "", hca=option("--hca"),
                   dma=option("--dma"))
            for cpus in option("--cpus").split(",")
            for number, (kernel, _, how) in enumerate(
                word.partition(":") for word in option("--kernel").split(","))
            for pair in pairs for mtu in chosen.get("mtus", [4096])
            if option("--full") or _wanted(number, pair, mtu, smoke)]


def pytest_generate_tests(metafunc):
    if "lab_config" in metafunc.fixturenames:
        metafunc.parametrize("lab_config", _configs(metafunc), ids=str, scope="session")


def _check_full(item):
    """What a test leaves to a scenario is left to one that there is."""
    marker = item.get_closest_marker("full")
    for scenario in marker.args if marker else ():
        if not (SCENARIOS / f"{scenario}.sh").exists():
            raise pytest.UsageError(f"{item.nodeid}: full(): no scenario '{scenario}' in {SCENARIOS}")


def _is_left_out(item, lab, is_full):
    """Whether a test is not for this kind of run, or not for the kernel of its lab."""
    name = lab.kernel if lab else None
    only = item.get_closest_marker("kernel")
    if only and only.args != (name,):
        return True
    if is_full or not item.get_closest_marker("full"):
        return False
    one_of_several = hasattr(item, "callspec") and any(mark.name == "full" for mark in item.callspec.marks)
    return not (name == "race" and item.get_closest_marker("race")) or one_of_several


def pytest_collection_modifyitems(config, items):
    """One boot per lab: sort by lab, then by test, both as they first come.

    What needs no lab comes last: it looks at what the labs have left behind.
    Each test gets its time limit here, as its kernel needs it, and the last of
    its cases the scan for leaks, which takes longer than most of them.
    """
    def lab_of(item):
        # Not a Config where the options leave a test no lab: pytest skips it.
        found = item.callspec.params.get("lab_config") if hasattr(item, "callspec") else None
        return found if isinstance(found, Config) else None

    for item in items:
        _check_full(item)
    others = [item for item in items if _is_left_out(item, lab_of(item), config.getoption("--full"))]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
    order, tests = {}, {}
    for item in items:
        order.setdefault(lab_of(item), len(order))
        tests.setdefault(item.function, len(tests))
    order[None] = len(items)
    items.sort(key=lambda item: (order[lab_of(item)], tests[item.function]))
    for item, following in zip(items, [*items[1:], None]):
        item.is_last_case = not following or following.function != item.function
        factor = lab_of(item).slowness if lab_of(item) else 1
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_SECONDS * factor))


# What record_property(name, ...) notes -> title and format of a table's row
TABLES = {
    "program": ("programs", "{:44} {:27} {:8} {:6.1f} s", None),
    "trial": ("trials", "{:44} {:27} {}", None),
    "failover": ("failovers", "{:26} {:34} {:14} {:>9} {:>6} {:>6} {:>9} {:>8} {:>8}",
                 ("cause", "where", "managed by", "outage ms", "lost", "moves", "last ms", "MB", "answers")),
    "connected": ("connected mode", "{:7} {:16} {:22} {:>8} {:>13} {:>18} {:>8}",
                  ("kernel", "h1, h2", "modes", "ping", "ping -M do", "TCP 1/4/16 Mbit/s",
                   "UDP lost")),
    "fleet": ("a fleet", "{:20} {:22} {:>8} {:>6} {:>6} {:>7} {:>7} {:>7} {:>7}",
              ("where", "event", "requests", "paths", "again", "at once", "reached", "half ms", "last ms")),
    "diagnosis": ("what openib diagnose says first", "{:24} {:16} {}", ("fault", "lab", "first line")),
    "trouble": ("connected mode under load", "{:7} {:16} {:40} {}",
                ("kernel", "h1, h2", "what", "seen")),
}


class _Rows:
    """What a long matrix has found, row by row, as soon as it is known."""

    def __init__(self, config):
        self.config = config

    def pytest_runtest_logreport(self, report):
        rows = [TABLES[name][1].format(*value) for name, value in report.user_properties
                if name in TABLES and TABLES[name][2]]
        if report.when != "call" or not rows:
            return
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        terminal.ensure_newline()
        for row in rows:
            terminal.write_line(f"  {row}")


def pytest_terminal_summary(terminalreporter):
    """The tables of what tests have noted, each row once."""
    found = {name: {} for name in TABLES}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", []):
                if name in TABLES:
                    found[name].setdefault(tuple(value[:3]), value)
    for name, rows in found.items():
        title, form, head = TABLES[name]
        if not rows:
            continue
        terminalreporter.section(title)
        for row in ([head] if head else []) + list(rows.values()):
            terminalreporter.write_line(form.format(*row))


class _Current:
    """The lab that is up now, replaced when a test needs another one."""

    def __init__(self):
        self.lab = None
        self.broken = {}
        self.is_interrupted = False

    def get(self, config, note):
        """The lab of this configuration; @note(name, seconds): what it had to wait for."""
        if self.is_interrupted:
            pytest.exit("ended from outside")
        if config in self.broken:
            pytest.fail(f"lab {config} is broken: {self.broken[config]}", pytrace=False)
        if self.lab and self.lab.config == config:
            return self.lab
        self.end()
        try:
            self.lab = Here(config) if config.kernel == "uml" else Lab(config)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            self._sweep()
            self.broken[config] = str(error)
            pytest.fail(str(error), pytrace=False)
        note(junit.BOOT, f"{self.lab.boot_seconds:.1f}")
        note(junit.BUILD, f"{self.lab.build_seconds:.1f}")
        return self.lab

    @staticmethod
    def _sweep():
        """End a lab that has not come up, or not yet."""
        subprocess.run([LAB, "down"], capture_output=True, timeout=60, check=False)

    def interrupted(self, _number, _frame):
        """SIGTERM: the lab ends at once. Who waits for a guest then waits no longer.

        What a test says of that may hide the exception, and there would be a next test.
        """
        self.is_interrupted = True
        lab, self.lab = self.lab, None
        (lab.down if lab else self._sweep)()
        raise KeyboardInterrupt

    def discard(self, reason):
        """A test left the lab in a state that would fail all later ones: boot again."""
        if self.lab:
            print(f"lab {self.lab.config} is started again: {reason}")
            self.lab.down()
            self.lab = None

    def end(self):
        if not self.lab:
            return
        lab, self.lab = self.lab, None
        try:
            leaks = lab.leaks(settle=True)
        finally:
            status, said = lab.down()
            set_stretch(1)
        assert status == 0, f"lab down after {lab.config}: status {status}\n{said}"
        assert not leaks, f"kernel memory leaked in {lab.config}:\n" + "\n".join(leaks)


@pytest.fixture(scope="session")
def current_lab():
    current = _Current()
    signal.signal(signal.SIGTERM, current.interrupted)
    yield current
    current.end()


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    setattr(item, f"report_{call.when}", outcome.get_result())


@pytest.fixture
def lab(request, lab_config, current_lab, record_property):
    """A lab in which both hosts reach each other, checked again after the test."""
    lab = current_lab.get(lab_config, record_property)
    lab.begin(request.node.name)
    before = lab.state or snapshot(lab)
    lab.state = None
    yield lab
    if current_lab.lab is not lab:  # interrupted
        return
    after, problems = snapshot_and_splats(lab)
    problems += (lab.leaks() if request.node.is_last_case else []) + lab.splats()
    if problems:
        current_lab.discard("kernel splat")
        pytest.fail("kernel splats:\n" + "\n".join(problems), pytrace=False)
    report = getattr(request.node, "report_call", None)
    try:
        if difference(before, after):
            _wait_restored(lab, before)
        lab.state = before
    except AssertionError as error:
        current_lab.discard("state not restored")
        if report is not None and report.passed:
            pytest.fail(f"state not as before the test: {error}", pytrace=False)


def _wait_restored(lab, before):
    seen = []

    def same():
        seen[:] = difference(before, snapshot(lab))
        return not seen

    until(same, RESTORE_SECONDS, lambda: "\n".join(seen), interval=0.3)
