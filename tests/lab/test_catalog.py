# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The journal's catalog explains every message of ipoib-ha that has an ID."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
CATALOG = TOP / "scripts/service/ipoib-ha.catalog"
ENTRIES = dict(re.findall(r"^-- (\w+)\n(.*?)(?=^-- |\Z)", CATALOG.read_text(encoding="utf-8"),
                          re.MULTILINE | re.DOTALL))
REPORT = (TOP / "ha-daemon/report.cc").read_text(encoding="utf-8")
ALWAYS = {"PAIR", "PRIMARY", "SECONDARY", "ACTIVE"}


def topics():
    return dict(re.findall(r'case Topic::(\w+):\n\s+return "([0-9a-f]{32})";', REPORT))


def sent():
    """What the core adds to a message of each topic."""
    text = "".join(path.read_text(encoding="utf-8") for path in (TOP / "ha-daemon/core").glob("*.cc"))
    calls = re.findall(r"Topic::(\w+)(.*?)\}\);", text, re.DOTALL)
    return {topic: set(re.findall(r'\{"([A-Z_]+)",', facts)) for topic, facts in calls}


def test_each_id_is_explained():
    assert len(topics()) == 10
    assert set(ENTRIES) == set(topics().values())


@pytest.mark.parametrize("topic", topics())
def test_what_is_filled_in_is_sent(topic):
    wanted = set(re.findall(r"@([A-Z_]+)@", ENTRIES[topics()[topic]]))
    assert wanted <= ALWAYS | sent()[topic]


def test_each_id_is_in_the_manual():
    manual = (TOP / "docs/man/ipoib-ha.8.scd").read_text(encoding="utf-8")
    assert set(re.findall(r"_([0-9a-f]{32})_", manual)) == set(topics().values())


def test_journalctl_reads_it(tmp_path):
    if not shutil.which("journalctl"):
        pytest.skip("no journalctl")
    for folder in ("usr/lib/systemd/catalog", "var/lib/systemd/catalog"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(CATALOG, tmp_path / "usr/lib/systemd/catalog")
    done = subprocess.run(["journalctl", f"--root={tmp_path}", "--update-catalog"], check=True,
                          capture_output=True, text=True)
    assert not done.stderr, "a line of it is not understood"
    done = subprocess.run(["journalctl", f"--root={tmp_path}", "--list-catalog"], check=True,
                          capture_output=True, text=True)
    listed = re.findall(r"^(\w{32}) openipoib: (.+)$", done.stdout, re.MULTILINE)
    assert {name for name, _ in listed} == set(ENTRIES)
