# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# The kernel does not live to see the end.
halt -f
