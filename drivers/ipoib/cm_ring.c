// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sends through links: rings, posting, completions.
 *
 * Each link has a ring of its own, so that a completion of one connection never
 * touches a packet of another, or a datagram. Together they never have more than
 * IPOIB_CM_TX_RING sends in flight, which is what the completion queue holds; the
 * netdev's queues stop before that. Sends of a link are posted as one list whose last
 * request alone asks for a completion, as in tx.c.
 *
 * Packets of all transmit queues go through a link: head and posted belong to the
 * holder of its lock, and a packet that is in the ring may leave at any queue's
 * doorbell. tail belongs to the NAPI of the first transmit queue, which serves this
 * completion queue and that of its datagrams; each packet counts for the queue that it
 * came from.
 */
#include "cm_tx.h"
#include "txq.h"

static struct ipoib_tx_slot *ring_slot(const struct ipoib_cm_tx *link, u32 pos)
{
	return &link->slots[pos & (IPOIB_CM_TX_RING - 1)];
}

/**
 * ipoib_cm_has_room - can one more packet go through a link
 * @intf: interface
 *
 * When it says no, there is still room for one packet of each queue, which sends it and
 * stops, and for one that was held back: whoever has heard yes need not ask again. That is
 * each queue there may be: others may come while there is no room.
 *
 * Context: transmit queue lock.
 */
bool ipoib_cm_has_room(const struct ipoib_intf *intf)
{
	const struct ipoib_cm *cm = intf->cm;

	return !cm || atomic_read(&cm->in_flight) <=
		      IPOIB_CM_TX_RING - 1 - IPOIB_TXQ_MAX;
}

/**
 * ipoib_cm_tx_usable - does a link take packets
 * @link: link of a connection that is up
 *
 * Context: transmit queue lock.
 */
bool ipoib_cm_tx_usable(const struct ipoib_cm_tx *link)
{
	return !READ_ONCE(link->broken);
}

static void ring_break(struct ipoib_cm_tx *link)
{
	WRITE_ONCE(link->broken, true);
	ipoib_cm_note(&link->item, IPOIB_CM_TX_BROKEN);
}

static void ring_post(struct ipoib_cm_tx *link)
{
	const struct ib_send_wr *first, *bad;
	bool some;
	int err;

	if (link->posted == link->head)
		return;
	ring_slot(link, link->head - 1)->wr.wr.send_flags = IB_SEND_SIGNALED;
	first = &ring_slot(link, link->posted)->wr.wr;
	bad = first;
	err = ib_post_send(link->qp, first, &bad);
	if (likely(!err)) {
		ipoib_taken(&link->refused);
		WRITE_ONCE(link->posted, link->head);
		WRITE_ONCE(link->awaited, link->head);
		return;
	}
	bad = bad ?: first;
	some = (u32)bad->wr_id != link->posted;
	WRITE_ONCE(link->posted, (u32)bad->wr_id);
	/* What is given up is completed when the link has ended. */
	if (!ipoib_refused(link->cm->intf, &link->refused, true, err, some))
		ring_break(link);
}

/**
 * ipoib_cm_post_again - post what the HCA has refused of links and of receive buffers
 * @intf: interface that runs
 *
 * A link that is busy makes its queue pair, and has no sends, or has given them up.
 *
 * Context: control.
 */
void ipoib_cm_post_again(struct ipoib_intf *intf)
{
	struct ipoib_cm *cm = intf->cm;
	struct ipoib_cm_tx *link;

	if (!cm)
		return;
	list_for_each_entry(link, &cm->links, list) {
		if (link->item.busy || link->state > IPOIB_CM_TX_CLOSING ||
		    READ_ONCE(link->posted) == READ_ONCE(link->head) || !ipoib_cm_tx_usable(link))
			continue;
		spin_lock_bh(&link->lock);
		ring_post(link);
		spin_unlock_bh(&link->lock);
	}
	ipoib_cm_post_tick(&cm->rxq);
}

/**
 * ipoib_cm_doorbell - give the HCA what is in the ring of a link
 * @txq: transmit queue whose packets they are
 *
 * Context: transmit queue lock.
 */
void ipoib_cm_doorbell(struct ipoib_txq *txq)
{
	struct ipoib_cm_tx *link = txq->unposted;

	if (!link)
		return;
	txq->unposted = NULL;
	spin_lock(&link->lock);
	ring_post(link);
	spin_unlock(&link->lock);
}

