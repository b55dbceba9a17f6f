# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""DKMS signs the modules: the packages recommend what it makes its key with."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def words(text):
    return {word for word in re.split(r"[,\s]+", text) if word}


def paragraph(text, pattern):
    return re.search(pattern + r".*?(?=^$|\Z)", text, re.MULTILINE | re.DOTALL).group()


def test_the_debian_package_recommends_what_makes_the_key():
    text = paragraph((TOP / "debian/control").read_text(encoding="utf-8"), "^Package: openipoib-dkms$")
    assert "openssl" in words(re.search(r"^Recommends:(.*(?:\n .*)*)", text, re.MULTILINE).group(1))


def test_the_rpm_recommends_what_makes_the_key():
    text = paragraph((TOP / "packaging/openipoib.spec").read_text(encoding="utf-8"), "^%package dkms$")
    assert "openssl" in words(" ".join(re.findall(r"^Recommends:(.*)$", text, re.MULTILINE)))
