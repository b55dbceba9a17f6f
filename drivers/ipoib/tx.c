// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Transmission: from a packet with a hardware address to a UD send, or to the
 * connection that takes it (cm_ring.c).
 *
 * The ring has three positions: head (filled), posted (given to the HCA) and
 * tail (completed). Sends are chained while the stack says that more will come,
 * and given to the HCA as one list whose last request alone asks for a
 * completion; UD sends complete in order, so that completes all before it.
 *
 * head and posted belong to the holder of the transmit queue's lock, tail to
 * NAPI. What the HCA refuses stays between posted and head, and is given to it again
 * (refused.c). The queue stops when the ring is full, or as much is on its way through
 * connections as may be, and is woken by NAPI, or by control when it takes back what a
 * connection will not complete. Completions of connections are the business of the first
 * queue's NAPI, whichever queue their packets came from.
 */
#include "drop.h"
#include "ipoib.h"
#include "mcast.h"
#include "path.h"
#include "txq.h"

static struct netdev_queue *tx_netdev_queue(const struct ipoib_txq *txq)
{
	return netdev_get_tx_queue(txq->intf->dev, txq->index);
}

static struct ipoib_tx_slot *tx_slot(const struct ipoib_txq *txq, u32 pos)
{
	return &txq->slots[pos & (txq->size - 1)];
}

/**
 * ipoib_tx_has_room - can one more packet go into the ring
 * @txq: transmit queue
 *
 * Context: transmit queue lock.
 */
bool ipoib_tx_has_room(const struct ipoib_txq *txq)
{
	/* Pairs with the release in tx_complete(): who sees room finds the slot empty. */
	return txq->head - smp_load_acquire(&txq->tail) < txq->size;
}

/**
 * ipoib_tx_drop - a packet will not be sent
 * @txq: transmit queue
 * @skb: packet, consumed
 * @reason: for those who watch drops
 *
 * Context: transmit queue lock.
 */
void ipoib_tx_drop(struct ipoib_txq *txq, struct sk_buff *skb,
		   enum skb_drop_reason reason)
{
	ipoib_count_dropped(&txq->drops);
	dev_kfree_skb_any_reason(skb, reason);
}

/**
 * ipoib_tx_error - a packet cannot be sent
 * @txq: transmit queue
 * @skb: packet, consumed
 * @reason: for those who watch drops
 *
 * Context: transmit queue lock.
 */
void ipoib_tx_error(struct ipoib_txq *txq, struct sk_buff *skb,
		    enum skb_drop_reason reason)
{
	ipoib_count_error(&txq->drops);
	dev_kfree_skb_any_reason(skb, reason);
}

/* Room for a packet, whichever way it goes. */
static bool tx_accepts(const struct ipoib_txq *txq)
{
	return ipoib_tx_has_room(txq) && ipoib_cm_has_room(txq->intf);
}

/**
 * ipoib_tx_stop_if_full - stop the queue, unless NAPI has just made room
 * @txq: transmit queue
 *
 * Context: transmit queue lock.
 */
void ipoib_tx_stop_if_full(struct ipoib_txq *txq)
{
	struct netdev_queue *queue = tx_netdev_queue(txq);

	if (likely(tx_accepts(txq)))
		return;
	netif_tx_stop_queue(queue);
	/* Pairs with the barrier in tx_wake(). */
	smp_mb();
	if (tx_accepts(txq))
		netif_tx_start_queue(queue);
}

/* Of a packet, or of the longest that the HCA cuts it into. */
static unsigned int tx_frame_len(const struct sk_buff *skb)
{
	return likely(!skb_is_gso(skb)) ? skb->len : ipoib_tx_lso_frame_len(skb);
}

static bool tx_prepare(const struct ipoib_intf *intf, struct ipoib_tx_slot *slot,
		       struct sk_buff *skb)
{
	slot->wr.wr.opcode = IB_WR_SEND;
	slot->wr.hlen = 0;
	if (likely(!skb_is_gso(skb)))
		return !skb_is_nonlinear(skb) || ipoib_tx_fits_sges(intf, skb, 0);
	return ipoib_tx_lso_prepare(intf, slot, skb);
}

/* Packets that leave. */
static unsigned int tx_packets(const struct ipoib_tx_slot *slot)
{
	return likely(!slot->wr.hlen) ? 1 : ipoib_tx_lso_packets(slot);
}

/* Their octets, encapsulation headers included. */
static unsigned int tx_octets(const struct ipoib_tx_slot *slot)
{
	return slot->skb->len + tx_packets(slot) * slot->wr.hlen;
}

