// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Shared receive queues (IBA vol. 1, 10.2.9): verbs, and the limit event.
 */
#include "sib.h"

/**
 * sib_create_srq - ib_device_ops.create_srq
 * @ibsrq: zeroed queue
 * @init: attributes
 * @udata: NULL for kernel consumers
 *
 * Context: process. Return: 0, -EOPNOTSUPP, -EINVAL, -ENOMEM, -EIO.
 */
int sib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct sib_dev *dev = to_sib(ibsrq->device);
	struct sib_srq *srq = to_ssrq(ibsrq);
	int err;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > dev->profile->max_srq_wr ||
	    init->attr.max_sge > dev->profile->max_srq_sge)
		return -EINVAL;
	err = sib_fault_command(&dev->fault);
	if (err)
		return err;
	srq->mem.mem = &dev->mem;
	srq->mem.pd = ibsrq->pd;
	srq->mem.kernel = !udata;
	srq->cap.max_wr = init->attr.max_wr;
	srq->cap.max_sge = init->attr.max_sge;
	srq->share = sib_share_of(udata);
	err = sib_limit_take(&dev->limit, srq->share, SIB_KIND_SRQ);
	if (err)
		return err;
	err = sib_rq_init(&srq->rq, udata, init->attr.max_wr, init->attr.max_sge);
	if (err) {
		sib_rq_free(&srq->rq);
		sib_limit_give(&dev->limit, srq->share, SIB_KIND_SRQ);
	}
	return err;
}

/**
 * sib_modify_srq - ib_device_ops.modify_srq
 * @ibsrq: the queue
 * @attr: its limit
 * @mask: IB_SRQ_LIMIT; the size does not change
 * @udata: unused
 *
 * Context: process. Return: 0, -EOPNOTSUPP or -EINVAL.
 */
int sib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata)
{
	struct sib_port *port = &to_sib(ibsrq->device)->port;
	struct sib_srq *srq = to_ssrq(ibsrq);

	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->cap.max_wr)
		return -EINVAL;
	spin_lock_bh(&port->lock);
	srq->cap.srq_limit = attr->srq_limit;
	spin_unlock_bh(&port->lock);
	return 0;
}

/**
 * sib_query_srq - ib_device_ops.query_srq
 * @ibsrq: the queue
 * @attr: filled in
 *
 * Context: process. Return: 0.
 */
int sib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct sib_port *port = &to_sib(ibsrq->device)->port;

	spin_lock_bh(&port->lock);
	*attr = to_ssrq(ibsrq)->cap;
	spin_unlock_bh(&port->lock);
	return 0;
}

/**
 * sib_destroy_srq - ib_device_ops.destroy_srq
 * @ibsrq: queue that no QP uses any more
 * @udata: unused
 *
 * Requests in it vanish without completion. Context: process. Return: 0.
 */
int sib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct sib_srq *srq = to_ssrq(ibsrq);

	sib_rq_free(&srq->rq);
	sib_limit_give(&to_sib(ibsrq->device)->limit, srq->share, SIB_KIND_SRQ);
	return 0;
}

static void srq_event(struct sib_srq *srq, enum ib_event_type type)
{
	struct ib_event event = {
		.device = srq->ibsrq.device,
		.event = type,
		.element.srq = &srq->ibsrq,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

/**
 * sib_srq_taken - a request has left a shared queue
 * @srq: the queue, port locked
 */
void sib_srq_taken(struct sib_srq *srq)
{
	if (!srq->cap.srq_limit || sib_rq_count(&srq->rq) >= srq->cap.srq_limit)
		return;
	srq->cap.srq_limit = 0;
	srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
}

/**
 * sib_srq_spoilt - its process has written nonsense to a shared queue
 * @srq: the queue, port locked
 *
 * IB_EVENT_SRQ_ERR comes once; the QPs that want a request go to error themselves.
 */
void sib_srq_spoilt(struct sib_srq *srq)
{
	if (srq->told)
		return;
	srq->told = true;
	srq_event(srq, IB_EVENT_SRQ_ERR);
}
