// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Links: how an outgoing connection is asked for, and how it ends.
 *
 * A link ends in two steps. Gracefully, it first completes what it has. Then its
 * queue pair goes to ERROR and what is left is flushed; with the last completion
 * CM ID and queue pair are destroyed. What the HCA does not complete in time is
 * taken back once the queue pair is gone.
 *
 * Each step is a command (cm_item.c). A link whose end comes while one runs ends after it.
 */
#include <linux/random.h>

#include "cm_tx.h"

#define LINK_CLOSE_TIME		HZ
#define LINK_FLUSH_TIME		(5 * HZ)

/* 4.096 us * 2^18, about a second: until a request is sent again. */
#define LINK_CM_TIMEOUT		18
#define LINK_CM_RETRIES		4

/*
 * RFC 4755 section 7.1 warns of retries that outlast those of TCP. These end within a
 * second or two; they bridge what a switch loses while it is reprogrammed.
 */
#define LINK_RETRIES		3
/*
 * 4.096 us * 2^15, an eighth of a second, of which an HCA may make up to four times as much
 * (IBA vol. 1, 9.7.6.1.3). A path may ask for longer, but what nobody answers holds up the
 * transmit queue, for all peers, and must be given up well before the stack takes the queue
 * for stalled, after five seconds.
 */
#define LINK_ACK_TIMEOUT_MAX	15
/*
 * A receiver without buffers is a slow one, not a dead one: how often it is asked again is for
 * it to say, mostly without limit. But what it never takes holds up the others, too: what has
 * made no progress at so many ticks in a row is given up.
 */
#define LINK_RNR_RETRIES	7
#define LINK_STALLS_MAX		3

static int link_set_state(struct ipoib_cm_tx *link, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, err;

	err = ib_cm_init_qp_attr(link->id, &attr, &mask);
	if (err)
		return err;
	if (state == IB_QPS_RTS)
		attr.timeout = min_t(u8, attr.timeout, LINK_ACK_TIMEOUT_MAX);
	return ib_modify_qp(link->qp, &attr, mask);
}

static int link_to_init(struct ipoib_cm_tx *link)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = link->cm->intf->port,
		.pkey_index = link->pkey_index,
	};

	return ib_modify_qp(link->qp, &attr, IB_QP_STATE | IB_QP_PORT |
			    IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS);
}

static struct ipoib_cm_tx *link_of(struct ipoib_cm_item *item)
{
	return container_of(item, struct ipoib_cm_tx, item);
}

/* Command: the peer has agreed; get ready to send, and tell it. */
static int link_establish(struct ipoib_cm_item *item)
{
	struct ipoib_cm_tx *link = link_of(item);
	int err;

	err = link_set_state(link, IB_QPS_RTR);
	if (!err)
		err = link_set_state(link, IB_QPS_RTS);
	return err ?: ib_send_cm_rtu(link->id, NULL, 0);
}

/* Command, or control after the last one: what the HCA and the CM know of a link */
static int link_destroy(struct ipoib_cm_item *item)
{
	struct ipoib_cm_tx *link = link_of(item);

	if (link->id)
		ib_destroy_cm_id(link->id);
	if (link->qp)
		ib_destroy_qp(link->qp);
	link->id = NULL;
	link->qp = NULL;
	return 0;
}

static void link_free(struct ipoib_cm_tx *link)
{
	list_del(&link->list);
	ipoib_cm_item_end(&link->item);
	kvfree(link->slots);
	kfree_rcu(link, rcu);
}

/* Command: complete what is left, with an error. */
static int link_flush(struct ipoib_cm_item *item)
{
	struct ipoib_cm_tx *link = link_of(item);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int err = ib_modify_qp(link->qp, &attr, IB_QP_STATE);

	if (err)
		netdev_warn(link->cm->intf->dev,
			    "failed to modify the queue pair of a connection to ERROR: %d\n", err);
	return err;
}

/* What has been sent will be completed no more, or has been. */
static void link_ends(struct ipoib_cm_tx *link, bool late)
{
	u32 left = ipoib_cm_tx_awaited(link);

	/* While the interface stops, NAPI may be on or off; ipoib_cm_reclaim() knows when. */
	if (!link->cm->intf->running && READ_ONCE(link->tail) != link->head)
		return;
	if (late && left)
		netdev_warn(link->cm->intf->dev, "%u sends of a connection were never completed\n",
			    left);
	ipoib_cm_tx_reclaim(link);
	WRITE_ONCE(link->state, IPOIB_CM_TX_GONE);
	ipoib_cm_command(&link->item, link_destroy);
}

