# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# A scenario that waits for ever: its kernel has to tell what its processes do.
trap 'exit 0' USR1
exec {NEVER}<> <(:)
read -ru "$NEVER"
