// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Settings that survive an interface: found again by HCA, port and partition. */
#include <kunit/test.h>
#include <linux/module.h>

#include "keep.c"

static struct ib_device ca;
static struct ipoib_intf *intf;

static void be(u64 guid, u32 port, u16 pkey, int mtu, bool connected)
{
	ca.node_guid = cpu_to_be64(guid);
	intf->ca = &ca;
	intf->port = port;
	intf->pkey = pkey;
	intf->admin_mtu = mtu;
	intf->connected = connected;
}

static void keep(u64 guid, u32 port, u16 pkey, int mtu, bool connected)
{
	be(guid, port, pkey, mtu, connected);
	rtnl_lock();
	ipoib_keep_settings(intf);
	rtnl_unlock();
}

static void expect(struct kunit *test, u64 guid, u32 port, u16 pkey, int mtu, bool connected)
{
	be(guid, port, pkey, 0, false);
	rtnl_lock();
	ipoib_keep_recall(intf);
	rtnl_unlock();
	KUNIT_EXPECT_EQ(test, intf->admin_mtu, mtu);
	KUNIT_EXPECT_EQ(test, intf->connected, connected);
}

static void found_by_hca_port_and_partition(struct kunit *test)
{
	intf->parent = intf;
	keep(1, 1, 0xffff, 65520, true);
	keep(1, 2, 0xffff, 2000, false);
	keep(1, 1, 0x8001, 0, true);
	expect(test, 2, 1, 0xffff, 0, false);
	expect(test, 1, 1, 0xffff, 65520, true);
	expect(test, 1, 2, 0xffff, 2000, false);
	expect(test, 1, 1, 0x8001, 0, true);
	/* what has been given back is kept by the interface that has it */
	expect(test, 1, 1, 0xffff, 0, false);
	intf->parent = NULL;
	KUNIT_EXPECT_EQ(test, keep_count, 0U);
}

/* A port's own interface has moved, and is made with the P_Key that the table begins with. */
static void of_a_port_whatever_its_partition(struct kunit *test)
{
	keep(1, 1, 0x8015, 65520, true);
	keep(1, 2, 0x8015, 2000, false);
	expect(test, 1, 1, 0xffff, 65520, true);
	expect(test, 1, 2, 0xffff, 2000, false);
	KUNIT_EXPECT_EQ(test, keep_count, 0U);
}

static void the_newest_counts(struct kunit *test)
{
	keep(1, 1, 0xffff, 65520, true);
	keep(1, 1, 0xffff, 9000, true);
	expect(test, 1, 1, 0xffff, 9000, true);
	keep(1, 1, 0xffff, 65520, true);
	keep(1, 1, 0xffff, 0, false);
	expect(test, 1, 1, 0xffff, 0, false);
	KUNIT_EXPECT_EQ(test, keep_count, 0U);
}

/* On one partition of a port may be an interface of the port and a child. */
static void children_are_others(struct kunit *test)
{
	struct ipoib_intf *parent = kunit_kzalloc(test, sizeof(*parent), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, parent);
	keep(1, 1, 0xffff, 9000, true);
	intf->parent = parent;
	expect(test, 1, 1, 0xffff, 0, false);
	keep(1, 1, 0xffff, 2000, false);
	intf->parent = NULL;
	expect(test, 1, 1, 0xffff, 9000, true);
	intf->parent = parent;
	expect(test, 1, 1, 0xffff, 2000, false);
	intf->parent = NULL;
	KUNIT_EXPECT_EQ(test, keep_count, 0U);
}

static void umcast_alone(struct kunit *test)
{
	intf->umcast = true;
	keep(1, 1, 0xffff, 0, false);
	intf->umcast = false;
	expect(test, 1, 1, 0xffff, 0, false);
	KUNIT_EXPECT_TRUE(test, intf->umcast);
}

static void queues_alone(struct kunit *test)
{
	intf->queues.rx_size = 256;
	intf->queues.tx_usecs = 7;
	intf->queues.rx_adaptive = true;
	keep(1, 1, 0xffff, 0, false);
	memset(&intf->queues, 0, sizeof(intf->queues));
	expect(test, 1, 1, 0xffff, 0, false);
	KUNIT_EXPECT_EQ(test, intf->queues.rx_size, 256U);
	KUNIT_EXPECT_EQ(test, intf->queues.tx_size, 0U);
	KUNIT_EXPECT_EQ(test, intf->queues.tx_usecs, 7);
	KUNIT_EXPECT_TRUE(test, intf->queues.rx_adaptive);
}

static void there_is_a_limit(struct kunit *test)
{
	u64 guid;

	for (guid = 1; guid <= KEEP_MAX + 1; guid++)
		keep(guid, 1, 0xffff, 2000, true);
	KUNIT_EXPECT_EQ(test, keep_count, (unsigned int)KEEP_MAX);
	expect(test, 1, 1, 0xffff, 0, false);
	expect(test, 2, 1, 0xffff, 2000, true);
	expect(test, KEEP_MAX + 1, 1, 0xffff, 2000, true);
	ipoib_keep_free();
	KUNIT_EXPECT_EQ(test, keep_count, 0U);
	KUNIT_EXPECT_TRUE(test, list_empty(&keep_list));
}

static int setup(struct kunit *test)
{
	intf = kunit_kzalloc(test, sizeof(*intf), GFP_KERNEL);
	return intf ? 0 : -ENOMEM;
}

static void teardown(struct kunit *test)
{
	ipoib_keep_free();
}

static struct kunit_case cases[] = {
	KUNIT_CASE(found_by_hca_port_and_partition),
	KUNIT_CASE(of_a_port_whatever_its_partition),
	KUNIT_CASE(the_newest_counts),
	KUNIT_CASE(children_are_others),
	KUNIT_CASE(umcast_alone),
	KUNIT_CASE(queues_alone),
	KUNIT_CASE(there_is_a_limit),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_keep",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of settings that survive an interface");
MODULE_LICENSE("Dual MIT/GPL");
