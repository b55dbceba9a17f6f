# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What a kernel is like, as drivers/compat/probe finds out by compiling."""

import os
import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROBE = TOP / "drivers/compat/probe"
FILES = {
    "include/linux/compiler_types.h": "",
    "include/linux/thing.h": "int thing(int size);\n",
    "include/generated/autoconf.h": "#define CONFIG_X 1\n",
    "include/generated/utsrelease.h": '#define UTS_RELEASE "6.1"\n',
    "include/generated/uapi/linux/version.h": "#define LINUX_VERSION_CODE 1\n",
    "Module.symvers": "",
}
TYPE = """// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.5: thing() lost its sign
#include <linux/thing.h>

#ifdef PROBE_NEW
int (*probe)(unsigned int size) = thing;
#else
int (*probe)(int size) = thing;
#endif
"""
EXISTS = """// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.10: there is other_thing()
#include <linux/thing.h>

#ifdef PROBE_NEW
int (*probe)(void) = other_thing;
#else
struct probe *other_thing;
#endif
"""
COMPILER = """#!/bin/sh
for word; do
    case $word in
    *.c) echo "$word" >>"$CALLS";;
    --version) echo VERSION; exit;;
    esac
done
exec gcc "$@"
"""
# What Kbuild's own file of this name does with a Kbuild file of ours
BUILD = """src := {compat}
compat-folder := .
include $(src)/Kbuild.probe
all: ; @echo $(compat-answers)
"""


class Kernel:
    """A kernel's tree, two probes, and a compiler that notes its calls."""

    def __init__(self, folder):
        self.tree, self.probes, self.calls = folder / "kernel", folder / "probes", folder / "calls"
        self.answers, self.compiler = folder / "answers", folder / "cc"
        self.table = False
        for name, text in FILES.items():
            self.write(self.tree / name, text)
        self.write(self.probes / "thing_sign.c", TYPE)
        self.write(self.probes / "other_thing.c", EXISTS)
        self.write(self.compiler, COMPILER)
        self.compiler.chmod(0o755)

    @staticmethod
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, *flags):
        self.calls.write_text("")
        environment = os.environ | {"PROBES": str(self.probes), "CALLS": str(self.calls),
                                    "PROBE_TABLE": "1" if self.table else ""}
        return subprocess.run(["sh", PROBE, self.answers, self.tree, self.tree, self.compiler,
                               f"-I{self.tree}/include", *flags], capture_output=True, text=True,
                              env=environment, check=False)

    def build(self, **config):
        """make, as Kbuild has it read our files."""
        self.write(self.tree / "scripts/Makefile.build", BUILD.format(compat=TOP / "drivers/compat"))
        variables = {"srctree": self.tree, "objtree": self.tree, "CC": self.compiler,
                     "LINUXINCLUDE": f"-I{self.tree}/include", "CONFIG_SHELL": "sh"} | config
        outer = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")    # `make test` is no part of what is tested
        environment = {name: value for name, value in os.environ.items() if name not in outer}
        environment |= {"PROBES": str(self.probes), "CALLS": str(self.calls),
                        "OPENIPOIB_PROBES": str(self.answers)}
        return subprocess.run(["make", "-f", self.tree / "scripts/Makefile.build",
                               *(f"{name}={value}" for name, value in variables.items())],
                              capture_output=True, text=True, env=environment, check=False)

    def ask(self, *flags):
        """The answers, and how many times the compiler was called."""
        done = self.run(*flags)
        assert done.returncode == 0, done.stderr
        found = re.fullmatch(r"-include (\S+)\n", done.stdout)
        lines = re.findall(r"#define COMPAT_(\w+) ([01])", Path(found[1]).read_text(encoding="utf-8"))
        return dict(lines), len(self.calls.read_text().splitlines())


@pytest.fixture(name="kernel")
def small_kernel(tmp_path):
    return Kernel(tmp_path)


def test_an_older_and_a_newer_kernel(kernel):
    assert kernel.ask()[0] == {"THING_SIGN": "0", "OTHER_THING": "0"}
    kernel.write(kernel.tree / "include/linux/thing.h",
                 "int thing(unsigned int size);\nint other_thing(void);\n")
    kernel.write(kernel.tree / "include/generated/uapi/linux/version.h", "#define LINUX_VERSION_CODE 2\n")
    assert kernel.ask()[0] == {"THING_SIGN": "1", "OTHER_THING": "1"}


