# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What goes wrong with kernels of ours."""


class BuildError(Exception):
    """A kernel that cannot be had, with what to do about it."""
