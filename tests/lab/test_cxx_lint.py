# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Lint of C++: no file is left out, and which files a source consists of is asked again when one
of them has changed.
"""

import fnmatch
import os
import re

import pytest
from checklib import checks, lint, memo, tree


@pytest.fixture(name="digest")
def digest_of_a_source(tmp_path, monkeypatch):
    """The digest of a.cc, and how often the preprocessor was asked for it."""
    top, system = tmp_path / "top", tmp_path / "system.h"
    top.mkdir()
    system.touch()
    (top / "a.cc").write_text('#include "a.hpp"\n', encoding="utf-8")
    (top / "a.hpp").touch()
    monkeypatch.setattr(memo, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(memo, "version", lambda *_: "1")
    monkeypatch.setattr(lint, "TOP", top)
    monkeypatch.setattr(tree, "with_suffix", lambda *_: [path.name for path in top.glob("*.hpp")])
    asked = []

    def run(argv):
        asked.append(argv)
        headers = sorted(str(path) for path in top.glob("*.hpp"))
        return 0, f"a.o: {top}/a.cc \\\n {' '.join(headers)} {system}\n"

    monkeypatch.setattr(lint, "run", run)

    def digest(*flags):
        asked.clear()
        return lint._digest(top / "a.cc", list(flags)), len(asked)
    digest.top, digest.system = top, system
    return digest


def test_asked_once(digest):
    first, asked = digest()
    assert asked == 1
    assert digest() == (first, 0)


def test_a_header_has_changed(digest):
    first, _ = digest()
    (digest.top / "a.hpp").write_text("x", encoding="utf-8")
    second, asked = digest()
    assert second != first and asked == 1
    assert digest() == (second, 0)


def test_a_header_of_the_system_has_changed(digest):
    first, _ = digest()
    os.utime(digest.system, (1, 1))
    second, asked = digest()
    assert second != first and asked == 1


def test_a_header_has_come_or_gone(digest):
    digest()
    (digest.top / "b.hpp").touch()
    assert digest()[1] == 1
    (digest.top / "a.hpp").unlink()
    assert digest()[1] == 1


def test_other_flags(digest):
    digest()
    assert digest("-DX")[1] == 1


def test_fresh_asks_again(digest, monkeypatch):
    digest()
    monkeypatch.setattr(memo, "is_used", False)
    assert digest()[1] == 1


@pytest.mark.parametrize(("version", "is_used"), [("Debian clang-format version 14.0.6", True),
                                                  ("Debian clang-format version 19.1.7 (3+b1)", False)])
def test_formatter_of_another_version(tmp_path, monkeypatch, version, is_used):
    """What it would change is not held against the sources."""
    monkeypatch.setattr(memo, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(checks.memo, "version", lambda *_: version)
    monkeypatch.setattr(checks, "TOP", tmp_path)
    for name in (".clang-format", "a.cc"):
        (tmp_path / name).touch()
    monkeypatch.setattr(tree, "with_suffix", lambda *_: ["a.cc"])
    monkeypatch.setattr(checks, "run", lambda argv, **_: (1, f"{argv[-1]} would change"))
    if is_used:
        assert checks.cxx_format() == ["a.cc would change"]
    else:
        with pytest.raises(checks.Skip, match="clang-format 19 does not format as 14"):
            checks.cxx_format()


def test_clang_tidy_looks_at_every_header():
    config = (tree.TOP / ".clang-tidy").read_text(encoding="utf-8")
    chosen = re.compile(re.search(r"^HeaderFilterRegex: '(.+)'$", config, re.MULTILINE)[1])
    headers = tree.with_suffix(".hpp")
    assert headers and [name for name in headers if not chosen.search(f"/top/{name}")] == []


def test_clang_format_looks_at_every_file():
    cmake = (tree.TOP / "CMakeLists.txt").read_text(encoding="utf-8")
    globs = re.search(r"\(GLOB_RECURSE cxx_sources CONFIGURE_DEPENDS([^)]*)\)", cmake)[1].split()
    names = tree.with_suffix(".cc", ".hpp")
    assert names and [name for name in names
                      if not any(fnmatch.fnmatch(name, glob) for glob in globs)] == []