/* See how far an ending link has come, and do what comes next. Frees it in the end. */
static void link_check(struct ipoib_cm_tx *link)
{
	bool late = time_after_eq(jiffies, link->deadline);

	if (link->item.busy)
		return;
	switch (link->state) {
	case IPOIB_CM_TX_OPEN:
		break;
	case IPOIB_CM_TX_CLOSING:
		if (!late && READ_ONCE(link->tail) != READ_ONCE(link->head))
			break;
		WRITE_ONCE(link->state, IPOIB_CM_TX_ERROR);
		if (link->posted)
			ipoib_cm_command(&link->item, link_flush);
		else
			link_ends(link, false);
		break;
	case IPOIB_CM_TX_ERROR:
		if (late || !ipoib_cm_tx_awaited(link))
			link_ends(link, late);
		break;
	case IPOIB_CM_TX_GONE:
		link_free(link);
		break;
	}
}

/**
 * ipoib_cm_tx_end - a link has no use any more
 * @link: link; may be freed
 * @graceful: what it has is sent first
 *
 * Context: control; no sender uses the link any more.
 */
void ipoib_cm_tx_end(struct ipoib_cm_tx *link, bool graceful)
{
	link->conn = NULL;
	WRITE_ONCE(link->state, IPOIB_CM_TX_CLOSING);
	link->deadline = jiffies;
	if (graceful && ipoib_cm_tx_usable(link))
		link->deadline += LINK_CLOSE_TIME;
	/* Pairs with that in ring_complete(): one of us sees the end. */
	smp_mb();
	link_check(link);
}

/* Return: true if something has been on its way for long, and nothing has arrived. */
static bool link_has_stalled(struct ipoib_cm_tx *link)
{
	u32 tail = READ_ONCE(link->tail);

	if (tail != link->seen_tail || tail == READ_ONCE(link->posted))
		link->stalls = 0;
	else
		link->stalls++;
	link->seen_tail = tail;
	return link->stalls >= LINK_STALLS_MAX;
}

/**
 * ipoib_cm_tx_tick - see to links whose time is up
 * @cm: connected mode
 *
 * Context: control.
 */
void ipoib_cm_tx_tick(struct ipoib_cm *cm)
{
	struct ipoib_cm_tx *link, *next;

	list_for_each_entry_safe(link, next, &cm->links, list)
		if (link->state != IPOIB_CM_TX_OPEN)
			link_check(link);
		else if (link_has_stalled(link))
			ipoib_conn_event(link->conn, IPOIB_CONN_EV_LOST);
}

/* The first of several events may free the link, so the others wait their turn. */
static unsigned int link_first_event(struct ipoib_cm_tx *link,
				     unsigned long events)
{
	unsigned int first = __ffs(events), event;

	events &= ~BIT(first);
	for_each_set_bit(event, &events, BITS_PER_LONG)
		ipoib_cm_note(&link->item, event);
	return first;
}

/* A command for an open link has ended. */
static void link_commanded(struct ipoib_cm_tx *link)
{
	int err = link->item.error;

	if (err) {
		netdev_dbg(link->cm->intf->dev, "no connection to %pI6: error %d\n",
			   link->conn->key.gid.raw, err);
		ipoib_conn_event(link->conn, IPOIB_CONN_EV_REFUSED);
	} else if (link->item.command == link_establish) {
		ipoib_conn_event(link->conn, IPOIB_CONN_EV_REP);
	}
}

/* The peer has agreed. */
static void link_agreed(struct ipoib_cm_tx *link)
{
	if (link->peer.qpn != link->remote_qpn) {
		ipoib_conn_event(link->conn, IPOIB_CONN_EV_REFUSED);
		return;
	}
	link->frame_max = link->peer.frame_max;
	link->partial = ipoib_cm_options() & link->peer.options &
			IPOIB_CM_OPT_PARTIAL;
	ipoib_cm_command(&link->item, link_establish);
}

