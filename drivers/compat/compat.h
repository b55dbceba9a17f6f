/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Every kernel-version difference of this project, and nothing else.
 *
 * Included before each source file by drivers/Kbuild.include, so that the
 * drivers themselves are written against the newest supported kernel and carry
 * no version checks.
 */
#ifndef OPENIPOIB_COMPAT_H
#define OPENIPOIB_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "openipoib needs Linux 6.1 or later"
#endif

#endif /* OPENIPOIB_COMPAT_H */
