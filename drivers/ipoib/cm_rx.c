// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Incoming connections: a peer that asks is accepted, whatever our own mode.
 *
 * The shared receive queue must not lose a buffer when a connection ends, nor may
 * NAPI meet a completion of a queue pair that is gone. So a queue pair goes to
 * ERROR; the HCA says when it has taken its last buffer; then a send of ours is
 * flushed through the same completion queue, behind everything else of the queue
 * pair. One connection at a time does this, so the completion queue has room.
 * A connection with buffers of its own has drained when all of them have come back.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>

#include "cm_rx.h"

#define RX_IDLE		(300 * HZ)
/* The same for one whose peer has made another; what is on its way still arrives. */
#define RX_IDLE_OLD	(5 * HZ)
#define RX_END_TIME	(5 * HZ)
/* With more than so many, they are idle sooner, down to what an old one is. */
#define RX_MANY		(IPOIB_CONNS_MAX / 4 * 3)
/* Of those that are idle, so many end at a tick: each is a command to the HCA. */
#define RX_IDLE_ENDS	64

/* 0.16 ms: until a sender tries again for which there was no buffer (IBA 9.7.5.2.8). */
#define RX_RNR_TIMER	8
/* It may try for ever: the queue never runs dry for good. */
#define RX_RNR_RETRIES	7

/**
 * enum ipoib_cm_rx_event - bits of the item of an incoming connection
 * @IPOIB_CM_RX_ASKED: a request to be answered
 * @IPOIB_CM_RX_ENDED: the peer has disconnected, or the queue pair has failed
 * @IPOIB_CM_RX_LAST: the queue pair in ERROR has taken its last buffer
 * @IPOIB_CM_RX_DRAINED: its last completion has been handled
 */
enum ipoib_cm_rx_event {
	IPOIB_CM_RX_ASKED,
	IPOIB_CM_RX_ENDED,
	IPOIB_CM_RX_LAST,
	IPOIB_CM_RX_DRAINED,
};

/**
 * ipoib_cm_rx_used - a message has come
 * @rx: connection it came through
 *
 * Context: receive NAPI.
 */
void ipoib_cm_rx_used(struct ipoib_cm_rx *rx)
{
	WRITE_ONCE(rx->used, jiffies);
}

/**
 * ipoib_cm_rx_drained - the last completion of a connection has been handled
 * @rx: connection
 *
 * Context: receive NAPI.
 */
void ipoib_cm_rx_drained(struct ipoib_cm_rx *rx)
{
	ipoib_cm_note(rx->cm, &rx->item, IPOIB_CM_RX_DRAINED);
}

/**
 * ipoib_cm_rx_partial - may the peer leave checksums to us
 * @rx: connection
 */
bool ipoib_cm_rx_partial(const struct ipoib_cm_rx *rx)
{
	return rx->partial;
}

/**
 * ipoib_cm_rx_bufs - receive buffers of a connection that has its own
 * @rx: connection
 */
struct ipoib_cm_rx_bufs *ipoib_cm_rx_bufs(struct ipoib_cm_rx *rx)
{
	return &rx->bufs;
}

/**
 * ipoib_cm_rx_returned - a buffer has come back from a queue pair that has failed
 * @rx: connection with buffers of its own
 *
 * Context: receive NAPI.
 */
void ipoib_cm_rx_returned(struct ipoib_cm_rx *rx)
{
	WRITE_ONCE(rx->held, rx->held - 1);
	if (!rx->held)
		ipoib_cm_rx_drained(rx);
}