def test_a_kernel_that_took_one_change_of_two(kernel):
    kernel.write(kernel.tree / "include/linux/thing.h", "int thing(int size);\nint other_thing(void);\n")
    assert kernel.ask()[0] == {"THING_SIGN": "0", "OTHER_THING": "1"}


def test_the_same_kernel_is_asked_once(kernel):
    answers, calls = kernel.ask()
    assert calls == 4       # each probe in both ways
    assert kernel.ask() == (answers, 0)


@pytest.mark.parametrize("what", ["include/generated/autoconf.h", "include/generated/utsrelease.h",
                                  "include/generated/uapi/linux/version.h", "Module.symvers"])
def test_a_kernel_that_changes_is_asked_again(kernel, what):
    kernel.ask()
    kernel.write(kernel.tree / what, "/* another */\n")
    assert kernel.ask()[1] == 4
    assert kernel.ask()[1] == 0


def test_files_of_a_kernel_that_are_exchanged(kernel):
    kernel.ask()
    os.utime(kernel.tree / "include/linux", (1, 1))
    assert kernel.ask()[1] == 4


def test_another_compiler_other_flags_and_other_probes(kernel):
    kernel.ask()
    assert kernel.ask("-DX")[1] == 4
    assert kernel.ask()[1] == 0
    kernel.write(kernel.probes / "other_thing.c", EXISTS + "\n")
    assert kernel.ask()[1] == 4
    kernel.write(kernel.compiler, COMPILER.replace("VERSION", "NEWER"))
    assert kernel.ask()[1] == 4


def test_a_probe_with_neither_answer_stops_with_the_words_of_the_compiler(kernel):
    kernel.write(kernel.tree / "include/linux/thing.h", "long thing(void);\n")
    done = kernel.run()
    assert done.returncode == 1 and not done.stdout
    assert "thing_sign.c: thing() lost its sign (Linux 6.5)" in done.stderr
    assert "does not take the new spelling" in done.stderr and "does not take the old spelling" in done.stderr
    assert "incompatible pointer type" in done.stderr
    assert "other_thing" not in done.stderr
    assert not list(kernel.answers.glob("*/*"))


def test_a_probe_with_both_answers_stops(kernel):
    kernel.write(kernel.probes / "other_thing.c", "// SPDX\n// 6.10: nothing\nint probe;\n")
    done = kernel.run()
    assert done.returncode == 1 and not done.stdout
    assert "other_thing.c: nothing (Linux 6.10)" in done.stderr
    assert "the new spelling and the old one" in done.stderr


def test_a_kernel_of_64_bits(kernel):
    done = kernel.build(CONFIG_64BIT="y")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"-include {kernel.answers}/\w+/answers.h\n", done.stdout)


def test_a_kernel_of_32_bits_is_refused_with_a_sentence(kernel):
    done = kernel.build()
    assert done.returncode and not done.stdout
    assert "openipoib: this kernel has 32 bits (no CONFIG_64BIT)" in done.stderr
    assert "the drivers are for kernels of 64 bits alone: " in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not kernel.calls.exists()    # nothing was compiled


def test_the_table(kernel):
    kernel.table = True
    for _ in range(2):  # found out, and known
        lines = [line.split(maxsplit=3) for line in kernel.run().stderr.splitlines()]
        assert lines[1:] == [["6.5", "old", "thing_sign", "thing() lost its sign"],
                             ["6.10", "old", "other_thing", "there is other_thing()"]]


def test_every_probe_names_the_change_and_the_version():
    probes = sorted((TOP / "drivers/compat/probes").glob("*.c"))
    assert probes
    for path in probes:
        text = path.read_text(encoding="utf-8")
        assert re.match(r"// \d+\.\d+: \S", text.splitlines()[1]), path
        assert "PROBE_NEW" in text, path


def test_every_answer_is_used_and_every_question_asked():
    asked = {f"COMPAT_{path.stem.upper()}" for path in (TOP / "drivers/compat/probes").glob("*.c")}
    headers = "".join(path.read_text(encoding="utf-8") for path in (TOP / "drivers/compat").glob("*.h"))
    conditions = " ".join(re.findall(r"^#(?:el)?if !?(.*)$", headers, re.MULTILINE))
    assert set(re.findall(r"COMPAT_\w+", conditions)) == asked
