// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.15: some netdevs want their operations called with a lock of their own, netdev_lock_ops()
#include <linux/netdevice.h>
#if __has_include("net/netdev_lock.h")
#include <net/netdev_lock.h>
#endif

#ifdef PROBE_NEW
void probe(struct net_device *dev)
{
	netdev_lock_ops(dev);
	netdev_unlock_ops(dev);
}
#else
struct probe *netdev_lock_ops;
#endif
