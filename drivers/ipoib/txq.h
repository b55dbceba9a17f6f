/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A transmit queue, for those who fill it, empty it, and count what it sends. */
#ifndef IPOIB_TXQ_H
#define IPOIB_TXQ_H

#include <linux/netdevice.h>

#include "ipoib.h"

/* The stack's queue of a transmit queue. Context: any. */
static inline struct netdev_queue *ipoib_tx_netdev_queue(const struct ipoib_txq *txq)
{
	return netdev_get_tx_queue(txq->intf->dev, txq->index);
}

/* The slot of a ring position. Context: any. */
static inline struct ipoib_tx_slot *ipoib_txq_slot(const struct ipoib_txq *txq, u32 pos)
{
	return &txq->slots[pos & (txq->size - 1)];
}

/* Packets that leave for a slot that is in use. Context: any. */
static inline unsigned int ipoib_tx_packets(const struct ipoib_tx_slot *slot)
{
	return likely(!slot->wr.hlen) ? 1 : ipoib_tx_lso_packets(slot);
}

/* Their octets, encapsulation headers included. Context: any. */
static inline unsigned int ipoib_tx_octets(const struct ipoib_tx_slot *slot)
{
	return slot->skb->len + ipoib_tx_packets(slot) * slot->wr.hlen;
}

/**
 * ipoib_tx_note_sent - a packet counts for the byte limit of its queue
 * @txq: transmit queue
 * @bytes: its length
 *
 * Context: transmit queue lock.
 */
static inline void ipoib_tx_note_sent(const struct ipoib_txq *txq,
				      unsigned int bytes)
{
	struct netdev_queue *queue = ipoib_tx_netdev_queue(txq);

	/*
	 * The kernel adds plainly to what dql_completed() reads meanwhile: what that
	 * does not see yet, it sees the next time.
	 */
	data_race((netdev_tx_sent_queue(queue, bytes), 0));
}

#endif /* IPOIB_TXQ_H */
