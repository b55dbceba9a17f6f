# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# An interface that stays.
ip link add planted type dummy
