// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.13: hrtimer_setup() does what hrtimer_init() does, and sets the function
#include <linux/hrtimer.h>

#ifdef PROBE_NEW
void probe(struct hrtimer *t, enum hrtimer_restart (*f)(struct hrtimer *));
void probe(struct hrtimer *t, enum hrtimer_restart (*f)(struct hrtimer *))
{
	hrtimer_setup(t, f, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}
#else
struct probe *hrtimer_setup;
#endif
