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

#ifndef __ASSEMBLY__

/* <asm/unaligned.h> became <linux/unaligned.h> in 6.12. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

/* The third argument of ib_device_ops.create_cq changed in 6.11. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define compat_create_cq_arg ib_udata
#define compat_create_cq_udata(arg) (arg)
#else
#define compat_create_cq_arg uverbs_attr_bundle
#define compat_create_cq_udata(arg) (&(arg)->driver_udata)
#endif

/* The number of records in the answer to ib_sa_path_rec_get() lost its sign. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define compat_num_prs int
#else
#define compat_num_prs unsigned int
#endif

/* The speed XDR is known since 6.7. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define IB_SPEED_XDR 256
#endif

#endif /* __ASSEMBLY__ */

#endif /* OPENIPOIB_COMPAT_H */
