// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 7.2: net_device_ops.ndo_set_rx_mode_async() returns an error, and is called again then
#include <linux/netdevice.h>

#ifdef PROBE_NEW
static int probe(struct net_device *dev, struct netdev_hw_addr_list *uc,
		 struct netdev_hw_addr_list *mc)
{
	netif_rx_mode_schedule_retry(dev);
	return 0;
}

const struct net_device_ops probe_ops = { .ndo_set_rx_mode_async = probe };
#else
struct probe *netif_rx_mode_schedule_retry;
#endif
