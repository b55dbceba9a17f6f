# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Memory of the kernel that nobody refers to any more.
set -e
insmod "$KUNIT_KO"
insmod "$PLANTED/leak_kunit.ko"
rmmod leak_kunit
rmmod kunit
