# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Compile commands for editors: those that make has left, with the sources of the checkout."""

import json

import pytest

from checklib import compile_commands, lint

OLD = ("cmd_{mirror}/drivers/x/one.o := gcc -Wp,-MMD,{mirror}/drivers/x/.one.o.d -nostdinc "
       "-I/kernel/include "
       "-I./include -include /kernel/kconfig.h -D__KERNEL__ -O2 -fconserve-stack -std=gnu11 "
       "-I{mirror}/drivers/x/../compat -D'pr_fmt(fmt)=KBUILD_MODNAME \": \" fmt' --param asan-globals=1 "
       "-DKBUILD_BASENAME='\"one\"' -c -o {mirror}/drivers/x/one.o {mirror}/drivers/x/one.c  ")
NEW = ("savedcmd_drivers/x/one.o :=  x86_64-linux-gnu-gcc -nostdinc -I/kernel/include "
       "-mindirect-branch=thunk "
       "-Idrivers/x -isystem /usr/lib/gcc -c -o drivers/x/one.o drivers/x/one.c  ; ./tools/objtool/objtool "
       "--hacks=jump_label drivers/x/one.o")


@pytest.fixture(name="top")
def checkout(tmp_path):
    """A checkout with one source, and a mirror of it."""
    for folder in (tmp_path / "top", tmp_path / "mirror"):
        (folder / "drivers/x").mkdir(parents=True)
        (folder / "drivers/x/one.c").touch()
    (tmp_path / "tree").mkdir()
    return tmp_path / "top"


def entry(top, line):
    mirror = top.parent / "mirror"
    return compile_commands.of_line(line.format(mirror=mirror), mirror, top.parent / "tree", top)


def test_a_kernel_that_builds_in_its_own_folder(top):
    file = str(top / "drivers/x/one.c")
    assert entry(top, OLD) == {
        "directory": str(top.parent / "tree"), "file": file,
        "arguments": ["gcc", "-nostdinc", "-I/kernel/include", "-I./include", "-include", "/kernel/kconfig.h",
                      "-D__KERNEL__", "-std=gnu11", f"-I{top}/drivers/x/../compat",
                      '-Dpr_fmt(fmt)=KBUILD_MODNAME ": " fmt', '-DKBUILD_BASENAME="one"', "-c", file]}


def test_a_kernel_that_builds_in_the_folder_of_the_modules(top):
    file = str(top / "drivers/x/one.c")
    assert entry(top, NEW) == {
        "directory": str(top), "file": file,
        "arguments": ["gcc", "-nostdinc", "-I/kernel/include", "-Idrivers/x", "-isystem", "/usr/lib/gcc",
                      "-c", file]}


@pytest.mark.parametrize("line", [
    "cmd_{mirror}/drivers/x/x.mod.o := gcc -c -o {mirror}/drivers/x/x.mod.o {mirror}/drivers/x/x.mod.c",
    "cmd_{mirror}/drivers/x/x.o := ld -r -o {mirror}/drivers/x/x.o @{mirror}/drivers/x/x.mod",
    "cmd_{mirror}/drivers/x/gone.o := gcc -c -o {mirror}/drivers/x/gone.o {mirror}/drivers/x/gone.c",
    "cmd_/other/one.o := gcc -c -o /other/one.o /other/one.c",
    "",
])
def test_what_is_no_source_of_ours(top, line):
    assert entry(top, line) is None


def test_all_of_a_mirror(top):
    mirror = top.parent / "mirror"
    (mirror / "drivers/x/.one.o.cmd").write_text(f"{OLD.format(mirror=mirror)}\n\nsource_x := x\n")
    (mirror / "drivers/x/.x.ko.cmd").write_text("cmd_x.ko := ld -r\n")
    (mirror / "drivers/x/.empty.o.cmd").touch()
    found = compile_commands.of_mirror(mirror, top.parent / "tree", top)
    assert [entry["file"] for entry in found] == [str(top / "drivers/x/one.c")]


def test_cxx_is_what_clang_can_read():
    made = {"directory": "/b", "file": "/t/a.cc", "command": 'c++ -DX=\\"1\\" -c /t/a.cc', "output": "a.o"}
    assert compile_commands.of_cxx([made]) == [
        {"directory": "/b", "file": "/t/a.cc", "arguments": ["c++", '-DX="1"', "-c", "/t/a.cc", *lint.EXTRA]}]


def test_one_entry_a_file(tmp_path):
    entries = compile_commands.merged([{"file": "a", "n": 1}, {"file": "b", "n": 2}], [{"file": "a", "n": 3}])
    assert entries == [{"file": "a", "n": 1}, {"file": "b", "n": 2}]
    compile_commands.write(tmp_path / "compile_commands.json", entries)
    assert [path.name for path in tmp_path.iterdir()] == ["compile_commands.json"]
    assert json.loads((tmp_path / "compile_commands.json").read_text()) == entries
