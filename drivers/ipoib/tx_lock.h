/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The locks of all transmit queues at once, for control and for packets that were held
 * back. netif_tx_lock() would not do: it only marks the queues as frozen, which neither
 * NAPI nor a sender without a queueing discipline looks at.
 */
#ifndef IPOIB_TX_LOCK_H
#define IPOIB_TX_LOCK_H

#include <linux/netdevice.h>

/**
 * ipoib_tx_lock_all - keep all senders out
 * @dev: interface
 *
 * Context: none of these locks is held; BH disabled afterwards.
 */
static inline void ipoib_tx_lock_all(struct net_device *dev)
{
	unsigned int i;

	spin_lock_bh(&dev->tx_global_lock);
	for (i = 0; i < dev->num_tx_queues; i++) {
		struct netdev_queue *queue = netdev_get_tx_queue(dev, i);

		spin_lock_nest_lock(&queue->_xmit_lock, &dev->tx_global_lock);
		WRITE_ONCE(queue->xmit_lock_owner, smp_processor_id());
		/* That of them all stands for each, where sparse counts locks. */
		__release(&queue->_xmit_lock);
	}
}

/**
 * ipoib_tx_unlock_all - the reverse
 * @dev: interface
 */
static inline void ipoib_tx_unlock_all(struct net_device *dev)
{
	unsigned int i;

	for (i = 0; i < dev->num_tx_queues; i++) {
		struct netdev_queue *queue = netdev_get_tx_queue(dev, i);

		__acquire(&queue->_xmit_lock);
		__netif_tx_unlock(queue);
	}
	spin_unlock_bh(&dev->tx_global_lock);
}

#endif /* IPOIB_TX_LOCK_H */
