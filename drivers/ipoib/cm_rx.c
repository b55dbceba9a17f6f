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
#include <linux/random.h>

#include "cm_rx.h"

#define RX_IDLE		(300 * HZ)
/* The same for one whose peer has made another; what is on its way still arrives. */
#define RX_IDLE_OLD	(5 * HZ)
#define RX_END_TIME	(5 * HZ)
/* With more than so many, they are idle sooner, down to what an old one is. */
#define RX_MANY		(IPOIB_CONNS_MAX / 4 * 3)
/* Of those that are idle, so many end at a tick: each is a command to the HCA. */
#define RX_IDLE_ENDS	64

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
	ipoib_cm_note(&rx->item, IPOIB_CM_RX_DRAINED);
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
 * ipoib_cm_rx_receives - are buffers to be posted, also those that the HCA has refused before
 * @rx: connection
 *
 * Context: any. Return: true until it ends.
 */
bool ipoib_cm_rx_receives(const struct ipoib_cm_rx *rx)
{
	return READ_ONCE(rx->state) <= IPOIB_CM_RX_LIVE;
}

/**
 * ipoib_cm_rx_failed - the HCA refuses its buffers for good
 * @rx: connection, which is to end
 *
 * Context: receive NAPI.
 */
void ipoib_cm_rx_failed(struct ipoib_cm_rx *rx)
{
	ipoib_cm_note(&rx->item, IPOIB_CM_RX_ENDED);
}

/**
 * ipoib_cm_rx_returned - a buffer has come back from a queue pair that has failed, or will not
 *	be posted to it any more
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

static void rx_free(struct ipoib_cm_rx *rx)
{
	struct ipoib_cm *cm = rx->cm;
	bool last;

	ipoib_cm_rxq_unpart(&cm->rxq, &rx->bufs);
	ipoib_cm_item_end(&rx->item);
	mutex_lock(&cm->rx_lock);
	list_del(&rx->list);
	WRITE_ONCE(cm->rx_count, cm->rx_count - 1);
	last = list_empty(&cm->rx_links);
	mutex_unlock(&cm->rx_lock);
	kfree_rcu(rx, rcu);
	if (!last)
		return;
	/* The poll that has seen the last completion may still have buffers to post. */
	ipoib_cm_rx_napi_off(cm);
	ipoib_cm_rxq_empty(&cm->rxq);
	ipoib_cm_rx_napi_on(cm);
}

/* @drained: all completions of the queue pair have been handled, if there is one */
static void rx_end(struct ipoib_cm_rx *rx, bool drained)
{
	if (rx->cm->rx_draining == rx)
		rx->cm->rx_draining = NULL;
	if (rx->qp && !drained)
		ipoib_cm_rx_drop_qp(rx);
	WRITE_ONCE(rx->state, IPOIB_CM_RX_GONE);
	ipoib_cm_command(&rx->item, ipoib_cm_rx_destroy);
}

static void rx_flush(struct ipoib_cm_rx *rx)
{
	WRITE_ONCE(rx->state, IPOIB_CM_RX_FLUSHING);
	ipoib_cm_command(&rx->item, ipoib_cm_rx_to_error);
}

/* Return: false if it is refused for now; else @err is 0 or what the HCA says. */
static bool rx_post_drain(struct ipoib_cm_rx *rx, int *err)
{
	struct ib_send_wr wr = {
		.wr_id = IPOIB_CM_RX_DRAIN,
		.opcode = IB_WR_SEND,
	};

	*err = ib_post_send(rx->qp, &wr, NULL);
	if (*err != -ENOMEM)
		return true;
	/* Its deadline may have passed while it waited for its turn. */
	if (!rx->refused)
		rx->deadline = jiffies + RX_END_TIME;
	rx->refused = true;
	return time_after_eq(jiffies, rx->deadline);
}

