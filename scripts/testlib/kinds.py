# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The checks of scripts/check that look at a file, by its kind."""

from checklib import tree

EVERY = ("licence-lines", "whitespace", "spelling", "file-sizes", "reuse")
SHELL, PYTHON = ("shell",), ("python",)
# The second of each pair take longer than a commit should wait.
KERNEL = ("checkpatch", "kernel-doc", "versions"), ("sparse-6-1", "sparse-6-12", "headers")
CXX = ("cxx-format",), ("cxx-build", "cxx-headers", "cxx-lint")


def checks(changed):
    """The checks that take seconds, and those that take longer."""
    there = set(tree.files()) & set(changed)
    quick, slow = [*(EVERY if there else ())], []
    if there & set(tree.scripts("bash", ".sh") + tree.scripts("/bin/sh", ".sh")):
        quick += SHELL
    if there & set(tree.scripts("python3", ".py")):
        quick += PYTHON
    if there & set(tree.kernel_sources()):
        quick += KERNEL[0]
    drivers = [name for name in there if name.startswith("drivers/")]
    if drivers:
        slow += KERNEL[1]
    if any(name.startswith("drivers/ipoib/") for name in drivers):
        slow.append("without-connected-mode")
    if any(name.startswith("drivers/compat/") or "Kbuild" in name for name in drivers):
        slow.append("all-kernels")
    if any(name.endswith((".cc", ".hpp")) for name in there):
        quick += CXX[0]
        slow += CXX[1]
    return quick, slow
