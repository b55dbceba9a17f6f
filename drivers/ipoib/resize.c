// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Rings of other sizes while the interface lives. A HCA cannot change the size of a
 * queue pair, so there is a new one, made while the old one still works: for want of
 * memory nothing changes. The exchange is a short down and up that the stack does not
 * see: addresses and routes stay, destinations and groups are asked for again.
 *
 * With the queue pair, the hardware address changes. The peers are told as soon as
 * there is a carrier again, and stop using the old one.
 */
#include <linux/rtnetlink.h>

#include "ipoib.h"

/**
 * struct resize - an exchange
 * @work: does it; control
 * @intf: interface; constant
 * @txq: a ring with its completion queue: first the new, then the old one
 * @rxq: likewise
 * @qp: their queue pair
 * @err: what came of it; control, read when @work is done
 */
struct resize {
	struct work_struct work;
	struct ipoib_intf *intf;
	struct ipoib_txq txq;
	struct ipoib_rxq rxq;
	struct ib_qp *qp;
	int err;
};

static int resize_make(struct resize *resize)
{
	struct ipoib_intf *intf = resize->intf;
	int err;

	err = ipoib_txq_alloc(intf, &resize->txq);
	if (err)
		return err;
	err = ipoib_rxq_alloc(intf, &resize->rxq);
	if (err)
		goto err_free_txq;
	resize->qp = ipoib_qp_make(intf, &resize->txq, &resize->rxq);
	if (IS_ERR(resize->qp)) {
		err = PTR_ERR(resize->qp);
		goto err_free_rxq;
	}
	return 0;

err_free_rxq:
	ipoib_rxq_free(intf, &resize->rxq);
err_free_txq:
	ipoib_txq_free(&resize->txq);
	return err;
}

static void resize_unmake(struct resize *resize)
{
	ib_destroy_qp(resize->qp);
	ipoib_rxq_free(resize->intf, &resize->rxq);
	ipoib_txq_free(&resize->txq);
}

static void resize_exchange(struct resize *resize)
{
	struct ipoib_intf *intf = resize->intf;

	ipoib_txq_exchange(&intf->txq, &resize->txq);
	ipoib_rxq_exchange(&intf->rxq, &resize->rxq);
	swap(intf->qp, resize->qp);
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
	/* Groups that the stack has asked for are joined anew. */
	WRITE_ONCE(intf->mcast_dirty, true);
	resize->err = ipoib_up(intf);
	if (!resize->err)
		return;
	resize_exchange(resize);
	ipoib_up(intf);
}

static void resize_set_address(struct ipoib_intf *intf)
{
	u8 hwaddr[INFINIBAND_ALEN];

	ipoib_hwaddr_set(hwaddr, intf->cm ? IPOIB_HWADDR_RC : 0,
			 intf->qp->qp_num, &intf->local_gid);
	dev_addr_mod(intf->dev, 0, hwaddr, sizeof(hwaddr));
	intf->announce = true;
	call_netdevice_notifiers(NETDEV_CHANGEADDR, intf->dev);
}

/**
 * ipoib_resize - exchange the rings for others
 * @intf: registered interface
 * @tx_size: packets in the transmit ring, a power of two that the HCA has
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

	ASSERT_RTNL();
	resize = kzalloc(sizeof(*resize), GFP_KERNEL);
	if (!resize)
		return -ENOMEM;
	INIT_WORK(&resize->work, resize_work);
	resize->intf = intf;
	resize->txq.size = tx_size;
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
		intf->queues.tx_size = tx_size;
		intf->queues.rx_size = rx_size;
		ipoib_moderate_new(intf);
		resize_set_address(intf);
	}
out:
	kfree(resize);
	return err;
}
