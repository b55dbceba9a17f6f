// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Queue pairs: creation, states, flushing and destruction.
 *
 * A QP is found by number and used only in the port context; taking port->lock
 * after removing it from the table is therefore enough to be sure that nobody
 * uses it any more.
 */
#include <linux/slab.h>

#include "sib.h"

/* Requests flushed before it is another QP's turn: those of one QP are 16384 each way */
#define FLUSH_BUDGET	64

static int cap_check(const struct sib_profile *profile, const struct ib_qp_cap *cap)
{
	if (cap->max_send_wr > profile->max_qp_wr || cap->max_recv_wr > profile->max_qp_wr ||
	    cap->max_send_sge > profile->max_send_sge ||
	    cap->max_recv_sge > profile->max_recv_sge || cap->max_inline_data > SIB_MAX_INLINE)
		return -EINVAL;
	return sib_profile_sends_fit(profile, cap) ? 0 : -ENOMEM;
}

/* What a QP may be created with */
static int known_flags(const struct sib_profile *profile)
{
	return (profile->lso ? IB_QP_CREATE_IPOIB_UD_LSO : 0) |
	       (profile->block_own ? IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK : 0);
}

static int init_check(const struct sib_profile *profile, const struct ib_qp_init_attr *init)
{
	switch (init->qp_type) {
	case IB_QPT_SMI:
	case IB_QPT_GSI:
		if (init->srq)
			return -EINVAL;
		break;
	case IB_QPT_UD:
	case IB_QPT_UC:
	case IB_QPT_RC:
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags & ~known_flags(profile))
		return -EOPNOTSUPP;
	if (init->create_flags && init->qp_type != IB_QPT_UD)
		return -EINVAL;
	return cap_check(profile, &init->cap);
}

static int qpn_alloc(struct sib_port *port, struct sib_qp *qp, enum ib_qp_type type)
{
	u32 qpn = type == IB_QPT_GSI ? 1 : 0;
	int err;

	if (type == IB_QPT_SMI || type == IB_QPT_GSI)
		err = xa_insert(&port->qps, qpn, NULL, GFP_KERNEL);
	else
		err = xa_alloc_cyclic(&port->qps, &qpn, NULL,
				      XA_LIMIT(SIB_QPN_FIRST, SIB_QPN_LAST),
				      &port->qp_next, GFP_KERNEL);
	if (err < 0)
		return err;
	qp->ibqp.qp_num = qpn;
	return 0;
}

static int queues_alloc(struct sib_qp *qp, const struct ib_qp_cap *cap, struct ib_udata *udata)
{
	u32 max_sge = qp->srq ? qp->srq->cap.max_sge : cap->max_recv_sge;
	u32 data = cap->max_inline_data;
	int err;

	if (qp->lso)
		data = max_t(u32, data, cap->max_send_sge * sizeof(struct ib_sge) +
					SIB_OFFLOAD_HLEN);
	err = sib_ring_init(&qp->sq, qp->share, cap->max_send_wr, cap->max_send_sge, data,
			    sizeof(struct sib_swqe));
	if (err)
		return err;
	err = sib_rq_init(&qp->rq, qp->srq ? NULL : udata, cap->max_recv_wr, cap->max_recv_sge);
	if (err || !(qp->srq || udata))
		return err;
	qp->copy = kmalloc(struct_size(qp->copy, sge, max_sge), GFP_KERNEL_ACCOUNT);
	return qp->copy ? 0 : -ENOMEM;
}

static void queues_free(struct sib_qp *qp)
{
	kfree(qp->copy);
	sib_rq_free(&qp->rq);
	sib_ring_free(&qp->sq);
}

/*
 * What is granted. Inline data take the place of the gather entries, so there is room
 * for them in any case, as programs expect that do not ask.
 */
