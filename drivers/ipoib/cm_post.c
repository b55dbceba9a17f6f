// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Requests to receive, of connections: posted in batches, and again if the HCA refuses them.
 *
 * A shared buffer that has been refused goes to a list, and is posted again at the next poll:
 * else the queue would run dry, refusal by refusal. One of a queue pair's own has come back to
 * its connection, which ends when all have.
 */
#include "cm_post.h"

/* The HCA has not taken the requests from @wr on. */
static void rxq_refused(struct ipoib_cm_rxq *rxq, const struct ib_recv_wr *wr, int err)
{
	if (net_ratelimit())
		netdev_warn(rxq->cm->intf->dev, "the HCA refused a receive: error %d\n", err);
	for (; wr; wr = wr->next) {
		if (!rxq->shared) {
			ipoib_cm_rx_returned(rxq->refill_qp->qp_context);
			continue;
		}
		rxq->bufs.slots[wr->wr_id].next = rxq->refused;
		WRITE_ONCE(rxq->refused, wr->wr_id);
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
 * @rxq: receive queue without requests to be posted
 *
 * Each of them once. Context: as ipoib_cm_post_batch().
 */
void ipoib_cm_post_refused(struct ipoib_cm_rxq *rxq)
{
	u32 index = rxq->refused, next;

	WRITE_ONCE(rxq->refused, IPOIB_CM_NO_SLOT);
	for (; index != IPOIB_CM_NO_SLOT; index = next) {
		next = rxq->bufs.slots[index].next;
		ipoib_cm_post(rxq, &rxq->bufs, index, NULL);
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
	if (READ_ONCE(rxq->refused) == IPOIB_CM_NO_SLOT)
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
