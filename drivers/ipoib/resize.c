// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Rings of other sizes while the interface lives. A HCA cannot change the size of a
 * queue pair, so there are new ones, made while the old ones still work: for want of
 * memory nothing changes. The exchange is a short down and up that the stack does not
 * see: addresses and routes stay, destinations and groups are asked for again.
 *
 * With the queue pair, the hardware address changes. The peers are told as soon as
 * there is a carrier again, and stop using the old one.
 */
#include <linux/rtnetlink.h>

#include "gid.h"
#include "ipoib.h"

/**
 * struct resize - an exchange
 * @work: does it; control
 * @intf: interface; constant
 * @txq: rings with their completion queues and queue pairs: first the new, then the
 *	old ones
 * @rxq: likewise
 * @err: what came of it; control, read when @work is done
 */
struct resize {
	struct work_struct work;
	struct ipoib_intf *intf;
	struct ipoib_txq txq[IPOIB_TXQ_MAX];
	struct ipoib_rxq rxq;
	int err;
};

static void resize_unmake_txqs(struct resize *resize, u32 n)
{
	while (n--)
		ipoib_txq_unmake(&resize->txq[n]);
}

static int resize_make(struct resize *resize)
{
	struct ipoib_intf *intf = resize->intf;
	int err;
	u32 i;

	err = ipoib_rxq_alloc(intf, &resize->rxq);
	if (err)
		return err;
	for (i = 0; i < intf->tx_queues; i++) {
		resize->txq[i].index = i;
		err = ipoib_txq_make(intf, &resize->txq[i],
				     i ? NULL : &resize->rxq);
		if (err)
			goto err_unmake;
	}
	return 0;

err_unmake:
	resize_unmake_txqs(resize, i);
	ipoib_rxq_free(intf, &resize->rxq);
	return err;
}

static void resize_unmake(struct resize *resize)
{
	resize_unmake_txqs(resize, resize->intf->tx_queues);
	ipoib_rxq_free(resize->intf, &resize->rxq);
}

static void resize_exchange(struct resize *resize)
{
	struct ipoib_intf *intf = resize->intf;
	u32 i;

	for (i = 0; i < intf->tx_queues; i++)
		ipoib_txq_exchange(&intf->txq[i], &resize->txq[i]);
	ipoib_rxq_exchange(&intf->rxq, &resize->rxq);
	intf->qp = intf->txq[0].qp;
}

static void resize_work(struct work_struct *work)
{
	struct resize *resize = container_of(work, struct resize, work);
	struct ipoib_intf *intf = resize->intf;

	if (!intf->up) {
		resize_exchange(resize);
		return;
	}
	ipoib_down(intf);
	resize_exchange(resize);
	/* Groups that the stack has asked for are joined again. */
	WRITE_ONCE(intf->mcast_dirty, true);
	resize->err = ipoib_up(intf);
	if (!resize->err)
		return;
	resize_exchange(resize);
	ipoib_up(intf);
}

static void resize_set_address(struct ipoib_intf *intf)
{
	union ib_gid gid = ipoib_gid_now(intf);
	u8 hwaddr[INFINIBAND_ALEN];

	ipoib_hwaddr_set(hwaddr, intf->cm ? IPOIB_HWADDR_RC : 0,
			 intf->qp->qp_num, &gid);
	dev_addr_mod(intf->dev, 0, hwaddr, sizeof(hwaddr));
	intf->announcements = IPOIB_ANNOUNCEMENTS;
	call_netdevice_notifiers(NETDEV_CHANGEADDR, intf->dev);
}

/**
 * ipoib_resize - exchange the rings for others
 * @intf: registered interface
 * @tx_size: packets in each transmit ring, a power of two that the HCA has
 * @rx_size: of the receive ring, likewise
 *
 * Context: rtnl.
 * Return: 0, -ENOMEM, or what the HCA says; nothing has changed then, but that the
 *	interface is down if it could not be started with the old rings either.
 */
int ipoib_resize(struct ipoib_intf *intf, u32 tx_size, u32 rx_size)
{
	struct net_device *dev = intf->dev;
	struct resize *resize;
	int err;
	u32 i;

	ASSERT_RTNL();
	resize = kvzalloc(sizeof(*resize), GFP_KERNEL);
	if (!resize)
		return -ENOMEM;
	INIT_WORK(&resize->work, resize_work);
	resize->intf = intf;
	for (i = 0; i < IPOIB_TXQ_MAX; i++)
		resize->txq[i].size = tx_size;
	resize->rxq.size = rx_size;
	err = resize_make(resize);
	if (err)
		goto out;
	queue_work(intf->wq, &resize->work);
	flush_work(&resize->work);
	err = resize->err;
	resize_unmake(resize);
	if (netif_running(dev) && !intf->up) {
		netdev_err(dev, "cannot be started again\n");
		dev_close(dev);
	}
	if (!err) {
		/* Those that will be made have this size as well. */
		for (i = intf->tx_queues; i < IPOIB_TXQ_MAX; i++)
			intf->txq[i].size = tx_size;
		intf->queues.tx_size = tx_size;
		intf->queues.rx_size = rx_size;
		ipoib_moderate_new(intf);
		resize_set_address(intf);
	}
out:
	kvfree(resize);
	return err;
}
