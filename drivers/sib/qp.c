// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Queue pairs: creation, attributes, states, flushing and destruction.
 *
 * A QP is found by number and used only in the port context; taking port->lock
 * after removing it from the table is therefore enough to be sure that nobody
 * uses it any more.
 */
#include <linux/slab.h>

#include "sib.h"

static int qp_check(const struct ib_qp_init_attr *init)
{
	if (init->qp_type != IB_QPT_UD && init->qp_type != IB_QPT_SMI &&
	    init->qp_type != IB_QPT_GSI)
		return -EOPNOTSUPP;
	if (init->srq || init->create_flags & ~IB_QP_CREATE_IPOIB_UD_LSO)
		return -EOPNOTSUPP;
	if (init->create_flags)		/* offloads are not offered */
		return -EINVAL;
	if (init->cap.max_send_wr > SIB_MAX_WR || init->cap.max_recv_wr > SIB_MAX_WR ||
	    init->cap.max_send_sge > SIB_MAX_SGE || init->cap.max_recv_sge > SIB_MAX_SGE ||
	    init->cap.max_inline_data)
		return -EINVAL;
	return 0;
}

static int qp_insert(struct sib_port *port, struct sib_qp *qp, enum ib_qp_type type)
{
	u32 qpn = type == IB_QPT_GSI ? 1 : 0;
	int err;

	if (type == IB_QPT_SMI || type == IB_QPT_GSI)
		err = xa_insert(&port->qps, qpn, qp, GFP_KERNEL);
	else
		err = xa_alloc_cyclic(&port->qps, &qpn, qp,
				      XA_LIMIT(SIB_QP_TABLE_FIRST, SIB_QPN_MCAST - 1),
				      &port->qp_next, GFP_KERNEL);
	if (err < 0)
		return err;
	qp->ibqp.qp_num = qpn;
	return 0;
}

/**
 * sib_create_qp - ib_device_ops.create_qp
 * @ibqp: zeroed QP with its CQs set by ib_core
 * @init: attributes
 * @udata: unused, kernel consumers only
 *
 * Context: process. Return: 0, -EOPNOTSUPP for unknown types, -EINVAL for
 * capabilities out of range, -EBUSY if QP0 or QP1 exists already, -ENOMEM.
 */
int sib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct sib_port *port = &to_sib(ibqp->device)->port;
	struct sib_qp *qp = to_sqp(ibqp);
	int err;

	err = qp_check(init);
	if (err)
		return err;
	INIT_LIST_HEAD(&qp->tx);
	qp->cap = init->cap;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->attr.qp_state = IB_QPS_RESET;
	err = sib_ring_init(&qp->sq, init->cap.max_send_wr, init->cap.max_send_sge,
			    sizeof(struct sib_swqe));
	if (err)
		return err;
	err = sib_ring_init(&qp->rq, init->cap.max_recv_wr, init->cap.max_recv_sge,
			    sizeof(struct sib_rwqe));
	if (err)
		goto err_sq;
	err = qp_insert(port, qp, init->qp_type);
	if (err)
		goto err_rq;
	return 0;

err_rq:
	sib_ring_free(&qp->rq);
err_sq:
	sib_ring_free(&qp->sq);
	return err;
}

static void ring_reset(struct sib_ring *ring)
{
	ring->tail = ring->head;
}

static void copy_attr(struct sib_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_QKEY)
		qp->attr.qkey = attr->qkey;
	if (mask & IB_QP_PKEY_INDEX)
		qp->attr.pkey_index = attr->pkey_index;
	if (mask & IB_QP_PORT)
		qp->attr.port_num = attr->port_num;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		qp->attr.en_sqd_async_notify = attr->en_sqd_async_notify;
	if (mask & IB_QP_SQ_PSN) {
		qp->attr.sq_psn = attr->sq_psn & 0xFFFFFF;
		qp->psn = qp->attr.sq_psn;
	}
}

static int attr_check(const struct sib_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != qp->attr.qp_state)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(qp->attr.qp_state,
				mask & IB_QP_STATE ? attr->qp_state : qp->attr.qp_state,
				qp->ibqp.qp_type, mask))
		return -EINVAL;
	if (mask & IB_QP_PORT && attr->port_num != 1)
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index >= SIB_NUM_PKEYS)
		return -EINVAL;
	return 0;
}

/**
 * sib_modify_qp - ib_device_ops.modify_qp
 * @ibqp: the QP
 * @attr: new attributes
 * @mask: which of them
 * @udata: unused
 *
 * Context: process. Return: 0 or -EINVAL, with the QP unchanged.
 */
