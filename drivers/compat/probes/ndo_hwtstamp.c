// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.6: there are net_device_ops.ndo_hwtstamp_get() and ndo_hwtstamp_set()
#include <linux/net_tstamp.h>
#include <linux/netdevice.h>

#ifdef PROBE_NEW
static int probe(struct net_device *dev, struct kernel_hwtstamp_config *config)
{
	return config->copied_to_user || !config->ifr;
}

const struct net_device_ops probe_ops = { .ndo_hwtstamp_get = probe };
#else
/* Two members of one name would be an error. */
struct probe {
	const struct net_device_ops;
	int ndo_hwtstamp_get;
};
#endif