/**
 * ipoib_tx_push - put a packet into the ring
 * @txq: transmit queue with room
 * @dest: destination with an address handle
 * @skb: packet with its hardware address in front; consumed
 *
 * The HCA hears of it at the next ipoib_tx_doorbell(). The last packet that fits
 * stops the netdev's queue, whoever has sent it.
 *
 * Context: transmit queue lock.
 */
void ipoib_tx_push(struct ipoib_txq *txq, struct ipoib_dest *dest,
		   struct sk_buff *skb)
{
	struct ipoib_tx_slot *slot = tx_slot(txq, txq->head);
	struct ipoib_intf *intf = txq->intf;
	u32 qpn = ipoib_hwaddr_qpn(skb->data);
	int group_mtu = READ_ONCE(intf->group_mtu);

	skb_pull(skb, INFINIBAND_ALEN);
	if (unlikely(tx_frame_len(skb) > group_mtu + IPOIB_ENCAP_LEN)) {
		ipoib_pmtu_too_long(txq, skb, group_mtu, &dest->told_mtu);
		return;
	}
	if (unlikely(!tx_prepare(intf, slot, skb))) {
		ipoib_tx_error(txq, skb, SKB_DROP_REASON_NOMEM);
		return;
	}
	slot->skb = skb;
	if (unlikely(ipoib_tx_map(intf->ca, slot))) {
		slot->skb = NULL;
		ipoib_tx_error(txq, skb, SKB_DROP_REASON_NOMEM);
		return;
	}
	slot->wr.ah = dest->ah->ah;
	slot->wr.remote_qpn = ipoib_dest_is_mcast(dest) ? IB_MULTICAST_QPN : qpn;
	slot->wr.remote_qkey = intf->qkey;
	slot->wr.wr.wr_id = txq->head;
	slot->wr.wr.send_flags = skb->ip_summed == CHECKSUM_PARTIAL ?
				 IB_SEND_IP_CSUM : 0;
	slot->wr.wr.next = NULL;
	if (txq->head != txq->posted)
		tx_slot(txq, txq->head - 1)->wr.wr.next = &slot->wr.wr;

	ipoib_note_use(&dest->used);
	skb_tx_timestamp(skb);
	ipoib_tx_note_sent(txq, tx_octets(slot));
	ipoib_count(&txq->lso, !!slot->wr.hlen);
	WRITE_ONCE(txq->head, txq->head + 1);
	ipoib_tx_stop_if_full(txq);
}

/*
 * The HCA has refused the requests from @bad on: they count as never sent. The
 * restart that follows sets the byte limits right.
 */
static void tx_take_back(struct ipoib_txq *txq, const struct ib_send_wr *bad)
{
	u32 from = bad->wr_id, pos;

	for (pos = from; pos != txq->head; pos++) {
		struct ipoib_tx_slot *slot = tx_slot(txq, pos);

		ipoib_tx_unmap(txq->intf->ca, slot);
		ipoib_tx_error(txq, slot->skb, SKB_DROP_REASON_DEV_READY);
		slot->skb = NULL;
	}
	WRITE_ONCE(txq->head, from);
}

/* Some of a list may be on their way, and say so only with one that follows. */
static void tx_refused(struct ipoib_txq *txq, const struct ib_send_wr *bad, int err)
{
	bool some = (u32)bad->wr_id != txq->posted;

	txq->posted = bad->wr_id;
	if (ipoib_refused(txq->intf, &txq->refused, true, err, some))
		return;
	tx_take_back(txq, bad);
	ipoib_flush(txq->intf, IPOIB_FLUSH_RESTART);
}

/**
 * ipoib_tx_doorbell - give the HCA what is in the ring
 * @txq: transmit queue; nothing is given of one that does not run (ipoib_txq_set_running())
 *
 * Context: transmit queue lock.
 */
void ipoib_tx_doorbell(struct ipoib_txq *txq)
{
	const struct ib_send_wr *first, *bad;
	int err;

	if (txq->posted == txq->head)
		return;
	tx_slot(txq, txq->head - 1)->wr.wr.send_flags |= IB_SEND_SIGNALED;
	first = &tx_slot(txq, txq->posted)->wr.wr;
	bad = first;
	err = ib_post_send(txq->qp, first, &bad);
	if (unlikely(err)) {
		tx_refused(txq, bad ?: first, err);
		return;
	}
	ipoib_taken(&txq->refused);
	txq->posted = txq->head;
	WRITE_ONCE(txq->awaited, txq->head);
}

