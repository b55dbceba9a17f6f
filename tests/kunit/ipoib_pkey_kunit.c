// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A port's own interface is in the partition of the first entry of the port's P_Key table,
 * whenever that is written; a child stays where it is.
 */
#include "ipoib_world.h"

static int fake_query_pkey(struct ib_device *ca, u32 port, u16 index, u16 *pkey);

#define ib_query_pkey fake_query_pkey
#include "dest.c"
#include "mgid.c"
#include "pkey.c"

static struct {
	u16 first;
	u32 asked;
	u32 notified;
	u32 opens;
	u32 stops;
	u16 pkey_of_open;
	struct ipoib_hca hca;
} port;

static int fake_query_pkey(struct ib_device *ca, u32 number, u16 index, u16 *pkey)
{
	port.asked++;
	*pkey = port.first;
	return index ? -EINVAL : 0;
}

void ipoib_intf_notify_stack(struct ipoib_intf *intf)
{
	port.notified++;
}

static int fake_open(struct net_device *dev)
{
	port.opens++;
	port.pkey_of_open = ipoib_priv(dev)->pkey;
	return 0;
}

static int fake_stop(struct net_device *dev)
{
	port.stops++;
	return 0;
}

static const struct net_device_ops fake_ops = {
	.ndo_open = fake_open,
	.ndo_stop = fake_stop,
};

static int setup(struct kunit *test)
{
	int err = world_create(test);

	if (err)
		return err;
	memset(&port, 0, sizeof(port));
	mutex_init(&port.hca.lock);
	world->intf->hca = &port.hca;
	world->intf->dev->netdev_ops = &fake_ops;
	port.first = WORLD_PKEY;
	return 0;
}

static void teardown(struct kunit *test)
{
	clear_bit(__LINK_STATE_START, &world->intf->dev->state);
	world_destroy(test);
}

static void adopt(void)
{
	rtnl_lock();
	ipoib_pkey_adopt(world->intf);
	rtnl_unlock();
}

static void the_same_partition(struct kunit *test)
{
	ipoib_pkey_follow(world->intf);
	port.first = WORLD_PKEY & ~IPOIB_PKEY_FULL_MEMBER;	/* limited membership */
	ipoib_pkey_follow(world->intf);
	port.first = 0;						/* no partition */
	ipoib_pkey_follow(world->intf);
	KUNIT_EXPECT_EQ(test, port.notified, 0U);
	adopt();
	KUNIT_EXPECT_EQ(test, world->intf->pkey, WORLD_PKEY);
	KUNIT_EXPECT_EQ(test, port.stops, 0U);
}

static void another_partition(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	const u8 *broadcast = intf->dev->broadcast;

	port.first = 0x0015;
	ipoib_pkey_follow(intf);
	KUNIT_EXPECT_EQ(test, port.notified, 1U);
	KUNIT_EXPECT_EQ(test, intf->pkey, WORLD_PKEY);
	adopt();
	KUNIT_EXPECT_EQ(test, intf->pkey, 0x8015);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(broadcast + 8), 0x8015);
	KUNIT_EXPECT_EQ(test, port.opens, 0U);
	ipoib_pkey_follow(intf);
	KUNIT_EXPECT_EQ(test, port.notified, 1U);
}

/* It is stopped while the P_Key changes, and started with the new one. */
static void while_it_is_up(struct kunit *test)
{
	set_bit(__LINK_STATE_START, &world->intf->dev->state);
	port.first = 0x8016;
	ipoib_pkey_follow(world->intf);
	adopt();
	adopt();
	KUNIT_EXPECT_EQ(test, port.stops, 1U);
	KUNIT_EXPECT_EQ(test, port.opens, 1U);
	KUNIT_EXPECT_EQ(test, port.pkey_of_open, 0x8016);
}

static void children_stay(struct kunit *test)
{
	world->intf->parent = world->intf;
	port.first = 0x8015;
	ipoib_pkey_follow(world->intf);
	KUNIT_EXPECT_EQ(test, port.asked, 0U);
	adopt();
	KUNIT_EXPECT_EQ(test, world->intf->pkey, WORLD_PKEY);
	world->intf->parent = NULL;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_same_partition),
	KUNIT_CASE(another_partition),
	KUNIT_CASE(while_it_is_up),
	KUNIT_CASE(children_stay),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_pkey",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: the partition of a port's own interface");
