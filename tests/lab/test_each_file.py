# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A tool that looks at each file by itself gets those that have changed."""

from checklib import checks, memo


def test_files_that_a_tool_looks_at_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(memo, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(memo, "version", lambda *_: "1")
    monkeypatch.setattr(checks, "TOP", tmp_path)
    monkeypatch.setattr(checks, "run", lambda argv, **_: (seen.append(argv[1:]), outcome)[1])
    for name in "ab":
        (tmp_path / name).touch()

    def look():
        seen.clear()
        return checks.each_file(["tool"], ["a", "b"]), seen

    seen, outcome = [], (1, "a: wrong")
    assert look() == (["a: wrong"], [["a", "b"]])
    outcome = (0, "")
    assert look() == ([], [["a", "b"]])
    assert look() == ([], [])
    (tmp_path / "b").write_text("x", encoding="utf-8")
    assert look() == ([], [["b"]])
