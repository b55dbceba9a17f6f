// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The GID in the hardware address: what may be chosen, and what is used. */
#include <kunit/test.h>
#include <linux/module.h>
#include <rdma/ib_cache.h>

static int fake_query_gid(struct ib_device *ca, u32 port, int index, union ib_gid *gid);
static const struct ib_gid_attr *fake_find_gid(struct ib_device *ca, const union ib_gid *gid,
					       enum ib_gid_type type, u32 port,
					       struct net_device *dev);

#define rdma_query_gid fake_query_gid
#define rdma_find_gid_by_port fake_find_gid
#define rdma_put_gid_attr(attr) ((void)(attr))
#include "gid.c"
#include "ipoib_netdev.h"

#define GIDS	2

static union ib_gid gids[GIDS];
static struct ib_gid_attr found;
static bool no_hca;
static unsigned int flushes;
static struct net_device *dev;
static struct ipoib_intf *intf;
static struct ipoib_hca hca;
static struct ipoib_intf child;

static int fake_query_gid(struct ib_device *ca, u32 port, int index, union ib_gid *gid)
{
	if (no_hca)
		return -ENODEV;
	*gid = gids[index];
	return 0;
}

static const struct ib_gid_attr *fake_find_gid(struct ib_device *ca, const union ib_gid *gid,
					       enum ib_gid_type type, u32 port,
					       struct net_device *ndev)
{
	int i;

	for (i = 0; i < GIDS; i++)
		if (!memcmp(&gids[i], gid, sizeof(*gid)))
			return &found;
	return ERR_PTR(-ENOENT);
}

void ipoib_flush(struct ipoib_intf *owner, enum ipoib_flush level)
{
	flushes += level == IPOIB_FLUSH_NORMAL;
}

static union ib_gid gid_of(u64 prefix, u64 guid)
{
	return (union ib_gid) { .global = { .subnet_prefix = cpu_to_be64(prefix),
					    .interface_id = cpu_to_be64(guid) } };
}

/* Have the interface use queue pair @qpn and a GID. */
static int choose(u8 flags, u32 qpn, union ib_gid gid)
{
	struct sockaddr_storage address = {};
	int err;

	ipoib_hwaddr_set(address.__data, flags, qpn, &gid);
	rtnl_lock();
	err = ipoib_gid_choose(dev, &address);
	rtnl_unlock();
	return err;
}

static void expect_used(struct kunit *test, union ib_gid gid)
{
	union ib_gid used;

	KUNIT_ASSERT_EQ(test, ipoib_gid_query(intf, &used), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&used, &gid, sizeof(gid)), 0);
}

static void the_first_unless_chosen(struct kunit *test)
{
	union ib_gid gid;

	expect_used(test, gids[0]);
	no_hca = true;
	KUNIT_EXPECT_EQ(test, ipoib_gid_query(intf, &gid), -ENODEV);
}

static void another_of_the_port(struct kunit *test)
{
	union ib_gid in_address;

	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gids[1]), 0);
	expect_used(test, gids[1]);
	in_address = ipoib_hwaddr_gid(dev->dev_addr);
	KUNIT_EXPECT_EQ(test, memcmp(&in_address, &gids[1], sizeof(in_address)), 0);
	KUNIT_EXPECT_EQ(test, flushes, 2U);	/* its own and a child's */
	KUNIT_EXPECT_EQ(test, intf->announcements, (unsigned int)IPOIB_ANNOUNCEMENTS);
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gids[1]), 0);
	KUNIT_EXPECT_EQ(test, flushes, 2U);
}

static void what_is_refused(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, choose(0, 0x77, gids[1]), -EINVAL);
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x78, gids[1]), -EINVAL);
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gid_of(0xfec0, 2)), -EINVAL);
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gid_of(0xfe80, 0)), -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gid_of(0xfe80, 9)), -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, flushes, 0U);
	KUNIT_EXPECT_EQ(test, intf->announcements, 0U);
	expect_used(test, gids[0]);
}

/* The subnet manager takes the GID away and gives it back. */
static void one_that_comes_and_goes(struct kunit *test)
{
	union ib_gid chosen = gids[1];

	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, chosen), 0);
	memset(&gids[1], 0, sizeof(gids[1]));
	expect_used(test, gids[0]);
	gids[1] = chosen;
	expect_used(test, chosen);
}

static void children_follow(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gids[1]), 0);
	KUNIT_EXPECT_EQ(test, child.guid, gids[1].global.interface_id);
	KUNIT_EXPECT_EQ(test, flushes, 2U);
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gids[0]), 0);
	KUNIT_EXPECT_EQ(test, child.guid, gids[0].global.interface_id);
	KUNIT_EXPECT_EQ(test, flushes, 4U);
}

static void children_with_a_guid_of_their_own(struct kunit *test)
{
	child.guid = gids[0].global.interface_id;
	child.own_guid = true;
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gids[1]), 0);
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gids[0]), 0);
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gids[1]), 0);
	KUNIT_EXPECT_EQ(test, child.guid, gids[0].global.interface_id);
	KUNIT_EXPECT_EQ(test, flushes, 3U);
	/* of another parent */
	child = (struct ipoib_intf) { .parent = NULL, .list = child.list };
	KUNIT_EXPECT_EQ(test, choose(IPOIB_HWADDR_RC, 0x77, gids[0]), 0);
	KUNIT_EXPECT_EQ(test, child.guid, 0);
}

static int setup(struct kunit *test)
{
	u8 address[INFINIBAND_ALEN];

	intf = netdev_create(test, 1);
	if (!intf)
		return -ENOMEM;
	dev = intf->dev;
	INIT_LIST_HEAD(&hca.intfs);
	intf->hca = &hca;
	list_add_tail(&intf->list, &hca.intfs);
	child = (struct ipoib_intf) { .parent = intf };
	list_add_tail(&child.list, &hca.intfs);
	no_hca = false;
	flushes = 0;
	gids[0] = gid_of(0xfe80, 1);
	gids[1] = gid_of(0xfe80, 2);
	dev->addr_len = INFINIBAND_ALEN;
	ipoib_hwaddr_set(address, IPOIB_HWADDR_RC, 0x77, &gids[0]);
	dev_addr_mod(dev, 0, address, sizeof(address));
	return 0;
}

static void teardown(struct kunit *test)
{
	if (dev)
		free_netdev(dev);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_first_unless_chosen),
	KUNIT_CASE(another_of_the_port),
	KUNIT_CASE(what_is_refused),
	KUNIT_CASE(one_that_comes_and_goes),
	KUNIT_CASE(children_follow),
	KUNIT_CASE(children_with_a_guid_of_their_own),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_gid",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of the GID in the hardware address");
MODULE_LICENSE("Dual MIT/GPL");
