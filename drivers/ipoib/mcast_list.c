// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The stack's list of multicast addresses: the groups that an interface is a full member of.
 * With umcast, those are left out that a program has joined itself.
 */
#include <linux/rtnetlink.h>

#include "mcast.h"

/**
 * ipoib_mcast_set_umcast - leave groups that user space joins itself to it, or not
 * @intf: registered interface
 * @umcast: leave them; groups that the interface is a member of stay so
 *
 * Context: rtnl.
 */
void ipoib_mcast_set_umcast(struct ipoib_intf *intf, bool umcast)
{
	ASSERT_RTNL();
	WRITE_ONCE(intf->umcast, umcast);
	WRITE_ONCE(intf->mcast_dirty, true);
	ipoib_mcast_kick(intf);
}

/* Has somebody else on this host joined a group that we have not? */
static bool mcast_is_users(const struct ipoib_intf *intf, union ib_gid *mgid)
{
	struct ib_sa_mcmember_rec rec;

	return READ_ONCE(intf->umcast) &&
	       !ib_sa_get_mcmember_rec(intf->ca, intf->port, mgid, &rec);
}

/* Groups of the stack's list that are new here; the rest is marked wanted. */
static void mcast_scan_list(struct ipoib_intf *intf)
{
	struct net_device *dev = intf->dev;
	struct netdev_hw_addr *ha;
	struct ipoib_mcast *mcast;
	struct ipoib_dest *dest;
	union ib_gid mgid;

	rcu_read_lock();
	netif_addr_lock_bh(dev);
	netdev_for_each_mc_addr(ha, dev) {
		if (!ipoib_multicast_hwaddr_valid(ha->addr, dev->broadcast))
			continue;
		mgid = ipoib_hwaddr_gid(ha->addr);
		dest = ipoib_dest_find(intf, &mgid);
		if (dest) {
			ipoib_mcast_of(dest)->wanted = true;
			continue;
		}
		if (mcast_is_users(intf, &mgid))
			continue;
		mcast = ipoib_mcast_create(intf, &mgid, false, GFP_ATOMIC);
		if (mcast)
			mcast->wanted = true;
		else
			WRITE_ONCE(intf->mcast_dirty, true);
	}
	netif_addr_unlock_bh(dev);
	rcu_read_unlock();
}

/**
 * ipoib_mcast_sync_list - make the memberships those of the stack's list of addresses
 * @intf: interface
 *
 * Context: control.
 */
void ipoib_mcast_sync_list(struct ipoib_intf *intf)
{
	struct ipoib_mcast *mcast, *next;
	LIST_HEAD(all);

	mcast_scan_list(intf);
	ipoib_mcast_collect(intf, &all);
	list_for_each_entry_safe(mcast, next, &all, todo) {
		if (mcast == intf->broadcast)
			continue;
		if (mcast->wanted && mcast->sendonly) {
			ipoib_mcast_leave(mcast);
			WRITE_ONCE(mcast->sendonly, false);
			mcast->retry_at = jiffies;
		} else if (!mcast->wanted && !mcast->sendonly) {
			ipoib_mcast_destroy(mcast);
			continue;
		}
		mcast->wanted = false;
	}
}
