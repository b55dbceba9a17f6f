// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The queue pair of an incoming connection: commands to the HCA.
 */
#include "cm_rx.h"

/* 0.16 ms: until a sender tries again for which there was no buffer (IBA 9.7.5.2.8). */
#define RX_RNR_TIMER	8
/* It may try for ever: the queue never runs dry for good. */
#define RX_RNR_RETRIES	7

/* Some say that the queue pair has failed, others are of no consequence (IBA 11.6.3). */
static void rx_qp_event(struct ib_event *event, void *context)
{
	struct ipoib_cm_rx *rx = context;

	switch (event->event) {
	case IB_EVENT_QP_LAST_WQE_REACHED:
		ipoib_cm_note(&rx->item, IPOIB_CM_RX_LAST);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		ipoib_cm_note(&rx->item, IPOIB_CM_RX_ENDED);
		break;
	case IB_EVENT_COMM_EST:
		/* A packet has come before the peer's RTU, which may be lost. */
		ib_cm_notify(rx->id, event->event);
		break;
	default:
		break;
	}
}

static int rx_create_qp(struct ipoib_cm_rx *rx)
{
	struct ipoib_cm_rxq *rxq = &rx->cm->rxq;
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.send_cq = rxq->cq,
		.recv_cq = rxq->cq,
		.srq = rxq->srq,
		.event_handler = rx_qp_event,
		.qp_context = rx,
		.cap.max_send_wr = 1,
		.cap.max_send_sge = 1,
		.cap.max_recv_wr = rx->bufs.size,
		.cap.max_recv_sge = rx->bufs.size ? rxq->sges : 0,
	};
	struct ib_qp *qp = ib_create_qp(rx->cm->intf->pd, &init);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	rx->qp = qp;
	return 0;
}

static int rx_set_state(struct ipoib_cm_rx *rx, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, err;

	err = ib_cm_init_qp_attr(rx->id, &attr, &mask);
	if (err)
		return err;
	if (state == IB_QPS_INIT)
		attr.pkey_index = rx->pkey_index;
	if (state == IB_QPS_RTR) {
		attr.rq_psn = rx->psn;
		attr.min_rnr_timer = RX_RNR_TIMER;
	}
	return ib_modify_qp(rx->qp, &attr, mask);
}

static int rx_send_rep(struct ipoib_cm_rx *rx)
{
	struct ipoib_cm_data data;
	struct ib_cm_rep_param rep = {
		.qp_num = rx->qp->qp_num,
		.starting_psn = rx->psn,
		.private_data = &data,
		.private_data_len = sizeof(data),
		.responder_resources = 1,
		.initiator_depth = 1,
		.rnr_retry_count = RX_RNR_RETRIES,
		.srq = rx->cm->rxq.shared,
	};

	ipoib_cm_data_set(&data, rx->cm->intf->qp->qp_num,
			  ipoib_cm_rxq_frame_max(&rx->cm->rxq),
			  rx->partial ? IPOIB_CM_OPT_PARTIAL : 0);
	return ib_send_cm_rep(rx->id, &rep);
}

/**
 * ipoib_cm_rx_napi_off - have nobody poll for a moment
 * @cm: connected mode; nobody does so while there is no listener
 *
 * Context: control, or a command while no connection receives.
 */
void ipoib_cm_rx_napi_off(struct ipoib_cm *cm)
{
	if (cm->listen)
		napi_disable(&cm->rxq.napi);
}

/**
 * ipoib_cm_rx_napi_on - the reverse
 * @cm: connected mode
 *
 * Context: as ipoib_cm_rx_napi_off().
 */
void ipoib_cm_rx_napi_on(struct ipoib_cm *cm)
{
	if (!cm->listen)
		return;
	napi_enable(&cm->rxq.napi);
	local_bh_disable();
	napi_schedule(&cm->rxq.napi);
	local_bh_enable();
}

