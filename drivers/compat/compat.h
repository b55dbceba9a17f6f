/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Every difference between kernels of this project, and nothing else.
 *
 * The drivers are written against the newest kernel, without conditions. What an older
 * one spells differently is given its new name here, and in the other headers of this
 * folder. They ask how the kernel spells it (COMPAT_*, from a header that probe makes; see
 * probes/), not for its version: distributions take changes of later kernels into
 * earlier ones.
 *
 * Included before each source file by drivers/Kbuild.include.
 */
#ifndef OPENIPOIB_COMPAT_H
#define OPENIPOIB_COMPAT_H

#ifndef __ASSEMBLY__

#if COMPAT_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#if COMPAT_PATH_NUM_PRS
#define compat_num_prs unsigned int
#else
#define compat_num_prs int
#endif

#if !COMPAT_SPEED_XDR
#define IB_SPEED_XDR 256
#endif

#if !COMPAT_REG_USER_MR_DMAH
struct ib_dmah;
#endif

#if !COMPAT_TIMER_CONTAINER_OF
#define timer_container_of from_timer
#endif

#if !COMPAT_WQ_PERCPU
#define WQ_PERCPU 0
#endif

#endif /* __ASSEMBLY__ */

#endif /* OPENIPOIB_COMPAT_H */
