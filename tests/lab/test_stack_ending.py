# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""scripts/test-kernel stack that is ended from outside leaves no kernel behind."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from kernellib import stack, uml


@pytest.fixture
def scenarios(tmp_path, monkeypatch, endless_kernel):
    """Three of them, for kernels that begin their scenario and never end it."""
    monkeypatch.setattr(uml, "RUN", endless_kernel("1/begun", job="1/job"))
    monkeypatch.setattr(uml, "RESULTS", tmp_path / "results")
    return [stack.Scenario(name, Path(name), ("--clock", "real"), False, 60) for name in "abc"]


def when_begun(folder, count, then):
    """Call @then once so many kernels have begun their scenario, or after ten seconds."""
    def watch():
        end = time.monotonic() + 10
        while len(list(folder.glob("kernel-*/1/begun"))) < count and time.monotonic() < end:
            time.sleep(0.05)
        then()
    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.timeout(60)
def test_a_signal_ends_the_kernels(scenarios, tmp_path):
    run = stack.Run(scenarios, tmp_path, {}, tmp_path, quiet=True)
    before = signal.getsignal(signal.SIGTERM)
    thread = when_begun(uml.RESULTS, run.lanes, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit):
        run.all()
    thread.join()
    begun = {path.parents[1] for path in uml.RESULTS.glob("kernel-*/1/begun")}
    assert len(begun) >= run.lanes
    assert all((place / "was-ended").exists() for place in begun)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.timeout(60)
def test_a_kernel_that_is_about_to_boot_is_ended_too(scenarios, tmp_path):
    run = stack.Run(scenarios, tmp_path, {}, tmp_path, quiet=True)
    run._stop()
    guest = run._guest("1-1", scenarios[0])
    outcome = guest.run("a", Path("a"), {}, 60, tmp_path / "a", lambda: None)
    assert outcome.problems == ["the kernel died"]


@pytest.mark.parametrize("kernel, place", (("uml", "build"), ("uml-6.12", "build/uml-6.12"),
                                           ("/some/where/tree", "build/tree")))
def test_each_kernel_has_results_of_its_own(kernel, place, monkeypatch):
    class Args:
        pass

    Args.kernel = kernel
    monkeypatch.setattr(uml, "RESULTS", Path("build"))
    assert uml.results(Args) == Path(place)
