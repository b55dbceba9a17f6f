# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The RPM asks for what the build looks for, by what packages provide."""

import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
SPEC = (TOP / "packaging/openipoib.spec").read_text(encoding="utf-8")
# Of CMake itself, or of the tests, which the RPM does not build
OTHERS = {"PkgConfig", "GTest"}


def asked_for():
    lines = re.findall(r"^BuildRequires:\s+(.*)$", SPEC, re.MULTILINE)
    return {word.split(">=")[0].strip() for line in lines for word in line.split(",")}


def looked_for():
    """What CMake looks for, in all but tests."""
    text = "".join(path.read_text(encoding="utf-8") for path in (
        TOP / "CMakeLists.txt", *TOP.glob("[!t]*/CMakeLists.txt")) if path.parent.name != "build")
    modules = re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET ([^)]+)\)", text)
    packages = set(re.findall(r"find_package\((\w+)", text)) - OTHERS
    return {f"pkgconfig({name.split('>=')[0]})" for words in modules for name in words.split()} | \
        {f"cmake({name})" for name in packages}


def test_it_asks_for_all_that_the_build_looks_for():
    assert {"pkgconfig(libibverbs)", "cmake(fmt)"} < looked_for()
    assert {name for name in asked_for() if name.startswith(("pkgconfig(", "cmake("))} == looked_for()


def test_nothing_is_asked_for_by_a_name_that_differs():
    assert not [name for name in asked_for() if "-devel" in name]


# What systemd brings for packages, and systemctl: what they are asked for
STUB = '#!/bin/sh\necho "${0##*/} $*" >> "${0%/*}/log"\n'


def removal(folder, left):
    """Run the scriptlet at the removal that leaves @left versions. Its words, and what it asks for."""
    for name in ("systemctl", "systemd-update-helper"):
        (folder / name).write_text(STUB, encoding="utf-8")
        (folder / name).chmod(0o755)
    text = re.search(r"^%preun\n(.*?)^%", SPEC, re.MULTILINE | re.DOTALL).group(1)
    text = text.replace("/usr/lib/systemd/systemd-update-helper", str(folder / "systemd-update-helper"))
    done = subprocess.run(["sh", "-c", text, "preun", str(left)], capture_output=True, text=True, check=True,
                          env={"PATH": f"{folder}:/usr/bin:/bin"})
    log = folder / "log"
    return done.stdout, log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def test_removal_leaves_the_stack_in_use(tmp_path):
    words, asked = removal(tmp_path, 0)
    about_openibd = [line for line in asked if "openibd" in line]
    assert about_openibd == ["systemctl --no-reload disable openibd.service"], "it is not stopped"
    assert any("ipoib-ha.service ipoib-ha-metrics.timer" in line for line in asked)
    assert "interfaces stay as they are" in words and "no longer fail over" in words


def test_an_upgrade_stops_nothing(tmp_path):
    assert removal(tmp_path, 1) == ("", [])