/**
 * ipoib_tx_post_refused - give the HCA again what it has refused, should nothing follow it
 * @txq: transmit queue that runs
 *
 * Context: control.
 */
void ipoib_tx_post_refused(struct ipoib_txq *txq)
{
	struct netdev_queue *queue = tx_netdev_queue(txq);

	__netif_tx_lock_bh(queue);
	ipoib_tx_doorbell(txq);
	__netif_tx_unlock_bh(queue);
}

/**
 * ipoib_tx_awaited - how many sends have yet to complete
 * @txq: transmit queue
 *
 * Those behind the last one that was asked to say so may never: in ERROR a queue pair says nothing
 * of what it had done before.
 *
 * Return: packets, less those that the HCA has not taken, or of whose end it says nothing.
 */
u32 ipoib_tx_awaited(const struct ipoib_txq *txq)
{
	s32 left = READ_ONCE(txq->awaited) - READ_ONCE(txq->tail);

	return max(left, 0);
}

/**
 * ipoib_tx_new_destination - a destination for a GID that has none
 * @intf: interface
 * @gid: port GID or MGID
 * @skb: packet for it, with its hardware address in front
 *
 * Context: transmit queue lock, RCU read side.
 * Return: the destination, or NULL without memory, or if there are too many.
 */
struct ipoib_dest *ipoib_tx_new_destination(struct ipoib_intf *intf,
					    const union ib_gid *gid,
					    const struct sk_buff *skb)
{
	bool mcast = gid->raw[0] == 0xff;
	struct ipoib_dest *dest;

	if (!(mcast ? ipoib_dest_admit(intf) :
		      ipoib_path_admit(intf, ipoib_resolves_address(skb))))
		return NULL;
	if (mcast)
		dest = ipoib_mcast_create_sendonly(intf, gid);
	else
		dest = ipoib_path_create(intf, gid);
	/* A sender of another queue may have been first. */
	return dest ?: ipoib_dest_find(intf, gid);
}

/*
 * Packets of a destination keep their order: none passes those that wait. A sender
 * has found room already, so only under all locks may there be none.
 */
static enum skb_drop_reason tx_push_or_hold(struct ipoib_txq *txq,
					    struct ipoib_dest *dest,
					    struct sk_buff *skb)
{
	enum skb_drop_reason reason;

	if (likely(dest->ah && list_empty(&dest->backlog) &&
		   ipoib_tx_has_room(txq))) {
		ipoib_tx_push(txq, dest, skb);
		return SKB_NOT_DROPPED_YET;
	}
	reason = ipoib_hold_add(txq->intf, &dest->hold, skb);
	if (!reason && dest->ah)
		ipoib_dest_wait_for_room(txq->intf, dest);
	return reason;
}

/**
 * ipoib_tx_datagram - send a packet as a datagram
 * @txq: transmit queue of a running interface
 * @skb: packet with its hardware address in front; consumed
 *
 * Context: transmit queue lock, RCU read side.
 */
void ipoib_tx_datagram(struct ipoib_txq *txq, struct sk_buff *skb)
{
	union ib_gid gid = ipoib_tx_gid(txq->intf, skb->data);
	struct ipoib_dest *dest = ipoib_dest_find(txq->intf, &gid);
	enum skb_drop_reason reason;

	if (unlikely(!dest))
		dest = ipoib_tx_new_destination(txq->intf, &gid, skb);
	if (unlikely(!dest)) {
		ipoib_tx_drop(txq, skb, SKB_DROP_REASON_NOMEM);
		return;
	}
	reason = tx_push_or_hold(txq, dest, skb);
	if (unlikely(reason))
		ipoib_tx_drop(txq, skb, reason);
	ipoib_path_follow_up(dest);
}

/**
 * ipoib_start_xmit - ndo_start_xmit
 * @skb: packet; the 20-octet hardware address and the encapsulation header in
 *	front
 * @dev: interface
 *
 * The room for connections may have been taken by other queues after the stack had looked
 * at the state of this one. The packet goes nevertheless, and the queue stops: of several
 * packets that the stack has taken out of its queue, one that it gets back goes behind the
 * others.
 *
 * Context: transmit queue lock.
 * Return: NETDEV_TX_OK, or NETDEV_TX_BUSY if packets held back have filled the ring while
 * the queue was woken.
 */
