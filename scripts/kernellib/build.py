# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Build the test kernels from Debian's linux-source packages, once.

A kernel lives in ~/.cache/openipoib/<name>-<key>: a build tree without object
files, against which modules still build, with its modules in modroot/. The key
is over the configuration fragments, the source's version and the compiler, so
that a change of any gives another kernel. build/kernels/<name> links to it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lablib.debian_suite import CROSS
from lablib.place import CACHE

from . import source as sources
from .error import BuildError

TOP = Path(__file__).resolve().parents[2]
FRAGMENTS = TOP / "tests/kernel"
LAYOUT = "1"            # changes with what a cached tree holds
KEY_DIGITS = 12
PROGRESS_SECONDS = 15

# Kept of the sources for building modules against them.
SOURCE_KEEP = ("include", "scripts")
SOURCE_DIVIDED = ("arch", "tools")
SOURCE_ARCH = ("arm64", "s390", "um", "x86")
SOURCE_TOOLS = ("build", "include", "lib", "objtool", "scripts")
# What Linux knows of the state of a processor's registers in User-Mode Linux, until it asks the
# host (7.3 does): 2696 octets, as AVX-512 has them. A host takes back no less than all that
# its processor has (ptrace(2), PTRACE_SETREGSET), which is 11008 with AMX.
FEW_REGISTERS = "DEFINE_LONGS(HOST_FP_SIZE, 2696);"
ENOUGH_REGISTERS = "DEFINE_LONGS(HOST_FP_SIZE, 12288);"
REGISTERS = "arch/x86/um/user-offsets.c"
DROP = re.compile(r"(\.o|\.a|\.cmd|\.ko|\.mod|\.mod\.c|\.d|\.order|\.su)$|^\.tmp|^\.vmlinux"
                  r"|^vmlinux($|\.)|^modules-only")


@dataclass(frozen=True)
class Variant:
    """A kernel of ours.

    base:    where unnamed options come from: "default" or "none"
    image:   what it boots from, in the build tree
    files:   about how many files its build compiles, for the progress line
    release: of Linux, as the package with the sources has it in its name
    processor: Debian's name of one that is not this machine's, or nothing
    """

    name: str
    what: str
    arch: str
    base: str
    fragments: tuple[str, ...]
    image: str
    targets: tuple[str, ...]
    files: int
    release: str = "6.1"
    processor: str = ""

    @property
    def package(self) -> str:
        return f"linux-source-{self.release}"

    @property
    def prefix(self) -> str:
        """Of the names of the compiler and its tools."""
        return CROSS.get(self.processor, "")


VARIANTS = {v.name: v for v in (
    Variant("uml", "User-Mode Linux with KASAN, lockdep, kmemleak, failslab, time travel",
            "um", "default", ("uml.config", "debug.config"), "linux", ("linux", "modules"), 1150),
    Variant("uml-6.12", "the same of Linux 6.12", "um", "default",
            ("uml.config", "debug.config", "uml-6.12.config"), "linux", ("linux", "modules"),
            1250, "6.12"),
    Variant("uml-7.3", "the same of Linux 7.3", "um", "default",
            ("uml.config", "debug.config", "uml-7.3.config"), "linux", ("linux", "modules"),
            1250, "7.3"),
    Variant("plain", "User-Mode Linux without any of that, to measure time on",
            "um", "default", ("uml.config", "plain.config"), "linux", ("linux", "modules"), 1000),
    Variant("test", "small x86_64, SMP and preemption",
            "x86_64", "none", ("x86.config",), "arch/x86/boot/bzImage", ("bzImage", "modules"), 2300),
    Variant("debug", "the same with KASAN, lockdep, atomic-sleep checks, kmemleak, fault injection",
            "x86_64", "none", ("x86.config", "debug.config", "debug-x86.config"),
            "arch/x86/boot/bzImage", ("bzImage", "modules"), 2400),
    Variant("race", "the same as test with KCSAN, to find data races",
            "x86_64", "none", ("x86.config", "race.config"), "arch/x86/boot/bzImage",
            ("bzImage", "modules"), 1400),
    Variant("arm64", "small arm64 with KASAN, lockdep, atomic-sleep checks, kmemleak",
            "arm64", "none", ("debug.config", "processors.config", "arm64.config"),
            "arch/arm64/boot/Image", ("Image", "modules"), 1300, processor="arm64"),
    Variant("arm64-64k", "the same with pages of 64 KiB",
            "arm64", "none", ("debug.config", "processors.config", "arm64.config", "arm64-64k.config"),
            "arch/arm64/boot/Image", ("Image", "modules"), 1300, processor="arm64"),
    Variant("s390x", "the same as arm64 on a big-endian processor",
            "s390", "none", ("debug.config", "processors.config", "s390x.config"),
            "arch/s390/boot/bzImage", ("bzImage", "modules"), 1300, processor="s390x"),
)}


