# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Kernels of other processors: what they boot into, what their console says, what is skipped."""

import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from checklib import junit, suites
from kernellib import build, emulator, kunit, processors
from lablib import busybox, debian_suite, foreign, machine
from lablib.error import LabError

ARM = build.VARIANTS["arm64"]
GOOD = ["[    1.0] openipoib-kunit: begin x_kunit", "[    1.1]     # Subtest: x", "[    1.1]     1..1",
        "[    1.1]     ok 1 one", "[    1.1] ok 1 x", "[    1.2] openipoib-kunit: end x_kunit"]
END = "[    9.0] openipoib-kunit: status 0"
LEAKS = ["[    8.0] openipoib-leak: unreferenced object 0xffff0000c1234500 (size 128):",
         "[    8.0] openipoib-leak:   comm \"insmod\", pid 99, jiffies 4294937540 (age 6.0s)"]
WARNING = "[    1.1] WARNING: CPU: 0 PID: 99 at drivers/x.c:1 f+0x10/0x20 [x_kunit]"


@pytest.mark.parametrize("script, seconds, silence, why", [
    ("true", 60, 60, ""),
    ("sleep 60", 60, 0.3, "nothing on the console for 0.3 s"),
    ("while sleep 0.05; do echo x; done", 1, 60, "not finished after 1 s"),
], ids=["ends", "silent", "endless"])
def test_a_machine_that_does_not_end(tmp_path, script, seconds, silence, why):
    with open(tmp_path / "console", "w", encoding="utf-8") as console:
        process = subprocess.Popen(["bash", "-c", script], stdout=console)
    assert emulator.why_ended(process, tmp_path / "console", seconds, silence) == why
    assert process.returncode is not None


def results(out, *lines, late=False):
    """The exit status and the failed cases of a console with these lines."""
    (out / "console").write_text("\n".join(lines) + "\n", encoding="utf-8")
    status = emulator.judge(out, late)
    return status, [case.name for case in kunit.evaluate(out, [Path("x_kunit.ko")], status)
                    if case.result == junit.FAILED]


def test_a_console_without_fault(tmp_path):
    assert results(tmp_path, *GOOD, END) == (0, [])


def test_a_kernel_that_stopped(tmp_path):
    assert results(tmp_path, *GOOD) == (emulator.EXIT_DIED, ["kunit.kernel"])


def test_a_kernel_that_was_late(tmp_path):
    assert results(tmp_path, *GOOD, late=True) == (emulator.EXIT_TIMEOUT, ["kunit.kernel"])


def test_a_leak_and_a_splat(tmp_path):
    assert results(tmp_path, *GOOD, *LEAKS, END) == (emulator.EXIT_SPLAT, ["kunit.kmemleak"])
    assert results(tmp_path, *GOOD[:3], WARNING, *GOOD[3:], END) == (emulator.EXIT_SPLAT, ["x_kunit.warn"])


@pytest.mark.parametrize("what", ["load", "unload"])
def test_a_module_that_comes_or_goes_not(tmp_path, what):
    said = f"[    1.000000] openipoib-kunit: cannot {what} x_kunit"
    assert results(tmp_path, *GOOD[:-1], said, *GOOD[-1:], END) == (0, ["x_kunit"])


