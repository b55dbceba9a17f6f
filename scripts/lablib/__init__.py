# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The lab: virtual hosts on a software InfiniBand fabric (see docs/lab.md)."""
