# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The kernels that Debian's other suites have, to build modules against and to boot guests with.

Their packages come from the mirror that apt has its packages from, by lists of their own,
and are unpacked into the cache: CACHE/suites/<release>, laid out as from /, with a link
there by the name of the suite. First there are the headers alone, a tenth of all. A tree
whose compiler is not on this machine, or whose tools want a newer libc, is made to do with
what there is.

A suite is named as apt names it, and for another processor with Debian's name of that:
sid:arm64. Its modules are built by a cross compiler.
"""

import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from . import debian
from .error import LabError
from .place import CACHE

# The oldest first
SUITES = ("bullseye", "bullseye-security", "bookworm", "bookworm-security", "bookworm-backports",
          "trixie", "trixie-security", "trixie-backports", "forky", "sid", "experimental")
KERNELS = CACHE / "suites"
HERE = "amd64"
# Other processors -> prefix of the compiler for them
CROSS = {"arm64": "aarch64-linux-gnu-", "s390x": "s390x-linux-gnu-", "ppc64el": "powerpc64le-linux-gnu-"}
# Processors -> what Debian calls the kernel for them, where that is another name
FLAVOURS = {"ppc64el": "powerpc64le"}
LIBC = "libc6"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# What newer compilers can do. The kernel's Makefile and headers ask for it by these names. With
# one that aligns no cold functions, the headers declare none: ftrace of arm64 wants all aligned.
COMPILER_OPTIONS = ("CC_HAS_MIN_FUNCTION_ALIGNMENT", "CC_HAS_SANE_FUNCTION_ALIGNMENT",
                    "CC_HAS_MULTIDIMENSIONAL_NONSTRING", "CC_HAS_COUNTED_BY", "CC_HAS_COUNTED_BY_PTR")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
WRAPPER = """#!/bin/sh
exec {loader} --library-path {libraries}:/{host} "$0.elf" "$@"
"""


def _mirror(is_security):
    """Where apt has Debian's packages from. A mirror has security updates beside the rest."""
    uris = debian.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"]).split()
    if is_security:
        uris += [re.sub(r"/debian/?$", "/debian-security/", uri) for uri in uris]
    ours = r"/debian-security/?$" if is_security else r"/debian/?$"
    found = next((uri for uri in uris if re.search(ours, uri)), None)
    if found is None:
        raise LabError("apt has no packages of Debian's here, or no lists of them (apt-get update)", 1)
    return found


def parse(name):
    """Suite and processor of a name such as sid or sid:arm64; None if it is no such name."""
    suite, _, arch = name.partition(":")
    arch = arch or HERE
    return (suite, arch) if suite in SUITES and (arch == HERE or arch in CROSS) else None


def processor(release):
    """Debian's name of the processor that its kernel @release is for."""
    return next((arch for arch in CROSS if release.endswith(f"-{FLAVOURS.get(arch, arch)}")), HERE)


class Apt:
    """apt with lists of one suite, below a folder that goes afterwards."""

    def __init__(self, suite, folder, arch=HERE):
        base = Path(folder, "apt")
        for name in ("lists/partial", "cache/archives/partial"):
            (base / name).mkdir(parents=True)
        # What a suite builds on has the rest of its packages.
        suites = {suite, re.sub("-(security|backports)$", "", suite)}
        (base / "status").touch()       # apt has its lock beside it
        (base / "sources.list").write_text("".join(
            f"deb [signed-by={KEYRING}] {_mirror(name.endswith('-security'))} {name} main\n"
            for name in sorted(suites)))
        settings = {"APT::Default-Release": suite, "Dir::Etc::sourcelist": base / "sources.list",
                    "Dir::Etc::sourceparts": "/dev/null",
                    "Dir::State::lists": base / "lists", "Dir::State::status": base / "status",
                    "Dir::Cache": base / "cache", "APT::Architecture": arch,
                    "APT::Architectures": ",".join({arch, HERE}),
                    "Acquire::Languages": "none", "Acquire::Retries": "3"}
        if os.getuid() == 0:
            settings["APT::Sandbox::User"] = "root"
        self._options = [word for item in settings.items() for word in ("-o", "=".join(map(str, item)))]
        self._lists = f"{suite} ({arch})"

    def _run(self, program, *words, **options):
        return debian.run([program, "-q", *self._options, *words],
                          called=f"{program} {words[0]}, {self._lists}", **options)

    def get(self, *words, **options):
        return self._run("apt-get", *words, **options)

    def needs(self, package):
        """The packages that @package depends on."""
        return debian.depends(self._run("apt-cache", "show", "--no-all-versions", package))


