# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# A process that stays.
sleep 1000 &