netdev_tx_t ipoib_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	struct ipoib_txq *txq = &intf->txq[skb_get_queue_mapping(skb)];
	bool stopped;

	ipoib_tx_stop_if_full(txq);
	if (unlikely(!ipoib_tx_has_room(txq))) {
		/* For packets before it, which were told that more would come. */
		ipoib_tx_doorbell(txq);
		ipoib_cm_doorbell(txq);
		return NETDEV_TX_BUSY;
	}
	rcu_read_lock();
	if (unlikely(!txq->running))
		ipoib_tx_drop(txq, skb, SKB_DROP_REASON_DEV_READY);
	else if (unlikely(!pskb_may_pull(skb, IPOIB_HARD_LEN)))
		ipoib_tx_drop(txq, skb, SKB_DROP_REASON_HDR_TRUNC);
	else if (!intf->connected || !ipoib_cm_xmit(txq, skb))
		ipoib_tx_datagram(txq, skb);
	rcu_read_unlock();
	/* A completion may just wake it: then the doorbell is rung too early at worst. */
	stopped = data_race(netif_xmit_stopped(tx_netdev_queue(txq)));
	if (!netdev_xmit_more() || stopped) {
		ipoib_tx_doorbell(txq);
		if (txq->unposted)
			ipoib_cm_doorbell(txq);
	}
	return NETDEV_TX_OK;
}

static inline bool tx_has_backlog(struct ipoib_intf *intf)
{
	/* Pairs with that of whoever adds to a backlog: one of us sees the other. */
	smp_mb();
	return !list_empty(&intf->backlog) || ipoib_cm_has_backlog(intf);
}

/* Packets held back come first. After tx_has_backlog(), whose barrier it relies on. */
static void tx_send_backlog(struct ipoib_intf *intf)
{
	ipoib_tx_lock_all(intf->dev);
	if (intf->running) {
		ipoib_dest_send_backlog(intf);
		ipoib_cm_send_backlog(intf);
	}
	ipoib_tx_unlock_all(intf->dev);
}

/* Let new packets in if there is room for them. */
static void tx_wake(struct ipoib_txq *txq)
{
	struct netdev_queue *queue = tx_netdev_queue(txq);

	/* Pairs with the barrier in ipoib_tx_stop_if_full(). */
	smp_mb();
	if (netif_tx_queue_stopped(queue) &&
	    READ_ONCE(txq->head) - READ_ONCE(txq->tail) <= txq->size / 2 &&
	    ipoib_cm_has_room(txq->intf) && READ_ONCE(txq->running))
		netif_tx_wake_queue(queue);
}

/*
 * Any queue may have stopped because as much as may be was on its way to peers. The first
 * one to be woken finds the most room, so that is another one each time.
 */
static void tx_wake_all(struct ipoib_intf *intf)
{
	u32 i, n = READ_ONCE(intf->tx_queues), first = intf->first_woken++;

	for (i = 0; i < n; i++)
		tx_wake(&intf->txq[(first + i) % n]);
}

/**
 * ipoib_tx_room_found - let in what has waited for room in connections
 * @intf: interface
 *
 * Context: NAPI of the first transmit queue, or control while that is off.
 */
void ipoib_tx_room_found(struct ipoib_intf *intf)
{
	if (tx_has_backlog(intf))
		tx_send_backlog(intf);
	tx_wake_all(intf);
}

/*
 * A send has failed or been flushed: the queue pair is in error. Unless it was stopped, it has to
 * start afresh; of one that went to error by itself, flushed sends may be all that is heard.
 */
static void tx_bad_completion(struct ipoib_txq *txq, const struct ib_wc *wc)
{
	if (wc->status != IB_WC_WR_FLUSH_ERR && net_ratelimit())
		netdev_warn(txq->intf->dev, "send failed: %s (vendor error 0x%x)\n",
			    ib_wc_status_msg(wc->status), wc->vendor_err);
	if (READ_ONCE(txq->running))
		ipoib_flush(txq->intf, IPOIB_FLUSH_RESTART);
}

/**
 * ipoib_tx_count_done - note what has been sent
 * @txq: transmit queue that it came from
 * @ok: it has left
 * @packets: how many
 * @bytes: of those, with the encapsulation header
 *
 * Context: NAPI of this queue or of the first one, or control while that is off.
 */
