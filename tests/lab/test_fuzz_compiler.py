# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which clang++ builds the fuzz targets (tests/fuzz/compiler.cmake)."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tests/fuzz/compiler.cmake"


@pytest.fixture(name="find")
def find_compiler(tmp_path):
    """Find it among compilers of ours: their names, and whether they have libFuzzer."""
    def find(*options, **compilers):
        for name, works in compilers.items():
            path = tmp_path / name.replace("clang", "clang++").replace("_", "-")
            path.write_text(f"#!/bin/sh\nexit {0 if works else 1}\n", encoding="utf-8")
            path.chmod(0o755)
        (tmp_path / "find.cmake").write_text(
            f'include({SCRIPT})\nfind_fuzz_compiler(-std=c++2b)\nmessage(STATUS "takes ${{FUZZ_CXX}}")\n',
            encoding="utf-8")
        return subprocess.run([shutil.which("cmake"), *options, "-P", "find.cmake"], cwd=tmp_path, text=True,
                              capture_output=True, check=False, env={"PATH": f"{tmp_path}"})
    return find


def test_the_newest_that_works(find, tmp_path):
    done = find(clang_16=True, clang_19=True, clang_22=False, clang=True)
    assert f"-- takes {tmp_path}/clang++-19\n" in done.stdout


def test_the_release_s_own(find, tmp_path):
    assert f"-- takes {tmp_path}/clang++\n" in find(clang_16=False, clang=True).stdout


def test_what_is_asked_for(find):
    assert "-- takes mine\n" in find("-DFUZZ_CXX=mine", clang_16=True).stdout


def test_none(find, tmp_path):
    """It is an error, not fewer targets."""
    done = find()
    assert done.returncode and "there is none" in done.stderr and "libclang-rt-dev" in done.stderr
    done = find(clang_14=True, clang=False)
    assert done.returncode and f"{tmp_path}/clang++)" in "".join(done.stderr.split())
