# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A run whose suites executed nothing, or which died, is red: scripts/run-tests with fake suites."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checklib import junit, suites

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
# scripts/run-tests with suites of its own: NAME SECONDS COMMAND..., a shell command each
RUNNER = f"""
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
sys.path.insert(0, "{SCRIPTS}")
from checklib import suites
loader = SourceFileLoader("run_tests", "{SCRIPTS}/run-tests")
run_tests = module_from_spec(spec_from_loader(loader.name, loader))
loader.exec_module(run_tests)
suites.LOGS = Path.cwd()
fakes = [fake.split("|") for fake in sys.argv[1:]]
suites.all_suites = lambda: [
    suites.Suite(name, name, "Makefile", [["sh", "-c", c] for c in commands], int(seconds))
    for name, seconds, *commands in fakes]
sys.argv[1:] = [name for name, *_ in fakes]
sys.exit(run_tests.main())
"""
PASSED = junit.Case("a", junit.PASSED)
FAILED = junit.Case("b", junit.FAILED, "broken")
SKIPPED = junit.Case("c", junit.SKIPPED, "no way")


@pytest.fixture(name="folder")
def folder_of_results(tmp_path, monkeypatch):
    """Where a suite `fake` writes its results; commands are run in another folder."""
    monkeypatch.setattr(suites, "LOGS", tmp_path)
    return tmp_path


