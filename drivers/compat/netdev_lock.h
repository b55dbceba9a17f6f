/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The lock of a netdev, with which the operations of some are called. */
#ifndef OPENIPOIB_COMPAT_NETDEV_LOCK_H
#define OPENIPOIB_COMPAT_NETDEV_LOCK_H

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#if COMPAT_NETDEV_LOCK_OPS
#include <net/netdev_lock.h>
#endif

/* rtnl is all that there is. */
#if !COMPAT_NETDEV_LOCK_OPS
static inline void netdev_lock_ops(struct net_device *dev)
{
}

static inline void netdev_unlock_ops(struct net_device *dev)
{
}
#endif

/* Have the operations of a netdev, which is not registered yet, called with its lock. */
static inline void compat_want_ops_lock(struct net_device *dev)
{
#if COMPAT_NETDEV_LOCK_OPS
	dev->request_ops_lock = true;
	netdev_lockdep_set_classes(dev);
#endif
}

/*
 * The reverse, for lockdep as well: who holds the lock of a netdev whose operations want it may
 * wait for what takes that of another.
 */
static inline void compat_forget_ops_lock(struct net_device *dev)
{
#if COMPAT_NETDEV_LOCK_OPS
	static struct lock_class_key key;

	dev->request_ops_lock = false;
	lockdep_set_class(&dev->lock, &key);
#endif
}

#if !COMPAT_NETDEV_ASSERT_OPS
static inline void netdev_assert_locked_ops(struct net_device *dev)
{
#if COMPAT_NETDEV_LOCK_OPS
	if (netdev_need_ops_lock(dev))
		netdev_assert_locked(dev);
#endif
}
#endif

/* In ethtool_ops: what needs rtnl although the netdev has a lock. Others have both, or rtnl. */
#if COMPAT_ETHTOOL_NEEDS_RTNL
#define compat_op_needs_rtnl(ops) .op_needs_rtnl = (ops),
#else
#define compat_op_needs_rtnl(ops)
#endif

#endif /* OPENIPOIB_COMPAT_NETDEV_LOCK_H */