static void ring_chain(struct ipoib_cm_tx *link, struct ipoib_tx_slot *slot)
{
	slot->wr.wr.next = NULL;
	slot->wr.wr.send_flags = 0;
	slot->wr.wr.wr_id = link->head;
	if (link->head != link->posted)
		ring_slot(link, link->head - 1)->wr.wr.next = &slot->wr.wr;
}

/* Leave the checksum to the peer, if it knows how; else compute it. */
static int ring_checksum(struct ipoib_txq *txq, const struct ipoib_cm_tx *link,
			 struct sk_buff *skb)
{
	struct ipoib_header *encap;
	u16 mark = 0;

	if (link->partial)
		mark = ipoib_partial_mark(skb_checksum_start_offset(skb) -
					  IPOIB_ENCAP_LEN, skb->csum_offset);
	if (!mark || skb_cow_head(skb, 0))
		return skb_checksum_help(skb);
	encap = (struct ipoib_header *)skb->data;
	encap->reserved = cpu_to_be16(mark);
	ipoib_count(&txq->partial, 1);
	return 0;
}

/* Return: 0, or -EIO; the packet is still the caller's then. */
static int ring_add(struct ipoib_txq *txq, struct ipoib_cm_tx *link,
		    struct sk_buff *skb)
{
	struct ipoib_tx_slot *slot = ring_slot(link, link->head);
	struct ipoib_intf *intf = txq->intf;

	slot->skb = skb;
	if (unlikely(ipoib_tx_map(intf->ca, slot))) {
		slot->skb = NULL;
		return -EIO;
	}
	ring_chain(link, slot);
	skb_tx_timestamp(skb);
	/*
	 * The completion waits for the peer's ACK: a socket that is charged
	 * until then would have no more than two packets on their way (TCP small queues).
	 */
	skb_orphan(skb);
	ipoib_tx_note_sent(txq, skb->len);
	atomic_inc(&intf->cm->in_flight);
	WRITE_ONCE(link->head, link->head + 1);
	return 0;
}

/**
 * ipoib_cm_push - put a packet into the ring of a link
 * @txq: transmit queue that it comes from
 * @conn: connection that is up and whose link is usable, with room
 * @skb: packet with its hardware address in front; consumed
 *
 * Context: transmit queue lock.
 */
void ipoib_cm_push(struct ipoib_txq *txq, struct ipoib_conn *conn,
		   struct sk_buff *skb)
{
	struct ipoib_cm_tx *link = conn->link;
	int err;

	skb_pull(skb, INFINIBAND_ALEN);
	if (unlikely(skb->len > link->frame_max)) {
		ipoib_pmtu_too_long(txq, skb, link->frame_max - IPOIB_ENCAP_LEN,
				    &conn->told_mtu);
		return;
	}
	/* RC knows no checksum of IP. */
	if (unlikely(skb->ip_summed == CHECKSUM_PARTIAL &&
		     ring_checksum(txq, link, skb))) {
		ipoib_tx_error(txq, skb, SKB_DROP_REASON_SKB_CSUM);
		return;
	}
	if (unlikely(!ipoib_tx_fits_sges(txq->intf, skb, 0))) {
		ipoib_tx_error(txq, skb, SKB_DROP_REASON_NOMEM);
		return;
	}
	if (txq->unposted != link)
		ipoib_cm_doorbell(txq);
	/* With the lock released, the packet may have left at another's doorbell. */
	spin_lock(&link->lock);
	err = ring_add(txq, link, skb);
	spin_unlock(&link->lock);
	if (unlikely(err)) {
		ipoib_tx_error(txq, skb, SKB_DROP_REASON_NOMEM);
		return;
	}
	txq->unposted = link;
	ipoib_tx_stop_if_full(txq);
}

/**
 * struct ring_done - completed sends of one transmit queue in a row
 * @txq: the queue
 * @ok: they have arrived
 * @packets: how many
 * @bytes: of those
 */
struct ring_done {
	struct ipoib_txq *txq;
	bool ok;
	unsigned int packets;
	unsigned int bytes;
};

static void ring_count(struct ring_done *done)
{
	if (done->packets)
		ipoib_tx_count_done(done->txq, done->ok, done->packets,
				    done->bytes);
	done->packets = 0;
	done->bytes = 0;
}

/*
 * Free what a link has sent, up to ring position @last; @ok: it has arrived. @budget is that of
 * NAPI, or 0 outside of it. Context: NAPI of the first transmit queue, or control while that is
 * off.
 */
