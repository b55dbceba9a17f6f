// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What becomes of packets that the HCA has been given (tx.c): they are completed by
 * NAPI, which then lets in what has waited for room; or control takes them back when the
 * queue pair has been reset.
 *
 * Completions of connections are the business of the first queue's NAPI, whichever queue
 * their packets came from. Control wakes queues, too, when it takes back what a connection
 * will not complete.
 */
#include "drop.h"
#include "ipoib.h"
#include "txq.h"

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
	struct netdev_queue *queue = ipoib_tx_netdev_queue(txq);

	/* Pairs with the barrier in ipoib_tx_stop_if_full(), tx.c. */
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
	netdev_tx_completed_queue(ipoib_tx_netdev_queue(txq), packets, bytes);
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
		struct ipoib_tx_slot *slot = ipoib_txq_slot(txq, tail++);

		ipoib_tx_unmap(txq->intf->ca, slot);
		packets += ipoib_tx_packets(slot);
		bytes += ipoib_tx_octets(slot);
		ipoib_tx_done(slot->skb, ok, budget);
		slot->skb = NULL;
	}
	/* Pairs with the acquire in ipoib_tx_has_room(), tx.c. */
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
