// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Receive queues, of a QP or shared: a ring of a kernel consumer, or a queue that
 * a process has mapped.
 */
#include "sib.h"

/**
 * sib_rq_init - make a receive queue
 * @rq: zeroed
 * @udata: of the process that posts to it, or NULL for kernel consumers
 * @entries: requests it holds
 * @max_sge: scatter entries of each
 *
 * Context: process. Return: 0; -ENOMEM; see also sib_umap_create().
 */
int sib_rq_init(struct sib_rq *rq, struct ib_udata *udata, u32 entries, u32 max_sge)
{
	struct sib_umap *map;

	if (!udata)
		return sib_ring_init(&rq->ring, NULL, entries, max_sge, 0,
				     sizeof(struct sib_rwqe));
	map = sib_umap_create(udata, sib_urq_bytes(entries, max_sge));
	if (IS_ERR(map))
		return PTR_ERR(map);
	spin_lock_init(&rq->ring.lock);
	rq->map = map;
	sib_urq_init(&rq->user, map->mem, entries, max_sge);
	return 0;
}

/**
 * sib_rq_free - free a receive queue
 * @rq: queue that the port context does not use any more, or that was never made
 */
void sib_rq_free(struct sib_rq *rq)
{
	sib_umap_destroy(rq->map);
	rq->map = NULL;
	sib_ring_free(&rq->ring);
}

/**
 * sib_rq_reset - forget everything posted
 * @rq: the queue; its lock and port->lock are held
 */
void sib_rq_reset(struct sib_rq *rq)
{
	if (rq->map)
		sib_urq_reset(&rq->user);
	else
		sib_ring_reset(&rq->ring);
}

/**
 * sib_rq_count - requests in a queue
 * @rq: the queue; port->lock is held
 *
 * Return: their number.
 */
u32 sib_rq_count(const struct sib_rq *rq)
{
	return rq->map ? sib_urq_count(&rq->user) : sib_ring_count(&rq->ring);
}
