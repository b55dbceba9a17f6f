# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""scripts/test: what it takes for changed, what it chooses, and how it ends."""

import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from checklib import tree
from testlib import changes, choice, kernel_units, scenarios
from testlib.graph import Reach
from testlib.step import QUICK, USUAL, VM, Step, run

PROGRAM = Path(__file__).resolve().parents[2] / "scripts/test"


# In pieces: a test that names a file by its whole path is taken for one that tries it.
IPOIB, HA = "drivers/ipoib", "ha-daemon/core"


def git(top, *words):
    subprocess.run(["git", "-C", top, "-c", "user.name=x", "-c", "user.email=x", *words],
                   check=True, capture_output=True)


@pytest.fixture(name="program")
def load(monkeypatch):
    loader = SourceFileLoader("test_program", str(PROGRAM))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    return module


@pytest.fixture(name="checkout")
def small_checkout(tmp_path, monkeypatch):
    """A checkout in which a.c is changed, b.c staged, c.c deleted, and new.c untracked."""
    monkeypatch.setattr(changes, "TOP", tmp_path)
    git(tmp_path, "init", "-q")
    for name in ("a.c", "b.c", "c.c", "same.c", "folder/d.c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("*.o\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "x")
    git(tmp_path, "tag", "first")
    for name in ("a.c", "b.c", "new.c", "ignored.o"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    git(tmp_path, "add", "b.c")
    (tmp_path / "c.c").unlink()
    return tmp_path


def test_what_has_changed(checkout, monkeypatch):
    assert changes.since("HEAD") == ["a.c", "b.c", "c.c", "new.c"]
    assert changes.staged() == ["b.c"]
    monkeypatch.chdir(checkout / "folder")
    assert changes.given(["d.c", "../same.c"]) == ["folder/d.c", "same.c"]
    assert changes.given(["."]) == ["folder/d.c"]
    (checkout / "folder/é.c").touch()
    assert changes.given([checkout]) == [".gitignore", "a.c", "b.c", "c.c", "folder/d.c", "folder/é.c",
                                         "new.c", "same.c"]


def test_what_has_changed_since_a_revision(checkout):
    git(checkout, "commit", "-qam", "second")
    assert changes.since("HEAD") == ["new.c"]
    assert changes.since("first") == ["a.c", "b.c", "c.c", "new.c"]


@pytest.mark.parametrize("ask, said", [
    (lambda top: changes.since("nowhere"), "git diff failed: .*nowhere"),
    (lambda top: changes.given([top / "nothing.c"]), "nothing.c: no such file"),
    (lambda top: changes.given([top / ".."]), "not in"),
])
def test_what_cannot_be_told(checkout, ask, said):
    with pytest.raises(changes.ChangeError, match=said):
        ask(checkout)


def names(changed, level=USUAL):
    return {step.name: list(step.chosen) for step in choice.steps(changed, level)}


def test_a_source_of_the_driver():
    found = names([f"{IPOIB}/gid.c"])
    assert list(found) == ["checks", "kernel units", "checks that take longer", "stack", "virtual hosts"]
    assert {"licence-lines", "checkpatch"} < set(found["checks"])
    assert "without-connected-mode" in found["checks that take longer"]
    assert found["kernel units"][0] == "ipoib_gid_kunit"
    assert {"ping", "first-pkey"} < set(found["stack"])


def test_a_source_of_a_program():
    found = names([f"{HA}/greeter.cc"])
    assert found["C++ units"] == ["tests/unit/ha_greeter_test.cc"]
    assert "cxx-format" in found["checks"] and "cxx-lint" in found["checks that take longer"]
    assert "ha-explore" in found["programs"]


def test_a_text():
    assert list(names(["docs/" + "architecture.md"])) == ["checks"]


def test_a_file_that_is_gone():
    assert not names(["docs/" + 8 * "x"])
    # Tests that name it find that out.
    assert list(names(["docs/gone.md"])) == ["Python units"]


def test_a_quick_run_has_the_nearest_kernel_units(monkeypatch):
    suites = {f"s{number}_kunit": Reach(number, "x.h") for number in range(40)}
    monkeypatch.setattr(kernel_units, "suites", lambda changed: suites)
    quick, usual = (next(step for step in choice.steps([], level) if step.name == "kernel units")
                    for level in (QUICK, USUAL))
    assert list(quick.chosen) == list(suites)[:choice.NEAREST] and "of 40" in quick.note
    assert list(usual.chosen) == list(suites) and not usual.note
    assert quick.commands[0][-1] == ",".join(quick.chosen)


@pytest.mark.parametrize("changed, found", [
    ([f"{scenarios.STACK}/thousand.sh"], ["thousand"]),     # itself, however long it takes
    ([f"{scenarios.STACK}/scribble.py"], ["scribble"]),
    ([f"{scenarios.STACK}/openib-lib.sh"], ["openib", "openib-decline"]),
    ([f"{scenarios.STACK}/soak.py"], []),                   # takes hours
    ([f"{scenarios.STACK}/lib.sh"], []),                    # all have it
    ([f"{scenarios.STACK}/gone.sh"], []),
])
def test_scenarios(changed, found):
    assert sorted(scenarios.stack_scenarios(changed)) == found


@pytest.mark.parametrize("changed, found", [
    (f"{scenarios.VM}/test_bond.py", ["test_bond.py"]),
    (f"{scenarios.VM}/guest/smc.py", ["test_stack.py"]),
    (f"{scenarios.VM}/harness.py", []),
    ("VERSION", []),
])
def test_tests_on_hosts(changed, found):
    python = choice.PythonUnits.here()
    assert list(scenarios.vm_tests([changed], python.imported)) == found


def test_a_test_on_hosts_that_has_changed_runs_whole():
    step, = (step for step in choice.steps([f"{scenarios.VM}/test_bond.py", f"{IPOIB}/gid.c"], VM)
             if step.level == VM)
    others, own = step.commands
    assert list(step.chosen) == ["test_ping.py", "test_bond.py"]
    assert others[-1] == f"{scenarios.VM}/test_ping.py"
    assert own[-2:] == [f"{scenarios.VM}/test_bond.py", "--full"]


def test_every_scenario_and_test_is_reached_by_itself():
    files = [name for name in tree.files() if name.startswith((scenarios.STACK, scenarios.VM))]
    assert set(scenarios.stack_scenarios(files)) == set(scenarios.stack.names())
    found = scenarios.vm_tests(files, lambda name: [])
    assert set(found) == {path.name for path in (tree.TOP / scenarios.VM).glob("test_*.py")}


def test_a_step_ends_with_the_command_that_fails(capfd):
    step = Step("s", QUICK, {"x": "y"}, [["echo", "one"], ["false"], ["echo", "two"]])
    trouble, _ = run(step)
    assert trouble == "false: status 1"
    assert capfd.readouterr().out == "$ echo one\none\n$ false\n"
    assert run(Step("s", QUICK, {}, [["/nonexistent/program"]]))[0] == "/nonexistent/program: status 127"


@pytest.mark.parametrize("options, ran, status", [
    ([], ["quick", "usual"], 0),
    (["--quick"], ["quick"], 0),
    (["--vm"], ["quick", "usual", "vm"], 0),
    (["--list"], [], 0),
    (["--vm", "--fail"], ["quick", "usual", "vm"], 2),
])
def test_levels(program, monkeypatch, capfd, options, ran, status):
    fails = [["false"]] if "--fail" in options else []
    every = [Step("quick", QUICK, {"quick": "why"}, [*fails, ["echo", "ran"]]),
             Step("usual", USUAL, {"usual": "why"}, [["echo", "ran"]]),
             Step("vm", VM, {"vm": "why"}, [["echo", "ran"]])]
    monkeypatch.setattr(changes, "since", lambda revision: ["a.c"])
    monkeypatch.setattr(choice, "steps", lambda changed, level: every)
    monkeypatch.setattr("sys.argv", ["test", *(word for word in options if word != "--fail")])
    assert program.main() == status
    said = capfd.readouterr().out
    for step in every:
        assert (f"pass  {step.name}" in said or f"FAIL  {step.name}" in said) == (step.name in ran)
        assert step.name in said
    assert ("with --vm: vm: vm" in said) == ("--vm" not in options)
    assert ("without --quick: usual: usual" in said) == ("--quick" in options)


def test_nothing_to_run(program, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["test"])
    monkeypatch.setattr(program, "perform", None)
    monkeypatch.setattr(changes, "since", lambda revision: [])
    assert program.main() == 0 and "nothing has changed" in capsys.readouterr().out
    monkeypatch.setattr(changes, "since", lambda revision: ["a.c"])
    monkeypatch.setattr(choice, "steps", lambda changed, level: [])
    assert program.main() == 0 and "nothing to run" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["/etc/passwd"], ["--since", "nowhere-at-all"], ["--since", "HEAD", "x"]])
def test_usage(program, monkeypatch, capsys, words):
    monkeypatch.setattr("sys.argv", ["test", *words])
    assert program.main() == 1 and capsys.readouterr().err.startswith("test: ")
