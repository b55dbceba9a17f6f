// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Adaptive moderation of a receive completion queue.
 *
 * NAPI measures. When the DIM library wants another setting, it queues its work on the
 * system's queue, which tells the HCA and has the next measurement begin; there is none
 * meanwhile. That work waits for the lock and the HCA alone. It may come late, when
 * somebody has switched adaption off: then it leaves the HCA alone.
 */
#include "adapt.h"
#include "ipoib.h"

/* Half of the receives must be left for what comes until the HCA's interrupt is served. */
static int adapt_apply(const struct ipoib_adapt *adapt)
{
	struct dim_cq_moder moder;

	moder = net_dim_get_rx_moderation(adapt->dim.mode, adapt->dim.profile_ix);
	return rdma_set_cq_moderation(adapt->cq,
				      min_t(u32, moder.pkts, adapt->ring / 2),
				      moder.usec);
}

static void adapt_work(struct work_struct *work)
{
	struct ipoib_adapt *adapt = container_of(work, struct ipoib_adapt,
						 dim.work);

	mutex_lock(&adapt->lock);
	/* If the HCA refuses, the next measurement shows no difference. */
	if (adapt->on)
		adapt_apply(adapt);
	mutex_unlock(&adapt->lock);
	adapt->dim.state = DIM_START_MEASURE;
}

/**
 * ipoib_adapt_create - prepare a queue that does not adapt yet
 * @adapt: of the queue, all zero
 * @cq: its completion queue
 * @ring: how many receives there are at most
 *
 * Measuring begins with the setting that delays least.
 */
void ipoib_adapt_create(struct ipoib_adapt *adapt, struct ib_cq *cq, u32 ring)
{
	INIT_WORK(&adapt->dim.work, adapt_work);
	adapt->dim.mode = DIM_CQ_PERIOD_MODE_START_FROM_EQE;
	mutex_init(&adapt->lock);
	adapt->cq = cq;
	adapt->ring = ring;
}

/**
 * ipoib_adapt_destroy - have the completion queue told nothing more
 * @adapt: of a queue whose NAPI is off
 *
 * Context: process, rtnl; not control, which may not wait for the system's queue.
 */
void ipoib_adapt_destroy(struct ipoib_adapt *adapt)
{
	cancel_work_sync(&adapt->dim.work);
	mutex_destroy(&adapt->lock);
}

/**
 * ipoib_adapt_use - adapt another completion queue
 * @adapt: of the queue
 * @cq: completion queue that takes the place of the one before, which is told nothing
 *	more
 * @ring: how many receives there are at most
 *
 * Context: control.
 */
void ipoib_adapt_use(struct ipoib_adapt *adapt, struct ib_cq *cq, u32 ring)
{
	mutex_lock(&adapt->lock);
	adapt->cq = cq;
	adapt->ring = ring;
	mutex_unlock(&adapt->lock);
}

/**
 * ipoib_adapt_moderate - have completions told of as is wanted
 * @adapt: of the queue
 * @wanted: adaptive from now on, or how late
 *
 * Context: rtnl.
 * Return: 0, -EOPNOTSUPP if the HCA cannot, or what else it says.
 */
int ipoib_adapt_moderate(struct ipoib_adapt *adapt,
			 const struct ipoib_queue_settings *wanted)
{
	int err;

	mutex_lock(&adapt->lock);
	WRITE_ONCE(adapt->on, wanted->rx_adaptive);
	if (adapt->on)
		err = adapt_apply(adapt);
	else
		err = rdma_set_cq_moderation(adapt->cq, wanted->rx_frames,
					     wanted->rx_usecs);
	mutex_unlock(&adapt->lock);
	return err;
}

/**
 * ipoib_adapt_sample - go on measuring
 * @adapt: of the queue
 * @count: what it has received
 *
 * Context: NAPI poll.
 */
void ipoib_adapt_sample(struct ipoib_adapt *adapt,
			const struct ipoib_counters *count)
{
	struct dim_sample sample = {};

	dim_update_sample(++adapt->events, u64_stats_read(&count->packets),
			  u64_stats_read(&count->bytes), &sample);
	net_dim(&adapt->dim, &sample);
}
