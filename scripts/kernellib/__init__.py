# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Kernels to test on, and the runs that need one."""
