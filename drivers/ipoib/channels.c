// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * More transmit queues, or fewer, while the interface lives. The queues that stay do
 * not notice: the first keeps its queue pair, and the interface its hardware address.
 *
 * A queue that is to come is made and started before the stack may use it; one that is
 * to go is stopped when the stack uses it no more. A packet that is late all the same
 * finds that it does not run.
 */
#include <linux/rtnetlink.h>

#include "ipoib.h"

/**
 * struct channels - a change
 * @work: does it; control
 * @intf: interface; constant
 * @count: transmit queues that there are to be; constant
 * @err: what came of it; control, read when @work is done
 */
struct channels {
	struct work_struct work;
	struct ipoib_intf *intf;
	u32 count;
	int err;
};

static void channels_work(struct work_struct *work)
{
	struct channels *channels = container_of(work, struct channels, work);
	struct ipoib_intf *intf = channels->intf;

	if (channels->count > intf->tx_queues)
		channels->err = ipoib_qp_more_queues(intf, channels->count);
	else
		ipoib_qp_fewer_queues(intf, channels->count);
}

static int channels_switch(struct ipoib_intf *intf, u32 count)
{
	struct channels channels = { .intf = intf, .count = count };

	INIT_WORK_ONSTACK(&channels.work, channels_work);
	queue_work(intf->wq, &channels.work);
	flush_work(&channels.work);
	destroy_work_on_stack(&channels.work);
	return channels.err;
}

/* Queues @from to @to - 1, which nobody uses. */
static void channels_unmake(struct ipoib_intf *intf, u32 from, u32 to)
{
	while (to-- > from) {
		ipoib_txq_unmake(&intf->txq[to]);
		netif_tx_start_queue(netdev_get_tx_queue(intf->dev, to));
	}
}

static void channels_fewer(struct ipoib_intf *intf, u32 count)
{
	u32 from = intf->tx_queues;

	netif_set_real_num_tx_queues(intf->dev, count);
	channels_switch(intf, count);
	channels_unmake(intf, count, from);
}

static int channels_more(struct ipoib_intf *intf, u32 count)
{
	u32 from = intf->tx_queues, i;
	int err = 0;

	for (i = from; i < count && !err; i++)
		err = ipoib_txq_make(intf, &intf->txq[i], NULL);
	if (err) {
		channels_unmake(intf, from, i - 1);
		return err;
	}
	err = channels_switch(intf, count);
	if (err) {
		channels_unmake(intf, from, count);
		return err;
	}
	ipoib_moderate_new(intf);
	err = netif_set_real_num_tx_queues(intf->dev, count);
	if (err)
		channels_fewer(intf, from);
	return err;
}

/**
 * ipoib_set_tx_queues - have another number of transmit queues
 * @intf: registered interface
 * @count: 1 to IPOIB_TXQ_MAX
 *
 * Context: rtnl.
 * Return: 0, -ENOMEM, or what the HCA says; nothing has changed then.
 */
int ipoib_set_tx_queues(struct ipoib_intf *intf, u32 count)
{
	int err = 0;

	ASSERT_RTNL();
	if (count > intf->tx_queues)
		err = channels_more(intf, count);
	else if (count < intf->tx_queues)
		channels_fewer(intf, count);
	if (!err)
		intf->queues.tx_queues = count;
	return err;
}
