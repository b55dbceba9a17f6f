// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Requests to receive, of connections: posted in batches, and again if the HCA refuses them, for
 * else the queue would run dry, refusal by refusal.
 *
 * A buffer that has been refused goes to the list of those it belongs to, shared or a queue
 * pair's own. NAPI posts it again at its next poll, for which control wakes it should nothing
 * come. A connection that ends posts none of them any more: they are as good as returned. One
 * whose buffers the HCA does not take for long, or refuses for another reason, ends.
 */
#include "cm_post.h"

/**
 * ipoib_cm_post_wait - put a buffer on the list of those that are to be posted again
 * @bufs: buffers; the caller sees to it that NAPI looks for them
 * @index: which of them
 *
 * Context: as ipoib_cm_post_batch(), or a command before the queue pair receives.
 */
void ipoib_cm_post_wait(struct ipoib_cm_rx_bufs *bufs, u32 index)
{
	bufs->slots[index].next = bufs->waiting;
	bufs->waiting = index;
}

/* For good, or for so long that it comes to that: the connection ends. */
static void rxq_give_up(struct ipoib_cm_rx *rx, const struct ib_recv_wr *wr)
{
	ipoib_cm_rx_failed(rx);
	for (; wr; wr = wr->next)
		ipoib_cm_rx_returned(rx);
}

/* The HCA has not taken the requests from @wr on. */
static void rxq_refused(struct ipoib_cm_rxq *rxq, const struct ib_recv_wr *wr, int err)
{
	struct ipoib_cm_rx_bufs *bufs = rxq->refill_bufs;

	if (!ipoib_refused(rxq->cm->intf, &bufs->refused, false, err, wr != rxq->wr)) {
		rxq_give_up(bufs->qp->qp_context, wr);
		return;
	}
	if (bufs->waiting == IPOIB_NO_SLOT)
		llist_add(&bufs->wait, &rxq->waiting);
	for (; wr; wr = wr->next)
		ipoib_cm_post_wait(bufs, wr->wr_id);
}

/**
 * ipoib_cm_post_batch - give the HCA the requests that there are
 * @rxq: receive queue
 *
 * Context: as its owner: NAPI, or control while that is off.
 */
void ipoib_cm_post_batch(struct ipoib_cm_rxq *rxq)
{
	const struct ib_recv_wr *bad = rxq->wr;
	unsigned int n = rxq->refill;
	int err;

	if (!n)
		return;
	rxq->refill = 0;
	rxq->wr[n - 1].next = NULL;
	err = rxq->shared ? ib_post_srq_recv(rxq->srq, rxq->wr, &bad) :
			    ib_post_recv(rxq->refill_bufs->qp, rxq->wr, &bad);
	if (unlikely(err))
		rxq_refused(rxq, bad ?: rxq->wr, err);
	else
		ipoib_taken(&rxq->refill_bufs->refused);
	rxq->wr[n - 1].next = n < IPOIB_POLL_BATCH ? &rxq->wr[n] : NULL;
}

/**
 * ipoib_cm_post - have the HCA receive to a buffer, at the latest at the next batch
 * @rxq: receive queue
 * @bufs: buffers
 * @index: which of them
 *
 * Context: as ipoib_cm_post_batch().
 */
void ipoib_cm_post(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs, u32 index)
{
	const struct ipoib_cm_rx_slot *slot = &bufs->slots[index];
	struct ib_sge *sge;
	int i;

	if (bufs != rxq->refill_bufs)
		ipoib_cm_post_batch(rxq);
	rxq->refill_bufs = bufs;
	sge = rxq->sge[rxq->refill];
	rxq->wr[rxq->refill].wr_id = index;
	for (i = 0; i < rxq->sges; i++)
		sge[i].addr = slot->dma[i];
	if (++rxq->refill == IPOIB_POLL_BATCH)
		ipoib_cm_post_batch(rxq);
}

