// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 7.1: there is net_device_ops.ndo_set_rx_mode_async(), which may sleep
#include <linux/netdevice.h>

#ifdef PROBE_NEW
const struct net_device_ops probe_ops = { .ndo_set_rx_mode_async = NULL };
#else
/* Two members of one name would be an error. */
struct probe {
	const struct net_device_ops;
	int ndo_set_rx_mode_async;
};
#endif
