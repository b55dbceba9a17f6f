/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What is given to the operations of net_device_ops. */
#ifndef OPENIPOIB_COMPAT_NETDEV_OPS_H
#define OPENIPOIB_COMPAT_NETDEV_OPS_H

#include <linux/netdevice.h>

#include "op.h"

#if COMPAT_SET_RX_MODE_RETRY
#define COMPAT_SET_RX_MODE(fn)
#elif COMPAT_SET_RX_MODE_ASYNC
#define COMPAT_SET_RX_MODE(fn) \
static void compat_##fn(struct net_device *dev, struct netdev_hw_addr_list *uc, \
			struct netdev_hw_addr_list *mc) \
{ \
	fn(dev, uc, mc); \
}
#else
/* It must not sleep: the lists are the stack's own, which netif_addr_lock guards. */
#define ndo_set_rx_mode_async ndo_set_rx_mode
#define COMPAT_SET_RX_MODE(fn) \
static void compat_##fn(struct net_device *dev) \
{ \
	fn(dev, &dev->uc, &dev->mc); \
}
#endif

#endif /* OPENIPOIB_COMPAT_NETDEV_OPS_H */
