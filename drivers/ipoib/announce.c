// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Announcements: an interface whose hardware address has changed tells its peers by
 * ARP and neighbour advertisements (RFC 5227 section 2.3, RFC 4861 section 7.2.6), and
 * repeats them, since one that is lost leaves a peer with the old address until its
 * own timers find out.
 */
#include <linux/rtnetlink.h>

#include "ipoib.h"

#define INTERVAL	HZ	/* RFC 4861 section 10, RETRANS_TIMER */

static void announce_work(struct work_struct *work)
{
	struct ipoib_intf *intf = container_of(to_delayed_work(work), struct ipoib_intf,
					       announce_work);
	struct net_device *dev = intf->dev;

	rtnl_lock();
	if (dev->reg_state == NETREG_REGISTERED)
		ipoib_announce(intf);
	rtnl_unlock();
	dev_put(dev);
}

/**
 * ipoib_announce_init - nothing is to be announced yet
 * @intf: interface that is being set up
 */
void ipoib_announce_init(struct ipoib_intf *intf)
{
	INIT_DELAYED_WORK(&intf->announce_work, announce_work);
}

/**
 * ipoib_announce - announce what is to be announced, if there is a carrier
 * @intf: interface
 *
 * Context: rtnl.
 */
void ipoib_announce(struct ipoib_intf *intf)
{
	ASSERT_RTNL();
	if (!intf->announcements || !netif_carrier_ok(intf->dev))
		return;
	intf->announcements--;
	__netdev_notify_peers(intf->dev);
	if (!intf->announcements)
		return;
	dev_hold(intf->dev);
	if (!queue_delayed_work(ipoib_rtnl_wq, &intf->announce_work, INTERVAL))
		dev_put(intf->dev);
}

/**
 * ipoib_announce_stop - do not keep a netdev that is to go
 * @intf: interface
 *
 * Context: rtnl. One that runs already sees that the netdev is not registered any more.
 */
void ipoib_announce_stop(struct ipoib_intf *intf)
{
	ASSERT_RTNL();
	if (cancel_delayed_work(&intf->announce_work))
		dev_put(intf->dev);
}
