# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Lint of the kernel modules: a source is looked at when something it is made of has changed."""

from pathlib import Path

import pytest
from checklib import checks, kernel_builds, kernel_checks, memo, tree
from checklib.includes import Project
from lablib.error import LabError

FILES = {
    "Kbuild": "obj-m += drivers/a/\n",
    "VERSION": "1\n",
    "drivers/Kbuild.include": "ccflags-y += -I$(src)/../compat -include $(src)/../compat/compat.h\n",
    "drivers/a/Kbuild": "# -I/nowhere\nobj-m := a.o\nccflags-y += -I$(src)\n"
                        "include $(src)/../Kbuild.include\n",
    "drivers/b/Kbuild": "obj-m := b.o\ninclude $(src)/../Kbuild.include\n",
    "drivers/compat/compat.h": "#include <linux/version.h>\n",
    "drivers/compat/drop.h": "",
    "drivers/compat/probe": "",
    "drivers/compat/probes/asks.c": "",
    "drivers/a/one.c": '#include <linux/module.h>\n#  include "one.h"\n#include "drop.h"\n',
    "drivers/a/one.h": '#ifdef X\n#include "deep.h"\n#endif\n#include "one.h"\n',
    "drivers/a/deep.h": "",
    "drivers/a/two.c": '#include "../b/b.h"\n#include <deep.h>\n#include "linux/list.h"\n',
    "drivers/b/three.c": '#include "b.h"\n#include <b.h>\n',
    "drivers/b/b.h": "",
}
ALWAYS = {"Kbuild", "VERSION", "drivers/Kbuild.include", "drivers/compat/compat.h", "drivers/compat/probe",
          "drivers/compat/probes/asks.c"}
SOURCES = ["drivers/a/one.c", "drivers/a/two.c", "drivers/b/three.c"]


