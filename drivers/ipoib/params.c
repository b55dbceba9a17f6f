// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which netdev does RDMA CM mean: port, P_Key, GID and IP address of a request
 * name an interface, or the bond, bridge port or other device above it that has
 * the address.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>

#include "ipoib.h"

/**
 * struct params_walk - search for the holder of an address
 * @addr: address looked for
 * @found: device that has it, with increased refcnt, or NULL
 */
struct params_walk {
	const struct sockaddr *addr;
	struct net_device *found;
};

static bool params_has_addr(struct net_device *dev, const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	struct in_device *in_dev;

	switch (addr->sa_family) {
	case AF_INET:
		in_dev = __in_dev_get_rcu(dev);
		return in_dev && inet_confirm_addr(dev_net(dev), in_dev, 0,
						   in->sin_addr.s_addr,
						   RT_SCOPE_HOST);
	case AF_INET6:
		return IS_ENABLED(CONFIG_IPV6) &&
		       ipv6_chk_addr(dev_net(dev), &in6->sin6_addr, dev, 1);
	default:
		return false;
	}
}

static int params_check(struct net_device *dev, struct netdev_nested_priv *priv)
{
	struct params_walk *walk = priv->data;

	if (!params_has_addr(dev, walk->addr))
		return 0;
	dev_hold(dev);
	walk->found = dev;
	return 1;
}

/**
 * ipoib_match_partition - is a request for this port and partition
 * @intf: interface on the request's port
 * @pkey: of the request; membership does not matter
 * @gid: of the request, or NULL for any
 */
bool ipoib_match_partition(const struct ipoib_intf *intf, u16 pkey,
			   const union ib_gid *gid)
{
	if ((pkey ^ READ_ONCE(intf->pkey)) & ~IPOIB_PKEY_FULL_MEMBER)
		return false;
	/* While the GID changes, what is half one and half the other is nobody's. */
	return !gid || !data_race(memcmp(gid, &intf->local_gid, sizeof(*gid)));
}

/**
 * ipoib_match_address - the interface, or what stands above it, by IP address
 * @intf: interface
 * @addr: IP address of the request
 *
 * Context: RCU read side.
 * Return: the device, with increased refcnt, or NULL.
 */
struct net_device *ipoib_match_address(struct ipoib_intf *intf,
				       const struct sockaddr *addr)
{
	struct params_walk walk = { .addr = addr };
	struct netdev_nested_priv priv = { .data = &walk };

	if (!params_check(intf->dev, &priv))
		netdev_walk_all_upper_dev_rcu(intf->dev, params_check, &priv);
	return walk.found;
}

/**
 * ipoib_match_master - the interface, or the bond it serves
 * @intf: interface
 *
 * A VRF chooses routes, but packets come and go through the interface: RDMA CM looks for
 * that in the route to a peer.
 *
 * Context: RCU read side.
 * Return: the device, with increased refcnt.
 */
struct net_device *ipoib_match_master(struct ipoib_intf *intf)
{
	struct net_device *dev = netdev_master_upper_dev_get_rcu(intf->dev);

	if (!dev || netif_is_l3_master(dev))
		dev = intf->dev;
	dev_hold(dev);
	return dev;
}
