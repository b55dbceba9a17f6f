# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A QEMU that emulates a processor as it is, where this machine's own is too old for that.

Before 8.2, the translation of code that s390x's MVC has overwritten is kept, unless it begins
where MVC does: a kernel that loads a module where there was another one runs pieces of that.
Debian 12 has 7.2. The QEMU of its backports is unpacked into the cache instead; it is not
installed.
"""

import re
import subprocess

from . import foreign
from .error import LabError

SUITE = "bookworm-backports"
VERSION = re.compile(r"^QEMU emulator version (\d+)\.(\d+)", re.MULTILINE)


def version(program):
    """Of QEMU's @program, as (8, 2); LabError if it does not say."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = VERSION.search(said.stdout)
    if not found:
        raise LabError(f"{program} --version does not say which QEMU it is: "
                       f"{(said.stdout + said.stderr).strip()[:200]!r}", 1)
    return int(found[1]), int(found[2])


def words(program, since, progress):
    """How the command line starts of a @program of QEMU's that is of version @since or later.

    program: qemu-system-PROCESSOR
    since:   (8, 2)
    Raises LabError if there is none here, and none can be had.
    """
    if version(program) >= since:
        return [program]
    wanted = ".".join(map(str, since))
    progress(f"{program} is older than {wanted}: that of {SUITE} is used")
    try:
        root = foreign.provide(SUITE, foreign.HERE, (program, "qemu-system-data"), progress,
                               with_dependencies=False)
    except LabError as error:
        raise LabError(f"{program} {wanted} or later is needed, because those before run code that "
                       f"has been overwritten: {error}") from None
    newer = root / "usr/bin" / program
    if version(newer) < since:
        raise LabError(f"{newer} is older than {wanted}, too", 1)
    return [str(newer), "-L", str(root / "usr/share/qemu")]