static void ring_complete(struct ipoib_cm_tx *link, u32 last, bool ok, int budget)
{
	struct ipoib_intf *intf = link->cm->intf;
	struct ring_done done = { .ok = ok };
	u32 tail = link->tail;

	while ((s32)(last - tail) >= 0) {
		struct ipoib_tx_slot *slot = ring_slot(link, tail++);
		struct ipoib_txq *txq;

		txq = &intf->txq[skb_get_queue_mapping(slot->skb)];
		if (txq != done.txq)
			ring_count(&done);
		done.txq = txq;
		done.packets++;
		done.bytes += slot->skb->len;
		ipoib_tx_unmap(intf->ca, slot);
		ipoib_tx_done(slot->skb, ok, budget);
		slot->skb = NULL;
	}
	ring_count(&done);
	/* Who sees room finds the slots empty. */
	smp_mb__before_atomic();
	atomic_sub(tail - link->tail, &link->cm->in_flight);
	/* Pairs with the barrier in ipoib_cm_tx_end(); the link may go now. */
	smp_store_mb(link->tail, tail);
}

static void ring_completion(struct ipoib_cm *cm, const struct ib_wc *wc,
			    int budget)
{
	struct ipoib_cm_tx *link = wc->qp->qp_context;
	bool ok = wc->status == IB_WC_SUCCESS;

	if (unlikely(!ok && !READ_ONCE(link->broken))) {
		netdev_dbg(cm->intf->dev, "connection broken: %s (vendor error 0x%x)\n",
			   ib_wc_status_msg(wc->status), wc->vendor_err);
		ring_break(link);
	}
	ring_complete(link, wc->wr_id, ok, budget);
	if (unlikely(READ_ONCE(link->state) != IPOIB_CM_TX_OPEN))
		ipoib_cm_note(&link->item, IPOIB_CM_TX_DRAINED);
}

/*
 * Drop what a queue pair that is gone has left among what the completion queue has room for
 * (rdmavt). NAPI is off.
 */
static void ring_skip_gone(struct ipoib_cm *cm, const struct ib_qp *gone)
{
	int left = cm->tx_cq->cqe, n, i;

	rcu_read_lock();
	while (left > 0 && (n = ib_poll_cq(cm->tx_cq, IPOIB_POLL_BATCH, cm->tx_wc)) > 0) {
		left -= n;
		for (i = 0; i < n; i++)
			if (cm->tx_wc[i].qp != gone)
				ring_completion(cm, &cm->tx_wc[i], 0);
	}
	rcu_read_unlock();
}

/**
 * ipoib_cm_tx_reclaim - free what a link will not complete any more
 * @link: link that takes no more packets; its queue pair goes first
 *
 * Context: control.
 */
void ipoib_cm_tx_reclaim(struct ipoib_cm_tx *link)
{
	struct ipoib_intf *intf = link->cm->intf;
	struct ib_qp *qp = link->qp;

	if (link->tail == link->head)
		return;
	/* NAPI may be about to handle completions that point to the queue pair. */
	if (intf->running)
		napi_disable(&intf->txq[0].napi);
	ib_destroy_qp(qp);
	link->qp = NULL;
	ring_skip_gone(link->cm, qp);
	if (link->tail != link->head)
		ring_complete(link, link->head - 1, false, 0);
	if (!intf->running)
		return;
	/* Perhaps nothing else is on its way whose completion would do it. */
	ipoib_tx_room_found(intf);
	napi_enable(&intf->txq[0].napi);
	local_bh_disable();
	napi_schedule(&intf->txq[0].napi);
	local_bh_enable();
}

/**
 * ipoib_cm_poll_tx - handle completions of links
 * @intf: interface
 * @budget: of NAPI
 *
 * Context: NAPI of the first transmit queue.
 * Return: how many there were.
 */
int ipoib_cm_poll_tx(struct ipoib_intf *intf, int budget)
{
	struct ipoib_cm *cm = intf->cm;
	int done = 0, n, i;

	if (!cm)
		return 0;
	rcu_read_lock();
	do {
		n = ib_poll_cq(cm->tx_cq, IPOIB_POLL_BATCH, cm->tx_wc);
		for (i = 0; i < n; i++)
			ring_completion(cm, &cm->tx_wc[i], budget);
		done += max(n, 0);
	} while (n == IPOIB_POLL_BATCH && done < budget);
	rcu_read_unlock();
	return done;
}

/**
 * ipoib_cm_arm_tx - have NAPI called for the next completion of a link
 * @intf: interface
 *
 * Return: true if there is one already.
 */
bool ipoib_cm_arm_tx(struct ipoib_intf *intf)
{
	return intf->cm && ib_req_notify_cq(intf->cm->tx_cq, IB_CQ_NEXT_COMP |
					    IB_CQ_REPORT_MISSED_EVENTS) > 0;
}