static void link_handle(struct ipoib_cm_item *item, unsigned long events)
{
	struct ipoib_cm_tx *link = link_of(item);

	if (link->state != IPOIB_CM_TX_OPEN) {
		/* From now on it completes what is left. */
		if (events & BIT(IPOIB_CM_COMMANDED) && link->state == IPOIB_CM_TX_ERROR)
			link->deadline = jiffies + LINK_FLUSH_TIME;
		link_check(link);
		return;
	}
	switch (link_first_event(link, events)) {
	case IPOIB_CM_COMMANDED:
		link_commanded(link);
		break;
	case IPOIB_CM_TX_REP:
		link_agreed(link);
		break;
	case IPOIB_CM_TX_STALE:
		ipoib_conn_event(link->conn, IPOIB_CONN_EV_STALE);
		break;
	case IPOIB_CM_TX_REFUSED:
		ipoib_conn_event(link->conn, IPOIB_CONN_EV_REFUSED);
		break;
	case IPOIB_CM_TX_HANGUP:
		ipoib_conn_event(link->conn, IPOIB_CONN_EV_HANGUP);
		break;
	default:
		ipoib_conn_event(link->conn, IPOIB_CONN_EV_LOST);
		break;
	}
}

static unsigned int link_judge_rep(struct ipoib_cm_tx *link,
				   const struct ib_cm_event *event)
{
	if (ipoib_cm_data_get(event->private_data, IB_CM_REP_PRIVATE_DATA_SIZE,
			      &link->peer))
		return IPOIB_CM_TX_REFUSED;
	return IPOIB_CM_TX_REP;
}

/* The CM calls in a context of its own: note what it says, and return. */
static int link_cm_handler(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct ipoib_cm_tx *link = id->context;
	unsigned int what;

	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		what = link_judge_rep(link, event);
		break;
	case IB_CM_REJ_RECEIVED:
		what = event->param.rej_rcvd.reason == IB_CM_REJ_STALE_CONN ?
		       IPOIB_CM_TX_STALE : IPOIB_CM_TX_REFUSED;
		break;
	case IB_CM_REQ_ERROR:
		what = IPOIB_CM_TX_REFUSED;
		break;
	case IB_CM_DREQ_RECEIVED:
		ib_send_cm_drep(id, NULL, 0);
		WRITE_ONCE(link->broken, true);
		what = IPOIB_CM_TX_HANGUP;
		break;
	case IB_CM_TIMEWAIT_EXIT:
		WRITE_ONCE(link->broken, true);
		what = IPOIB_CM_TX_BROKEN;
		break;
	default:
		return 0;
	}
	ipoib_cm_note(&link->item, what);
	return 0;
}

static int link_send_req(struct ipoib_cm_tx *link)
{
	struct ipoib_cm_data data;
	struct ib_cm_req_param req = {
		.primary_path = &link->path,
		.service_id = ipoib_cm_service_id(link->remote_qpn),
		.qp_num = link->qp->qp_num,
		.qp_type = IB_QPT_RC,
		.starting_psn = get_random_u32() & 0xffffff,
		.private_data = &data,
		.private_data_len = sizeof(data),
		.responder_resources = 1,
		.initiator_depth = 1,
		.remote_cm_response_timeout = LINK_CM_TIMEOUT,
		.local_cm_response_timeout = LINK_CM_TIMEOUT,
		.retry_count = LINK_RETRIES,
		.rnr_retry_count = LINK_RNR_RETRIES,
		.max_cm_retries = LINK_CM_RETRIES,
	};

	ipoib_cm_data_set(&data, link->cm->intf->qp->qp_num,
			  ipoib_cm_rxq_frame_max(&link->cm->rxq),
			  ipoib_cm_options());
	return ib_send_cm_req(link->id, &req);
}

static int link_create_qp(struct ipoib_cm_tx *link)
{
	struct ipoib_cm *cm = link->cm;
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = cm->tx_cq,
		.recv_cq = cm->tx_cq,
		.qp_context = link,
		.cap.max_send_wr = IPOIB_CM_TX_RING,
		.cap.max_send_sge = cm->intf->tx_sge,
	};
	struct ib_qp *qp = ib_create_qp(cm->intf->pd, &init);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	link->qp = qp;
	return 0;
}

