/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * High-resolution timers (hrtimer.h) before hrtimer_setup(), which sets the function as well.
 */
#ifndef COMPAT_HRTIMER_H
#define COMPAT_HRTIMER_H

#include <linux/hrtimer.h>

#if !COMPAT_HRTIMER_SETUP
static inline void compat_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *),
					clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

#define hrtimer_setup compat_hrtimer_setup
#endif

#endif /* COMPAT_HRTIMER_H */