void ipoib_tx_count_done(struct ipoib_txq *txq, bool ok, unsigned int packets,
			 unsigned int bytes)
{
	struct ipoib_counters *count = &txq->done;

	spin_lock_bh(&txq->done_lock);
	netdev_tx_completed_queue(tx_netdev_queue(txq), packets, bytes);
	u64_stats_update_begin(&count->sync);
	if (ok) {
		u64_stats_add(&count->packets, packets);
		u64_stats_add(&count->bytes, bytes - packets * IPOIB_ENCAP_LEN);
	} else {
		u64_stats_add(&count->errors, packets);
	}
	u64_stats_update_end(&count->sync);
	spin_unlock_bh(&txq->done_lock);
}

/**
 * ipoib_tx_done - the HCA has done with a packet
 * @skb: packet
 * @ok: it has left
 * @budget: of NAPI, or 0 outside of it
 *
 * Context: as ipoib_tx_count_done().
 */
void ipoib_tx_done(struct sk_buff *skb, bool ok, int budget)
{
	if (likely(ok))
		napi_consume_skb(skb, budget);
	else
		dev_kfree_skb_any_reason(skb, SKB_DROP_REASON_DEV_READY);
}

/* Complete everything up to and including ring position @last. */
static void tx_complete(struct ipoib_txq *txq, u32 last, bool ok, int budget)
{
	unsigned int packets = 0, bytes = 0;
	u32 tail = txq->tail;

	while ((s32)(last - tail) >= 0) {
		struct ipoib_tx_slot *slot = tx_slot(txq, tail++);

		ipoib_tx_unmap(txq->intf->ca, slot);
		packets += tx_packets(slot);
		bytes += tx_octets(slot);
		ipoib_tx_done(slot->skb, ok, budget);
		slot->skb = NULL;
	}
	/* Pairs with the acquire in ipoib_tx_has_room(). */
	smp_store_release(&txq->tail, tail);
	ipoib_tx_count_done(txq, ok, packets, bytes);
}

/* Return: true if a completion has come meanwhile. */
static bool tx_arm(struct ipoib_txq *txq)
{
	bool missed = ib_req_notify_cq(txq->cq, IB_CQ_NEXT_COMP |
				       IB_CQ_REPORT_MISSED_EVENTS) > 0;

	return (!txq->index && ipoib_cm_arm_tx(txq->intf)) || missed;
}

/**
 * ipoib_tx_poll - poll of a transmit queue's NAPI
 * @napi: of the queue
 * @budget: completions to handle
 *
 * Context: NAPI.
 * Return: how many there were.
 */
int ipoib_tx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_txq *txq = container_of(napi, struct ipoib_txq, napi);
	struct ipoib_intf *intf = txq->intf;
	int links = txq->index ? 0 : ipoib_cm_poll_tx(intf, budget);
	int done = links, n, i;

	do {
		n = ib_poll_cq(txq->cq, IPOIB_POLL_BATCH, txq->wc);
		for (i = 0; i < n; i++) {
			const struct ib_wc *wc = &txq->wc[i];
			bool ok = wc->status == IB_WC_SUCCESS;

			if (!ok)
				tx_bad_completion(txq, wc);
			tx_complete(txq, wc->wr_id, ok, budget);
		}
		done += max(n, 0);
	} while (n == IPOIB_POLL_BATCH && done < budget);

	if (done) {
		if (links) {
			ipoib_tx_room_found(intf);
		} else {
			if (unlikely(tx_has_backlog(intf)))
				tx_send_backlog(intf);
			tx_wake(txq);
		}
		if (!list_empty(&intf->reaping))
			queue_work(intf->wq, &intf->reap_work);
		if (!READ_ONCE(txq->running))
			wake_up(&intf->drained);
	}
	if (done >= budget)
		return budget;
	if (napi_complete_done(napi, done) && tx_arm(txq))
		napi_schedule(napi);
	return done;
}

/**
 * ipoib_tx_comp_handler - there are completions of sends
 * @cq: their queue
 * @context: transmit queue
 *
 * Context: any.
 */
void ipoib_tx_comp_handler(struct ib_cq *cq, void *context)
{
	struct ipoib_txq *txq = context;

	napi_schedule(&txq->napi);
}

/**
 * ipoib_txq_reclaim - free what the HCA will never complete
 * @txq: transmit queue; NAPI is disabled, the queue pair reset
 *
 * Context: control, under all transmit locks.
 */
void ipoib_txq_reclaim(struct ipoib_txq *txq)
{
	if (txq->tail != txq->head)
		tx_complete(txq, txq->head - 1, false, 0);
	txq->posted = txq->head;
	txq->awaited = txq->head;
	ipoib_taken(&txq->refused);
}
