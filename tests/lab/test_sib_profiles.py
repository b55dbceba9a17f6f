# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The table of sib's profiles is what the sources say."""

import subprocess

from lablib.place import SOURCES


def run():
    return subprocess.run([SOURCES / "scripts/sib-profiles"], capture_output=True, text=True,
                          check=True).stdout


def test_the_documentation_has_the_table():
    assert run() in (SOURCES / "docs/sib-profiles.md").read_text()


def test_each_field_of_a_profile_is_in_the_table():
    """Also what a profile has and the header does not describe would be missing."""
    source = (SOURCES / "drivers/sib/profile.c").read_text()
    rows = {line.split("`")[1] for line in run().splitlines()[2:]}
    fields = {line.split(" = ")[0].strip(" \t.") for line in source.splitlines() if line.startswith("\t\t.")}
    assert fields - {"name", "source"} <= rows
