# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Checks of the whole repository and of its user space code.

A check is a function that returns the list of what it found wrong (empty: all
well), or raises Skip with a reason. It prints nothing.
"""

import os
import re
import subprocess

from . import memo, tree
from .tree import BUILD, TOP

CMAKE = BUILD / "cmake"
FORMATTED_BY = "14"     # clang-format of Debian 12


class Skip(Exception):
    """There is nothing to check, or nothing to check it with."""


def run(argv, cwd=TOP, env=None):
    """Run a tool. Returns (status, output)."""
    result = subprocess.run([str(word) for word in argv], cwd=cwd, text=True, errors="replace",
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, env={**os.environ, **(env or {})},
                            check=False)
    return result.returncode, result.stdout


def tool(argv, **options):
    """A check that is one tool: its output if it fails."""
    status, output = run(argv, **options)
    return (output.splitlines() or [f"{argv[0]}: status {status}"]) if status else []


def each_file(argv, names):
    """A check by a tool that looks at each file by itself, of those that have changed."""
    def look(changed):
        found = tool([*argv, *changed])
        return found, [] if found else changed

    version = memo.version(argv[0])
    return memo.together(names, lambda name: memo.key(version, *argv, name, TOP / name), look)


def licence_lines():
    """Every file says its licence in its first line (scripts: in their second)."""
    wrong = []
    for name in tree.files():
        if name.startswith(tree.NO_SPDX_LINE) or (TOP / name).is_symlink():
            continue
        with (TOP / name).open("rb") as file:
            lines = [file.readline(200).decode(errors="replace") for _ in range(2)]
        line = lines[1] if lines[0].startswith("#!") else lines[0]
        if tree.SPDX not in line:
            wrong.append(f"{name}: no '{tree.SPDX}' where it belongs")
    return wrong


def reuse():
    """The REUSE specification's own checker agrees."""
    return tool(["reuse", "lint"])


def whitespace():
    """No trailing blanks, no missing newline at the end, no CR."""
    wrong = []
    for name in tree.files():
        data = (TOP / name).read_bytes()
        if name.startswith("LICENSES/") or b"\0" in data:
            continue
        if data and not data.endswith(b"\n"):
            wrong.append(f"{name}: no newline at its end")
        for number, line in enumerate(data.split(b"\n"), 1):
            if line != line.rstrip() and not name.endswith((".patch", ".log")):
                wrong.append(f"{name}:{number}: trailing blank")
    return wrong


def spelling():
    """codespell finds nothing."""
    names = [name for name in tree.files() if not name.startswith("LICENSES/")]
    # The last four are parts of names.
    known = "nd,ba,als,fo,hsi,pres,te,inout,goup,iif,inflight,answerin,atmost,numberin,textin"
    return tool(["codespell", "--ignore-words-list", known, *names])


def file_sizes():
    """No source file grows far beyond 600 lines."""
    wrong = []
    for name in tree.with_suffix(".c", ".h", ".cc", ".hpp", ".py", ".sh"):
        count = (TOP / name).read_bytes().count(b"\n")
        if count > 750:
            wrong.append(f"{name}: {count} lines; split it")
    return wrong


def shell():
    """shellcheck over every shell script."""
    names = tree.scripts("bash", ".sh") + tree.scripts("/bin/sh", ".sh")
    return each_file(["shellcheck", "--norc", "-e", "SC1091"], sorted(set(names)))


def python():
    """Every Python file compiles and flake8 has nothing to say."""
    return each_file(["flake8", "--isolated", "--max-line-length", "110",
                      "--extend-ignore", "E741,W503"], tree.scripts("python3", ".py"))


def configure():
    """Make the C++ build known to CMake."""
    if not (TOP / "CMakeLists.txt").exists():
        raise Skip("no C++ yet")
    status, output = run(["cmake", "-S", TOP, "-B", CMAKE, "-G", "Ninja"])
    if status:
        raise RuntimeError(output)


def _cmake_target(target):
    configure()
    return tool(["cmake", "--build", CMAKE, "--target", target, "-j", str(tree.PROCESSORS)])


def cxx_format():
    """clang-format would change nothing."""
    version = re.search(r"version (\d+)", memo.version("clang-format"))
    if version and version[1] != FORMATTED_BY:
        raise Skip(f"clang-format {version[1]} does not format as {FORMATTED_BY} does, which the sources are "
                   "formatted by")
    command = ["clang-format", "--dry-run", "--Werror"]
    return memo.each(tree.with_suffix(".cc", ".hpp"),
                     lambda name: memo.key(memo.version("clang-format"), *command, TOP / ".clang-format",
                                           name, TOP / name),
                     lambda name: tool([*command, name]))


def cxx_headers():
    """Every C++ header compiles alone."""
    return _cmake_target("all_verify_interface_header_sets")


def cxx_build():
    """All C++ builds with warnings as errors."""
    return _cmake_target("all")
