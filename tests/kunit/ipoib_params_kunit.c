// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which interface a request of the RDMA CM means: partition and GID, and the
 * address or master device that it goes by.
 */
#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>

#include "ipoib_world.h"

#include "dest.c"

#define ADDRESS	htonl(0x0A000001)

static struct net_device *master;
static struct net_device *above;	/* what stands upon the interface */

/* Devices that are not registered are in no table of IPv6's: who has the address there */
static const struct in6_addr address6 = IN6ADDR_LOOPBACK_INIT;
static struct net_device *holder6;

static int fake_walk(struct net_device *dev,
		     int (*fn)(struct net_device *dev, struct netdev_nested_priv *priv),
		     struct netdev_nested_priv *priv)
{
	return above && dev == world->intf->dev ? fn(above, priv) : 0;
}

static int fake_chk_addr(struct net *net, const struct in6_addr *addr,
			 const struct net_device *dev, int strict)
{
	return dev == holder6 && strict && net_eq(net, dev_net(dev)) &&
	       ipv6_addr_equal(addr, &address6);
}

#define netdev_master_upper_dev_get_rcu(dev) (master)
#define netdev_walk_all_upper_dev_rcu fake_walk
#define ipv6_chk_addr fake_chk_addr
#include "params.c"

/* An address of IPv4, as the kernel keeps it */
struct inet {
	struct in_device in_dev;
	struct in_ifaddr ifa;
};

/* IBA 10.9.3: partitions match whatever the memberships are. */
static void partitions(struct kunit *test)
{
	static const struct {
		u16 pkey;
		bool same;
	} want[] = {
		{ WORLD_PKEY, true }, { WORLD_PKEY & 0x7FFF, true },
		{ WORLD_PKEY ^ 1, false }, { (WORLD_PKEY ^ 1) & 0x7FFF, false },
		{ 0xFFFF, false }, { 0x7FFF, false }, { 0x8000, false }, { 0, false },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		KUNIT_EXPECT_EQ_MSG(test, ipoib_match_partition(world->intf, want[i].pkey, NULL),
				    want[i].same, "P_Key 0x%04x", want[i].pkey);
		KUNIT_EXPECT_EQ_MSG(test, ipoib_match_partition(world->intf, want[i].pkey,
								&world->intf->local_gid),
				    want[i].same, "P_Key 0x%04x", want[i].pkey);
	}
}

static void gids(struct kunit *test)
{
	union ib_gid gid;
	int i;

	for (i = 0; i < (int)sizeof(gid); i++) {
		gid = world->intf->local_gid;
		gid.raw[i] ^= 1;
		KUNIT_EXPECT_FALSE(test, ipoib_match_partition(world->intf, WORLD_PKEY, &gid));
	}
}

/* Nobody has the address: no device, and no reference is left behind. */
static void addresses_of_nobody(struct kunit *test)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0A000001) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	struct sockaddr other = { .sa_family = AF_UNIX };
	struct net_device *dev = world->intf->dev;

	rcu_read_lock();
	KUNIT_EXPECT_NULL(test, ipoib_match_address(world->intf, (struct sockaddr *)&in));
	KUNIT_EXPECT_NULL(test, ipoib_match_address(world->intf, (struct sockaddr *)&in6));
	KUNIT_EXPECT_NULL(test, ipoib_match_address(world->intf, &other));
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, netdev_refcnt_read(dev), 1);
}

static void give(struct kunit *test, struct net_device *dev, __be32 addr)
{
	struct inet *inet = kunit_kzalloc(test, sizeof(*inet), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, inet);
	inet->ifa.ifa_local = addr;
	inet->ifa.ifa_address = addr;
	inet->ifa.ifa_mask = htonl(0xFFFFFF00);
	inet->ifa.ifa_scope = RT_SCOPE_UNIVERSE;
	inet->ifa.ifa_dev = &inet->in_dev;
	inet->in_dev.dev = dev;
	rcu_assign_pointer(inet->in_dev.ifa_list, &inet->ifa);
	rcu_assign_pointer(dev->ip_ptr, &inet->in_dev);
}

