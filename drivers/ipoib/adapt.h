/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Adaptive moderation of a receive completion queue: the kernel's DIM library
 * (linux/dim.h) measures what comes of a setting, and tries another.
 */
#ifndef IPOIB_ADAPT_H
#define IPOIB_ADAPT_H

#include <linux/compiler.h>
#include <linux/mutex.h>

#include "dim.h"

struct ib_cq;
struct ipoib_counters;
struct ipoib_queue_settings;

/**
 * struct ipoib_adapt - what a receive queue needs for it
 * @dim: the measurement, of NAPI; its work hands a new setting to the HCA
 * @events: polls that have emptied the queue; written by NAPI
 * @lock: guards @cq, @ring and @on, and orders what the HCA is told
 * @cq: completion queue
 * @ring: how many receives there are at most
 * @on: NAPI measures, and the HCA is told; read anywhere
 */
struct ipoib_adapt {
	struct dim dim;
	u16 events;
	struct mutex lock; /* guards what says so above */
	struct ib_cq *cq;
	u32 ring;
	bool on;
};

void ipoib_adapt_create(struct ipoib_adapt *adapt, struct ib_cq *cq, u32 ring);
void ipoib_adapt_destroy(struct ipoib_adapt *adapt);
void ipoib_adapt_use(struct ipoib_adapt *adapt, struct ib_cq *cq, u32 ring);
int ipoib_adapt_moderate(struct ipoib_adapt *adapt,
			 const struct ipoib_queue_settings *wanted);
void ipoib_adapt_sample(struct ipoib_adapt *adapt,
			const struct ipoib_counters *count);

/**
 * ipoib_adapt_polled - a poll has emptied the completion queue
 * @adapt: of the queue
 * @count: what it has received
 *
 * Context: NAPI poll, before the end of it is told.
 */
static inline void ipoib_adapt_polled(struct ipoib_adapt *adapt,
				      const struct ipoib_counters *count)
{
	if (unlikely(READ_ONCE(adapt->on)))
		ipoib_adapt_sample(adapt, count);
}

#endif /* IPOIB_ADAPT_H */
