// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The partition of a port's own interface, which is that of the first entry of the port's
 * P_Key table. The subnet manager may write that after the interface has been made: it then
 * moves, with its broadcast group and its groups, as the kernel's own driver does. Children
 * have the partition that they were made for.
 *
 * Control sees that the entry has changed; the interface moves with rtnl, since the stack
 * has the P_Key in its multicast addresses. Nobody uses the P_Key meanwhile: the interface
 * is stopped, with its carrier, but stays up for the stack, with its addresses and routes.
 */
#include <linux/rtnetlink.h>

#include "ipoib.h"
#include "netdev_lock.h"

/**
 * ipoib_pkey_follow - see whether the interface has to move to another partition
 * @intf: interface
 *
 * Context: control.
 */
void ipoib_pkey_follow(struct ipoib_intf *intf)
{
	u16 pkey;

	if (intf->parent || ib_query_pkey(intf->ca, intf->port, 0, &pkey) ||
	    !(pkey & ~IPOIB_PKEY_FULL_MEMBER))
		return;
	pkey |= IPOIB_PKEY_FULL_MEMBER;
	WRITE_ONCE(intf->pkey_first, pkey);
	if (pkey != READ_ONCE(intf->pkey))
		ipoib_intf_notify_stack(intf);
}

static void pkey_set(struct ipoib_intf *intf, u16 pkey)
{
	struct net_device *dev = intf->dev;
	u8 hwaddr[INFINIBAND_ALEN];

	ipoib_broadcast_hwaddr(hwaddr, IPOIB_SCOPE_LINK_LOCAL, pkey);
	mutex_lock(&intf->hca->lock);
	ipoib_tx_lock_all(dev);
	WRITE_ONCE(intf->pkey, pkey);
	memcpy((void *)dev->broadcast, hwaddr, sizeof(hwaddr));
	ipoib_tx_unlock_all(dev);
	mutex_unlock(&intf->hca->lock);
}

static int pkey_move(struct ipoib_intf *intf, u16 pkey)
{
	const struct net_device_ops *ops = intf->dev->netdev_ops;
	bool runs = netif_running(intf->dev);
	int err = 0;

	netdev_lock_ops(intf->dev);
	if (runs)
		ops->ndo_stop(intf->dev);
	pkey_set(intf, pkey);
	if (runs)
		err = ops->ndo_open(intf->dev);
	netdev_unlock_ops(intf->dev);
	return err;
}

/**
 * ipoib_pkey_adopt - move the interface to the partition that it is to be in
 * @intf: registered interface
 *
 * Context: rtnl, without the netdev's lock; waits for control.
 */
void ipoib_pkey_adopt(struct ipoib_intf *intf)
{
	u16 pkey = READ_ONCE(intf->pkey_first);
	struct net_device *dev = intf->dev;
	int err;

	ASSERT_RTNL();
	if (!pkey || pkey == intf->pkey)
		return;
	/* The stack removes the addresses of its groups, and has new ones afterwards. */
	err = notifier_to_errno(call_netdevice_notifiers(NETDEV_PRE_TYPE_CHANGE, dev));
	if (err) {
		netdev_warn(dev, "failed to move to P_Key 0x%04x, the port's first one: refused by what uses the interface: %d\n",
			    pkey, err);
		/* Until the table changes again. */
		WRITE_ONCE(intf->pkey_first, intf->pkey);
		call_netdevice_notifiers(NETDEV_POST_TYPE_CHANGE, dev);
		return;
	}
	netdev_info(dev, "P_Key 0x%04x, not 0x%04x: the port's first one has changed\n", pkey,
		    intf->pkey);
	err = pkey_move(intf, pkey);
	call_netdevice_notifiers(NETDEV_POST_TYPE_CHANGE, dev);
	if (err) {
		netdev_err(dev, "failed to start with P_Key 0x%04x: %d\n", pkey, err);
		dev_close(dev);
	}
	netdev_state_change(dev);
}
