# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The state folder: one lab at a time, nothing left after it."""

import os
import pwd
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lablib import cli, folders, state


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", str(tmp_path / "lab"))
    return tmp_path / "lab"


def test_second_lab_is_refused():
    lock = state.create()
    with pytest.raises(state.LabError, match="already up") as error:
        state.create()
    assert error.value.code == 1
    os.close(lock)


def test_state_of_a_crashed_lab_is_taken_over(folder):
    os.close(state.create())
    state.write("lab.json", {"hosts": ["h1"]})
    lock = state.create()
    assert not (folder / "lab.json").exists()
    assert state.read("pids.json") == [os.getpid()]
    os.close(lock)


def test_sweep_spares_its_caller_and_a_lab_that_came_up_meanwhile(folder):
    doomed = []
    lock = state.create()
    state.sweep(doomed)
    assert folder.exists(), "the lock is held"
    state.sweep(lock_fd=lock)
    assert not folder.exists()


def down():
    return cli.cmd_down(None)


def contents(top):
    return sorted(str(path.relative_to(top)) for path in top.rglob("*"))


def refused(match):
    """Neither `lab up` nor `lab down` touches the folder."""
    for command in (state.create, down):
        with pytest.raises(state.LabError, match=match) as error:
            command()
        assert error.value.code == 1


def test_a_folder_of_another_user_is_refused(folder, monkeypatch):
    os.close(state.create())
    before = contents(folder)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    refused(f"{folder} belongs to another user")
    assert contents(folder) == before


def test_a_folder_that_is_no_labs_is_refused(folder):
    (folder / "thesis").mkdir(parents=True)
    (folder / "thesis/chapter").write_text("years of work")
    (folder / "letter").write_text("dear")
    refused(f"{folder} is not the folder of a lab")
    assert contents(folder) == ["letter", "thesis", "thesis/chapter"]


@pytest.mark.parametrize("name", ("lock", "topology", "lab.json", "h1.pid"))
def test_a_name_that_the_lab_uses_too_is_not_its_mark(folder, name):
    folder.mkdir()
    (folder / name).write_text("not a lab's")
    refused("is not the folder of a lab")
    assert (folder / name).read_text() == "not a lab's"


def test_a_mark_of_another_kind_is_none(folder, tmp_path):
    os.close(state.create())
    (folder / "lock").rename(tmp_path / "mark")
    (folder / "lock").symlink_to(tmp_path / "mark")
    refused("is not the folder of a lab")
    (folder / "lock").unlink()
    (folder / "lock").mkdir()
    refused("is not the folder of a lab")


def test_only_what_the_lab_has_written_is_removed(folder, tmp_path, capsys):
    os.close(state.create())
    state.write("lab.json", {"hosts": ["h1"], "consoles": {}})
    (tmp_path / "mine").write_text("mine")
    (folder / "topology").symlink_to(tmp_path / "mine")
    (folder / "h1.pid").write_text("1")
    (folder / "notes").write_text("mine, too")
    (folder / "old").mkdir()
    with pytest.raises(state.LabError, match="not the lab's: notes, old, topology"):
        state.create()
    assert (folder / "h1.pid").exists()
    assert down() == 0
    assert contents(folder) == ["notes", "old", "topology"]
    assert (tmp_path / "mine").read_text() == "mine"
    assert f"{folder} is left" in capsys.readouterr().err
    refused("is not the folder of a lab")


def test_a_symbolic_link_is_refused(folder, tmp_path, monkeypatch):
    os.close(state.create())
    (tmp_path / "link").symlink_to(folder)
    before = contents(folder)
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", str(tmp_path / "link"))
    refused(f"{tmp_path}/link is a symbolic link")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    refused("is a symbolic link")
    assert contents(folder) == before


def test_a_file_is_refused(folder):
    folder.write_text("mine")
    refused(f"{folder} is not a folder")
    assert folder.read_text() == "mine"


@pytest.mark.parametrize("home", ("lab", "lab/home", "lab/other/../home"))
def test_home_and_what_holds_it_are_refused(folder, tmp_path, monkeypatch, home):
    """Even if a lab's mark is in it."""
    os.close(state.create())
    monkeypatch.setenv("HOME", str(tmp_path / home))
    before = contents(folder)
    refused(f"{folder}: a home folder is in it" if "/" in home else f"{folder} is a home folder")
    assert contents(folder) == before


def test_the_home_of_the_user_is_refused_whatever_the_environment_says(folder, monkeypatch):
    folder.mkdir()
    user = pwd.struct_passwd(("me", "x", 1, 1, "", str(folder), ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    monkeypatch.setenv("HOME", "")
    refused(f"{folder} is a home folder")


@pytest.mark.parametrize("name", ("/", "//", "/usr/..", "/home"))
def test_the_root_folder_is_refused(monkeypatch, name):
    """By its name alone: nothing that could do harm is called here."""
    monkeypatch.setenv("HOME", "/home/somebody")
    with pytest.raises(state.LabError, match="a home folder is in it"):
        folders.check_name(Path(name))


@pytest.mark.parametrize("name", ("", ".", "lab"))
def test_a_name_that_depends_on_the_current_folder_is_refused(monkeypatch, tmp_path, name):
    (tmp_path / "lab").mkdir()
    (tmp_path / "letter").write_text("dear")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", name)
    refused(f"OPENIPOIB_LAB_DIR must be the whole path of a folder, not '{name}'")
    assert contents(tmp_path) == ["lab", "letter"]


def test_an_empty_folder_is_taken_by_a_lab(folder):
    folder.mkdir()
    with pytest.raises(state.NoLab):
        down()
    assert folder.exists(), "nobody knows whose it is"
    os.close(state.create())
    assert down() == 0
    assert not folder.exists()


def test_a_lab_that_crashed_before_its_mark_was_written_is_cleaned_up(folder):
    """All there is of it is an empty file, the lock."""
    for command in (down, lambda: os.close(state.create())):
        folder.mkdir()
        (folder / "lock").touch()
        command()
    assert (folder / "pids.json").exists()
    assert down() == 0
    assert not folder.exists()


def test_a_folder_half_made_by_somebody_else_is_refused(folder):
    folder.mkdir()
    (folder / "lock").touch()
    (folder / "letter").write_text("dear")
    refused("is not the folder of a lab")
    assert contents(folder) == ["letter", "lock"]


def test_sweep_kills_its_own_and_nobody_else(folder):
    os.close(state.create())
    script = "import time; print(flush=True); time.sleep(1000)"
    ours = subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE)
    other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert ours.stdout.readline() and other.stdout.readline()  # both really run
        state.write("pids.json", [ours.pid, other.pid])
        state.sweep()
        assert ours.wait(10) == -signal.SIGKILL
        assert other.poll() is None
        assert not folder.exists()
    finally:
        for process in (ours, other):
            process.kill()
            process.wait()
            process.stdout.close()


def test_sweep_kills_who_holds_the_lock(folder):
    """A daemon that hangs, or a `lab up` that has not got to its daemon yet."""
    script = "import sys, time; print(flush=True); time.sleep(1000)"
    lock = state.create()
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                              pass_fds=[lock])
    os.close(lock)
    try:
        assert holder.stdout.readline()
        state.write("pids.json", [holder.pid])
        state.sweep()
        assert holder.wait(10) == -signal.SIGKILL
        assert not folder.exists()
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_labs_whose_folders_have_the_same_name_have_logs_of_their_own(folder, monkeypatch):
    mine = state.logs()
    monkeypatch.setenv("OPENIPOIB_LAB_DIR", str(folder / "lab"))
    assert state.logs() != mine