def start(folder, *fakes):
    return subprocess.Popen([sys.executable, "-c", RUNNER, *fakes], cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(runner):
    """Status and last line."""
    said, _ = runner.communicate(timeout=60)
    return runner.returncode, said.splitlines()[-1]


def run(folder, *commands, seconds=30):
    """Run a suite of these commands. Its cases as (result, name, reason), names without suite."""
    suite = suites.Suite("fake", "a fake", "Makefile", [["sh", "-c", c] for c in commands], seconds)
    suites.run(suite)
    return [(case.result, case.name.split(".")[-1], case.reason) for case in suite.cases]


def failures(cases):
    return [(name, reason) for result, name, reason in cases if result == junit.FAILED]


def results(folder, *cases, name="prepared.xml"):
    """A shell command that writes these results, all at once."""
    junit.write(folder / name, "s", cases)
    return f"cp {folder / name} {folder}/fake.xml"


def test_passes(folder):
    assert run(folder, results(folder, PASSED)) == [(junit.PASSED, "a", "")]


@pytest.mark.parametrize("cases", [(), (SKIPPED,), (SKIPPED, SKIPPED)], ids=len)
def test_nothing_has_run(folder, cases):
    assert failures(run(folder, results(folder, *cases))) == [("fake", "no test ran")]


def test_no_results(folder):
    assert failures(run(folder, "true")) == [("fake", "no test ran")]


def test_results_of_an_earlier_run_do_not_count(folder):
    results(folder, PASSED, name="fake.xml")
    assert failures(run(folder, "true")) == [("fake", "no test ran")]


def test_a_suite_that_is_not_there(folder):
    results(folder, PASSED, name="fake.xml")
    suite = suites.Suite("fake", "a fake", "no/such/file", [["true"]], 30)
    suites.run(suite)
    assert [(case.result, case.reason) for case in suite.cases] == \
        [(junit.FAILED, "there is no no/such/file")]


@pytest.mark.parametrize("text", ["", "<testsuite><testcase name='a'/>", "\0\1", "passed",
                                  "<testsuite><testcase name='a' time='soon'/></testsuite>"],
                         ids=["empty", "truncated", "binary", "text", "no number"])
def test_results_that_cannot_be_read(folder, text):
    (folder / "broken").write_text(text, encoding="utf-8")
    (name, reason), = failures(run(folder, f"cp {folder}/broken {folder}/fake.xml"))
    assert name == "fake" and "fake.xml" in reason
    assert not (folder / "fake.xml").exists()


def test_results_that_cannot_be_read_stop_no_other_suite(folder):
    good = results(folder, PASSED)
    truncated = f"echo '<testsuite><testcase' > {folder}/broken.xml"
    runner = start(folder, f"broken|30|{truncated}", f"fake|30|{good}")
    assert finish(runner) == (2, "1 passed, 1 failed, 0 skipped")


def test_killed_after_tests_that_passed(folder):
    (_, reason), = failures(run(folder, results(folder, PASSED) + "; kill -9 $$"))
    assert "signal 9" in reason


def test_killed_after_a_test_that_failed(folder):
    found = failures(run(folder, results(folder, PASSED, FAILED) + "; kill -9 $$"))
    assert len(found) == 2 and ("b", "broken") in found


def test_a_failed_test_explains_the_status(folder):
    assert failures(run(folder, results(folder, PASSED, FAILED) + "; exit 1")) == [("b", "broken")]


def test_a_status_without_a_failed_test(folder):
    (_, reason), = failures(run(folder, results(folder, PASSED) + "; exit 3"))
    assert "status 3" in reason


def test_too_late_after_a_test_that_failed(folder):
    found = failures(run(folder, results(folder, PASSED, FAILED) + "; sleep 1000 & wait", seconds=1))
    assert {reason.split(";")[0] for _, reason in found} == {"not done within 1 s", "broken"}


def test_too_late_with_a_daemon_that_keeps_the_output(folder):
    pid = folder / "daemon"
    command = f"setsid sh -c 'echo $$ > {pid}; exec sleep 1000' & sleep 1000"
    begun = time.monotonic()
    try:
        (_, reason), = failures(run(folder, command, seconds=1))
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    assert "not done within 1 s" in reason and time.monotonic() - begun < 20


def test_a_loaded_machine_gives_more_time(folder, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (20.0 * os.cpu_count(), 0.0, 0.0))
    assert run(folder, "sleep 2; " + results(folder, PASSED), seconds=1) == [(junit.PASSED, "a", "")]


def test_a_loaded_machine_does_not_give_time_without_end(folder, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (4.0 * os.cpu_count(), 0.0, 0.0))
    begun = time.monotonic()
    (_, reason), = failures(run(folder, "sleep 1000", seconds=1))
    assert "not done within 1 s" in reason and 4 <= time.monotonic() - begun < 20


def test_a_build_that_fails(folder):
    good = results(folder, PASSED)
    (_, reason), = failures(run(folder, "exit 1", good))
    assert "status 1" in reason and not (folder / "fake.xml").exists()


def test_a_command_that_is_not_there(folder):
    suite = suites.Suite("fake", "a fake", "Makefile", [["no-such-command"]], 30)
    suites.run(suite)
    (case,) = suite.cases
    assert case.result == junit.FAILED and "no-such-command" in case.reason


def test_a_run_of_no_suites_is_red(folder):
    assert finish(start(folder)) == (2, "0 passed, 0 failed, 0 skipped")


def test_one_red_suite_among_green_ones(folder):
    good = results(folder, PASSED)
    assert finish(start(folder, f"fake|30|{good}")) == (0, "1 passed, 0 failed, 0 skipped")
    assert finish(start(folder, "red|30|true", f"fake|30|{good}")) == \
        (2, "1 passed, 1 failed, 0 skipped")


def test_what_failed_is_named_last(folder):
    bad = results(folder, PASSED, FAILED)
    said, _ = start(folder, f"fake|30|{bad}; exit 2").communicate(timeout=60)
    lines = said.splitlines()
    assert lines[-5:] == ["", "failed:", "  fake: s.b: broken", "",
                          "1 passed, 1 failed, 0 skipped"]


def wait_for(path):
    deadline = time.monotonic() + 30
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline, f"no {path}"
        time.sleep(0.02)
    return int(path.read_text())


def is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pids):
    deadline = time.monotonic() + 30
    while any(map(is_there, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(is_there, pids))


def interrupt(folder, number):
    """A runner ended by a signal while its first suite runs: it, and its suite's processes."""
    results(folder, PASSED, name="later.xml")
    hanging = f"echo $$ > {folder}/pid; sleep 1000 & echo $! > {folder}/child; wait"
    runner = start(folder, f"fake|1000|{hanging}", f"later|30|{results(folder, PASSED)}")
    pids = [wait_for(folder / name) for name in ("pid", "child")]
    runner.send_signal(number)
    runner.communicate(timeout=60)
    return runner, pids


def test_ended_by_sigterm(folder):
    runner, pids = interrupt(folder, signal.SIGTERM)
    assert runner.returncode != 0 and gone(pids)
    assert not (folder / "later.xml").exists()


def test_ended_while_a_suite_is_started(folder, monkeypatch):
    """The signal comes before anybody has a process to end."""
    def started(*args, **options):
        process = popen(*args, **options)
        pids.append(process.pid)
        os.kill(os.getpid(), signal.SIGTERM)
        return process

    pids, popen, before = [], subprocess.Popen, signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(subprocess, "Popen", started)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(folder, "sleep 1000")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert gone(pids)


def test_killed(folder):
    runner, pids = interrupt(folder, signal.SIGKILL)
    try:
        assert runner.returncode == -signal.SIGKILL
        assert not (folder / "later.xml").exists()
    finally:
        os.killpg(pids[0], signal.SIGKILL)
