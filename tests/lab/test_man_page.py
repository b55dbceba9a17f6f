# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""scripts/man-page: a page says so if it has tables, and only then."""

import subprocess
from pathlib import Path

import pytest

MAN_PAGE = Path(__file__).resolve().parents[2] / "scripts/man-page"


@pytest.mark.parametrize(("text", "first"), [(".TH x\n.TS\n.TE\n", "'\\\" t\n"), (".TH x\ntext .TS\n", "")])
def test_tables(tmp_path, text, first):
    (tmp_path / "source").write_text(text, encoding="utf-8")
    subprocess.run([MAN_PAGE, "cat", tmp_path / "source", tmp_path / "page"], check=True)
    assert (tmp_path / "page").read_text(encoding="utf-8") == first + text


def test_no_page_if_scdoc_fails(tmp_path):
    (tmp_path / "source").touch()
    done = subprocess.run([MAN_PAGE, "false", tmp_path / "source", tmp_path / "page"], check=False)
    assert done.returncode == 1 and not (tmp_path / "page").exists()