static void cap_grant(struct ib_qp_cap *cap, bool shared)
{
	cap->max_inline_data = max_t(u32, cap->max_inline_data,
				     cap->max_send_sge * sizeof(struct ib_sge));
	if (!shared)
		return;
	cap->max_recv_wr = 0;
	cap->max_recv_sge = 0;
}

static bool is_connected(enum ib_qp_type type)
{
	return type == IB_QPT_RC || type == IB_QPT_UC;
}

/**
 * sib_create_qp - ib_device_ops.create_qp
 * @ibqp: zeroed QP with its CQs set by ib_core
 * @init: attributes
 * @udata: NULL for kernel consumers
 *
 * Context: process. Return: 0, -EOPNOTSUPP for unknown types, -EINVAL for
 * capabilities out of range, -EBUSY if QP0 or QP1 exists already, -ENOMEM also if
 * there are too many.
 */
int sib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct sib_dev *dev = to_sib(ibqp->device);
	struct sib_qp *qp = to_sqp(ibqp);
	int err;

	qp->share = sib_share_of(udata);
	err = init_check(dev->profile, init);
	if (!err)
		err = sib_fault_command(&dev->fault);
	if (!err)
		err = sib_limit_take(&dev->limit, qp->share, SIB_KIND_QP);
	if (err)
		return err;
	cap_grant(&init->cap, init->srq);
	if (init->srq)
		qp->srq = to_ssrq(init->srq);
	INIT_LIST_HEAD(&qp->tx);
	INIT_LIST_HEAD(&qp->late);
	qp->mem.mem = &dev->mem;
	qp->mem.pd = ibqp->pd;
	qp->mem.kernel = !udata;
	qp->cap = init->cap;
	qp->lso = init->create_flags & IB_QP_CREATE_IPOIB_UD_LSO;
	qp->block_own = init->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->refuses = sib_choice_refuses(dev->profile, init->qp_type, udata);
	qp->attr.qp_state = IB_QPS_RESET;
	qp->attr.path_mig_state = IB_MIG_MIGRATED;
	err = queues_alloc(qp, &init->cap, udata);
	if (err)
		goto err_queues;
	err = is_connected(init->qp_type) ? sib_rc_create(qp) : 0;
	if (err)
		goto err_queues;
	err = qpn_alloc(&dev->port, qp, init->qp_type);
	if (err)
		goto err_rc;
	/* the entry is there already */
	xa_store(&dev->port.qps, ibqp->qp_num, qp, GFP_KERNEL);
	return 0;

err_rc:
	spin_lock_bh(&dev->port.lock);
	sib_rc_destroy(qp);
	spin_unlock_bh(&dev->port.lock);
err_queues:
	queues_free(qp);
	sib_limit_give(&dev->limit, qp->share, SIB_KIND_QP);
	return err;
}

static void lock_attr(struct sib_qp *qp, unsigned long *flags)
	__acquires(&qp->sq.lock) __acquires(&qp->rq.ring.lock)
{
	spin_lock_irqsave(&qp->sq.lock, *flags);
	spin_lock_nested(&qp->rq.ring.lock, SINGLE_DEPTH_NESTING);
}

static void unlock_attr(struct sib_qp *qp, unsigned long flags)
	__releases(&qp->rq.ring.lock) __releases(&qp->sq.lock)
{
	spin_unlock(&qp->rq.ring.lock);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
}

static void to_reset(struct sib_qp *qp)
{
	sib_ring_reset(&qp->sq);
	sib_rq_reset(&qp->rq);
	qp->held = NULL;
	qp->last_wqe = false;
	qp->hung = false;
}

/*
 * Completions of a QP that is no more, or is reset, are not to be seen (IBA vol. 1, 11.2.5.5),
 * though some HCAs leave them to the consumer.
 */
static void forget_completions(struct sib_port *port, struct sib_qp *qp)
{
	struct sib_cq *send = to_scq(qp->ibqp.send_cq), *recv = to_scq(qp->ibqp.recv_cq);

	if (sib_qp_profile(qp)->keep) {
		port->stats.cq_stale += sib_cq_count(send, qp);
		if (recv != send)
			port->stats.cq_stale += sib_cq_count(recv, qp);
		return;
	}
	sib_cq_forget(send, qp);
	sib_cq_forget(recv, qp);
}

