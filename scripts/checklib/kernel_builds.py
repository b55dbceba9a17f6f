# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Builds of the kernel modules that look for warnings.

A source is looked at when it, anything of ours that it includes, its flags, the kernel
or a tool has changed; those that have are built by one make. `scripts/check --fresh`
builds whole modules, so that modpost looks at them, too.
"""

import fcntl
import os
import re
import shutil
from pathlib import Path

from lablib import debian_suite
from lablib import kernel as kernels
from lablib.place import CACHE

from . import includes, memo, tree
from .checks import run
from .includes import Project
from .tree import BUILD, TOP

MIRROR = BUILD / "check"
MIRROR_WITHOUT_CM = BUILD / "check-no-cm"
# KBUILD_CHECKSRC: newer kernels look for a script whether sparse is there, which Debian's headers do
# not have, and go without it. Nor does sparse know __typeof_unqual__, and that the length of a literal
# is constant.
SPARSE = ("W=1", "C=2", "KBUILD_CHECKSRC=2", "CF=-D__CHECK_ENDIAN__ -D__typeof_unqual__=__typeof__ "
          "'-D__builtin_strlen(s)=(sizeof(s)-1)'")
# A fault that the compiler does not see, and what sparse has to say of it
PLANTED = "#include <linux/types.h>\n\n__be32 f(u32 x);\n__be32 f(u32 x) { return x; }\n"
FOUND = re.compile(r"planted\.c:4:\d+: warning: incorrect type in return expression")
# What says how modules are built, and what they are made of
MAKERS = (Path(__file__), Path(includes.__file__), tree.TOP / "scripts/build-modules")
WITHOUT_CM = ("W=1", "CONFIG_OPENIPOIB_CM=n")
COMPAT = "drivers/compat"
PROBES = {"OPENIPOIB_PROBES": str(CACHE / "probes")}
HEADER_FLAGS = (
    "include $(src)/$(compat-folder)/Kbuild.probe\n"
    f"ccflags-y := $(compat-answers) -I{TOP}/{COMPAT} -include {TOP}/{COMPAT}/compat.h "
    '-DOPENIPOIB_VERSION=\\"check\\" -Wall -Werror\n'
    "ccflags-y += -D'pr_fmt(fmt)=KBUILD_MODNAME \": \" fmt' "
    "-Wno-unused-function -Wno-unused-const-variable\n")

_COMPLAINT = re.compile(r"\b(warning|error|Error \d+|WARNING|ERROR)[: ]")
_FILE = re.compile(r"[^\s:()\[\]]+\.[cho]\b")


def release(kernel):
    """The release of a kernel: of a series, or the one of a suite of Debian's."""
    if debian_suite.parse(kernel):
        return debian_suite.find(kernel).parent.name
    return kernels.find(kernel).release


def headers(kernel):
    """The folder that modules for @kernel are built with."""
    if debian_suite.parse(kernel):
        return debian_suite.find(kernel)
    return kernels.find(kernel).headers


def compiler(kernel):
    """The compiler for @kernel: a cross compiler, if it is a suite of another processor."""
    suite = debian_suite.parse(kernel)
    return f"{debian_suite.CROSS.get(suite[1], '') if suite else ''}gcc"


def _kernel_key(kernel):
    """What every build for @kernel depends on beside the project's sources."""
    build = headers(kernel)
    dates = [(build / name).stat().st_mtime_ns for name in ("Makefile", "Module.symvers",
                                                            "include/generated/autoconf.h")]
    return memo.key(release(kernel), *dates, memo.version(compiler(kernel)), *MAKERS)


def _key(kernel, what, names):
    return memo.key(_kernel_key(kernel), *what, *(TOP / name for name in sorted(names)))


def _complaints(status, output):
    """The lines of a build that say what is wrong; all of them if it failed without a word."""
    found = [line for line in output.splitlines() if _COMPLAINT.search(line)]
    return found or ((output.splitlines() or [f"make: status {status}"]) if status else [])


def _files(line, folder):
    """The files that a line names, relative to @folder or to the top; an object's source."""
    for word in _FILE.findall(line):
        path = os.path.normpath(folder / word)
        base = next((f"{base}/" for base in (folder, TOP) if path.startswith(f"{base}/")), "")
        yield re.sub(r"\.o$", ".c", path.removeprefix(base))


def judge(status, output, folder, units):
    """What is wrong with a build in @folder, and the units with which nothing is wrong.

    @units: name -> (its object, names of the files that it is made of)

    A complaint of a header is held against all that include it, one that names no file of
    ours against all. What make says itself only repeats that there is no object.
    """
    found = _complaints(status, output)
    doubtful = {name for name, (target, _) in units.items() if not target.exists()}
    for line in found:
        if not line.startswith("make"):
            named = set(_files(line, folder))
            doubtful |= {name for name, (_, made_of) in units.items() if named & made_of} or set(units)
    if found and not doubtful:
        doubtful = set(units)
    if doubtful and not found:
        found = [f"{name}: no build makes it" for name in sorted(doubtful)]
    return found, [name for name in units if name not in doubtful]


