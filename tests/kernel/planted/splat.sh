# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Memory that is used after it was freed.
set -e
insmod "$KUNIT_KO"
insmod "$PLANTED/uaf_kunit.ko"
rmmod uaf_kunit
rmmod kunit