def _change(path, *changes):
    text = path.read_text()
    for pattern, by in changes:
        text = re.sub(pattern, by, text, flags=re.MULTILINE)
    path.write_text(text)


def _use_compiler(tree, prefix):
    """Compile with gcc, whichever it is, unless the one is here that the tree wants."""
    variables = tree / ".kernelvariables"
    if not variables.exists():      # not Debian's
        return
    if prefix:      # 6.1 leaves it to the variables of a package's build
        _change(variables, (r"^ifneq [^\n]*\n[^\n]*CROSS_COMPILE[^\n]*\nendif\n",
                            f"override CROSS_COMPILE = {prefix}\n"))
    wanted = re.search(r"\bgcc-\d+\b", variables.read_text())
    if not wanted or shutil.which(f"{prefix}{wanted[0]}"):
        return
    _change(variables, (rf"\b{wanted[0]}\b", "gcc"))
    names = "|".join(COMPILER_OPTIONS)
    # BTF of modules is made with the kernel's own, by a pahole as new as its compiler.
    _change(tree / "include/config/auto.conf", (rf"^CONFIG_({names}|DEBUG_INFO_BTF_MODULES)=.*\n", ""),
            (r"^CONFIG_PAHOLE_VERSION=.*", "CONFIG_PAHOLE_VERSION=$(PAHOLE_VERSION)"))
    _change(tree / "include/generated/autoconf.h", (rf"^#define CONFIG_({names}) .*\n", ""))


def _is_program(path):
    if path.is_symlink() or not path.is_file() or not os.access(path, os.X_OK):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _wrap_tools(root, libc):
    """Have the tools below @root that want a newer libc use the one that is unpacked in @libc."""
    wanting = [path for path in root.glob("usr/lib/linux-kbuild-*/**/*") if _is_program(path)
               and "not found (required by" in debian.run(["sh", "-c", 'ldd "$0" 2>&1', path])]
    if not wanting:
        return
    if not libc.is_dir():
        raise LabError(f"{wanting[0].name} of these headers wants a newer libc than this machine has")
    libraries = next(libc.glob("**/libc.so.6")).parent
    loader = next(libc.glob("**/ld-linux-x86-64.so.2"))
    for path in wanting:
        path.rename(f"{path}.elf")
        path.write_text(WRAPPER.format(loader=loader.resolve(), libraries=libraries, host=LIBRARIES))
        path.chmod(0o755)


def adapt(root, release, libc, prefix=""):
    """Make modules compile with the headers in @root on this machine. @root stays where it is.

    @libc: folder with that of their release unpacked, for tools that want it; may be missing
    @prefix: of the names of a cross compiler
    """
    tree = root / "usr/src" / f"linux-headers-{release}"
    _change(tree / "Makefile", (r"^include /usr/src/", "include ../"),
            (r"^KBUILD_OUTPUT=.*", f"KBUILD_OUTPUT={tree}"))
    _use_compiler(tree, prefix)
    _wrap_tools(root, libc)
    build = root / "lib/modules" / release / "build"
    build.parent.mkdir(parents=True, exist_ok=True)
    build.unlink(missing_ok=True)
    build.symlink_to(tree)


def find(suite):
    """The folder in which modules are built for @suite's kernel; LabError if it is not here."""
    link = KERNELS / suite
    if not link.is_symlink() or not link.exists():
        raise LabError(f"no headers of {suite}'s kernel here: scripts/debian-kernel get {suite}", 1)
    release = link.readlink().name
    return KERNELS / release / "lib/modules" / release / "build"


