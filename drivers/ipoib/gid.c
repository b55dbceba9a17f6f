// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The GID in the hardware address. It is the port's first one, unless the
 * administrator has chosen another that the subnet manager has given the port (IBA
 * 14.2.5.5): ip link set ib0 address. Flags and queue pair number are not theirs to
 * choose, nor is the subnet prefix.
 */
#include <linux/rtnetlink.h>

#include "gid.h"
#include "ipoib.h"

static bool gid_is_of_port(const struct ipoib_intf *intf, const union ib_gid *gid)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid_by_port(intf->ca, gid, IB_GID_TYPE_IB, intf->port, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/**
 * ipoib_gid_query - the GID that an interface is to have
 * @intf: interface
 * @gid: result
 *
 * One that was chosen and has left the port is not used until it is back.
 *
 * Context: control, or rtnl before the interface is registered.
 * Return: 0 or what the HCA says.
 */
int ipoib_gid_query(const struct ipoib_intf *intf, union ib_gid *gid)
{
	union ib_gid chosen;
	int err;

	err = rdma_query_gid(intf->ca, intf->port, 0, gid);
	if (err)
		return err;
	chosen = *gid;
	chosen.global.interface_id = READ_ONCE(intf->guid);
	if (chosen.global.interface_id && gid_is_of_port(intf, &chosen))
		*gid = chosen;
	return 0;
}

/**
 * ipoib_gid_now - the GID that an interface has
 * @intf: registered interface
 *
 * Control may change it at any time: its own work reads ipoib_intf.local_gid as it is.
 *
 * Context: process, without transmit locks.
 * Return: the GID, all of it from before a change or from afterwards.
 */
union ib_gid ipoib_gid_now(const struct ipoib_intf *intf)
{
	union ib_gid gid;

	ipoib_tx_lock_all(intf->dev);
	gid = intf->local_gid;
	ipoib_tx_unlock_all(intf->dev);
	return gid;
}

/* A child has its parent's GUID, unless one was chosen for it. */
static void children_choose(struct ipoib_intf *parent)
{
	struct ipoib_intf *child;

	list_for_each_entry(child, &parent->hca->intfs, list) {
		if (child->parent != parent || child->own_guid)
			continue;
		WRITE_ONCE(child->guid, parent->guid);
		ipoib_flush(child, IPOIB_FLUSH_NORMAL);
	}
}

/**
 * ipoib_gid_choose - ndo_set_mac_address
 * @dev: interface
 * @addr: sockaddr with a hardware address
 *
 * Control drops what the old GID is part of; peers are told of the new address. Children
 * follow, by their own control.
 *
 * Context: rtnl.
 * Return: 0, -EINVAL if more than the GUID differs from the address there is, or
 *	-EADDRNOTAVAIL if the port has no such GID.
 */
int ipoib_gid_choose(struct net_device *dev, void *addr)
{
	const u8 *wanted = ((struct sockaddr_storage *)addr)->__data;
	struct ipoib_intf *intf = ipoib_priv(dev);
	union ib_gid gid = ipoib_hwaddr_gid(wanted);

	ASSERT_RTNL();
	if (memcmp(dev->dev_addr, wanted,
		   IPOIB_HWADDR_GID + sizeof(gid.global.subnet_prefix))) {
		netdev_warn(dev, "of the hardware address, only the GUID can be changed\n");
		return -EINVAL;
	}
	if (!gid_is_of_port(intf, &gid)) {
		netdev_warn(dev, "the port has no GID %pI6\n", gid.raw);
		return -EADDRNOTAVAIL;
	}
	intf->own_guid = true;
	if (!memcmp(dev->dev_addr, wanted, dev->addr_len))
		return 0;
	WRITE_ONCE(intf->guid, gid.global.interface_id);
	dev_addr_mod(dev, 0, wanted, dev->addr_len);
	intf->announcements = IPOIB_ANNOUNCEMENTS;
	ipoib_flush(intf, IPOIB_FLUSH_NORMAL);
	children_choose(intf);
	return 0;
}
