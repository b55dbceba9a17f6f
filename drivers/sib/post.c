// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Posting work requests. They are copied to a ring, whose only consumer is the
 * port context: posting takes one lock, allocates nothing and works with
 * interrupts off (ib_mad does that).
 */
#include <linux/slab.h>

#include "sib.h"

/**
 * sib_ring_init - make a work queue
 * @ring: zeroed memory
 * @entries: work requests it holds
 * @max_sge: gather or scatter entries of each
 * @head: size of an entry without them
 *
 * Context: process. Return: 0 or -ENOMEM.
 */
int sib_ring_init(struct sib_ring *ring, u32 entries, u32 max_sge, size_t head)
{
	spin_lock_init(&ring->lock);
	ring->size = entries + 1;
	ring->max_sge = max_sge;
	ring->stride = ALIGN(head + max_sge * sizeof(struct ib_sge), 8);
	ring->ring = kvcalloc(ring->size, ring->stride, GFP_KERNEL);
	return ring->ring ? 0 : -ENOMEM;
}

/**
 * sib_ring_free - free the memory of a work queue
 * @ring: queue no one uses any more, or one that was never made
 */
void sib_ring_free(struct sib_ring *ring)
{
	kvfree(ring->ring);
	ring->ring = NULL;
}

static u32 ring_next(const struct sib_ring *ring, u32 i)
{
	return i + 1 == ring->size ? 0 : i + 1;
}

/**
 * sib_ring_peek - oldest entry
 * @ring: queue; the caller is its consumer and holds port->lock
 *
 * Return: the entry, which stays in the queue, or NULL.
 */
void *sib_ring_peek(struct sib_ring *ring)
{
	/* pairs with the release in ring_push(): the entry is complete */
	if (ring->tail == smp_load_acquire(&ring->head))
		return NULL;
	return ring->ring + (size_t)ring->tail * ring->stride;
}

/**
 * sib_ring_pop - give the oldest entry back to the producers
 * @ring: queue that is not empty; the caller is its consumer
 */
void sib_ring_pop(struct sib_ring *ring)
{
	/* pairs with the acquire in ring_slot(): we are done with the entry */
	smp_store_release(&ring->tail, ring_next(ring, ring->tail));
}

/* Next free entry, or NULL if the queue is full. */
static void *ring_slot(struct sib_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	/* pairs with the release in sib_ring_pop(): the consumer is done */
	if (ring_next(ring, ring->head) == smp_load_acquire(&ring->tail))
		return NULL;
	return ring->ring + (size_t)ring->head * ring->stride;
}

static void ring_push(struct sib_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	/* pairs with the acquire in sib_ring_peek(): the entry is complete */
	smp_store_release(&ring->head, ring_next(ring, ring->head));
}

static u32 copy_sges(struct ib_sge *to, const struct ib_sge *from, int num)
{
	u64 len = 0;
	int i;

	for (i = 0; i < num; i++) {
		to[i] = from[i];
		len += from[i].length;
	}
	return min_t(u64, len, U32_MAX);
}

static int post_one_send(struct sib_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);
	struct sib_swqe *wqe;

	if (wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM)
		return -EINVAL;
	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge || !ud->ah)
		return -EINVAL;
	wqe = ring_slot(&qp->sq);
	if (!wqe)
		return -ENOMEM;
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->send_flags = wr->send_flags;
	wqe->imm = wr->opcode == IB_WR_SEND_WITH_IMM ? wr->ex.imm_data : 0;
	wqe->dqpn = ud->remote_qpn & SIB_QPN_MASK;
	wqe->qkey = ud->remote_qkey;
	wqe->pkey_index = ud->pkey_index;
	wqe->av = to_sah(ud->ah)->av;
	wqe->num_sge = wr->num_sge;
	wqe->length = copy_sges(wqe->sge, wr->sg_list, wr->num_sge);
	ring_push(&qp->sq);
	return 0;
}

/**
 * sib_post_send - ib_device_ops.post_send
 * @ibqp: QP in RTS, SQD, SQE or ERR; in the last two the requests are flushed
 * @wr: list of requests
 * @bad: set to the first request not taken
 *
 * Context: any but NMI. Return: 0, -EINVAL or -ENOMEM (queue full).
 */
int sib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad)
{
	struct sib_qp *qp = to_sqp(ibqp);
	bool posted = false;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->sq.lock, flags);
	if (qp->attr.qp_state < IB_QPS_RTS)
		err = -EINVAL;
	for (; wr && !err; wr = wr->next) {
		err = post_one_send(qp, wr);
		if (err)
			break;
		posted = true;
	}
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	if (err)
		*bad = wr;
	if (posted)
		sib_tx_queue(qp);
	return err;
}

/**
 * sib_post_recv - ib_device_ops.post_recv
 * @ibqp: QP in any state but RESET; in ERR the requests are flushed
 * @wr: list of requests
 * @bad: set to the first request not taken
 *
 * Context: any but NMI. Return: 0, -EINVAL or -ENOMEM (queue full).
 */
int sib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad)
{
	struct sib_qp *qp = to_sqp(ibqp);
	struct sib_rwqe *wqe;
	unsigned long flags;
	int err = 0;
	bool flush;

	spin_lock_irqsave(&qp->rq.lock, flags);
	flush = qp->attr.qp_state == IB_QPS_ERR;
	if (qp->attr.qp_state == IB_QPS_RESET)
		err = -EINVAL;
	for (; wr && !err; wr = wr->next) {
		if (wr->num_sge < 0 || wr->num_sge > qp->rq.max_sge) {
			err = -EINVAL;
			break;
		}
		wqe = ring_slot(&qp->rq);
		if (!wqe) {
			err = -ENOMEM;
			break;
		}
		wqe->wr_id = wr->wr_id;
		wqe->num_sge = wr->num_sge;
		wqe->length = copy_sges(wqe->sge, wr->sg_list, wr->num_sge);
		ring_push(&qp->rq);
	}
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	if (err)
		*bad = wr;
	if (flush)
		sib_tx_queue(qp);
	return err;
}