/* Let the next connection that waits drain, if none does. */
static void rx_start_drain(struct ipoib_cm *cm)
{
	struct ipoib_cm_rx *rx;
	int err;

	lockdep_assert_held(&cm->rx_lock);
	if (cm->rx_draining)
		return;
	list_for_each_entry(rx, &cm->rx_links, list) {
		if (rx->state != IPOIB_CM_RX_WAITING)
			continue;
		/* At the next tick */
		if (!rx_post_drain(rx, &err))
			continue;
		WRITE_ONCE(rx->state, IPOIB_CM_RX_DRAINING);
		rx->deadline = err ? jiffies : jiffies + RX_END_TIME;
		cm->rx_draining = rx;
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

static void rx_refuse(struct ipoib_cm_rx *rx, int err)
{
	netdev_dbg(rx->cm->intf->dev, "incoming connection refused: error %d\n",
		   err);
	ipoib_count(&rx->cm->stat_rejects, 1);
	ib_send_cm_rej(rx->id, IB_CM_REJ_NO_RESOURCES, NULL, 0, NULL, 0);
	if (rx->qp)
		rx_flush(rx);
	else
		rx_end(rx, true);
}

static void rx_answer(struct ipoib_cm_rx *rx)
{
	int err = ipoib_cm_rxq_part(&rx->cm->rxq, &rx->bufs);

	if (err) {
		rx_refuse(rx, err);
		return;
	}
	/* The PSN in a REP is where its receiver begins (IBA 12.7.31). */
	rx->psn = get_random_u32() & 0xffffff;
	rx->pkey_index = rx->cm->intf->pkey_index;
	ipoib_cm_command(&rx->item, ipoib_cm_rx_accept);
}

static void rx_answered(struct ipoib_cm_rx *rx)
{
	if (rx->item.error) {
		rx_refuse(rx, rx->item.error);
		return;
	}
	WRITE_ONCE(rx->state, IPOIB_CM_RX_LIVE);
	WRITE_ONCE(rx->used, jiffies);
	ipoib_count(&rx->cm->stat_accepts, 1);
	rx_mark_old(rx);
}

/* Events that are for a later state. */
static void rx_note_again(struct ipoib_cm_rx *rx, unsigned long events)
{
	unsigned int event;

	events &= ~(BIT(IPOIB_CM_COMMANDED) | BIT(IPOIB_CM_RX_ASKED));
	for_each_set_bit(event, &events, BITS_PER_LONG)
		ipoib_cm_note(&rx->item, event);
}

static void rx_handle_new(struct ipoib_cm_rx *rx, unsigned long events)
{
	if (events & BIT(IPOIB_CM_COMMANDED)) {
		rx_answered(rx);
		rx_note_again(rx, events);
	} else if (events & BIT(IPOIB_CM_RX_ENDED)) {
		rx_end(rx, true);
	} else {
		rx_answer(rx);
	}
}

static void rx_handle_ending(struct ipoib_cm_rx *rx, unsigned long events)
{
	struct ipoib_cm *cm = rx->cm;

	/* From now on it completes what is left. */
	if (events & BIT(IPOIB_CM_COMMANDED))
		rx->deadline = jiffies + RX_END_TIME;
	if (rx->state == IPOIB_CM_RX_FLUSHING && events & BIT(IPOIB_CM_RX_LAST))
		WRITE_ONCE(rx->state, IPOIB_CM_RX_WAITING);
	if (events & BIT(IPOIB_CM_RX_DRAINED) &&
	    (rx->state == IPOIB_CM_RX_DRAINING || !cm->rxq.shared))
		rx_end(rx, true);
	rx_next_drain(cm);
}

static void rx_handle(struct ipoib_cm_item *item, unsigned long events)
{
	struct ipoib_cm_rx *rx = ipoib_cm_rx_of(item);

	switch (rx->state) {
	case IPOIB_CM_RX_NEW:
		rx_handle_new(rx, events);
		break;
	case IPOIB_CM_RX_LIVE:
		/* In ERROR already, if the HCA put it there. */
		rx_flush(rx);
		rx_note_again(rx, events);
		break;
	case IPOIB_CM_RX_GONE:
		rx_free(rx);
		break;
	default:
		rx_handle_ending(rx, events);
		break;
	}
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

		if (rx->item.busy) {
			/* The HCA is not done with those before. */
			ends -= ends && rx->state != IPOIB_CM_RX_NEW;
			continue;
		}
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
		rx_end(late, false);
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
		ipoib_cm_note(&rx->item, IPOIB_CM_RX_ENDED);
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
	WRITE_ONCE(cm->rx_count, cm->rx_count + 1);
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
	ipoib_cm_item_init(cm, &rx->item, rx_handle);
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
	ipoib_cm_note(&rx->item, IPOIB_CM_RX_ASKED);
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
	ipoib_cm_commands_settle(cm, true);
	cm->listen = NULL;
	napi_disable(&cm->rxq.napi);
	cm->rx_draining = NULL;
	while ((rx = list_first_entry_or_null(&cm->rx_links, struct ipoib_cm_rx,
					      list))) {
		if (rx->state != IPOIB_CM_RX_GONE)
			ipoib_cm_rx_destroy(&rx->item);
		rx_free(rx);
	}
	ipoib_cq_discard(cm->rxq.cq, cm->rxq.wc);
	ipoib_cm_rxq_empty(&cm->rxq);
	ipoib_cm_post_stop(&cm->rxq);
}
