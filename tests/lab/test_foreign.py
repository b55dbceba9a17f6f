# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Packages for another processor: unpacked once, links and accounts as a root has them."""

import os
import subprocess

import pytest

from lablib import debian_suite, foreign
from lablib.error import LabError

CONTROL = "Package: {0}\nVersion: 1\nArchitecture: s390x\nMaintainer: nobody <nobody@localhost>\n" \
    "Description: {0}\n"


def package(folder, name, files, links):
    """Make a package in @folder."""
    tree = folder / name
    for path, text in {"DEBIAN/control": CONTROL.format(name), **files}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    for path, target in links.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).symlink_to(target)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, folder / f"{name}.deb"], check=True,
                   capture_output=True)


class Apt:
    """In place of apt: what there is, and what it was asked for."""

    asked = []

    def __init__(self, suite, folder, processor):
        self._archives = folder / "apt/cache/archives"
        self._archives.mkdir(parents=True)
        self._of = (suite, processor)

    def get(self, *words, **options):
        if words[0] == "download":
            self.asked.append((*self._of, *words))
            package(options["cwd"], "alone", {"bin/tool": "tool"}, {})
        if words[0] != "install":
            return
        self.asked.append((*self._of, *(word for word in words if ":" in word)))
        package(self._archives, "old", {"bin/tool": "tool", "lib/libold.so.1": "old"},
                {"lib/libold.so": "/lib/libold.so.1"})
        package(self._archives, "accounts", {"usr/share/base-passwd/passwd.master": "root:",
                                             "usr/share/base-passwd/group.master": "wheel:",
                                             "etc/hosts": ""}, {})


@pytest.fixture(autouse=True)
def apt(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign, "FOLDER", tmp_path / "foreign")
    monkeypatch.setattr(debian_suite, "Apt", Apt)
    Apt.asked = []


def test_a_root_of_packages():
    said = []
    root = foreign.provide("bookworm", "s390x", ("old", "accounts"), said.append)
    assert Apt.asked == [("bookworm", "s390x", "old:s390x", "accounts:s390x")]
    assert (root / "usr/bin/tool").read_text() == "tool"
    assert os.readlink(root / "bin") == "usr/bin"       # not replaced by the package's folder
    link = root / "usr/lib/libold.so"
    assert link.read_text() == "old" and not os.path.isabs(os.readlink(link))
    assert (root / "etc/passwd").read_text() == "root:" and (root / "etc/group").read_text() == "wheel:"
    assert said[0] == "downloading packages of bookworm for s390x" and "2 packages" in said[1]


def test_it_is_made_once():
    first = foreign.provide("bookworm", "s390x", ("old",), print)
    assert foreign.provide("bookworm", "s390x", ("old",), print) == first
    assert len(Apt.asked) == 1
    assert foreign.FOLDER.stat().st_mode & 0o777 == 0o700
    assert foreign.provide("bookworm", "s390x", ("old", "accounts"), print) != first


def test_without_dependencies():
    root = foreign.provide("bookworm", "amd64", ("alone",), print, with_dependencies=False)
    assert Apt.asked == [("bookworm", "amd64", "download", "alone")]
    assert (root / "usr/bin/tool").read_text() == "tool"
    assert foreign.provide("bookworm", "amd64", ("alone",), print) != root


def test_what_a_killed_one_has_left_goes():
    leftover = foreign.FOLDER / ".new-killed/root"
    leftover.mkdir(parents=True)
    root = foreign.provide("bookworm", "s390x", ("old",), print)
    assert sorted(path.name for path in foreign.FOLDER.iterdir()) == sorted(["lock", root.name])


def test_what_cannot_be_had_leaves_nothing(monkeypatch):
    def fail(*_):
        raise LabError("no mirror")

    monkeypatch.setattr(Apt, "get", fail)
    with pytest.raises(LabError, match="no mirror"):
        foreign.provide("bookworm", "s390x", ("old",), print)
    assert [path.name for path in foreign.FOLDER.iterdir()] == ["lock"]
