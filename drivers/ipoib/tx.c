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
 * connections as may be; tx_done.c wakes it.
 */
#include "drop.h"
#include "ipoib.h"
#include "mcast.h"
#include "path.h"
#include "txq.h"

/**
 * ipoib_tx_has_room - can one more packet go into the ring
 * @txq: transmit queue
 *
 * Context: transmit queue lock.
 */
bool ipoib_tx_has_room(const struct ipoib_txq *txq)
{
	/* Pairs with the release in tx_complete(), tx_done.c: who sees room sees an empty slot. */
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
	struct netdev_queue *queue = ipoib_tx_netdev_queue(txq);

	if (likely(tx_accepts(txq)))
		return;
	netif_tx_stop_queue(queue);
	/* Pairs with the barrier in tx_wake(), tx_done.c. */
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
	struct ipoib_tx_slot *slot = ipoib_txq_slot(txq, txq->head);
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
		ipoib_txq_slot(txq, txq->head - 1)->wr.wr.next = &slot->wr.wr;

	ipoib_note_use(&dest->used);
	skb_tx_timestamp(skb);
	ipoib_tx_note_sent(txq, ipoib_tx_octets(slot));
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
		struct ipoib_tx_slot *slot = ipoib_txq_slot(txq, pos);

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
	ipoib_txq_slot(txq, txq->head - 1)->wr.wr.send_flags |= IB_SEND_SIGNALED;
	first = &ipoib_txq_slot(txq, txq->posted)->wr.wr;
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
	struct netdev_queue *queue = ipoib_tx_netdev_queue(txq);

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
	stopped = data_race(netif_xmit_stopped(ipoib_tx_netdev_queue(txq)));
	if (!netdev_xmit_more() || stopped) {
		ipoib_tx_doorbell(txq);
		if (txq->unposted)
			ipoib_cm_doorbell(txq);
	}
	return NETDEV_TX_OK;
}
