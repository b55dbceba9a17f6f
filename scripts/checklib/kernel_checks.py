# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Checks of the kernel modules' sources."""

import re
import shutil
import tarfile
from pathlib import Path

from lablib import kernel as kernels

from . import memo, tree
from .checks import Skip, run, tool
from .tree import BUILD, TOP

KERNELS = ("6.1", "6.12")
TOOLS = BUILD / "tools"
MIRROR = BUILD / "check"
# What does not apply to modules that live outside the kernel's tree:
#   FILE_PATH_CHANGES, MAINTAINERS: there is no such file here
#   LINUX_VERSION_CODE: allowed in drivers/compat alone, see versions()
#   CONSTANT_COMPARISON: takes LINUX_VERSION_CODE for a constant
#   TYPO_SPELLING: wants American spelling; codespell looks for real mistakes
CHECKPATCH_IGNORE = "FILE_PATH_CHANGES,LINUX_VERSION_CODE,CONSTANT_COMPARISON,TYPO_SPELLING"


def _checkpatch():
    """checkpatch.pl with its data files, from the package linux-source-6.1."""
    script = TOOLS / "checkpatch" / "checkpatch.pl"
    if script.exists():
        return script
    archive = Path("/usr/src/linux-source-6.1.tar.xz")
    if not archive.exists():
        raise RuntimeError(f"no {archive}: run scripts/bootstrap")
    wanted = {"checkpatch.pl", "spelling.txt", "const_structs.checkpatch"}
    fresh = TOOLS / "checkpatch.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    with tarfile.open(archive) as source:
        for member in source:
            path = Path(member.name)
            if path.name in wanted and path.parent.name == "scripts" and len(path.parts) == 3:
                (fresh / path.name).write_bytes(source.extractfile(member).read())
                wanted.discard(path.name)
                if not wanted:
                    break
    fresh.rename(script.parent)
    return script


def checkpatch():
    """The kernel's own style checker, strict."""
    script = _checkpatch()
    command = ["perl", script, "--no-tree", "--strict", "--terse", "--show-types",
               "--ignore", CHECKPATCH_IGNORE, "--max-line-length=100", "-f"]
    data = sorted(script.parent.iterdir())
    return memo.each(tree.kernel_sources(),
                     lambda name: memo.key(*command, *data, name, TOP / name),
                     lambda name: tool([*command, name]))


def _complaints(output):
    pattern = re.compile(r"(warning|error|Error \d+)[: ]")
    return [line for line in output.splitlines() if pattern.search(line)]


def _build_key(kernel, what):
    """All that a build of the modules for @kernel depends on."""
    found = kernels.find(kernel)
    release, build = found.release, found.headers
    dates = [(build / name).stat().st_mtime_ns for name in ("Makefile", "Module.symvers",
                                                            "include/generated/autoconf.h")]
    names = [name for name in tree.files()
             if name.startswith(("drivers/", "tests/kunit/", "scripts/build-modules"))
             or name in ("Kbuild", "VERSION")]
    return memo.key(what, release, *dates, memo.version("gcc"), memo.version("sparse"),
                    Path(__file__), *(TOP / name for name in names))


def _sparse(kernel):
    return memo.once(_build_key(kernel, "sparse"), lambda: _run_sparse(kernel))


def _run_sparse(kernel):
    status, output = run([TOP / "scripts/build-modules", kernel, "W=1", "C=2",
                          "CF=-D__CHECK_ENDIAN__"], env={"MODULES_MIRROR": str(MIRROR)})
    found = _complaints(output)
    return found or (output.splitlines() if status else [])


def sparse_6_1():
    """sparse and the compiler's W=1 warnings, kernel 6.1."""
    return _sparse("6.1")


def sparse_6_12():
    """sparse and the compiler's W=1 warnings, kernel 6.12."""
    return _sparse("6.12")


def without_connected_mode():
    """The driver builds without connected mode, kernel 6.1."""
    return memo.once(_build_key("6.1", "no connected mode"), _build_without_connected_mode)


def _build_without_connected_mode():
    status, output = run([TOP / "scripts/build-modules", "6.1", "W=1", "CONFIG_OPENIPOIB_CM=n"],
                         env={"MODULES_MIRROR": str(BUILD / "check-no-cm")})
    found = _complaints(output)
    return found or (output.splitlines() if status else [])


def headers():
    """Every kernel header compiles alone, on each kernel."""
    return memo.each(KERNELS, lambda kernel: _build_key(kernel, "headers"), _compile_headers)


def _compile_headers(kernel):
    names = [name for name in tree.with_suffix(".h", under="drivers/")
             if not name.startswith("drivers/compat/")]
    if not names:
        raise Skip("no headers yet")
    release = kernels.find(kernel).release
    folder = MIRROR / "headers" / release
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    objects = []
    for name in names:
        stem = re.sub(r"\W", "_", name)
        # Twice: it must also guard against being included again.
        (folder / f"{stem}.c").write_text(f'#include "{TOP / name}"\n' * 2)
        objects.append(f"{stem}.o")
    compat = TOP / "drivers/compat"
    (folder / "Kbuild").write_text(
        f"obj-y := {' '.join(objects)}\n"
        f'ccflags-y := -I{compat} -include {compat}/compat.h '
        f'-DOPENIPOIB_VERSION=\\"check\\" -Wall -Werror\n'
        f"ccflags-y += -D'pr_fmt(fmt)=KBUILD_MODNAME \": \" fmt' "
        "-Wno-unused-function -Wno-unused-const-variable\n")
    status, output = run(["make", "-s", "-C", kernels.find(kernel).headers,
                          f"M={folder}", "-j2", *objects])
    return [f"{kernel}: {line}" for line in output.splitlines()] if status else []


def kernel_doc():
    """Every kernel-doc comment is well formed."""
    script = kernels.find("6.1").headers / "scripts/kernel-doc"
    return tool(["perl", script, "-Werror", "-none", *tree.kernel_sources()])


def versions():
    """Kernel versions are compared in drivers/compat and nowhere else."""
    found = []
    for name in tree.kernel_sources():
        if name.startswith("drivers/compat/"):
            continue
        for number, line in enumerate((TOP / name).read_text().splitlines(), 1):
            if "LINUX_VERSION_CODE" in line or "KERNEL_VERSION(" in line:
                found.append(f"{name}:{number}: belongs into drivers/compat: {line.strip()}")
    return found
