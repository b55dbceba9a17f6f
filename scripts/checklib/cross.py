# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The C++ programs and their unit tests, built for other processors and run by qemu-user.

Compilers are Debian's cross compilers, libraries those of the Debian that this machine has,
unpacked into the cache. A warning is an error, as it is in the build for this machine. The unit
tests have no sanitizers, but link what the programs consist of: on s390x, ASan's shadow memory
is beyond the address space that qemu-user has.
"""

import platform
import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from lablib import debian_suite, foreign
from lablib.error import LabError

from . import junit
from .tree import BUILD, TOP

# Processors, and how ELF headers name them: class, order of octets, machine
PROCESSORS = {"arm64": (2, "little", 183), "s390x": (2, "big", 22)}
PACKAGES = ("libbenchmark-dev", "libc6-dev", "libcli11-dev", "libfmt-dev", "libgmock-dev",
            "libgtest-dev", "libibmad-dev", "libibumad-dev", "libibverbs-dev", "libkmod-dev",
            "libnl-3-dev", "librdmacm-dev", "libssl-dev", "libsystemd-dev", "nlohmann-json3-dev")
COMPONENTS = ("tools", "fabric")
# Unit tests that cannot run by qemu-user: pattern of their names -> for which processors, and why
LEFT_OUT = {
    r"^Ethtool\.(SaysWhatIsNotThere|Features)$": (
        ("arm64", "s390x"), "qemu-user does not know the ioctl SIOCETHTOOL"),
    r"^BfdSocket\.": (
        ("arm64", "s390x"), "qemu-user does not know SO_BINDTOIFINDEX"),
    r"^NetlinkKernel\.(LoopbackAndItsAddresses|OfABatchEachIsAnswered)$": (
        ("s390x",), "qemu-user gives the kernel IFLA_MTU in the wrong order of octets"),
}
JOBS = "2"


class Missing(Exception):
    """What it takes is not here, and cannot be had."""


def triplet(processor):
    """The processor as compilers name it: s390x-linux-gnu."""
    return debian_suite.CROSS[processor].rstrip("-")


def emulator(processor):
    return f"qemu-{triplet(processor).partition('-')[0]}"


def lacking(processor):
    """The programs that are not here."""
    wanted = (f"{triplet(processor)}-g++", emulator(processor), "cmake", "ninja")
    return [name for name in wanted if shutil.which(name) is None]


def sysroot(processor):
    """The folder with libraries for @processor, of the release that this machine has."""
    if absent := lacking(processor):
        raise Missing(f"no {', '.join(absent)} here (scripts/bootstrap features)")
    try:
        suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
        return foreign.provide(suite, processor, PACKAGES, lambda line: print(f"cross-build: {line}",
                                                                              flush=True))
    except (LabError, OSError) as error:
        raise Missing(f"no libraries for {processor} can be had: {error}") from None


def _run(*words, **options):
    subprocess.run(words, cwd=TOP, check=True, **options)


def build(processor, folder):
    """Build everything into @folder, and install the programs into its folder root.

    Raises Missing; CalledProcessError if something does not build, which it has said itself.
    """
    libraries = sysroot(processor)
    # --fresh: what was found in another folder with libraries is forgotten.
    _run("cmake", "--fresh", "-S", ".", "-B", folder, "-G", "Ninja", "-DOPENIPOIB_FUZZ=OFF",
         "-DOPENIPOIB_SANITIZE=OFF", "-DCMAKE_INSTALL_PREFIX=/usr",
         "--toolchain", TOP / "scripts/cross-toolchain.cmake",
         f"-DCROSS_TRIPLET={triplet(processor)}", f"-DCROSS_SYSROOT={libraries}")
    _run("cmake", "--build", folder, "-j", JOBS)
    shutil.rmtree(folder / "root", ignore_errors=True)
    for component in COMPONENTS:
        _run("env", f"DESTDIR={folder.resolve() / 'root'}", "cmake", "--install", folder,
             "--component", component, stdout=subprocess.DEVNULL)
    return libraries


def programs(folder):
    """The programs that @folder has installed: all of them but scripts and other names."""
    return sorted(path for path in (folder / "root/usr/sbin").glob("*")
                  if not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF")


def elf(path):
    """What its header says: class, order of octets, machine."""
    with path.open("rb") as file:
        head = file.read(20)
    order = {1: "little", 2: "big"}.get(head[5], "?")
    return head[4], order, int.from_bytes(head[18:20], "big" if order == "big" else "little")


def attempt(program, processor, libraries):
    """Whether @program is for @processor, and can say what it is for."""
    name = f"{processor}.{program.name}"
    if elf(program) != PROCESSORS[processor]:
        return junit.Case(name, junit.FAILED, f"its ELF header says {elf(program)}")
    said = subprocess.run([emulator(processor), "-L", libraries, program, "--help"],
                          capture_output=True, text=True, check=False)
    if said.returncode or program.name not in said.stdout:
        return junit.Case(name, junit.FAILED, f"--help: status {said.returncode}: {said.stderr}")
    return junit.Case(name, junit.PASSED)


def units(processor, folder):
    """The unit tests' cases; those that are left out are skipped."""
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch, "ctest.xml")
        words = ["ctest", "--test-dir", folder, "-j", JOBS, "--output-on-failure", "--output-junit",
                 results]
        if patterns := [one for one, (processors, _) in LEFT_OUT.items() if processor in processors]:
            words += ["-E", "|".join(f"({pattern})" for pattern in patterns)]
        status = subprocess.run(words, cwd=TOP, check=False).returncode
        cases = junit.read(results) if results.exists() else []
    if not any(case.result == junit.PASSED for case in cases):
        cases.append(junit.Case("units", junit.FAILED, "no unit test passed"))
    elif status and not any(case.result == junit.FAILED for case in cases):
        # Of a program that is not there it says "not run", as of one that skips itself.
        cases.append(junit.Case("units", junit.FAILED, f"ctest: status {status}"))
    listed = subprocess.run(["ctest", "--test-dir", folder, "-N"], cwd=TOP, check=False,
                            capture_output=True, text=True).stdout
    cases += left_out(processor, re.findall(r"^ *Test +#\d+: (.*)$", listed, re.MULTILINE))
    return [replace(case, name=f"{processor}.{case.name}") for case in cases]


def left_out(processor, names):
    """Skipped cases of those among @names that cannot run for @processor; failed ones of patterns
    that fit none, because their tests have other names now."""
    cases = []
    for pattern, (processors, why) in LEFT_OUT.items():
        if processor not in processors:
            continue
        found = [name for name in names if re.search(pattern, name)]
        cases += [junit.Case(name, junit.SKIPPED, why) for name in found]
        if not found:
            cases.append(junit.Case(pattern, junit.FAILED, "left out, but there is no such test"))
    return cases


def cases(processor, folder):
    """What building and trying it comes to."""
    print(f"== {processor}", flush=True)
    try:
        libraries = build(processor, folder)
    except Missing as missing:
        return [junit.Case(processor, junit.SKIPPED, str(missing))]
    except subprocess.CalledProcessError as error:
        return [junit.Case(f"{processor}.build", junit.FAILED,
                           f"{' '.join(map(str, error.cmd[:2]))}: status {error.returncode}")]
    found = [attempt(program, processor, libraries) for program in programs(folder)]
    if not found:
        found = [junit.Case(f"{processor}.programs", junit.FAILED, "none was installed")]
    return [*found, *units(processor, folder)]


def default(processor):
    """Where it is built, unless another folder is named."""
    return BUILD / "cross" / processor
