// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Requests to receive, of connections: posted in batches, and again if the HCA refuses them, for
 * else the queue would run dry, refusal by refusal.
 *
 * A buffer that has been refused goes to a list. A shared one is posted again at the next poll.
 * One of a queue pair's own has come back to its connection, which ends when all have, and is
 * posted again with the next one that comes back full.
 */
#include "cm_post.h"

/**
 * ipoib_cm_post_wait - put a buffer on the list of those that are to be posted again
 * @bufs: buffers
 * @index: which of them
 *
 * Context: as ipoib_cm_post_batch(), or a command before the queue pair receives.
 */
void ipoib_cm_post_wait(struct ipoib_cm_rx_bufs *bufs, u32 index)
{
	bufs->slots[index].next = bufs->refused;
	WRITE_ONCE(bufs->refused, index);
}

/* The HCA has not taken the requests from @wr on. */
static void rxq_refused(struct ipoib_cm_rxq *rxq, const struct ib_recv_wr *wr, int err)
{
	struct ipoib_cm_rx *rx = rxq->shared ? NULL : rxq->refill_qp->qp_context;

	ipoib_refused(rxq->cm->intf, &rxq->refused, false, err, wr != rxq->wr);
	for (; wr; wr = wr->next) {
		ipoib_cm_post_wait(rx ? ipoib_cm_rx_bufs(rx) : &rxq->bufs, wr->wr_id);
		if (rx)
			ipoib_cm_rx_returned(rx);
	}
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
			    ib_post_recv(rxq->refill_qp, rxq->wr, &bad);
	if (unlikely(err))
		rxq_refused(rxq, bad, err);
	else
		ipoib_taken(&rxq->refused);
	rxq->wr[n - 1].next = n < IPOIB_POLL_BATCH ? &rxq->wr[n] : NULL;
}

/**
 * ipoib_cm_post - have the HCA receive to a buffer, at the latest at the next batch
 * @rxq: receive queue
 * @bufs: buffers
 * @index: which of them
 * @qp: the one whose buffer it is, or NULL for the shared queue
 *
 * Context: as ipoib_cm_post_batch().
 */
void ipoib_cm_post(struct ipoib_cm_rxq *rxq, const struct ipoib_cm_rx_bufs *bufs, u32 index,
		   struct ib_qp *qp)
{
	const struct ipoib_cm_rx_slot *slot = &bufs->slots[index];
	struct ib_sge *sge;
	int i;

	if (qp != rxq->refill_qp)
		ipoib_cm_post_batch(rxq);
	rxq->refill_qp = qp;
	sge = rxq->sge[rxq->refill];
	rxq->wr[rxq->refill].wr_id = index;
	for (i = 0; i < rxq->sges; i++)
		sge[i].addr = slot->dma[i];
	if (++rxq->refill == IPOIB_POLL_BATCH)
		ipoib_cm_post_batch(rxq);
}

/**
 * ipoib_cm_post_refused - post again what the HCA has refused
 * @rxq: receive queue
 * @bufs: buffers, shared or of a connection that lives
 * @qp: the one whose buffers they are, or NULL for the shared queue
 *
 * Each of them once. The connection has all of them back before the first is refused again.
 *
 * Context: as ipoib_cm_post_batch().
 */
void ipoib_cm_post_refused(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs,
			   struct ib_qp *qp)
{
	u32 index = bufs->refused, next;

	WRITE_ONCE(bufs->refused, IPOIB_NO_SLOT);
	for (next = index; qp && next != IPOIB_NO_SLOT; next = bufs->slots[next].next)
		ipoib_cm_rx_given(qp->qp_context);
	for (; index != IPOIB_NO_SLOT; index = next) {
		next = bufs->slots[index].next;
		ipoib_cm_post(rxq, bufs, index, qp);
	}
	ipoib_cm_post_batch(rxq);
}

/**
 * ipoib_cm_post_tick - post again what the HCA has refused, should nothing come any more
 * @rxq: receive queue whose NAPI is on
 *
 * Context: control.
 */
void ipoib_cm_post_tick(struct ipoib_cm_rxq *rxq)
{
	if (READ_ONCE(rxq->bufs.refused) == IPOIB_NO_SLOT)
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