def here():
    """The suites whose headers are here, with the release of each: of equal ones only the first."""
    found = {}
    for suite in (*SUITES, *(f"{suite}:{arch}" for arch in CROSS for suite in SUITES)):
        if (KERNELS / suite).exists():
            found.setdefault((KERNELS / suite).readlink().name, suite)
    return {suite: release for release, suite in found.items()}


def release(suite):
    """The release of @suite's kernel, as far as it is here; LabError if nothing of it is."""
    return find(suite).parent.name


def _has_image(release):
    return debian.is_whole(KERNELS / release, release)


def _download(name, folder, progress, with_image):
    """Put the packages that are not here yet into folders in @folder; the release of the kernel."""
    suite, arch = parse(name)
    apt = Apt(suite, folder, arch)
    progress(f"apt's lists of {name}")
    apt.get("update")
    newest = f"linux-headers-{FLAVOURS.get(arch, arch)}"
    headers = next((one for one in apt.needs(newest) if re.match(r"linux-headers-\d", one)), None)
    if headers is None:
        raise LabError(f"{name} has no {newest}")
    release = headers.removeprefix("linux-headers-")
    wanted = {}
    if not (KERNELS / release).is_dir():
        # The tools run here.
        wanted["headers"] = [f"{LIBC}:{HERE}", *(
            f"{one}:{HERE}" if one.startswith("linux-kbuild-") else one
            for one in debian.headers_of(release, apt.needs))]
    if with_image and not _has_image(release):
        wanted["image"] = debian.image_of(release, apt.needs)
    for what, packages in wanted.items():
        progress(f"downloading the {what} of {name}'s kernel {release}")
        Path(folder, what).mkdir()
        apt.get("download", *packages, cwd=Path(folder, what))
    return release


def _unpack_headers(packages, folder, release, prefix):
    """Unpack headers from the folder @packages to where they stay."""
    target, root = KERNELS / release, Path(folder, "root")
    files = set(packages.glob("*.deb"))
    libc = set(packages.glob(f"{LIBC}_*"))
    debian.unpack(sorted(files - libc), root)
    debian.unpack(sorted(libc), root / "libc")
    root.rename(target)
    try:
        adapt(target, release, target / "libc", prefix)
    except BaseException:
        shutil.rmtree(target)
        raise


def _unpack_image(packages, folder, release):
    """Add image and modules from the folder @packages to the headers that are here."""
    target, root = KERNELS / release, Path(folder, "image-root")
    debian.unpack(sorted(packages.glob("*.deb")), root)
    modules = Path("lib/modules", release)
    for path in (root / modules).iterdir():
        if path.name not in ("build", "source"):
            _replace(path, target / modules / path.name)
    if (root / "boot").exists():    # else it is with the modules
        _replace(root / "boot", target / "boot")
    debian.index_modules(target, release)
    if not _has_image(release):
        raise LabError(f"the packages of Debian's kernel {release} have no image and modules")


def _replace(path, target):
    """Move @path to @target, which an attempt that was interrupted may have left."""
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
    path.rename(target)


def _is_older(link, days):
    return days is not None and time.time() - link.lstat().st_mtime > days * 86400


def fetch(suite, progress, with_image=False, days=None):
    """Bring the headers of @suite's newest kernel into the cache, and image and modules if asked
    for, unless some are there that were asked for within so many @days."""
    with debian.locked(KERNELS, progress), \
            tempfile.TemporaryDirectory(prefix=debian.UNFINISHED, dir=KERNELS) as name:
        link, folder = KERNELS / suite, Path(name)
        if link.is_symlink() and link.exists() and (
                not with_image or _has_image(link.readlink().name)) and not _is_older(link, days):
            return
        release = _download(suite, folder, progress, with_image)
        if (folder / "headers").exists():
            _unpack_headers(folder / "headers", folder, release, CROSS.get(parse(suite)[1], ""))
        if (folder / "image").exists():
            _unpack_image(folder / "image", folder, release)
        link.unlink(missing_ok=True)
        link.symlink_to(release)
