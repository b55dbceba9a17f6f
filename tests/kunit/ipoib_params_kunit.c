// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which interface a request of the RDMA CM means: partition and GID, and the
 * address or master device that it goes by.
 */
#include <linux/etherdevice.h>

#include "ipoib_world.h"

#include "dest.c"

static struct net_device *master;

#define netdev_master_upper_dev_get_rcu(dev) (master)
#include "params.c"

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
