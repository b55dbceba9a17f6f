# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Kernels of other processors, emulated by QEMU, that load the KUnit suites.

The machine has a processor, memory and a console, and boots into an archive that holds a
static busybox of its processor, tests/kernel/processor-init and the modules. Results come by
the console. Its clock counts instructions and goes to the next timer whenever nothing runs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import splat  # noqa: E402

from lablib import busybox, machine  # noqa: E402
from lablib.error import LabError  # noqa: E402
from lablib.initramfs import Archive  # noqa: E402
from lablib.qemu import die_with_parent  # noqa: E402

from . import build  # noqa: E402

RESULTS = build.TOP / "build/emulated"
INIT = build.TOP / "tests/kernel/processor-init"
MEMORY = "1024M"
# Said of the modules, and by INIT of what it has found
STATUS = re.compile(r"openipoib-kunit: status (\d+)$")
LEAK = re.compile(r"openipoib-leak: (.*)$")
# Longer than any case takes; a kernel that has lost its stack neither says so nor ends.
SILENCE_SECONDS = 900
EXIT_SPLAT, EXIT_TIMEOUT, EXIT_DIED = 97, 98, 99    # as uml-run has them


def _say(line: str) -> None:
    print(f"test-kernel: {line}", flush=True)


def _busybox(variant: build.Variant) -> Path:
    try:
        return busybox.fetch(variant.processor, _say)
    except LabError as error:
        raise build.BuildError(str(error)) from None


def provide(variant: build.Variant) -> None:
    """See that what builds and boots @variant is here. BuildError says what cannot be had."""
    for program in (f"{variant.prefix}gcc", machine.MACHINES[variant.processor].program):
        if not shutil.which(program):
            raise build.BuildError(f"no {program} for the kernel {variant.name} "
                                   "(scripts/bootstrap features)")
    try:
        machine.MACHINES[variant.processor].start(_say)
    except LabError as error:
        raise build.BuildError(str(error)) from None
    _busybox(variant)


def _archive(program: Path, modules: list[Path], script: Path) -> bytes:
    """What the kernel boots into."""
    archive = Archive()
    for name in ("bin", "dev", "proc", "sys", "lib"):
        archive.folder(name)
    archive.device("dev/console", 5, 1)
    archive.file("init", INIT.read_bytes(), 0o755)
    archive.file("kunit.sh", script.read_bytes())
    archive.file("bin/busybox", program.read_bytes(), 0o755)
    for path in modules:
        archive.file(f"lib/{path.name}", path.read_bytes())
    archive.file("order", "".join(f"/lib/{path.name}\n" for path in modules).encode())
    return archive.bytes()


def command(variant: build.Variant, image: Path, out: Path) -> list[str]:
    """QEMU's command line."""
    emulated = machine.MACHINES[variant.processor]
    return [*emulated.command("tcg"), "-m", MEMORY, "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-icount", "shift=0,sleep=off",
            "-chardev", f"file,id=console,path={out}/console", "-serial", "chardev:console",
            "-kernel", str(image), "-initrd", str(out / "initramfs"),
            "-append", f"console={emulated.console} ignore_loglevel printk.devkmsg=on panic=-1 "
                       "rdinit=/init"]


def judge(out: Path, trouble: bool) -> int:
    """The exit status that uml-run would have, by the console; leaves there what kmemleak said."""
    lines = (out / "console").read_text(encoding="utf-8", errors="replace").splitlines()
    said = [splat.message(line) for line in lines]
    leaks = [found[1] for line in said if (found := LEAK.match(line))]
    (out / "kmemleak").write_text("".join(f"{line}\n" for line in leaks), encoding="utf-8")
    status = next((int(found[1]) for line in said if (found := STATUS.match(line))), None)
    if trouble:
        return EXIT_TIMEOUT
    if status is None:
        return EXIT_DIED
    return EXIT_SPLAT if splat.scan(lines) or splat.scan(leaks) else status


def why_ended(process: subprocess.Popen, console: Path, seconds: float, silence: float) -> str:
    """Wait for @process. Why it was ended after @seconds, or when @console did not grow for
    @silence seconds; "": it has ended by itself."""
    start = grown = time.monotonic()
    size = 0
    while True:
        try:
            process.wait(timeout=min(seconds, silence, 5))
            return ""
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        if console.stat().st_size != size:
            size, grown = console.stat().st_size, now
        if now - start < seconds and now - grown < silence:
            continue
        process.kill()
        process.wait()
        return f"not finished after {seconds:g} s" if now - start >= seconds else \
            f"nothing on the console for {silence:g} s"


def boot(variant: build.Variant, modules: list[Path], script: Path, out: Path, seconds: float) -> int:
    """Have the kernel run @script, which loads the modules. The exit status is uml-run's."""
    out.mkdir(parents=True, exist_ok=True)
    for stale in ("console", "kmemleak"):
        (out / stale).unlink(missing_ok=True)
    (out / "initramfs").write_bytes(_archive(_busybox(variant), modules, script))
    (out / "console").touch()       # also if QEMU does not start
    with open(out / "run.log", "w", encoding="utf-8") as log:
        try:
            process = subprocess.Popen(command(variant, build.tree(variant) / variant.image, out),
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       preexec_fn=die_with_parent())
            trouble = why_ended(process, out / "console", seconds, SILENCE_SECONDS)
            print(f"{process.args[0]}: {trouble or f'status {process.returncode}'}", file=log)
        finally:
            (out / "initramfs").unlink()
    return judge(out, bool(trouble))
