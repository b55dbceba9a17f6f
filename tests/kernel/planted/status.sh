# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# A check that fails.
exit 3