int sib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct sib_port *port = &to_sib(ibqp->device)->port;
	struct sib_qp *qp = to_sqp(ibqp);
	unsigned long flags;
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	spin_lock_bh(&port->lock);
	spin_lock_irqsave(&qp->sq.lock, flags);
	spin_lock_nested(&qp->rq.lock, SINGLE_DEPTH_NESTING);
	err = attr_check(qp, attr, mask);
	if (err)
		goto unlock;
	copy_attr(qp, attr, mask);
	if (mask & IB_QP_STATE) {
		qp->attr.qp_state = attr->qp_state;
		if (attr->qp_state == IB_QPS_RESET) {
			ring_reset(&qp->sq);
			ring_reset(&qp->rq);
		}
	}
unlock:
	spin_unlock(&qp->rq.lock);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	spin_unlock_bh(&port->lock);
	if (!err)
		sib_tx_queue(qp);
	return err;
}

/**
 * sib_query_qp - ib_device_ops.query_qp
 * @ibqp: the QP
 * @attr: filled in
 * @mask: ignored, all attributes are filled in
 * @init: filled in
 *
 * Context: process. Return: 0.
 */
int sib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct sib_port *port = &to_sib(ibqp->device)->port;
	struct sib_qp *qp = to_sqp(ibqp);

	spin_lock_bh(&port->lock);
	*attr = qp->attr;
	attr->sq_psn = qp->psn;
	spin_unlock_bh(&port->lock);
	attr->cur_qp_state = attr->qp_state;
	attr->port_num = 1;
	attr->cap = qp->cap;
	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->cap = qp->cap;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->port_num = 1;
	return 0;
}

/**
 * sib_destroy_qp - ib_device_ops.destroy_qp
 * @ibqp: the QP; requests still in it vanish without completion
 * @udata: unused
 *
 * Context: process. Return: 0.
 */
int sib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct sib_port *port = &to_sib(ibqp->device)->port;
	struct sib_qp *qp = to_sqp(ibqp);

	xa_erase(&port->qps, ibqp->qp_num);
	spin_lock_bh(&port->lock);
	sib_tx_unqueue(qp);
	spin_unlock_bh(&port->lock);
	sib_ring_free(&qp->sq);
	sib_ring_free(&qp->rq);
	return 0;
}

/**
 * sib_qp_complete_send - complete the oldest send request
 * @qp: the QP; port->lock is held
 * @wqe: its oldest send request; gone when this returns
 * @status: how it went; anything but success completes unsignalled requests too
 *
 * The queue has room again before the completion can be polled: a consumer may
 * count on that.
 */
void sib_qp_complete_send(struct sib_qp *qp, const struct sib_swqe *wqe,
			  enum ib_wc_status status)
{
	bool signal = status != IB_WC_SUCCESS || qp->sig_all ||
		      wqe->send_flags & IB_SEND_SIGNALED;
	struct ib_wc wc = {
		.wr_id = wqe->wr_id,
		.status = status,
		.opcode = IB_WC_SEND,
		.byte_len = wqe->length,
		.qp = &qp->ibqp,
		.port_num = 1,
	};

	sib_ring_pop(&qp->sq);
	if (signal)
		sib_cq_add(to_scq(qp->ibqp.send_cq), &wc, status != IB_WC_SUCCESS);
}

/**
 * sib_qp_flush - complete everything posted to a QP in error
 * @port: its port, locked
 * @qp: QP in ERR (both queues are flushed) or SQE (the send queue only)
 */
void sib_qp_flush(struct sib_port *port, struct sib_qp *qp)
{
	struct ib_wc wc = {
		.status = IB_WC_WR_FLUSH_ERR,
		.opcode = IB_WC_RECV,
		.qp = &qp->ibqp,
		.port_num = 1,
	};
	struct sib_swqe *swqe;
	struct sib_rwqe *rwqe;

	lockdep_assert_held(&port->lock);
	while ((swqe = sib_ring_peek(&qp->sq)))
		sib_qp_complete_send(qp, swqe, IB_WC_WR_FLUSH_ERR);
	if (qp->attr.qp_state != IB_QPS_ERR)
		return;
	while ((rwqe = sib_ring_peek(&qp->rq))) {
		wc.wr_id = rwqe->wr_id;
		sib_ring_pop(&qp->rq);
		sib_cq_add(to_scq(qp->ibqp.recv_cq), &wc, true);
	}
}

/**
 * sib_qp_send_error - a send request failed: stop the send queue
 * @port: its port, locked
 * @qp: UD QP, which goes to SQE (IBA vol. 1, 10.3.1.8)
 */
void sib_qp_send_error(struct sib_port *port, struct sib_qp *qp)
{
	unsigned long flags;

	lockdep_assert_held(&port->lock);
	spin_lock_irqsave(&qp->sq.lock, flags);
	spin_lock_nested(&qp->rq.lock, SINGLE_DEPTH_NESTING);
	qp->attr.qp_state = IB_QPS_SQE;
	spin_unlock(&qp->rq.lock);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
}