/* Some say that the queue pair has failed, others are of no consequence (IBA 11.6.3). */
static void rx_qp_event(struct ib_event *event, void *context)
{
	struct ipoib_cm_rx *rx = context;

	switch (event->event) {
	case IB_EVENT_QP_LAST_WQE_REACHED:
		ipoib_cm_note(rx->cm, &rx->item, IPOIB_CM_RX_LAST);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		ipoib_cm_note(rx->cm, &rx->item, IPOIB_CM_RX_ENDED);
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
		attr.pkey_index = rx->cm->intf->pkey_index;
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

/* Have nobody poll for a moment; nobody does so while there is no listener. */
static void rx_napi_off(struct ipoib_cm *cm)
{
	if (cm->listen)
		napi_disable(&cm->rxq.napi);
}

static void rx_napi_on(struct ipoib_cm *cm)
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
	int err;

	if (!cm->rxq.shared || cm->rxq.srq)
		return 0;
	rx_napi_off(cm);
	err = ipoib_cm_rxq_fill(&cm->rxq);
	rx_napi_on(cm);
	return err;
}

/* RTS, although nothing is sent: some HCAs flush sends in no earlier state. */
static int rx_accept(struct ipoib_cm_rx *rx)
{
	struct ipoib_cm_rxq *rxq = &rx->cm->rxq;
	int err;

	/* The PSN in a REP is where its receiver begins (IBA 12.7.31). */
	rx->psn = get_random_u32() & 0xffffff;
	err = rx_fill(rx->cm);
	if (!err)
		err = ipoib_cm_rxq_part(rxq, &rx->bufs);
	if (!err)
		err = rx_create_qp(rx);
	if (!err)
		err = rx_set_state(rx, IB_QPS_INIT);
	if (!err) {
		rx->held = rx->bufs.size;
		err = ipoib_cm_rxq_post_part(rxq, &rx->bufs, rx->qp);
	}
	if (!err)
		err = rx_set_state(rx, IB_QPS_RTR);
	if (!err)
		err = rx_set_state(rx, IB_QPS_RTS);
	return err ?: rx_send_rep(rx);
}

/*
 * The queue pair and its buffers. Unless it has drained, NAPI may have completions of it,
 * or find them later.
 */
static void rx_free_qp(struct ipoib_cm_rx *rx, bool drained)
{
	struct ipoib_cm *cm = rx->cm;
	bool pause = rx->qp && !drained;

	if (pause)
		rx_napi_off(cm);
	if (rx->qp)
		ib_destroy_qp(rx->qp);
	if (pause && cm->listen)
		ipoib_cm_rxq_skip_gone(&cm->rxq, rx->qp);
	ipoib_cm_rxq_unpart(&cm->rxq, &rx->bufs);
	if (pause)
		rx_napi_on(cm);
}

/* @drained: all completions of the queue pair have been handled, if there is one */
static void rx_free(struct ipoib_cm_rx *rx, bool drained)
{
	struct ipoib_cm *cm = rx->cm;
	bool last;

	ib_destroy_cm_id(rx->id);
	rx_free_qp(rx, drained);
	ipoib_cm_item_end(cm, &rx->item);
	mutex_lock(&cm->rx_lock);
	list_del(&rx->list);
	cm->rx_count--;
	last = list_empty(&cm->rx_links);
	mutex_unlock(&cm->rx_lock);
	if (cm->rx_draining == rx)
		cm->rx_draining = NULL;
	kfree_rcu(rx, rcu);
	if (!last)
		return;
	/* The poll that has seen the last completion may still have buffers to post. */
	rx_napi_off(cm);
	ipoib_cm_rxq_empty(&cm->rxq);
	rx_napi_on(cm);
}

static void rx_flush(struct ipoib_cm_rx *rx)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	WRITE_ONCE(rx->state, IPOIB_CM_RX_FLUSHING);
	rx->deadline = jiffies + RX_END_TIME;
	if (ib_modify_qp(rx->qp, &attr, IB_QP_STATE))
		netdev_warn(rx->cm->intf->dev,
			    "an incoming connection does not go to ERROR\n");
}

static int rx_post_drain(struct ipoib_cm_rx *rx)
{
	struct ib_send_wr wr = {
		.wr_id = IPOIB_CM_RX_DRAIN,
		.opcode = IB_WR_SEND,
	};

	return ib_post_send(rx->qp, &wr, NULL);
}

/* Let the next connection that waits drain, if none does. */
static void rx_start_drain(struct ipoib_cm *cm)
{
	struct ipoib_cm_rx *rx;

	lockdep_assert_held(&cm->rx_lock);
	if (cm->rx_draining)
		return;
	list_for_each_entry(rx, &cm->rx_links, list) {
		if (rx->state != IPOIB_CM_RX_WAITING)
			continue;
		WRITE_ONCE(rx->state, IPOIB_CM_RX_DRAINING);
		rx->deadline = jiffies + RX_END_TIME;
		cm->rx_draining = rx;
		if (rx_post_drain(rx))
			rx->deadline = jiffies;
		return;
	}
}

static void rx_next_drain(struct ipoib_cm *cm)
{
	mutex_lock(&cm->rx_lock);
	rx_start_drain(cm);
	mutex_unlock(&cm->rx_lock);
}

/*
 * Who makes a new connection has given its old one up. It may have said so while a
 * cable was pulled.
 */
static void rx_mark_old(struct ipoib_cm_rx *rx)
{
	struct ipoib_cm *cm = rx->cm;
	struct ipoib_cm_rx *other;

	mutex_lock(&cm->rx_lock);
	list_for_each_entry(other, &cm->rx_links, list)
		if (other != rx &&
		    !memcmp(&other->from, &rx->from, sizeof(rx->from)))
			other->old = true;
	mutex_unlock(&cm->rx_lock);
}

