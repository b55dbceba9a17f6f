# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""scripts/distro: its command line, the roots that it makes, and the layers over them."""

import os
import subprocess
from pathlib import Path

import pytest

from distrolib import layer, root
from lablib import debian
from lablib.error import LabError

DISTRO = Path(__file__).resolve().parents[2] / "scripts/distro"
MIRRORS = "http://mirror.invalid/debian-security/\nhttp://mirror.invalid/debian/\n"


@pytest.mark.parametrize(("words", "said"), [
    (["etch", "true"], "no suite 'etch': one of bookworm, trixie, forky, sid"),
    (["trixie"], "no command to run in trixie"),
    (["trixie", "--"], "no command to run in trixie"),
    (["--path", "trixie", "true"], "--path runs no command"),
    ([], "the following arguments are required: SUITE")])
def test_command_line(words, said):
    done = subprocess.run([DISTRO, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert said in done.stderr and "Traceback" not in done.stderr


class Debootstrap:
    """In place of debootstrap and apt."""

    def __init__(self):
        self.made, self.mirrors, self.is_broken = [], MIRRORS, False

    def __call__(self, command, **_):
        if command[0] == "apt-get":
            return self.mirrors
        suite, folder, mirror = command[3:]
        (folder / "etc/apt").mkdir(parents=True)
        if self.is_broken:
            raise LabError("debootstrap: no network")
        self.made.append((suite, mirror))
        return ""


@pytest.fixture(name="maker")
def fake_debootstrap(monkeypatch, tmp_path):
    maker = Debootstrap()
    monkeypatch.setattr(root, "DISTROS", tmp_path / "distros")
    monkeypatch.setattr(debian, "run", maker)
    monkeypatch.setattr(root.shutil, "which", lambda name: f"/usr/sbin/{name}")
    monkeypatch.setattr(root.os, "getuid", lambda: 0)
    return maker


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_root_is_made_once(maker, tmp_path):
    for _ in range(2):
        assert root.provide("trixie", lambda line: None) == tmp_path / "distros/trixie"
    assert maker.made == [("trixie", "http://mirror.invalid/debian/")]
    assert (tmp_path / "distros/trixie/etc/apt/sources.list").read_text(encoding="utf-8") == (
        "deb http://mirror.invalid/debian/ trixie main\n"
        "deb http://mirror.invalid/debian-security/ trixie-security main\n")
    assert names(tmp_path / "distros") == ["lock", "trixie"]


@pytest.mark.usefixtures("maker")
def test_sid_has_no_security():
    assert root.sources("sid") == "deb http://mirror.invalid/debian/ sid main\n"


def test_root_is_made_whole_or_not_at_all(maker, tmp_path):
    (tmp_path / "distros/.new-killed/root/etc").mkdir(parents=True)
    maker.is_broken = True
    with pytest.raises(LabError, match="no network"):
        root.provide("trixie", lambda line: None)
    assert names(tmp_path / "distros") == ["lock"]


def test_not_root(maker, monkeypatch):
    monkeypatch.setattr(root.os, "getuid", lambda: 1000)
    with pytest.raises(LabError, match="only root"):
        root.provide("trixie", lambda line: None)
    assert not maker.made


def test_no_mirror(maker):
    maker.mirrors = "http://mirror.invalid/ubuntu/\n"
    with pytest.raises(LabError, match="no packages of the archive 'debian' here"):
        root.provide("trixie", lambda line: None)


def test_no_debootstrap(maker, monkeypatch):
    monkeypatch.setattr(root.shutil, "which", lambda name: None)
    with pytest.raises(LabError, match="scripts/bootstrap packages"):
        root.provide("trixie", lambda line: None)
    assert not maker.made


def git(top, *words):
    subprocess.run(["git", "-C", top, "-c", "user.name=x", "-c", "user.email=x@invalid", *words], check=True,
                   stdout=subprocess.DEVNULL)


@pytest.fixture(name="top")
def checkout(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q")
    for name in ("kept", "changed", "removed"):
        (top / name).write_text("1", encoding="utf-8")
    (top / ".gitignore").write_text("/build\n", encoding="utf-8")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "x")
    (top / "changed").write_text("2", encoding="utf-8")
    (top / "removed").unlink()
    (top / "new").mkdir()
    (top / "new/file").write_text("3", encoding="utf-8")
    (top / "build").mkdir()
    (top / "build/big").write_text("4", encoding="utf-8")
    return top


def test_checkout_as_it_is(top, tmp_path):
    """What is not committed comes along, what is ignored does not."""
    with layer.claimed(tmp_path / "layer") as over:
        layer.copy_checkout(top, over)
        there = over / "upper" / layer.CHECKOUT
        assert names(there) == [".git", ".gitignore", "changed", "kept", "new"]
        assert (there / "changed").read_text(encoding="utf-8") == "2"
        assert (there / "new/file").exists()


def test_checkout_again(top, tmp_path):
    """What was built there stays, and need not be built again."""
    with layer.claimed(tmp_path / "layer") as over:
        layer.copy_checkout(top, over)
        there = over / "upper" / layer.CHECKOUT
        (there / "build").mkdir()
        os.utime(there / "kept", (1, 1))
        (top / "new/file").unlink()
        layer.copy_checkout(top, over)
        assert (there / "build").is_dir() and (there / "kept").stat().st_mtime == 1
        assert not (there / "new").exists()
        assert names(over) == ["lock", "merged", "upper", "work"]


def test_layer_is_used_by_one(tmp_path):
    with layer.claimed(tmp_path), pytest.raises(LabError, match="another command uses the layer"):
        with layer.claimed(tmp_path):
            pass


@pytest.mark.parametrize(("command", "status"), [("exit 3", 3), ("kill -TERM $$", 143)])
def test_status_and_environment(monkeypatch, tmp_path, command, status):
    enter = tmp_path / "enter"
    enter.write_text(f'#!/bin/sh\necho "$@" "$HOME $SECRET" > {tmp_path}/said\n{command}\n', encoding="utf-8")
    enter.chmod(0o755)
    monkeypatch.setattr(layer, "UNSHARE", ())
    monkeypatch.setattr(layer, "ENTER", enter)
    monkeypatch.setattr(root, "DISTROS", tmp_path)
    monkeypatch.setenv("SECRET", "x")
    assert layer.run("trixie", Path("/lower"), Path("/layer"), ["make", "demo"]) == status
    assert (tmp_path / "said").read_text(encoding="utf-8") == \
        f"trixie /lower /layer {tmp_path}/trixie.archives /root/openipoib make demo /root \n"


def test_ended_by_a_signal_it_ends_what_it_runs(monkeypatch, tmp_path):
    """Which does not end by signals that ask."""
    enter = tmp_path / "enter"
    enter.write_text("#!/bin/sh\ntrap '' TERM INT\nread -r _\n", encoding="utf-8")
    enter.chmod(0o755)
    monkeypatch.setattr(layer, "UNSHARE", ())
    monkeypatch.setattr(layer, "ENTER", enter)
    monkeypatch.setattr(root, "DISTROS", tmp_path)
    started = []
    real = layer.subprocess.Popen

    def start(*words, **options):
        started.append(real(*words, stdin=subprocess.PIPE, **options))
        monkeypatch.setattr(started[0], "wait", interrupt)
        return started[0]

    def interrupt():
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(layer.subprocess, "Popen", start)
    with pytest.raises(KeyboardInterrupt):
        layer.run("trixie", Path("/lower"), Path("/layer"), ["true"])
    assert started[0].returncode == -9


def test_fresh_layer_goes(monkeypatch, tmp_path):
    monkeypatch.setattr(root, "DISTROS", tmp_path)
    with layer.fresh() as over:
        (over / "upper/file").touch()
    assert not names(tmp_path)
