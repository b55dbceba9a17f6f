/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * For fuzzing, on kernels with CONFIG_KCOV: what softirqs and workers execute is
 * told to whoever traces SIB_COVER_HANDLE (tests/fuzz/kernel). What a system call
 * executes is traced by itself.
 */
#ifndef SIB_COVER_H
#define SIB_COVER_H

#include <linux/kcov.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#define SIB_COVER_HANDLE	1

/* A task that has a trace of its own must not begin another. */
static inline bool sib_cover_is_remote(void)
{
	return in_serving_softirq() || (in_task() && current->flags & PF_WQ_WORKER);
}

static inline void sib_cover_start(void)
{
	if (sib_cover_is_remote())
		kcov_remote_start(kcov_remote_handle(KCOV_SUBSYSTEM_COMMON, SIB_COVER_HANDLE));
}

static inline void sib_cover_stop(void)
{
	if (sib_cover_is_remote())
		kcov_remote_stop();
}

#endif /* SIB_COVER_H */
