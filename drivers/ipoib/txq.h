/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the queue pairs of both modes say of a transmit queue. */
#ifndef IPOIB_TXQ_H
#define IPOIB_TXQ_H

#include <linux/netdevice.h>

#include "ipoib.h"

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
	struct netdev_queue *queue = netdev_get_tx_queue(txq->intf->dev,
							 txq->index);

	/*
	 * The kernel adds plainly to what dql_completed() reads meanwhile: what that
	 * does not see yet, it sees the next time.
	 */
	data_race((netdev_tx_sent_queue(queue, bytes), 0));
}

#endif /* IPOIB_TXQ_H */