@pytest.fixture(name="top")
def small_project(tmp_path, monkeypatch):
    """The checks see the files above; nothing is known to be clean."""
    top = tmp_path / "top"
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(memo, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(memo, "version", lambda *_: "1")
    monkeypatch.setattr(tree, "with_suffix", lambda suffix, under: sorted(
        str(path.relative_to(top)) for path in (top / under).rglob(f"*{suffix}")))
    monkeypatch.setattr(kernel_builds, "TOP", top)
    monkeypatch.setattr(kernel_builds, "MIRROR", tmp_path / "mirror")
    monkeypatch.setattr(kernel_builds, "MIRROR_WITHOUT_CM", tmp_path / "without")
    monkeypatch.setattr(kernel_builds, "Project", lambda: Project(top))
    monkeypatch.setattr(kernel_builds, "release", lambda kernel: kernel)
    monkeypatch.setattr(kernel_builds, "headers", lambda kernel: top)
    monkeypatch.setattr(kernel_builds, "_kernel_key", lambda kernel: kernel)
    return top


@pytest.fixture(name="make")
def fake_make(top, monkeypatch):
    """Every object is built, without a word, unless a test says otherwise. The calls: targets."""
    class Make:
        def __init__(self):
            self.calls, self.output, self.broken, self.status = [], "", (), 0
            self.before, self.seen = None, []   # what it looks at as it is called, and has seen

        def run(self, argv, **_):
            if self.before:
                self.seen.append(self.before())
            words = [str(word) for word in argv]
            targets = [word for word in words if word.endswith(".o")]
            self.calls.append(targets or words[-1:])
            folder = next((Path(word[2:]) for word in words if word.startswith("M=")),
                          kernel_builds.MIRROR / "6.1")
            for target in targets or [name.replace(".c", ".o") for name in SOURCES]:
                if target not in self.broken:
                    (folder / target).parent.mkdir(parents=True, exist_ok=True)
                    (folder / target).touch()
            return self.status or (2 if self.broken else 0), self.output

    make = Make()
    monkeypatch.setattr(kernel_builds, "run", make.run)
    return make


def sparse(make, output="", broken=()):
    """What is found, and the sources that are built for it."""
    make.calls.clear()
    make.output, make.broken = output, broken
    found = kernel_builds.sparse("6.1")
    return found, [target.replace(".o", ".c") for call in make.calls for target in call]


def change(top, name):
    with (top / name).open("a", encoding="utf-8") as file:
        file.write("/* changed */\n")


def test_what_an_object_is_made_of(top):
    project = Project(top)
    assert project.inputs("drivers/a/one.c") - ALWAYS == {
        "drivers/a/one.c", "drivers/a/one.h", "drivers/a/deep.h", "drivers/compat/drop.h", "drivers/a/Kbuild"}
    assert project.inputs("drivers/a/two.c") - ALWAYS == {
        "drivers/a/two.c", "drivers/b/b.h", "drivers/a/deep.h", "drivers/a/Kbuild"}
    # Its own folder counts for "", not for <>.
    assert project.inputs("drivers/b/three.c") - ALWAYS == {
        "drivers/b/three.c", "drivers/b/b.h", "drivers/b/Kbuild"}
    assert ALWAYS < project.inputs("drivers/b/three.c")


def test_an_include_that_a_macro_names_may_be_any(top):
    (top / "drivers/b/three.c").write_text("#include NAME(x)\n", encoding="utf-8")
    headers = {name for name in FILES if name.endswith(".h")}
    assert headers < Project(top).inputs("drivers/b/three.c")


def test_a_header_that_comes_before_another(top):
    (top / "drivers/a/drop.h").touch()
    inputs = Project(top).inputs("drivers/a/one.c")
    assert "drivers/a/drop.h" in inputs and "drivers/compat/drop.h" not in inputs


@pytest.mark.parametrize("flag", ["-I$(drivers)/x", "-include $(obj)/x.h", "-I/usr/include"])
def test_a_folder_that_is_not_understood(top, flag):
    (top / "drivers/b/Kbuild").write_text(f"ccflags-y += {flag}\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="drivers/b/Kbuild"):
        Project(top).inputs("drivers/b/three.c")


def test_every_include_of_the_drivers_is_found():
    project = Project()
    for name in tree.with_suffix(".c", under="drivers/"):
        if name.startswith("drivers/compat/"):
            continue
        inputs = {Path(made_of).name for made_of in project.inputs(name)}
        for line in (tree.TOP / name).read_text(encoding="utf-8").splitlines():
            if line.startswith('#include "'):
                assert Path(line.split('"')[1]).name in inputs, (name, line)


def test_only_what_has_changed_is_built(top, make):
    assert sparse(make) == ([], SOURCES)
    assert sparse(make) == ([], [])
    change(top, "drivers/a/one.c")
    assert sparse(make) == ([], ["drivers/a/one.c"])
    change(top, "drivers/b/b.h")
    assert sparse(make) == ([], ["drivers/a/two.c", "drivers/b/three.c"])
    change(top, "drivers/a/Kbuild")
    assert sparse(make) == ([], ["drivers/a/one.c", "drivers/a/two.c"])
    change(top, "drivers/compat/compat.h")
    assert sparse(make) == ([], SOURCES)
    change(top, "drivers/compat/probes/asks.c")
    assert sparse(make) == ([], SOURCES)


def test_a_complaint_is_held_against_its_source(make):
    line = f"{kernel_builds.MIRROR}/6.1/drivers/a/one.c:3:1: warning: symbol 'x' was not declared"
    assert sparse(make, output=f"{line}\n  more of it") == ([line], SOURCES)
    assert sparse(make) == ([], ["drivers/a/one.c"])


def test_a_complaint_of_a_header_is_held_against_those_that_include_it(make):
    line = f"{kernel_builds.MIRROR}/6.1/drivers/a/../b/b.h:1:1: error: unknown type name"
    assert sparse(make, output=line) == ([line], SOURCES)
    assert sparse(make) == ([], ["drivers/a/two.c", "drivers/b/three.c"])


@pytest.mark.parametrize("status, line", [
    (0, "/usr/src/linux/include/linux/list.h:1:1: warning: bad"),
    (0, "WARNING: modpost: drivers/a/a.o: section mismatch"),
    (2, 'ERROR: modpost: "x" [drivers/a/a.ko] undefined!'),
    (2, "make: *** [Makefile:1: modules] Error 2")])
def test_a_complaint_of_no_source_is_held_against_all(make, status, line):
    make.status = status
    assert sparse(make, output=line) == ([line], SOURCES)
    make.status = 0
    assert sparse(make) == ([], SOURCES)


def test_a_complaint_of_no_source_beside_another(make):
    lines = ["drivers/a/one.c:1:1: warning: bad", "cc1: error: bad option"]
    assert sparse(make, output="\n".join(lines)) == (lines, SOURCES)
    assert sparse(make) == ([], SOURCES)


def test_a_build_that_fails_without_a_word(make):
    make.status = 2
    assert sparse(make, output="no space\n") == (["no space"], SOURCES)
    make.status = 0
    assert sparse(make)[1] == SOURCES


def test_a_source_that_is_not_built_is_not_clean(make):
    said = "make[2]: *** [Makefile:1: drivers/a/two.o] Error 1"
    assert sparse(make, output=said, broken=["drivers/a/two.o"]) == ([said], SOURCES)
    assert sparse(make) == ([], ["drivers/a/two.c"])


def test_no_build_makes_it(top, make, monkeypatch):
    monkeypatch.setattr(memo, "is_used", False)
    (top / "drivers/b/four.c").touch()
    assert sparse(make) == (["drivers/b/four.c: no build makes it"], ["modules"])


def test_an_object_of_an_earlier_build_proves_nothing(top, make):
    sparse(make)
    change(top, "drivers/compat/compat.h")
    line = "drivers/a/one.c:1:1: error: bad"    # and make has not come to the second
    assert sparse(make, output=line, broken=["drivers/a/two.o"]) == ([line], SOURCES)
    assert sparse(make) == ([], ["drivers/a/one.c", "drivers/a/two.c"])


def test_a_planted_fault_is_found(make):
    make.output = f"{kernel_builds.MIRROR}/planted/7.3/planted.c:4:32: warning: incorrect type in return " \
                  "expression (different base types)"
    assert not kernel_builds.planted("7.3") and make.calls == [["planted.o"]]
    assert not kernel_builds.planted("7.3") and len(make.calls) == 1


@pytest.mark.parametrize("output, status", [("", 0), ("sparse: not found\n", 2),
                                            ("other.c:4:32: warning: incorrect type in return", 0)])
def test_a_planted_fault_that_is_not_found(make, output, status):
    make.output, make.status = output, status
    for calls in (1, 2):
        found = kernel_builds.planted("7.3")
        assert found[0] == "7.3: sparse does not find a planted fault, and so proves nothing"
        assert len(make.calls) == calls


def test_who_is_deaf_is_not_asked(monkeypatch):
    monkeypatch.setattr(kernel_checks, "_fetched", lambda suite: suite)
    monkeypatch.setattr(kernel_builds, "sparse", lambda _: ["asked"])
    monkeypatch.setattr(kernel_builds, "planted", lambda _: ["deaf"])
    assert kernel_checks.sparse_newest() == ["deaf"]
    monkeypatch.setattr(kernel_builds, "planted", lambda _: [])
    assert kernel_checks.sparse_newest() == ["asked"]


def test_without_connected_mode_is_built_whole(top, make, monkeypatch):
    (top / "drivers/a").rename(top / "drivers/ipoib")

    def build():
        make.calls.clear()
        return kernel_builds.without_connected_mode("6.1"), make.calls

    whole = [["drivers/ipoib/ib_ipoib.ko"]]
    make.output = 'ERROR: modpost: "ipoib_cm_x" [ib_ipoib.ko] undefined!'
    assert build() == ([make.output], whole)
    make.output = ""
    assert build() == ([], whole)
    assert build() == ([], [])
    change(top, "drivers/b/three.c")        # of the other driver
    assert build() == ([], [])
    change(top, "drivers/compat/drop.h")
    assert build() == ([], whole)


def test_headers(top, make):
    def build(output=""):
        make.calls.clear()
        make.output = output
        return kernel_builds.compile_headers("6.1"), [name for call in make.calls for name in call]

    every = ["drivers_a_deep_h.o", "drivers_a_one_h.o", "drivers_b_b_h.o"]
    assert build() == ([], every)
    assert build() == ([], [])
    change(top, "drivers/a/deep.h")
    line = f"{kernel_builds.MIRROR}/headers/6.1/drivers_a_deep_h.c:2:1: error: redefinition"
    assert build(line) == ([f"6.1: {line}"], every[:2])
    assert build() == ([], every[:1])


def test_all_modules_are_built_when_anything_has_changed(top, make):
    assert not kernel_builds.whole("6.1") and len(make.calls) == 1
    assert not kernel_builds.whole("6.1") and len(make.calls) == 1
    change(top, "drivers/b/b.h")
    make.output, make.status = "b.h:1:1: error: unknown type name", 2
    for calls in (2, 3):
        assert kernel_builds.whole("6.1") == ["6.1: b.h:1:1: error: unknown type name"]
        assert len(make.calls) == calls
        # Else make would not say it again.
        make.before = lambda: not list(kernel_builds.MIRROR.rglob("*.o"))
    assert make.seen == [True]


def test_what_builds_modules_is_part_of_what_is_known(tmp_path, monkeypatch):
    for name in ("Makefile", "Module.symvers", "include/generated/autoconf.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(memo, "version", lambda *_: "1")
    monkeypatch.setattr(kernel_builds, "release", lambda kernel: kernel)
    monkeypatch.setattr(kernel_builds, "headers", lambda kernel: tmp_path)
    makers = [tmp_path / maker.name for maker in kernel_builds.MAKERS]
    assert {"includes.py", "build-modules"} < {maker.name for maker in makers}
    for path, maker in zip(makers, kernel_builds.MAKERS, strict=True):
        path.write_bytes(maker.read_bytes())
    monkeypatch.setattr(kernel_builds, "MAKERS", makers)
    known = {kernel_builds._kernel_key("6.1")}
    for maker in makers:
        maker.write_text("another", encoding="utf-8")
        known.add(kernel_builds._kernel_key("6.1"))
    assert len(known) == len(makers) + 1


def test_a_suite_whose_headers_cannot_be_had(monkeypatch):
    def fetch(suite, _, **__):
        if suite != "sid":
            raise LabError(f"no {suite}")

    monkeypatch.setattr(kernel_checks.debian_suite, "fetch", fetch)
    monkeypatch.setattr(kernel_checks.debian_suite, "here", lambda: here)
    monkeypatch.setattr(kernel_checks.kernel_builds, "whole", lambda suite: said)
    here = {}
    said = []
    for check in (kernel_checks.sparse_newest, kernel_checks.all_kernels):
        with pytest.raises(checks.Skip, match="headers of trixie.*can be had"):
            check()
    said = ["sid: something is wrong"]
    assert kernel_checks.all_kernels() == said
    # Older ones that are here do as well.
    here = dict.fromkeys(kernel_checks.SUITES, "6.1.0-1-amd64")
    assert kernel_checks.all_kernels() == said * len(kernel_checks.SUITES)


@pytest.fixture(name="elsewhere")
def other_processors(monkeypatch):
    """Suites of which headers cannot be had, compilers that are not there, and what is built."""
    class Elsewhere:
        def __init__(self):
            self.absent, self.compilerless, self.built, self.said = set(), set(), [], []

        def fetch(self, suite, _, **__):
            if suite in self.absent:
                raise LabError(f"apt-get update, {suite}: E: Mirror sync in progress?")

        def build(self, suite):
            self.built.append(suite)
            return self.said

    elsewhere = Elsewhere()
    monkeypatch.setattr(kernel_checks.debian_suite, "fetch", elsewhere.fetch)
    monkeypatch.setattr(kernel_checks.debian_suite, "here", dict)
    monkeypatch.setattr(kernel_checks.kernel_builds, "whole", elsewhere.build)
    monkeypatch.setattr(kernel_checks.shutil, "which",
                        lambda name: None if name in elsewhere.compilerless else f"/usr/bin/{name}")
    return elsewhere


def test_modules_for_other_processors(elsewhere):
    assert kernel_checks.other_processors() == []
    assert sorted(elsewhere.built) == [
        "bookworm:arm64", "bookworm:ppc64el", "bookworm:s390x",
        "trixie-backports:arm64", "trixie-backports:ppc64el", "trixie-backports:s390x"]


def test_a_processor_that_is_not_built_for_is_named_with_the_reason(elsewhere):
    elsewhere.absent = {"trixie-backports:s390x"}
    elsewhere.compilerless = {"powerpc64le-linux-gnu-gcc"}
    with pytest.raises(checks.Skip) as skipped:
        kernel_checks.other_processors()
    assert elsewhere.built == ["bookworm:arm64", "trixie-backports:arm64", "bookworm:s390x"]
    for said in ("clean for bookworm:arm64, trixie-backports:arm64, bookworm:s390x; ",
                 "no headers of trixie-backports:s390x's kernel can be had: apt-get update, "
                 "trixie-backports:s390x: E: Mirror sync",
                 "no powerpc64le-linux-gnu-gcc for bookworm:ppc64el's kernel (scripts/bootstrap features)"):
        assert said in str(skipped.value)
    elsewhere.said = ["one.c:1:1: warning: bad"]     # of one that is built: it counts more
    assert kernel_checks.other_processors() == elsewhere.said * 3


@pytest.mark.parametrize("kernel, name", [
    ("6.1", "gcc"), ("sid", "gcc"), ("sid:amd64", "gcc"), ("sid:arm64", "aarch64-linux-gnu-gcc"),
    ("bookworm:ppc64el", "powerpc64le-linux-gnu-gcc")])
def test_what_compiles_for_a_kernel(kernel, name):
    assert kernel_builds.compiler(kernel) == name
