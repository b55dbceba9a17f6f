// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Moderation: the HCA tells of completions later, and of several at once. It costs
 * latency and saves interrupts. Both modes' completion queues have the same, but where
 * that of receives adapts (adapt.c), each to what it gets.
 */
#include <linux/rtnetlink.h>

#include "ipoib.h"

static int moderation_set(struct ipoib_intf *intf,
			  const struct ipoib_queue_settings *wanted)
{
	int err = 0;
	u32 i;

	for (i = 0; i < intf->tx_queues && !err; i++)
		err = rdma_set_cq_moderation(intf->txq[i].cq, wanted->tx_frames,
					     wanted->tx_usecs);
	if (!err)
		err = ipoib_adapt_moderate(&intf->rxq.adapt, wanted);
	return err ?: ipoib_cm_moderate(intf, wanted);
}

/**
 * ipoib_moderate - have completions told of later
 * @intf: interface
 * @wanted: how late; rings and number of queues are not looked at
 *
 * Context: rtnl.
 * Return: 0, -EOPNOTSUPP if the HCA cannot, or what else it says; all is as it was
 *	then.
 */
int ipoib_moderate(struct ipoib_intf *intf,
		   const struct ipoib_queue_settings *wanted)
{
	int err;

	ASSERT_RTNL();
	err = moderation_set(intf, wanted);
	if (err) {
		moderation_set(intf, &intf->queues);
		return err;
	}
	intf->queues.tx_usecs = wanted->tx_usecs;
	intf->queues.tx_frames = wanted->tx_frames;
	intf->queues.rx_usecs = wanted->rx_usecs;
	intf->queues.rx_frames = wanted->rx_frames;
	intf->queues.rx_adaptive = wanted->rx_adaptive;
	return 0;
}

/**
 * ipoib_moderate_new - have new completion queues moderated as the old ones
 * @intf: interface
 *
 * Context: rtnl.
 */
void ipoib_moderate_new(struct ipoib_intf *intf)
{
	struct ipoib_queue_settings *set = &intf->queues;

	if (!set->tx_usecs && !set->tx_frames && !set->rx_usecs &&
	    !set->rx_frames && !set->rx_adaptive)
		return;
	if (!moderation_set(intf, set))
		return;
	netdev_warn(intf->dev, "completions are not moderated any more\n");
	set->tx_usecs = 0;
	set->tx_frames = 0;
	set->rx_usecs = 0;
	set->rx_frames = 0;
	set->rx_adaptive = false;
	moderation_set(intf, set);
}