def test_what_a_kernel_boots_into(tmp_path, monkeypatch):
    """cpio finds all of it, and the modules are loaded in the order given."""
    for name in ("busybox", "kunit.ko", "b.ko", "a.ko"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    seen = tmp_path / "seen"
    # In place of QEMU: keeps the archive and says what the kernel would have said.
    fake = f"#!/bin/sh\ncp {tmp_path}/out/initramfs {seen}\necho '{END}' >{tmp_path}/out/console\n"
    (tmp_path / "qemu").write_text(fake, encoding="utf-8")
    (tmp_path / "qemu").chmod(0o755)
    monkeypatch.setattr(busybox, "fetch", lambda *_: tmp_path / "busybox")
    monkeypatch.setattr(build, "tree", lambda variant: tmp_path)
    monkeypatch.setitem(machine.MACHINES, "arm64",
                        replace(machine.MACHINES["arm64"], program=str(tmp_path / "qemu")))
    modules = [tmp_path / name for name in ("kunit.ko", "b.ko", "a.ko")]
    assert emulator.boot(ARM, modules, kunit.SCRIPT, tmp_path / "out", 60) == 0
    (tmp_path / "root").mkdir()
    subprocess.run(["cpio", "-id", "--quiet", "--no-absolute-filenames", "init", "kunit.sh", "order",
                    "bin/*", "lib/*"], cwd=tmp_path / "root", input=seen.read_bytes(), check=True)
    assert (tmp_path / "root/order").read_text(encoding="utf-8") == "/lib/kunit.ko\n/lib/b.ko\n/lib/a.ko\n"
    assert (tmp_path / "root/init").read_bytes() == emulator.INIT.read_bytes()
    assert (tmp_path / "root/bin/busybox").read_text(encoding="utf-8") == "busybox"
    assert not (tmp_path / "out/initramfs").exists()


def test_a_busybox_is_that_of_a_package(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(foreign, "provide", lambda *words: asked.append(words[:3]) or tmp_path)
    assert busybox.fetch("s390x", print) == tmp_path / "bin/busybox"
    assert asked == [("bookworm", "s390x", ("busybox-static",))]


def test_a_busybox_that_cannot_be_had(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise LabError("no mirror")

    monkeypatch.setattr(foreign, "FOLDER", tmp_path)
    monkeypatch.setattr(emulator.shutil, "which", lambda name: name)
    monkeypatch.setattr(debian_suite, "Apt", fail)
    with pytest.raises(build.BuildError, match="no busybox-static for arm64 can be had: no mirror"):
        emulator.provide(ARM)


def run(monkeypatch, tmp_path, names, lacking):
    """Exit status and cases of a run in which programs are @lacking and every suite passes."""
    monkeypatch.setattr(busybox, "fetch", lambda *_: None)
    monkeypatch.setattr(emulator.shutil, "which", lambda name: None if name in lacking else name)
    monkeypatch.setattr(kunit, "cases", lambda args: [junit.Case("x.one", junit.PASSED)])
    status = processors.run(SimpleNamespace(names=names, junit=tmp_path / "out.xml"))
    return status, {case.name: case.result for case in junit.read(tmp_path / "out.xml")}


def test_without_a_compiler_or_an_emulator(monkeypatch, tmp_path, capsys):
    status, cases = run(monkeypatch, tmp_path, [], ("s390x-linux-gnu-gcc",))
    assert (status, cases) == (0, {"processors.arm64.x.one": junit.PASSED,
                                   "processors.arm64-64k.x.one": junit.PASSED,
                                   "processors.s390x": junit.SKIPPED})
    status, cases = run(monkeypatch, tmp_path, ["arm64"], ("qemu-system-aarch64",))
    assert (status, cases) == (0, {"processors.arm64": junit.SKIPPED})
    assert "no qemu-system-aarch64 for the kernel arm64 (scripts/bootstrap features)" in \
        capsys.readouterr().out


def test_a_kernel_that_cannot_be_built_is_no_reason_to_skip(monkeypatch, tmp_path):
    def fail(_):
        raise build.BuildError("does not build")

    monkeypatch.setattr(emulator, "provide", lambda variant: None)
    monkeypatch.setattr(kunit, "cases", fail)
    assert processors.run(SimpleNamespace(names=["s390x"], junit=tmp_path / "out.xml")) == 2


@pytest.mark.parametrize("may_skip, failed", ((True, 0), (False, 1)))
def test_a_suite_that_is_skipped_as_a_whole(monkeypatch, tmp_path, may_skip, failed):
    monkeypatch.setattr(suites, "LOGS", tmp_path)
    suite = suites.Suite("s", "", "scripts", [["true"]], 60, may_skip=may_skip)
    monkeypatch.setattr(suites, "_read", lambda _: [junit.Case("s.x", junit.SKIPPED, "no compiler")])
    suites.run(suite)
    assert suite.count(junit.FAILED) == failed


def test_a_suite_that_says_nothing_is_not_skipped(monkeypatch, tmp_path):
    monkeypatch.setattr(suites, "LOGS", tmp_path)
    suite = suites.Suite("s", "", "scripts", [["true"]], 60, may_skip=True)
    suites.run(suite)
    assert suite.count(junit.FAILED) == 1


def test_a_kernel_of_another_processor_says_what_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "_run", lambda *_, **__: (tmp_path / ".config").write_text(""))
    monkeypatch.setattr(build, "FRAGMENTS", tmp_path)
    for fragment in ARM.fragments:
        (tmp_path / fragment).touch()
    build.configure(tmp_path, tmp_path, ARM)
    assert (tmp_path / ".kernelvariables").read_text(encoding="utf-8").splitlines() == [
        "override ARCH = arm64", "override CROSS_COMPILE = aarch64-linux-gnu-"]