/*
 * What was posted behind the request that has failed is flushed before the QP may send
 * again (IBA vol. 1, 10.3.1.8). What comes meanwhile may be either.
 */
static void finish_flush(struct sib_port *port, struct sib_qp *qp)
{
	u32 left = U32_MAX;

	do {
		spin_lock_bh(&port->lock);
		left = qp->attr.qp_state == IB_QPS_SQE ? min(left, sib_ring_count(&qp->sq)) : 0;
		if (left)
			left -= min_t(u32, left, sib_qp_flush(port, qp));
		spin_unlock_bh(&port->lock);
		cond_resched();
	} while (left);
}

/**
 * sib_modify_qp - ib_device_ops.modify_qp
 * @ibqp: the QP
 * @attr: new attributes
 * @mask: which of them
 * @udata: unused
 *
 * Context: process. Return: 0, -EINVAL, -EOPNOTSUPP or -EIO, with the QP unchanged.
 */
int sib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct sib_port *port = &to_sib(ibqp->device)->port;
	struct sib_qp *qp = to_sqp(ibqp);
	enum ib_qp_state old;
	unsigned long flags;
	int err;

	/* What takes a queue pair away needs no HCA. */
	if (!(mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)) {
		err = sib_fault_command(&to_sib(ibqp->device)->fault);
		if (err)
			return err;
	}
	finish_flush(port, qp);
	spin_lock_bh(&port->lock);
	lock_attr(qp, &flags);
	old = qp->attr.qp_state;
	err = sib_qp_attr_check(ibqp->qp_type, &qp->attr, attr, mask, READ_ONCE(port->sma.mtu));
	if (err)
		goto unlock;
	sib_qp_attr_copy(&qp->attr, attr, mask);
	if (mask & IB_QP_SQ_PSN)
		qp->psn = qp->attr.sq_psn;
	if (mask & IB_QP_AV)
		sib_av_fill(&qp->av, &attr->ah_attr);
	if (mask & IB_QP_STATE && qp->attr.qp_state == IB_QPS_RESET)
		to_reset(qp);
unlock:
	unlock_attr(qp, flags);
	if (!err && qp->rc)
		sib_rc_modified(port, qp, old);
	if (!err && mask & IB_QP_STATE && qp->attr.qp_state == IB_QPS_RESET)
		forget_completions(port, qp);
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
	if (qp->rc)
		sib_rc_query(qp, attr);
	else
		attr->sq_psn = qp->psn;
	attr->sq_draining = 0;
	spin_unlock_bh(&port->lock);
	attr->cur_qp_state = attr->qp_state;
	attr->port_num = 1;
	attr->cap = qp->cap;
	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
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
	list_del_init(&qp->late);
	if (qp->rc)
		sib_port_kick(port);	/* to send what sib_rc_destroy() queues */
	sib_rc_destroy(qp);
	forget_completions(port, qp);
	spin_unlock_bh(&port->lock);
	queues_free(qp);
	sib_limit_give(&to_sib(ibqp->device)->limit, qp->share, SIB_KIND_QP);
	return 0;
}

/**
 * sib_qp_event - tell a QP's consumer of an asynchronous event
 * @qp: the QP, port locked
 * @type: what happened
 */