def _run(command: list[str], what: str, **options) -> subprocess.CompletedProcess:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    except FileNotFoundError:
        raise BuildError(f"no {command[0]}") from None
    if result.returncode:
        raise BuildError(f"{what}: {result.stderr.strip()[-2000:]}")
    return result


def key(variant: Variant) -> str:
    """What tells this kernel from one built of other parts."""
    digest = hashlib.sha256()
    compiler = _run([f"{variant.prefix}gcc", "--version"], "gcc").stdout.splitlines()[0]
    for part in (LAYOUT, sources.version(variant.package), compiler, variant.arch, variant.base):
        digest.update(part.encode() + b"\0")
    for fragment in variant.fragments:
        # Comments do not make another kernel.
        lines = (FRAGMENTS / fragment).read_text(encoding="utf-8").splitlines()
        digest.update("\n".join(l for l in lines if l.startswith("CONFIG_")).encode() + b"\0")
    if variant.arch == "um":
        digest.update(ENOUGH_REGISTERS.encode())
    return digest.hexdigest()[:KEY_DIGITS]


def tree(variant: Variant) -> Path:
    """Where the kernel is or would be."""
    return CACHE / f"{variant.name}-{key(variant)}"


def is_built(variant: Variant) -> bool:
    return (tree(variant) / ".complete").exists()


def link(variant: Variant) -> Path:
    """build/kernels/<name>, made to point to the kernel."""
    place = TOP / "build/kernels" / variant.name
    place.parent.mkdir(parents=True, exist_ok=True)
    target = tree(variant)
    if not place.is_symlink() or place.readlink() != target:
        fresh = place.with_name(f".{variant.name}-{os.getpid()}")
        fresh.symlink_to(target)
        fresh.rename(place)
    return place