static void rx_answer(struct ipoib_cm_rx *rx)
{
	int err = rx_accept(rx);

	if (!err) {
		WRITE_ONCE(rx->state, IPOIB_CM_RX_LIVE);
		WRITE_ONCE(rx->used, jiffies);
		ipoib_count(&rx->cm->stat_accepts, 1);
		rx_mark_old(rx);
		return;
	}
	netdev_dbg(rx->cm->intf->dev, "incoming connection refused: error %d\n",
		   err);
	ipoib_count(&rx->cm->stat_rejects, 1);
	ib_send_cm_rej(rx->id, IB_CM_REJ_NO_RESOURCES, NULL, 0, NULL, 0);
	rx_free(rx, false);
}

static void rx_handle(struct ipoib_cm_item *item, unsigned long events)
{
	struct ipoib_cm_rx *rx = container_of(item, struct ipoib_cm_rx, item);
	struct ipoib_cm *cm = rx->cm;

	if (rx->state == IPOIB_CM_RX_NEW && events & BIT(IPOIB_CM_RX_ENDED)) {
		rx_free(rx, true);
		return;
	}
	if (rx->state == IPOIB_CM_RX_NEW) {
		rx_answer(rx);
		return;
	}
	/* In ERROR already, if the HCA put it there. */
	if (rx->state == IPOIB_CM_RX_LIVE)
		rx_flush(rx);
	if (rx->state == IPOIB_CM_RX_FLUSHING && events & BIT(IPOIB_CM_RX_LAST))
		WRITE_ONCE(rx->state, IPOIB_CM_RX_WAITING);
	if (events & BIT(IPOIB_CM_RX_DRAINED) &&
	    (rx->state == IPOIB_CM_RX_DRAINING || !cm->rxq.shared))
		rx_free(rx, true);
	rx_next_drain(cm);
}

static unsigned long rx_idle(const struct ipoib_cm *cm)
{
	u32 step = (IPOIB_CONNS_MAX - RX_MANY) / 6;

	lockdep_assert_held(&cm->rx_lock);
	if (cm->rx_count <= RX_MANY)
		return RX_IDLE;
	return max(RX_IDLE >> (1 + (cm->rx_count - RX_MANY) / step), RX_IDLE_OLD);
}

/**
 * ipoib_cm_rx_tick - see to connections whose time is up
 * @cm: connected mode
 *
 * Context: control.
 */
void ipoib_cm_rx_tick(struct ipoib_cm *cm)
{
	struct ipoib_cm_rx *rx, *late = NULL;
	unsigned int ends = RX_IDLE_ENDS;
	unsigned long idle;

	if (!cm->listen) {
		ipoib_cm_rx_start(cm);
		return;
	}
	mutex_lock(&cm->rx_lock);
	idle = rx_idle(cm);
	list_for_each_entry(rx, &cm->rx_links, list) {
		bool due = time_after_eq(jiffies, rx->deadline);
		unsigned long age = rx->old ? RX_IDLE_OLD : idle;

		if (rx->state == IPOIB_CM_RX_LIVE && ends &&
		    time_after(jiffies, READ_ONCE(rx->used) + age)) {
			rx_flush(rx);
			ends--;
		} else if (rx->state == IPOIB_CM_RX_FLUSHING && due && cm->rxq.shared) {
			WRITE_ONCE(rx->state, IPOIB_CM_RX_WAITING);
		} else if ((rx->state == IPOIB_CM_RX_FLUSHING ||
			    rx->state == IPOIB_CM_RX_DRAINING) && due) {
			late = rx;
		}
	}
	mutex_unlock(&cm->rx_lock);
	if (late) {
		netdev_warn(cm->intf->dev,
			    "the last completion of a connection has not come\n");
		rx_free(late, false);
	}
	rx_next_drain(cm);
	ipoib_cm_post_tick(&cm->rxq);
}

static int rx_cm_event(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct ipoib_cm_rx *rx = id->context;

	switch (event->event) {
	case IB_CM_DREQ_RECEIVED:
		ib_send_cm_drep(id, NULL, 0);
		fallthrough;
	case IB_CM_REJ_RECEIVED:
	case IB_CM_REP_ERROR:
	case IB_CM_TIMEWAIT_EXIT:
		ipoib_cm_note(rx->cm, &rx->item, IPOIB_CM_RX_ENDED);
		return 0;
	default:
		return 0;
	}
}