void sib_qp_event(struct sib_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.event = type,
		.element.qp = &qp->ibqp,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

/* Complete send requests. Returns how many, FLUSH_BUDGET if there may be more. */
static int flush_sends(struct sib_qp *qp)
{
	struct sib_swqe *wqe;
	int n;

	for (n = 0; n < FLUSH_BUDGET && (wqe = sib_ring_peek(&qp->sq)); n++)
		sib_qp_complete_send(qp, wqe, IB_WC_WR_FLUSH_ERR);
	return n;
}

/* Receive requests, no more than @max; a process could post them for ever */
static int flush_receives(struct sib_qp *qp, int max)
{
	int n;

	for (n = 0; n < max && (qp->held || (!qp->srq && sib_qp_recv_take(qp))); n++) {
		struct ib_wc wc = {
			.status = IB_WC_WR_FLUSH_ERR,
			.opcode = IB_WC_RECV,
		};

		sib_qp_recv_done(qp, &wc, true);
	}
	return n;
}

/* A QP in ERR takes nothing more of its shared queue. */
static void last_wqe(struct sib_qp *qp)
{
	qp->last_wqe = true;
	sib_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/* Some HCAs may say so before what is in the QP has completed. */
static void last_wqe_early(struct sib_port *port, struct sib_qp *qp)
{
	struct sib_dev *dev = port_to_dev(port);

	if (qp->srq && !qp->last_wqe && sib_choice_early(&dev->chooser, ++dev->last_wqes))
		last_wqe(qp);
}

/* Both queues of a QP in ERR are empty. */
static void flushed(struct sib_port *port, struct sib_qp *qp)
{
	sib_late_watch(port, qp);
	if (qp->srq && !qp->last_wqe)
		last_wqe(qp);
}

/**
 * sib_qp_flush - complete what is posted to a QP in error
 * @port: its port, locked
 * @qp: QP in ERR (both queues are flushed) or SQE (the send queue only)
 *
 * After FLUSH_BUDGET requests, the rest waits until it is the QP's turn again. Of a
 * shared receive queue, only the request the QP holds is its own; after that
 * IB_EVENT_QP_LAST_WQE_REACHED says that it will take no other.
 *
 * Return: requests completed.
 */
int sib_qp_flush(struct sib_port *port, struct sib_qp *qp)
{
	int n;

	lockdep_assert_held(&port->lock);
	if (qp->attr.qp_state == IB_QPS_ERR)
		last_wqe_early(port, qp);
	n = flush_sends(qp);
	if (n < FLUSH_BUDGET && qp->attr.qp_state == IB_QPS_ERR) {
		n += flush_receives(qp, FLUSH_BUDGET - n);
		if (n < FLUSH_BUDGET)
			flushed(port, qp);
	}
	if (n >= FLUSH_BUDGET)
		sib_tx_note(qp);
	return n;
}

static void set_state(struct sib_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	lock_attr(qp, &flags);
	qp->attr.qp_state = state;
	unlock_attr(qp, flags);
}

/**
 * sib_qp_send_error - a send request failed: stop the send queue
 * @port: its port, locked
 * @qp: UD QP, which goes to SQE (IBA vol. 1, 10.3.1.8)
 */
void sib_qp_send_error(struct sib_port *port, struct sib_qp *qp)
{
	lockdep_assert_held(&port->lock);
	set_state(qp, IB_QPS_SQE);
}

/**
 * sib_qp_error - a QP can go on no longer: flush it
 * @port: its port, locked
 * @qp: the QP, which goes to ERR
 * @event: asynchronous event, or negative if completions say enough
 */
void sib_qp_error(struct sib_port *port, struct sib_qp *qp, int event)
{
	lockdep_assert_held(&port->lock);
	set_state(qp, IB_QPS_ERR);
	if (event >= 0)
		sib_qp_event(qp, event);
	sib_qp_flush(port, qp);
}

/**
 * sib_qp_fatal - a QP of any service is in error, and its engine with it
 * @port: its port, locked; not from within the engine
 * @qp: the QP, which goes to ERR
 * @event: as for sib_qp_error()
 */
void sib_qp_fatal(struct sib_port *port, struct sib_qp *qp, int event)
{
	enum ib_qp_state old = qp->attr.qp_state;

	set_state(qp, IB_QPS_ERR);
	if (qp->rc)
		sib_rc_modified(port, qp, old);
	sib_qp_error(port, qp, event);
}
