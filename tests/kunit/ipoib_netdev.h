/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A netdev that is an interface of the IPoIB driver, but never registered. */
#ifndef IPOIB_NETDEV_H
#define IPOIB_NETDEV_H

#include <kunit/test.h>
#include <linux/etherdevice.h>

#include "ipoib.h"

/* Return: the interface, all zero, which lives as long as the test; or NULL. */
static inline struct ipoib_intf *netdev_create(struct kunit *test, unsigned int txqs)
{
	struct net_device *dev = alloc_etherdev_mqs(sizeof(struct rdma_netdev), txqs, 1);
	struct ipoib_intf *intf = kunit_kzalloc(test, sizeof(*intf), GFP_KERNEL);
	struct rdma_netdev *rn;

	if (!dev || !intf) {
		if (dev)
			free_netdev(dev);
		return NULL;
	}
	rn = netdev_priv(dev);
	rn->clnt_priv = intf;
	intf->dev = dev;
	return intf;
}

#endif /* IPOIB_NETDEV_H */
