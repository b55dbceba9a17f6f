# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Checks of the kernel modules' sources."""

import shutil
import tarfile
from pathlib import Path

from kernellib import source
from kernellib.error import BuildError
from lablib import debian_suite
from lablib import kernel as kernels
from lablib.error import LabError

from . import kernel_builds, memo, tree
from .checks import Skip, tool
from .tree import BUILD, TOP

KERNELS = ("6.1", "6.12")
STYLE_OF = "linux-source-6.1"
NEWEST = "trixie-backports"
DAYS = 7    # after which a newer kernel of a suite is looked for
# What is too old to be built for is left out: docs/kernels.md says where that ends.
SUITES = tuple(suite for suite in debian_suite.SUITES if not suite.startswith("bullseye"))
# The oldest and the newest kernel, for each processor that there is a cross compiler for
ELSEWHERE = tuple(f"{suite}:{arch}" for arch in debian_suite.CROSS for suite in ("bookworm", NEWEST))
TOOLS = BUILD / "tools"
# What does not apply to modules that live outside the kernel's tree:
#   FILE_PATH_CHANGES, MAINTAINERS: there is no such file here
#   LINUX_VERSION_CODE: versions() says the same
#   TYPO_SPELLING: wants American spelling; codespell looks for real mistakes
CHECKPATCH_IGNORE = "FILE_PATH_CHANGES,LINUX_VERSION_CODE,TYPO_SPELLING"


def _checkpatch():
    """checkpatch.pl with its data files, from the package linux-source-6.1."""
    script = TOOLS / "checkpatch" / "checkpatch.pl"
    if script.exists():
        return script
    try:
        source.provide(STYLE_OF, lambda line: None)
        archive = source.tarball(STYLE_OF)
    except BuildError as error:
        raise RuntimeError(str(error)) from error
    wanted = {"checkpatch.pl", "spelling.txt", "const_structs.checkpatch"}
    fresh = TOOLS / "checkpatch.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    with tarfile.open(archive) as files:
        for member in files:
            path = Path(member.name)
            if path.name in wanted and path.parent.name == "scripts" and len(path.parts) == 3:
                (fresh / path.name).write_bytes(files.extractfile(member).read())
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


def sparse_6_1():
    """sparse and the compiler's W=1 warnings, kernel 6.1."""
    return kernel_builds.sparse("6.1")


def sparse_6_12():
    """sparse and the compiler's W=1 warnings, kernel 6.12."""
    return kernel_builds.sparse("6.12")


def sparse_newest():
    """sparse and the compiler's W=1 warnings, the newest kernel for Debian's stable release."""
    kernel = _fetched(NEWEST)
    return kernel_builds.planted(kernel) or kernel_builds.sparse(kernel)


def all_kernels():
    """The modules build for every kernel whose headers Debian serves."""
    return _build_each(SUITES)


def other_processors():
    """The modules build for arm64, s390x and ppc64el, on the oldest and the newest kernel."""
    return _build_each(ELSEWHERE)


def _build_each(suites):
    """What is wrong with the modules for the kernels of @suites; Skip says which were not built."""
    found, built, missing = [], [], []
    for suite in suites:
        try:
            found += kernel_builds.whole(compilable(suite))
            built.append(suite)
        except Skip as reason:
            missing.append(str(reason))
    if missing and not found:
        raise Skip("; ".join([f"clean for {', '.join(built) or 'none'}", *missing]))
    return found


def compilable(suite):
    """@suite, with the headers of its kernel in the cache; Skip if it cannot be built for here."""
    compiler = kernel_builds.compiler(suite)
    if not shutil.which(compiler):
        raise Skip(f"no {compiler} for {suite}'s kernel (scripts/bootstrap features)")
    return _fetched(suite)


def _fetched(suite):
    """@suite, with the headers of its kernel in the cache."""
    try:
        debian_suite.fetch(suite, lambda line: None, days=DAYS)
    except LabError as error:
        if suite in debian_suite.here():
            return suite
        raise Skip(f"no headers of {suite}'s kernel can be had: {error}") from None
    return suite


def without_connected_mode():
    """The driver builds without connected mode, kernel 6.1."""
    return kernel_builds.without_connected_mode("6.1")


def headers():
    """Every kernel header compiles alone, on each kernel."""
    return [line for kernel in KERNELS for line in kernel_builds.compile_headers(kernel)]


def kernel_doc():
    """Every kernel-doc comment is well formed."""
    script = kernels.find("6.1").headers / "scripts/kernel-doc"
    return tool(["perl", script, "-Werror", "-none", *tree.kernel_sources()])


def versions():
    """Kernel versions are compared nowhere: drivers/compat asks the kernel what it is like."""
    found = []
    for name in tree.kernel_sources():
        for number, line in enumerate((TOP / name).read_text().splitlines(), 1):
            if "LINUX_VERSION_CODE" in line or "KERNEL_VERSION(" in line:
                found.append(f"{name}:{number}: needs a probe in drivers/compat/probes: {line.strip()}")
    return found