static bool rx_is_for_us(const struct ipoib_cm *cm,
			 const struct ib_cm_event *event,
			 struct ipoib_cm_peer *peer)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;

	return req->qp_type == IB_QPT_RC && req->port == cm->intf->port &&
	       ipoib_match_partition(cm->intf,
				     be16_to_cpu(req->primary_path->pkey),
				     NULL) &&
	       !ipoib_cm_data_get(event->private_data,
				  IB_CM_REQ_PRIVATE_DATA_SIZE, peer);
}

/* Put a new connection with the others, if there are not too many, of all or with its port. */
static int rx_admit(struct ipoib_cm *cm, struct ipoib_cm_rx *rx)
{
	struct ipoib_cm_rx *other;
	unsigned int same = 0;

	lockdep_assert_held(&cm->rx_lock);
	if (!cm->rx_open)
		return -ENETDOWN;
	list_for_each_entry(other, &cm->rx_links, list)
		same += !memcmp(&other->from.gid, &rx->from.gid, sizeof(rx->from.gid));
	if (cm->rx_count >= IPOIB_CONNS_MAX || same >= IPOIB_CONNS_PORT_MAX) {
		ipoib_count(&cm->stat_in_full, 1);
		return -ENOSPC;
	}
	list_add_tail(&rx->list, &cm->rx_links);
	cm->rx_count++;
	return 0;
}

static int rx_request(struct ipoib_cm *cm, struct ib_cm_id *id,
		      const struct ib_cm_event *event)
{
	struct ipoib_cm_peer peer;
	struct ipoib_cm_rx *rx;
	int err;

	if (!rx_is_for_us(cm, event, &peer))
		return -EINVAL;
	rx = kzalloc(sizeof(*rx), GFP_KERNEL);
	if (!rx)
		return -ENOMEM;
	ipoib_cm_item_init(&rx->item, rx_handle);
	rx->cm = cm;
	rx->id = id;
	rx->from.qpn = cpu_to_be32(peer.qpn);
	rx->from.gid = event->param.req_rcvd.primary_path->dgid;
	rx->partial = ipoib_cm_options() & peer.options & IPOIB_CM_OPT_PARTIAL;
	rx->used = jiffies;
	mutex_lock(&cm->rx_lock);
	err = rx_admit(cm, rx);
	mutex_unlock(&cm->rx_lock);
	if (err) {
		kfree(rx);
		return err;
	}
	id->context = rx;
	ipoib_cm_note(cm, &rx->item, IPOIB_CM_RX_ASKED);
	return 0;
}

/* The CM calls in a context of its own; an error has it destroy the ID. */
static int rx_cm_handler(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	if (event->event == IB_CM_REQ_RECEIVED)
		return rx_request(id->context, id, event);
	return rx_cm_event(id, event);
}

/**
 * ipoib_cm_rx_start - let peers connect
 * @cm: connected mode
 *
 * Context: control.
 * Return: 0, -ENOMEM, or what the CM says.
 */
int ipoib_cm_rx_start(struct ipoib_cm *cm)
{
	struct ipoib_intf *intf = cm->intf;
	struct ib_cm_id *id;
	int err;

	id = ib_create_cm_id(intf->ca, rx_cm_handler, cm);
	if (IS_ERR(id))
		return PTR_ERR(id);
	napi_enable(&cm->rxq.napi);
	mutex_lock(&cm->rx_lock);
	cm->rx_open = true;
	mutex_unlock(&cm->rx_lock);
	err = ib_cm_listen(id, ipoib_cm_service_id(intf->qp->qp_num));
	if (err) {
		cm->rx_open = false;
		napi_disable(&cm->rxq.napi);
		ib_destroy_cm_id(id);
		return err;
	}
	cm->listen = id;
	/* The first poll arms the completion queue. */
	local_bh_disable();
	napi_schedule(&cm->rxq.napi);
	local_bh_enable();
	return 0;
}

/**
 * ipoib_cm_rx_stop - end all incoming connections at once
 * @cm: connected mode
 *
 * With NAPI off, nothing looks at completions of queue pairs that are gone; they and all
 * buffers go with them.
 *
 * Context: control.
 */
void ipoib_cm_rx_stop(struct ipoib_cm *cm)
{
	struct ipoib_cm_rx *rx;

	if (!cm->listen)
		return;
	mutex_lock(&cm->rx_lock);
	cm->rx_open = false;
	mutex_unlock(&cm->rx_lock);
	ib_destroy_cm_id(cm->listen);
	cm->listen = NULL;
	napi_disable(&cm->rxq.napi);
	while ((rx = list_first_entry_or_null(&cm->rx_links, struct ipoib_cm_rx,
					      list)))
		rx_free(rx, false);
	ipoib_cq_discard(cm->rxq.cq, cm->rxq.wc);
	ipoib_cm_rxq_empty(&cm->rxq);
	cm->rxq.refill = 0;
}