/* Command: ask for the connection. What is made is destroyed with the link. */
static int link_request(struct ipoib_cm_item *item)
{
	struct ipoib_cm_tx *link = link_of(item);
	struct ib_cm_id *id;
	int err;

	if (READ_ONCE(link->state) != IPOIB_CM_TX_OPEN)
		return -ESHUTDOWN;
	err = link_create_qp(link);
	if (err)
		return err;
	id = ib_create_cm_id(link->cm->intf->ca, link_cm_handler, link);
	if (IS_ERR(id))
		return PTR_ERR(id);
	link->id = id;
	err = link_to_init(link);
	return err ?: link_send_req(link);
}

static struct ipoib_tx_slot *link_alloc_slots(u32 lkey)
{
	struct ipoib_tx_slot *slots = kvcalloc(IPOIB_CM_TX_RING, sizeof(*slots), GFP_KERNEL);
	unsigned int i;

	for (i = 0; slots && i < IPOIB_CM_TX_RING; i++) {
		slots[i].wr.wr.opcode = IB_WR_SEND;
		slots[i].wr.wr.sg_list = slots[i].sge;
		slots[i].sge[0].lkey = lkey;
	}
	return slots;
}

/**
 * ipoib_cm_tx_create - ask a peer for a connection
 * @conn: whom; its path is known
 *
 * Context: control, without I/O in allocations.
 * Return: the link, whose events go to @conn, that it could not be asked for among them, or
 * -ENETDOWN or -ENOMEM as an ERR_PTR().
 */
struct ipoib_cm_tx *ipoib_cm_tx_create(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_cm_tx *link;

	if (!cm->intf->running)
		return ERR_PTR(-ENETDOWN);
	link = kzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return ERR_PTR(-ENOMEM);
	link->slots = link_alloc_slots(cm->intf->pd->local_dma_lkey);
	if (!link->slots) {
		kfree(link);
		return ERR_PTR(-ENOMEM);
	}
	ipoib_cm_item_init(cm, &link->item, link_handle);
	spin_lock_init(&link->lock);
	link->cm = cm;
	link->conn = conn;
	link->remote_qpn = be32_to_cpu(conn->key.qpn);
	link->path = conn->path->current_rec;
	link->pkey_index = cm->intf->pkey_index;
	list_add_tail(&link->list, &cm->links);
	ipoib_cm_command(&link->item, link_request);
	return link;
}

/**
 * ipoib_cm_quiesce - end every link, because the UD queue pair stops
 * @intf: interface that takes no packets any more
 *
 * ipoib_cm_drained() tells when all have completed, ipoib_cm_reclaim() frees them.
 *
 * Context: control.
 */
void ipoib_cm_quiesce(struct ipoib_intf *intf)
{
	struct ipoib_cm_tx *link, *next;

	ipoib_cm_reset(intf);
	if (!intf->cm)
		return;
	list_for_each_entry_safe(link, next, &intf->cm->links, list)
		if (link->state == IPOIB_CM_TX_CLOSING)
			ipoib_cm_tx_end(link, false);
	/* From now on they complete what is left. */
	ipoib_cm_commands_settle(intf->cm, !intf->up);
}

/**
 * ipoib_cm_drained - has every send of the links completed
 * @intf: interface after ipoib_cm_quiesce()
 *
 * Context: control.
 */
bool ipoib_cm_drained(const struct ipoib_intf *intf)
{
	struct ipoib_cm_tx *link;

	if (!intf->cm)
		return true;
	list_for_each_entry(link, &intf->cm->links, list)
		if (ipoib_cm_tx_awaited(link))
			return false;
	return true;
}

/**
 * ipoib_cm_reclaim - free the links, completed or not
 * @intf: interface whose transmit NAPI is off
 *
 * Context: control.
 */
void ipoib_cm_reclaim(struct ipoib_intf *intf)
{
	struct ipoib_cm_tx *link, *next;

	if (!intf->cm)
		return;
	ipoib_cm_commands_settle(intf->cm, !intf->up);
	list_for_each_entry_safe(link, next, &intf->cm->links, list) {
		ipoib_cm_tx_reclaim(link);
		link_destroy(&link->item);
		link_free(link);
	}
}
