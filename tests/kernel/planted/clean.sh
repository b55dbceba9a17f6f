# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Nothing is wrong here, whatever comes before it or after it.
ip link add planted type dummy
ip link delete planted
