// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.16: from_timer() became timer_container_of()
#include <linux/timer.h>

#ifdef PROBE_NEW
#define probe_from timer_container_of
#elif !defined(timer_container_of)
#define probe_from from_timer
#endif

struct probe {
	struct timer_list timer;
};

struct probe *probe(struct timer_list *t)
{
	struct probe *probe = probe_from(probe, t, timer);

	return probe;
}
