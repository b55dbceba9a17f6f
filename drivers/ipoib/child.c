// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Children: interfaces on further partitions of a port. A child is an interface
 * like its parent, with a queue pair and a control queue of its own; it shares
 * nothing with the parent but the HCA, the port's limit of joins (join.c), and the receive
 * queues of a HCA that accelerates them. It goes up and down with the parent, can be up without
 * it, and is never unregistered later.
 *
 * Everything here runs with rtnl.
 */
#include <linux/rtnetlink.h>

#include "accel.h"
#include "ipoib.h"

static int child_check(const struct ipoib_intf *parent, u16 pkey,
		       struct netlink_ext_ack *extack)
{
	if (parent->dev->reg_state != NETREG_REGISTERED)
		return -ENODEV;
	if (parent->parent) {
		NL_SET_ERR_MSG(extack, "a child cannot have children");
		return -EINVAL;
	}
	if (!(pkey & ~IPOIB_PKEY_FULL_MEMBER)) {
		NL_SET_ERR_MSG(extack, "P_Keys are 0x1 to 0x7fff, with or without 0x8000");
		return -EINVAL;
	}
	return 0;
}

/*
 * A HCA looks for a child's parent in the child's network namespace; and room for what it needs
 * is only there if the parent was known as the netdev was allocated.
 */
static bool child_can_be_accelerated(const struct net_device *dev, const struct ipoib_intf *parent,
				     struct netlink_ext_ack *extack)
{
	if (!parent->accel)
		return false;
	if (ipoib_accel_hca(dev) == parent->ca && net_eq(dev_net(dev), dev_net(parent->dev)))
		return true;
	NL_SET_ERR_MSG(extack,
		       "not accelerated: for that it has to be made in the parent's network namespace, and moved");
	return false;
}

/* Return: true if @dev, not registered as an accelerated interface, can be one that is not. */
static bool child_declined(struct net_device *dev, const struct ipoib_intf *parent, u16 pkey,
			   int err, struct netlink_ext_ack *extack)
{
	/* Once others have seen it, it cannot be registered again. */
	if (dev->reg_state != NETREG_UNINITIALIZED ||
	    !ipoib_accel_declined(parent->ca, parent->port, pkey, err))
		return false;
	NL_SET_ERR_MSG(extack, "not accelerated: the HCA has refused");
	ipoib_accel_undo(dev);
	return true;
}

/**
 * ipoib_child_register - make a netdev a child, accelerated if its parent is and the HCA does it
 * @dev: from ipoib_intf_setup(), not registered yet; from ipoib_accel_alloc_netdev() if it can
 *	be accelerated
 * @parent: interface of the same port
 * @pkey: P_Key of the partition; membership does not matter
 * @extack: why not
 *
 * Two children may be on one partition: each has an address of its own.
 *
 * Context: rtnl.
 * Return: 0, -EINVAL for what cannot be a child, -ENODEV for a parent that is
 *	going, or what the HCA says; the caller frees @dev then.
 */
int ipoib_child_register(struct net_device *dev, struct ipoib_intf *parent,
			 u16 pkey, struct netlink_ext_ack *extack)
{
	bool accelerated;
	int err;

	ASSERT_RTNL();
	err = child_check(parent, pkey, extack);
	if (err)
		return err;
	pkey |= IPOIB_PKEY_FULL_MEMBER;
	accelerated = child_can_be_accelerated(dev, parent, extack);
	if (!accelerated)
		ipoib_accel_undo(dev);
	err = ipoib_intf_register(dev, parent->hca, parent->port, pkey, parent, accelerated);
	if (!err && parent->accel && !accelerated)
		netdev_info(dev, "not accelerated, unlike %s: made in another network namespace\n",
			    parent->dev->name);
	if (accelerated && child_declined(dev, parent, pkey, err, extack))
		err = ipoib_intf_register(dev, parent->hca, parent->port, pkey, parent, false);
	if (err)
		NL_SET_ERR_MSG(extack, "the interface cannot be made");
	return err;
}

static struct ipoib_intf *child_find(const struct ipoib_intf *parent, u16 pkey)
{
	struct ipoib_intf *intf;

	list_for_each_entry(intf, &parent->hca->intfs, list)
		if (intf->parent == parent && intf->pkey == pkey)
			return intf;
	return NULL;
}

/**
 * ipoib_child_create - a child by its P_Key, named after parent and P_Key
 * @parent: interface
 * @pkey: P_Key of the partition; membership does not matter
 *
 * Context: rtnl.
 * Return: 0, -ENOTUNIQ if the parent or a child is on that partition,
 *	-ENAMETOOLONG, -EEXIST for the name, -ENOMEM, or as
 *	ipoib_child_register().
 */
int ipoib_child_create(struct ipoib_intf *parent, u16 pkey)
{
	char name[IFNAMSIZ];
	int err;

	ASSERT_RTNL();
	pkey |= IPOIB_PKEY_FULL_MEMBER;
	if (pkey == parent->pkey || child_find(parent, pkey))
		return -ENOTUNIQ;
	if (snprintf(name, sizeof(name), "%s.%04x", parent->dev->name, pkey) >=
	    (int)sizeof(name))
		return -ENAMETOOLONG;
	err = child_check(parent, pkey, NULL);
	return err ?: ipoib_intf_create(parent->hca, parent->port, pkey, parent,
					name);
}

/**
 * ipoib_child_delete - take the oldest child on a partition away
 * @parent: interface
 * @pkey: P_Key of the partition; membership does not matter
 *
 * Context: rtnl.
 * Return: 0, or -ENODEV if there is none.
 */
int ipoib_child_delete(struct ipoib_intf *parent, u16 pkey)
{
	struct ipoib_intf *child;

	ASSERT_RTNL();
	child = child_find(parent, pkey | IPOIB_PKEY_FULL_MEMBER);
	if (!child)
		return -ENODEV;
	unregister_netdevice(child->dev);
	return 0;
}

/*
 * When several netdevs go at once, the stack holds the locks of all that were up and have
 * one, and tells of each that it is down when all are: then there is nothing to be locked.
 */
static void child_follow(struct ipoib_intf *child, bool up)
{
	int err;

	if (up == !!(child->dev->flags & IFF_UP))
		return;
	if (!up) {
		dev_close(child->dev);
		return;
	}
	err = dev_open(child->dev, NULL);
	if (err)
		netdev_warn(child->dev, "does not come up with %s: error %d\n",
			    child->parent->dev->name, err);
}

/**
 * ipoib_children_follow - have the children be up or down like their parent
 * @parent: interface that has just gone up or down
 * @up: up
 *
 * Context: rtnl, and the parent's lock if it has one; each child's is taken here.
 */
void ipoib_children_follow(struct ipoib_intf *parent, bool up)
{
	struct ipoib_intf *intf;

	list_for_each_entry(intf, &parent->hca->intfs, list)
		if (intf->parent == parent)
			child_follow(intf, up);
}
