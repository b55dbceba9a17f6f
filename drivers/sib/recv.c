// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Receive requests: posting, and what the port context does with them. A QP
 * holds one from the first packet of a message to its completion. That of its
 * own queue stays where it is; from a shared queue it is copied, because other
 * QPs take and complete requests of that queue meanwhile.
 */
#include "sib.h"

/* @refused: the first that is not taken in any case, or NULL */
static int post_list(struct sib_ring *ring, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr *refused, const struct ib_recv_wr **bad)
{
	struct sib_rwqe *wqe;
	u64 len;
	int i;

	lockdep_assert_held(&ring->lock);
	for (; wr; wr = wr->next) {
		*bad = wr;
		if (wr == refused)
			return -ENOMEM;
		if (wr->num_sge < 0 || wr->num_sge > ring->max_sge)
			return -EINVAL;
		wqe = sib_ring_slot(ring);
		if (!wqe)
			return -ENOMEM;
		len = 0;
		for (i = 0; i < wr->num_sge; i++) {
			wqe->sge[i] = wr->sg_list[i];
			len += wr->sg_list[i].length;
		}
		wqe->wr_id = wr->wr_id;
		wqe->num_sge = wr->num_sge;
		wqe->length = min_t(u64, len, U32_MAX);
		sib_ring_push(ring);
	}
	return 0;
}

static u32 list_len(const struct ib_recv_wr *wr)
{
	u32 len;

	for (len = 0; wr; wr = wr->next)
		len++;
	return len;
}

/* What a queue refuses of its @n-th list: the first request to refuse, or NULL. */
static const struct ib_recv_wr *refused(const struct sib_dev *dev, enum sib_post to, u32 n,
					const struct ib_recv_wr *wr)
{
	u32 taken = sib_choice_taken(&dev->chooser, to, n, list_len(wr));

	while (wr && taken--)
		wr = wr->next;
	return wr;
}

static const struct ib_recv_wr *refused_by_srq(struct sib_srq *srq, const struct ib_recv_wr *wr)
{
	const struct sib_dev *dev = to_sib(srq->ibsrq.device);

	lockdep_assert_held(&srq->rq.ring.lock);
	return dev->profile->refuse ? refused(dev, SIB_POST_SRQ, ++srq->posts, wr) : NULL;
}

static const struct ib_recv_wr *refused_by_qp(struct sib_qp *qp, const struct ib_recv_wr *wr)
{
	lockdep_assert_held(&qp->rq.ring.lock);
	return qp->refuses ? refused(to_sib(qp->ibqp.device), SIB_POST_RECV, ++qp->recv_posts, wr) :
			     NULL;
}

/**
 * sib_post_recv - ib_device_ops.post_recv
 * @ibqp: QP in any state but RESET; in ERR the requests are flushed
 * @wr: list of requests
 * @bad: set to the first request not taken
 *
 * Context: any but NMI. Return: 0, -EINVAL or -ENOMEM (queue full, or as its profile has it).
 */
int sib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad)
{
	struct sib_qp *qp = to_sqp(ibqp);
	unsigned long flags;
	bool flush = false;
	int err = -EINVAL;

	if (sib_fault_is_fatal(&to_sib(ibqp->device)->fault)) {
		*bad = wr;
		return -EIO;
	}
	spin_lock_irqsave(&qp->rq.ring.lock, flags);
	if (qp->attr.qp_state == IB_QPS_RESET || qp->srq) {
		*bad = wr;
	} else {
		flush = qp->attr.qp_state == IB_QPS_ERR;
		err = post_list(&qp->rq.ring, wr, refused_by_qp(qp, wr), bad);
	}
	spin_unlock_irqrestore(&qp->rq.ring.lock, flags);
	if (flush)
		sib_tx_queue(qp);
	return err;
}

/**
 * sib_post_srq_recv - ib_device_ops.post_srq_recv
 * @ibsrq: the shared queue
 * @wr: list of requests
 * @bad: set to the first request not taken
 *
 * Context: any but NMI. Return: 0, -EINVAL or -ENOMEM (queue full, or as its profile has it).
 */
int sib_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad)
{
	struct sib_srq *srq = to_ssrq(ibsrq);
	unsigned long flags;
	int err;

	if (sib_fault_is_fatal(&to_sib(ibsrq->device)->fault)) {
		*bad = wr;
		return -EIO;
	}
	spin_lock_irqsave(&srq->rq.ring.lock, flags);
	err = post_list(&srq->rq.ring, wr, refused_by_srq(srq, wr), bad);
	spin_unlock_irqrestore(&srq->rq.ring.lock, flags);
	return err;
}

static struct sib_rq *recv_queue(struct sib_qp *qp)
{
	return qp->srq ? &qp->srq->rq : &qp->rq;
}

/**
 * sib_qp_recv_is_spoilt - no more can be received: its process wrote nonsense
 * @qp: the QP, port locked
 *
 * Return: true if it is so.
 */