static void take(struct net_device *dev)
{
	RCU_INIT_POINTER(dev->ip_ptr, NULL);
	synchronize_rcu();
}

/* The holder is @wanted, of which there is one reference more; or nobody. */
static void match_address(struct kunit *test, const void *addr, struct net_device *wanted)
{
	int before = wanted ? netdev_refcnt_read(wanted) : 0;
	struct net_device *dev;

	rcu_read_lock();
	dev = ipoib_match_address(world->intf, addr);
	rcu_read_unlock();
	KUNIT_EXPECT_PTR_EQ(test, dev, wanted);
	if (!dev)
		return;
	if (dev == wanted)
		KUNIT_EXPECT_EQ(test, netdev_refcnt_read(dev), before + 1);
	dev_put(dev);
}

static void an_address_of_the_interface(struct kunit *test)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = ADDRESS };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = address6 };
	struct net_device *dev = world->intf->dev;

	give(test, dev, ADDRESS);
	match_address(test, &in, dev);
	in.sin_addr.s_addr ^= htonl(1);
	match_address(test, &in, NULL);
	take(dev);

	holder6 = dev;
	match_address(test, &in6, dev);
	in6.sin6_addr.s6_addr[0] ^= 1;
	match_address(test, &in6, NULL);
	holder6 = NULL;
}

/* A bond, a bridge, a VLAN: it has the address, and not the interface; or both have one. */
static void an_address_of_what_is_above(struct kunit *test)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = ADDRESS };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = address6 };
	struct net_device *dev = world->intf->dev;

	above = alloc_netdev(0, "above%d", NET_NAME_UNKNOWN, ether_setup);
	KUNIT_ASSERT_NOT_NULL(test, above);
	give(test, above, ADDRESS);
	match_address(test, &in, above);
	give(test, dev, ADDRESS ^ htonl(1));
	match_address(test, &in, above);
	in.sin_addr.s_addr ^= htonl(1);
	match_address(test, &in, dev);

	match_address(test, &in6, NULL);
	holder6 = above;
	match_address(test, &in6, above);
	holder6 = NULL;

	take(dev);
	take(above);
	free_netdev(above);
	above = NULL;
}

static void without_a_master(struct kunit *test)
{
	struct net_device *dev;

	rcu_read_lock();
	dev = ipoib_match_master(world->intf);
	rcu_read_unlock();
	KUNIT_EXPECT_PTR_EQ(test, dev, world->intf->dev);
	KUNIT_EXPECT_EQ(test, netdev_refcnt_read(dev), 2);
	dev_put(dev);
}

static void match_master(struct kunit *test, struct net_device *wanted)
{
	struct net_device *dev;

	rcu_read_lock();
	dev = ipoib_match_master(world->intf);
	rcu_read_unlock();
	KUNIT_EXPECT_PTR_EQ(test, dev, wanted);
	dev_put(dev);
}

/* A bond takes the place of its interfaces, a VRF (VPN routing and forwarding) does not. */
static void with_a_master(struct kunit *test)
{
	master = alloc_netdev(0, "master%d", NET_NAME_UNKNOWN, ether_setup);
	KUNIT_ASSERT_NOT_NULL(test, master);
	match_master(test, master);
	master->priv_flags |= IFF_L3MDEV_MASTER;
	match_master(test, world->intf->dev);
	free_netdev(master);
	master = NULL;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(partitions),
	KUNIT_CASE(gids),
	KUNIT_CASE(addresses_of_nobody),
	KUNIT_CASE(an_address_of_the_interface),
	KUNIT_CASE(an_address_of_what_is_above),
	KUNIT_CASE(without_a_master),
	KUNIT_CASE(with_a_master),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_params",
	.init = world_create,
	.exit = world_destroy,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: which interface the RDMA CM means");