@contextmanager
def locked(folder: Path, what: str):
    """Hold a folder's lock; say what one waits for."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"test-kernel: {what} is under way; waiting for it", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _source(package: str) -> Path:
    """Where the sources are or would be."""
    return CACHE / f"source-{sources.version(package)}"


def _prunable(place: Path) -> list[Path]:
    """The folders of the sources that modules do not need."""
    kept = {place: SOURCE_KEEP + SOURCE_DIVIDED, place / "arch": SOURCE_ARCH,
            place / "tools": SOURCE_TOOLS}
    return [entry for folder, names in kept.items() for entry in folder.iterdir()
            if entry.is_dir() and entry.name not in names]


def _fill(place: Path, whole: Path) -> None:
    """Move into place what is missing there.

    The rest stays as it is: modules may be compiling against it.
    """
    place.mkdir(parents=True, exist_ok=True)
    for entry in whole.iterdir():
        if not (place / entry.name).exists():
            entry.rename(place / entry.name)
        elif entry.name in SOURCE_DIVIDED:
            _fill(place / entry.name, entry)


def unpack(package: str) -> Path:
    """The whole source tree, unpacked if it is not there. The cache must be locked."""
    place = _source(package)
    if (place / ".whole").exists():
        return place
    tarball = sources.tarball(package)
    print(f"test-kernel: unpacking {tarball.name}", flush=True)
    whole = place.with_name(f".{place.name}-new")
    shutil.rmtree(whole, ignore_errors=True)
    whole.mkdir(parents=True)
    _run(["tar", "-C", str(whole), "--strip-components=1", "-xf", str(tarball)], "tar")
    _fill(place, whole)
    shutil.rmtree(whole)
    (place / ".whole").touch()
    return place


def prune_source(package: str) -> None:
    """Leave of the sources what modules need: the rest is 1.2 GB. The cache must be locked.

    Each folder goes at once, so that none is found in part if this is ended.
    """
    place = _source(package)
    if not (place / ".whole").exists():
        return
    (place / ".whole").unlink()
    gone = place.with_name(f".{place.name}-gone")
    shutil.rmtree(gone, ignore_errors=True)
    gone.mkdir()
    for number, folder in enumerate(_prunable(place)):
        folder.rename(gone / str(number))
    shutil.rmtree(gone)


def _make(source: Path, out: Path, variant: Variant, *words: str) -> list[str]:
    line = ["make", "-C", str(source), f"O={out}", f"ARCH={variant.arch}",
            f"-j{min(os.cpu_count() or 1, 8)}"]
    if shutil.which("ccache"):
        line += [f"CC=ccache {variant.prefix}gcc"]
    return line + list(words)


def _environment() -> dict[str, str]:
    """Nothing of the time, the user or the machine goes into the kernel."""
    return dict(os.environ, KBUILD_BUILD_TIMESTAMP="1970-01-01", KBUILD_BUILD_USER="openipoib",
                KBUILD_BUILD_HOST="openipoib", KBUILD_BUILD_VERSION="1", LC_ALL="C",
                CCACHE_BASEDIR=str(CACHE), CCACHE_NOHASHDIR="1")


def configure(source: Path, out: Path, variant: Variant) -> None:
    """Write .config and see that every line of the fragments took effect."""
    wanted: dict[str, str] = {}
    for fragment in variant.fragments:
        for line in (FRAGMENTS / fragment).read_text(encoding="utf-8").splitlines():
            if line.startswith("CONFIG_"):
                name, _, value = line.partition("=")
                wanted[name] = value
    out.mkdir(parents=True, exist_ok=True)
    if variant.processor:
        # Debian's Makefile reads it, also when modules are built.
        (out / ".kernelvariables").write_text(f"override ARCH = {variant.arch}\n"
                                              f"override CROSS_COMPILE = {variant.prefix}\n",
                                              encoding="utf-8")
    # "=n" means nothing to kconfig.
    text = "".join(f"# {n} is not set\n" if v == "n" else f"{n}={v}\n" for n, v in wanted.items())
    environment = _environment()
    if variant.base == "none":
        (out / "wanted.config").write_text(text, encoding="utf-8")
        environment["KCONFIG_ALLCONFIG"] = str(out / "wanted.config")
        command = _make(source, out, variant, "allnoconfig")
    else:
        (out / ".config").write_text(text, encoding="utf-8")
        command = _make(source, out, variant, "olddefconfig")
    _run(command, "configuration", env=environment)
    got = dict(line.split("=", 1) for line in (out / ".config").read_text(encoding="utf-8").splitlines()
               if line.startswith("CONFIG_"))
    missed = [f"{n}={v} (is {got.get(n, 'n')})" for n, v in wanted.items() if got.get(n, "n") != v]
    if missed:
        raise BuildError(f"kernel {variant.name}: not honoured: {', '.join(missed)}")


def enlarge_registers(source: Path) -> None:
    """Have User-Mode Linux keep the registers of every processor that a host may have."""
    place = source / REGISTERS
    text = place.read_text(encoding="utf-8")
    if FEW_REGISTERS in text:
        place.write_text(text.replace(FEW_REGISTERS, ENOUGH_REGISTERS), encoding="utf-8")
    elif "HOST_FP_SIZE, 2696" in text:
        raise BuildError(f"{place}: no line {FEW_REGISTERS!r} to change")


def _compile(source: Path, out: Path, variant: Variant) -> None:
    """Run the build, with a line of progress now and then."""
    start = shown = time.monotonic()
    done = 0
    with open(out / "build.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(_make(source, out, variant, *variant.targets),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env=_environment())
        for line in process.stdout:
            log.write(line)
            done += bool(re.match(r"\s+(CC|AS)\s", line))
            now = time.monotonic()
            if now - shown >= PROGRESS_SECONDS:
                shown = now
                print(f"test-kernel: {variant.name}: {done} of about {variant.files} files, "
                      f"{now - start:.0f} s", flush=True)
        if process.wait():
            log.flush()
            tail = (out / "build.log").read_text(encoding="utf-8").splitlines()[-30:]
            raise BuildError(f"kernel {variant.name} does not build; {out}/build.log ends:\n  "
                             + "\n  ".join(tail))
    print(f"test-kernel: {variant.name}: compiled {done} files in "
          f"{time.monotonic() - start:.0f} s", flush=True)


def _strip(out: Path, variant: Variant) -> None:
    """Remove from a build tree what building modules and booting do not need."""
    image = out / variant.image
    for folder, names, files in os.walk(out, topdown=True):
        if Path(folder) == out:
            names.remove("modroot")
        for name in files:
            path = Path(folder) / name
            if path != image and not path.is_symlink() and DROP.search(name):
                path.unlink()


def build(variant: Variant, force: bool = False, prune: bool = True) -> Path:
    """The kernel's tree, built if it is not in the cache."""
    sources.provide(variant.package, lambda line: print(f"test-kernel: {line}", flush=True))
    if is_built(variant) and not force:
        return link(variant)
    # One at a time: they share the sources, and the machine is small.
    with locked(CACHE, "another build"):
        if is_built(variant) and not force:
            return link(variant)
        out = tree(variant)
        shutil.rmtree(out, ignore_errors=True)
        source = unpack(variant.package)
        print(f"test-kernel: building {variant.name}: {variant.what}", flush=True)
        if variant.arch == "um":
            enlarge_registers(source)
        configure(source, out, variant)
        _compile(source, out, variant)
        _run(_make(source, out, variant, "modules_install", "INSTALL_MOD_STRIP=1",
                   f"INSTALL_MOD_PATH={out}/modroot"), "modules_install", env=_environment())
        _strip(out, variant)
        (out / ".complete").touch()
        if prune:
            prune_source(variant.package)
        _forget_others(variant)
    return link(variant)


def _forget_others(variant: Variant, keep: int = 2) -> None:
    """Keep the newest few kernels of a name: each key that was tried leaves one."""
    keys = f"{variant.name}-{'[0-9a-f]' * KEY_DIGITS}"
    mine = sorted((p for p in CACHE.glob(keys) if (p / ".complete").exists()),
                  key=lambda p: (p / ".complete").stat().st_mtime, reverse=True)
    for old in mine[keep:]:
        shutil.rmtree(old, ignore_errors=True)


def size(path: Path) -> int:
    """Bytes of all files below path."""
    return sum(f.lstat().st_size for f in path.rglob("*") if f.is_file())


def named(name: str) -> Variant:
    if name not in VARIANTS:
        raise BuildError(f"no kernel '{name}': one of {', '.join(VARIANTS)}")
    return VARIANTS[name]


def show() -> None:
    """One line a kernel: is it there, how big, where."""
    for variant in VARIANTS.values():
        try:
            place = tree(variant)
            state = f"built, {size(place) >> 20} MB" if is_built(variant) else "not built"
        except BuildError as error:
            place, state = error, "not built"
        print(f"{variant.name:8} {state:16} {place}\n         {variant.what}", file=sys.stdout)