bool sib_qp_recv_is_spoilt(struct sib_qp *qp)
{
	return recv_queue(qp)->user.spoilt;
}

/* To a copy; sib_tx_run() takes the QP to error if that is impossible. */
static const struct sib_rwqe *user_peek(struct sib_qp *qp, struct sib_urq *urq)
{
	if (sib_urq_peek(urq, qp->copy))
		return qp->copy;
	if (urq->spoilt && qp->attr.qp_state != IB_QPS_ERR) {
		sib_tx_note(qp);
		if (qp->srq)
			sib_srq_spoilt(qp->srq);
	}
	return NULL;
}

/**
 * sib_qp_recv_peek - the receive request that would be next
 * @qp: the QP, port locked
 *
 * Return: the request, not taken, or NULL.
 */
const struct sib_rwqe *sib_qp_recv_peek(struct sib_qp *qp)
{
	struct sib_rq *rq = recv_queue(qp);

	if (qp->held)
		return qp->held;
	return rq->map ? user_peek(qp, &rq->user) : sib_ring_peek(&rq->ring);
}

/**
 * sib_qp_recv_hold - hold a receive request
 * @qp: the QP, port locked
 * @wqe: what sib_qp_recv_peek() has just returned for it
 *
 * Return: the request, valid until sib_qp_recv_done().
 */
const struct sib_rwqe *sib_qp_recv_hold(struct sib_qp *qp, const struct sib_rwqe *wqe)
{
	struct sib_rq *rq = recv_queue(qp);

	if (qp->held)
		return wqe;
	if (rq->map) {
		sib_urq_pop(&rq->user);
	} else if (qp->srq) {
		memcpy(qp->copy, wqe, struct_size(wqe, sge, wqe->num_sge));
		sib_ring_pop(&rq->ring);
		wqe = qp->copy;
	}
	if (qp->srq)
		sib_srq_taken(qp->srq);
	qp->held = wqe;
	return wqe;
}

/**
 * sib_qp_recv_take - hold the next receive request
 * @qp: the QP, port locked
 *
 * Return: the request, valid until sib_qp_recv_done(), or NULL.
 */
const struct sib_rwqe *sib_qp_recv_take(struct sib_qp *qp)
{
	const struct sib_rwqe *wqe = sib_qp_recv_peek(qp);

	return wqe ? sib_qp_recv_hold(qp, wqe) : NULL;
}

/**
 * sib_qp_recv_done - complete the receive request that is held
 * @qp: the QP, port locked
 * @wc: how it went; WR ID, QP and port are filled in
 * @solicited: wakes a consumer that waits for solicited events only
 *
 * The queue has room again before the completion can be polled: a consumer may
 * count on that.
 */
void sib_qp_recv_done(struct sib_qp *qp, struct ib_wc *wc, bool solicited)
{
	wc->wr_id = qp->held->wr_id;
	wc->qp = &qp->ibqp;
	wc->port_num = 1;
	qp->held = NULL;
	if (!qp->srq && !qp->rq.map)
		sib_ring_pop(&qp->rq.ring);
	sib_cq_add(to_scq(qp->ibqp.recv_cq), wc, solicited);
}

/**
 * sib_qp_recv_count - receive requests posted
 * @qp: the QP, port locked
 *
 * Return: their number, U32_MAX if that says nothing because the queue is shared.
 */
u32 sib_qp_recv_count(const struct sib_qp *qp)
{
	return qp->srq ? U32_MAX : sib_rq_count(&qp->rq);
}

/* A shared queue has a protection domain of its own. */
static const struct sib_mem_ctx *recv_mem(const struct sib_qp *qp)
{
	return qp->srq ? &qp->srq->mem : &qp->mem;
}

/**
 * sib_rwqe_scatter - place data that arrived
 * @qp: the QP, port locked
 * @rwqe: its receive request
 * @skip: bytes of its list to leave alone
 * @skb: where the data are
 * @off: at which offset
 * @len: how many
 * @sum: their unfolded Internet checksum is added to it, unless it is NULL
 *
 * Return: 0 or -EACCES.
 */
int sib_rwqe_scatter(const struct sib_qp *qp, const struct sib_rwqe *rwqe, u32 skip,
		     struct sk_buff *skb, unsigned int off, u32 len, __wsum *sum)
{
	return sib_sge_scatter(recv_mem(qp), rwqe->sge, rwqe->num_sge, skip, skb, off, len, sum);
}

/**
 * sib_rwqe_write - place memory
 * @qp: the QP, port locked
 * @rwqe: its receive request
 * @skip: bytes of its list to leave alone
 * @from: @len bytes
 * @len: how many
 *
 * Return: 0 or -EACCES.
 */
int sib_rwqe_write(const struct sib_qp *qp, const struct sib_rwqe *rwqe, u32 skip,
		   const void *from, u32 len)
{
	return sib_sge_write(recv_mem(qp), rwqe->sge, rwqe->num_sge, skip, from, len);
}