/* The shared buffers, unless they are there. What the HCA refuses of them is for NAPI to post. */
static int rx_fill(struct ipoib_cm *cm)
{
	int err = 0;

	mutex_lock(&cm->rxq.fill_lock);
	if (cm->rxq.shared && !cm->rxq.srq) {
		ipoib_cm_rx_napi_off(cm);
		err = ipoib_cm_rxq_fill(&cm->rxq);
		ipoib_cm_rx_napi_on(cm);
	}
	mutex_unlock(&cm->rxq.fill_lock);
	return err;
}

/* A queue pair that receives, or none. */
static int rx_make_qp(struct ipoib_cm_rx *rx)
{
	struct ipoib_cm_rxq *rxq = &rx->cm->rxq;
	int err = rx_create_qp(rx);
	bool waits = false;

	if (err)
		return err;
	rx->held = rx->bufs.size;
	err = rx_set_state(rx, IB_QPS_INIT);
	if (!err)
		err = ipoib_cm_rxq_post_part(rxq, &rx->bufs, rx->qp);
	if (!err) {
		/* From RTR on, NAPI may have buffers of it that wait. */
		waits = rx->bufs.size && rx->bufs.waiting != IPOIB_NO_SLOT;
		err = rx_set_state(rx, IB_QPS_RTR);
	}
	if (!err) {
		if (waits)
			ipoib_cm_post_ready(rxq, &rx->bufs);
		return 0;
	}
	/* It has no completions. */
	ib_destroy_qp(rx->qp);
	rx->qp = NULL;
	return err;
}

/**
 * ipoib_cm_rx_accept - get ready to receive, and say so
 * @item: of a connection that has been asked for
 *
 * To RTS, although nothing is sent: some HCAs flush sends in no earlier state.
 *
 * Context: command.
 * Return: 0, -ENOMEM, or what the HCA or the CM says; with a queue pair that receives, if there
 * is one.
 */
int ipoib_cm_rx_accept(struct ipoib_cm_item *item)
{
	struct ipoib_cm_rx *rx = ipoib_cm_rx_of(item);
	int err;

	if (READ_ONCE(rx->cm->settling))
		return -ESHUTDOWN;
	err = rx_fill(rx->cm);
	if (!err)
		err = rx_make_qp(rx);
	if (!err)
		err = rx_set_state(rx, IB_QPS_RTS);
	return err ?: rx_send_rep(rx);
}

/**
 * ipoib_cm_rx_destroy - destroy what the HCA and the CM know of a connection
 * @item: of a connection that ends
 *
 * Context: command, or control while none runs.
 * Return: 0
 */
int ipoib_cm_rx_destroy(struct ipoib_cm_item *item)
{
	struct ipoib_cm_rx *rx = ipoib_cm_rx_of(item);

	/* First what notes events of the CM ID. */
	if (rx->qp)
		ib_destroy_qp(rx->qp);
	rx->qp = NULL;
	ib_destroy_cm_id(rx->id);
	return 0;
}

/**
 * ipoib_cm_rx_drop_qp - destroy a queue pair that has not drained
 * @rx: connection; NAPI may have completions of it
 *
 * Context: control.
 */
void ipoib_cm_rx_drop_qp(struct ipoib_cm_rx *rx)
{
	struct ipoib_cm *cm = rx->cm;

	ipoib_cm_rx_napi_off(cm);
	ib_destroy_qp(rx->qp);
	ipoib_cm_rxq_skip_gone(&cm->rxq, rx->qp);
	ipoib_cm_post_forget(&cm->rxq, &rx->bufs);
	rx->qp = NULL;
	ipoib_cm_rx_napi_on(cm);
}

/**
 * ipoib_cm_rx_to_error - have the queue pair complete what is left, with an error
 * @item: of a connection that ends
 *
 * Context: command.
 * Return: 0 or what the HCA says.
 */
int ipoib_cm_rx_to_error(struct ipoib_cm_item *item)
{
	struct ipoib_cm_rx *rx = ipoib_cm_rx_of(item);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int err = ib_modify_qp(rx->qp, &attr, IB_QP_STATE);

	if (err)
		netdev_warn(rx->cm->intf->dev,
			    "failed to modify the queue pair of an incoming connection to ERROR: %d\n",
			    err);
	return err;
}