def _build(kernel, mirror, words):
    """Build on after a failure, which must not hide another. Returns (status, output)."""
    name = kernel if debian_suite.parse(kernel) else release(kernel)
    return run([TOP / "scripts/build-modules", name, "-k", f"-j{tree.PROCESSORS}", *words],
               env=PROBES | {"MODULES_MIRROR": str(mirror)})


def sparse(kernel):
    """What sparse and W=1 say of the sources that have changed."""
    project = Project()
    what = ("sparse", memo.version("sparse"), *SPARSE)
    names = [name for name in tree.with_suffix(".c", under="drivers/")
             if not name.startswith(f"{COMPAT}/")]
    return memo.together(names,
                         lambda name: _key(kernel, what, project.inputs(name)),
                         lambda names: _run_sparse(kernel, names, project))


def _run_sparse(kernel, names, project):
    folder = MIRROR / release(kernel)
    units = {name: (folder / re.sub(r"\.c$", ".o", name), project.inputs(name)) for name in names}
    for target, _ in units.values():
        target.unlink(missing_ok=True)
    targets = [re.sub(r"\.c$", ".o", name) for name in names] if memo.is_used else ["modules"]
    return judge(*_build(kernel, MIRROR, [*SPARSE, *targets]), folder, units)


def planted(kernel):
    """What is wrong with sparse itself: built as the sources are, a planted fault must be found."""
    return memo.once(_key(kernel, ["planted", memo.version("sparse"), *SPARSE, PLANTED], []),
                     lambda: _run_planted(kernel))


def _run_planted(kernel):
    folder = MIRROR / "planted" / release(kernel)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "planted.c").write_text(PLANTED)
    (folder / "Kbuild").write_text("obj-m := planted.o\n")
    status, output = run(["make", "-s", "-C", headers(kernel), f"M={folder}", *SPARSE, "planted.o"])
    if FOUND.search(output):
        return []
    return [f"{kernel}: sparse does not find a planted fault, and so proves nothing",
            *_complaints(status, output)]


def without_connected_mode(kernel):
    """What W=1 and modpost say of ib_ipoib without connected mode.

    It is linked, since a function that only connected mode has is missed by nothing else.
    Hence the objects of the last build are kept, and make builds those that have changed.
    """
    project = Project()
    sources = tree.with_suffix(".c", under="drivers/ipoib/")
    names = set().union(*map(project.inputs, sources))
    words = [*WITHOUT_CM, "drivers/ipoib/ib_ipoib.ko"]
    return memo.once(_key(kernel, WITHOUT_CM, names), lambda: _build_whole(kernel, MIRROR_WITHOUT_CM, words))


def whole(kernel):
    """What W=1 and modpost say of all modules: whether they build for @kernel, and link."""
    project = Project()
    sources = [name for name in tree.with_suffix(".c", under="drivers/")
               if not name.startswith(f"{COMPAT}/")]
    names = set().union(*map(project.inputs, sources))
    found = memo.once(_key(kernel, ["whole"], names), lambda: _build_whole(kernel, MIRROR, ["W=1"]))
    return [f"{kernel}: {line}" for line in found]


def _forget(folder):
    """Have make build everything in @folder again."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:      # of scripts/build-modules
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in folder.rglob("*.o"):
            path.unlink(missing_ok=True)


def _build_whole(kernel, mirror, words):
    """What is wrong with a build that is linked: make says a warning once, so it is built again then."""
    folder = mirror / release(kernel)
    unsaid = folder / ".unsaid"     # what make has said may not have been heard
    if unsaid.exists() or not memo.is_used:
        _forget(folder)
    folder.mkdir(parents=True, exist_ok=True)
    unsaid.touch()
    found = _complaints(*_build(kernel, mirror, words))
    if not found:
        unsaid.unlink(missing_ok=True)
    return found


def compile_headers(kernel):
    """What the compiler says of the headers that have changed, each alone."""
    project = Project()
    names = [name for name in tree.with_suffix(".h", under="drivers/")
             if not name.startswith(f"{COMPAT}/")]
    made_of = {name: project.closure([name, f"{COMPAT}/compat.h"], (COMPAT,)) | project.probes()
               for name in names}
    return memo.together(names, lambda name: _key(kernel, ["headers", HEADER_FLAGS], made_of[name]),
                         lambda some: _run_headers(kernel, some, made_of))


def _run_headers(kernel, names, made_of):
    folder = MIRROR / "headers" / release(kernel)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    units = {}
    for name in names:
        stem = re.sub(r"\W", "_", name)
        # Twice: it must also guard against being included again.
        (folder / f"{stem}.c").write_text(f'#include "{TOP / name}"\n' * 2)
        units[name] = folder / f"{stem}.o", made_of[name] | {f"{stem}.c"}
    objects = [target.name for target, _ in units.values()]
    compat = os.path.relpath(TOP / COMPAT, folder)
    (folder / "Kbuild").write_text(f"obj-y := {' '.join(objects)}\ncompat-folder := {compat}\n{HEADER_FLAGS}")
    found, clean = judge(*run(["make", "-s", "-k", "-C", headers(kernel), f"M={folder}",
                               f"-j{tree.PROCESSORS}", *objects], env=PROBES), folder, units)
    return [f"{kernel}: {line}" for line in found], clean
