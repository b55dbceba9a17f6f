/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What is given to the operations of net_device_ops. */
#ifndef OPENIPOIB_COMPAT_NETDEV_OPS_H
#define OPENIPOIB_COMPAT_NETDEV_OPS_H

#include <linux/net_tstamp.h>
#include <linux/netdevice.h>
#include <linux/sockios.h>

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

/*
 * Hardware time stamps. compat_hwtstamp(get, set) is what net_device_ops has for them; older
 * kernels have the ioctl, whose argument they give on. Those between have both, and some
 * netdevs have only the ioctl there, which answers user space by itself.
 */
#if COMPAT_NDO_HWTSTAMP
#define COMPAT_HWTSTAMP(get, set)
#define compat_hwtstamp(get, set) .ndo_hwtstamp_get = get, .ndo_hwtstamp_set = set
#else
struct kernel_hwtstamp_config {
	struct ifreq *ifr;
	bool copied_to_user;
};

#define COMPAT_HWTSTAMP(get, set) \
static int compat_##get(struct net_device *dev, struct ifreq *ifr, int cmd) \
{ \
	struct kernel_hwtstamp_config config = { .ifr = ifr }; \
\
	switch (cmd) { \
	case SIOCGHWTSTAMP: \
		return get(dev, &config); \
	case SIOCSHWTSTAMP: \
		return set(dev, &config, NULL); \
	default: \
		return -EOPNOTSUPP; \
	} \
}

#define compat_hwtstamp(get, set) .ndo_eth_ioctl = compat_##get
#endif

static inline int compat_hwtstamp_ioctl(const struct net_device_ops *ops, struct net_device *dev,
					struct kernel_hwtstamp_config *config, int cmd)
{
	int err;

	if (!ops->ndo_eth_ioctl || !config->ifr)
		return -EOPNOTSUPP;
	err = ops->ndo_eth_ioctl(dev, config->ifr, cmd);
	config->copied_to_user = !err;
	return err;
}

/* What a netdev with operations @ops says itself of its time stamps; or -EOPNOTSUPP. */
static inline int compat_hwtstamp_get(const struct net_device_ops *ops, struct net_device *dev,
				      struct kernel_hwtstamp_config *config)
{
#if COMPAT_NDO_HWTSTAMP
	if (ops->ndo_hwtstamp_get)
		return ops->ndo_hwtstamp_get(dev, config);
#endif
	return compat_hwtstamp_ioctl(ops, dev, config, SIOCGHWTSTAMP);
}

static inline int compat_hwtstamp_set(const struct net_device_ops *ops, struct net_device *dev,
				      struct kernel_hwtstamp_config *config,
				      struct netlink_ext_ack *extack)
{
#if COMPAT_NDO_HWTSTAMP
	if (ops->ndo_hwtstamp_set)
		return ops->ndo_hwtstamp_set(dev, config, extack);
#endif
	return compat_hwtstamp_ioctl(ops, dev, config, SIOCSHWTSTAMP);
}

#endif /* OPENIPOIB_COMPAT_NETDEV_OPS_H */
