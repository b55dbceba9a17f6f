# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""DKMS signs the modules: it has what it makes its key with, and test-deb looks at what it has built."""

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
KERNELS = ("6.1.0-56-amd64", "6.12.117+deb12-amd64")
# What the program asks of the Debian that it tries: DKMS's certificate, and of each module the key
INSIDE = """\
root=/fresh
fail() { echo "FAILED: $*"; exit 1; }
inside() {
    case "$*" in
    openssl*) [ -n "$CERTIFICATE" ] && echo "serial=$CERTIFICATE" ;;
    *" -F sig_key ib_ipoib") echo 07:D4:A3 ;;
    *" -k 6.12"*" -F sig_key sib") echo "$SIB" ;;
    *" -F sig_key sib") echo 07:D4:A3 ;;
    *" -F signer "*) echo DKMS module signing key ;;
    esac
}
"""


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


def test_the_fresh_debian_has_it():
    text = (TOP / "packaging/make-root").read_text(encoding="utf-8")
    assert "openssl" in words(paragraph(text, r"^packages\(\) \{$"))


def look(key, key_of_sib):
    """What test-deb says of modules of which that for the later kernel has @key_of_sib."""
    text = (TOP / "packaging/test-deb").read_text(encoding="utf-8")
    function = re.search(r"^are_signed\(\) \{\n.*?^\}\n", text, re.MULTILINE | re.DOTALL).group()
    script = f"set -euo pipefail\nkernels=({' '.join(KERNELS)})\n{INSIDE}{function}are_signed"
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/bin:/bin", "CERTIFICATE": key, "SIB": key_of_sib})


def test_all_are_signed():
    done = look("07D4A3", "07:D4:A3")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"modinfo -k {kernel} -F signer {module}: DKMS module signing key"
                                        for kernel in KERNELS for module in ("ib_ipoib", "sib")]


@pytest.mark.parametrize("other", ["", "66:F5:4E"], ids=["unsigned", "another key"])
def test_one_that_is_not_is_named(other):
    done = look("07D4A3", other)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith(f"FAILED: sib for {KERNELS[1]} is not signed")


def test_no_key():
    done = look("", "")
    assert done.returncode == 1 and done.stdout.startswith("FAILED: DKMS has made no key")
