// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 7.2: netdev_assert_locked_ops() looks whether that lock is held, where it is wanted
#include <linux/netdevice.h>
#if __has_include("net/netdev_lock.h")
#include <net/netdev_lock.h>
#endif

#ifdef PROBE_NEW
void probe(struct net_device *dev)
{
	netdev_assert_locked_ops(dev);
}
#else
struct probe *netdev_assert_locked_ops;
#endif