/* Each of them once, until one is refused again: that and those behind it wait again. */
static void rxq_post_again(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs)
{
	struct ipoib_cm_rx *rx = bufs->qp ? bufs->qp->qp_context : NULL;
	u32 index = bufs->waiting, next;

	bufs->waiting = IPOIB_NO_SLOT;
	for (; index != IPOIB_NO_SLOT; index = next) {
		/* With the last one that is returned, the connection may go. */
		next = bufs->slots[index].next;
		if (rx && !ipoib_cm_rx_receives(rx))
			ipoib_cm_rx_returned(rx);
		else if (bufs->waiting == IPOIB_NO_SLOT)
			ipoib_cm_post(rxq, bufs, index);
		else
			ipoib_cm_post_wait(bufs, index);
	}
	ipoib_cm_post_batch(rxq);
}

/**
 * ipoib_cm_post_waiting - post again what the HCA has refused
 * @rxq: receive queue
 *
 * Context: receive NAPI, RCU read side.
 */
void ipoib_cm_post_waiting(struct ipoib_cm_rxq *rxq)
{
	struct llist_node *all = llist_del_all(&rxq->waiting);
	struct ipoib_cm_rx_bufs *bufs, *next;

	llist_for_each_entry_safe(bufs, next, all, wait)
		rxq_post_again(rxq, bufs);
}

/**
 * ipoib_cm_post_ready - have NAPI post what the HCA has refused of a connection's buffers
 * @rxq: receive queue
 * @bufs: of a queue pair that receives, and some of which wait since before it did
 *
 * Context: command.
 */
void ipoib_cm_post_ready(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs)
{
	llist_add(&bufs->wait, &rxq->waiting);
	ipoib_refused_retry(rxq->cm->intf);
}

/**
 * ipoib_cm_post_forget - nothing of some buffers is to be posted again
 * @rxq: receive queue whose NAPI is off
 * @bufs: buffers
 *
 * Context: control.
 */
void ipoib_cm_post_forget(struct ipoib_cm_rxq *rxq, const struct ipoib_cm_rx_bufs *bufs)
{
	struct llist_node *all = llist_del_all(&rxq->waiting);
	struct ipoib_cm_rx_bufs *other, *next;

	llist_for_each_entry_safe(other, next, all, wait)
		if (other != bufs)
			llist_add(&other->wait, &rxq->waiting);
}

/**
 * ipoib_cm_post_stop - nothing at all is to be posted any more
 * @rxq: receive queue that no queue pair uses, with NAPI off
 *
 * Context: control.
 */
void ipoib_cm_post_stop(struct ipoib_cm_rxq *rxq)
{
	init_llist_head(&rxq->waiting);
	rxq->bufs.waiting = IPOIB_NO_SLOT;
	ipoib_taken(&rxq->bufs.refused);
	rxq->refill = 0;
}

/**
 * ipoib_cm_post_tick - post again what the HCA has refused, should nothing come any more
 * @rxq: receive queue
 *
 * Context: control.
 */
void ipoib_cm_post_tick(struct ipoib_cm_rxq *rxq)
{
	if (llist_empty(&rxq->waiting))
		return;
	local_bh_disable();
	napi_schedule(&rxq->napi);
	local_bh_enable();
}

/**
 * ipoib_cm_post_init - the requests of a batch, with nothing in them
 * @rxq: receive queue being made
 */
void ipoib_cm_post_init(struct ipoib_cm_rxq *rxq)
{
	u32 lkey = rxq->cm->intf->pd->local_dma_lkey;
	unsigned int i, k;

	for (i = 0; i < IPOIB_POLL_BATCH; i++) {
		for (k = 0; k < rxq->sges; k++)
			rxq->sge[i][k] = (struct ib_sge) {
				.length = PAGE_SIZE, .lkey = lkey,
			};
		rxq->wr[i].sg_list = rxq->sge[i];
		rxq->wr[i].num_sge = rxq->sges;
		rxq->wr[i].next = i + 1 < IPOIB_POLL_BATCH ?
				  &rxq->wr[i + 1] : NULL;
	}
}
