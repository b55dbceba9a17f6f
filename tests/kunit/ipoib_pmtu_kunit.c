// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Packets that are too long: which MTU an interface has, and what the sender of a
 * packet that does not fit is told. ICMP is a fake that notes what it is to say.
 */
#include <kunit/test.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/module.h>
#include <net/icmp.h>
#include <net/ip.h>

static void fake_icmp(struct sk_buff *skb, int type, int code, __be32 info);
static void fake_icmpv6(struct sk_buff *skb, u8 type, u8 code, u32 info);

#undef icmp_send
#undef icmpv6_send
#define icmp_send fake_icmp
#define icmpv6_send fake_icmpv6
#include "ipoib_netdev.h"
#include "pmtu.c"

static struct {
	u32 v4, v6;
	u32 mtu;
	bool wrong;
} said;

static struct ipoib_intf *intf;

static void fake_icmp(struct sk_buff *skb, int type, int code, __be32 info)
{
	said.v4++;
	said.mtu = ntohl(info);
	said.wrong |= type != ICMP_DEST_UNREACH || code != ICMP_FRAG_NEEDED;
}

static void fake_icmpv6(struct sk_buff *skb, u8 type, u8 code, u32 info)
{
	said.v6++;
	said.mtu = info;
	said.wrong |= type != ICMPV6_PKT_TOOBIG || code;
}

static void too_long(struct kunit *test, u16 protocol, u32 mtu, bool *told)
{
	struct sk_buff *skb = alloc_skb(3000, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, 3000);
	skb->protocol = htons(protocol);
	skb->dev = intf->dev;
	local_bh_disable();
	ipoib_pmtu_too_long(&intf->txq[0], skb, mtu, told);
	local_bh_enable();
}

struct choice {
	int wanted, group, connected, preset;
	int mtu;
};

static void which_mtu(struct kunit *test)
{
	static const struct choice choices[] = {
		/* datagram mode: the group's, or less */
		{ 0, 2044, 0, 0, 2044 },
		{ 1500, 2044, 0, 0, 1500 },
		{ 65520, 2044, 0, 0, 2044 },
		{ 0, 2044, 0, 9000, 2044 },
		/* connected mode: what is wanted, else what is preset, else the group's */
		{ 0, 2044, 65520, 0, 2044 },
		{ 65520, 2044, 65520, 0, 65520 },
		{ 65520, 2044, 32764, 0, 32764 },
		{ 1500, 2044, 65520, 9000, 1500 },
		{ 0, 2044, 65520, 9000, 9000 },
		{ 0, 4092, 2044, 0, 2044 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(choices); i++)
		KUNIT_EXPECT_EQ_MSG(test, ipoib_pmtu_choose(choices[i].wanted, choices[i].group,
							    choices[i].connected,
							    choices[i].preset),
				    choices[i].mtu, "choice %u", i);
}

static void senders_are_told(struct kunit *test)
{
	bool told = false;

	too_long(test, ETH_P_IP, 2044, &told);
	flush_workqueue(intf->wq);
	KUNIT_EXPECT_TRUE(test, told);
	KUNIT_EXPECT_EQ(test, said.v4, 1U);
	KUNIT_EXPECT_EQ(test, said.mtu, 2044U);
	too_long(test, ETH_P_IPV6, 1280, &told);
	flush_workqueue(intf->wq);
	KUNIT_EXPECT_EQ(test, said.v6, (u32)IS_ENABLED(CONFIG_IPV6));
	too_long(test, ETH_P_ARP, 2044, &told);
	flush_workqueue(intf->wq);
	KUNIT_EXPECT_EQ(test, said.v4 + said.v6, 1U + IS_ENABLED(CONFIG_IPV6));
	KUNIT_EXPECT_FALSE(test, said.wrong);
	KUNIT_EXPECT_EQ(test, intf->txq[0].too_long, 3ULL);
	KUNIT_EXPECT_EQ(test, u64_stats_read(&intf->txq[0].drops.errors), 3ULL);
}

/* A flood of them is counted, and answered as far as there is room to wait. */
static void the_queue_has_a_limit(struct kunit *test)
{
	unsigned long *work = work_data_bits(&intf->pmtu_work);
	bool told = true;
	int i;

	set_bit(WORK_STRUCT_PENDING_BIT, work); /* as if it did not get to run */
	for (i = 0; i < PMTU_QUEUE_MAX + 10; i++)
		too_long(test, ETH_P_IP, 2044, &told);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&intf->pmtu_queue), (u32)PMTU_QUEUE_MAX);
	KUNIT_EXPECT_EQ(test, intf->txq[0].too_long, PMTU_QUEUE_MAX + 10ULL);
	clear_bit(WORK_STRUCT_PENDING_BIT, work);
	pmtu_work(&intf->pmtu_work);
	KUNIT_EXPECT_EQ(test, said.v4, (u32)PMTU_QUEUE_MAX);
}

static int setup(struct kunit *test)
{
	intf = netdev_create(test, 1);
	if (!intf)
		return -ENOMEM;
	memset(&said, 0, sizeof(said));
	intf->txq[0].intf = intf;
	u64_stats_init(&intf->txq[0].drops.sync);
	intf->wq = alloc_ordered_workqueue("pmtu_kunit", 0);
	ipoib_pmtu_init(intf);
	return intf->wq ? 0 : -ENOMEM;
}

static void teardown(struct kunit *test)
{
	if (intf->wq)
		destroy_workqueue(intf->wq);
	skb_queue_purge(&intf->pmtu_queue);
	free_netdev(intf->dev);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(which_mtu),
	KUNIT_CASE(senders_are_told),
	KUNIT_CASE(the_queue_has_a_limit),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_pmtu",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of packets that are too long");
MODULE_LICENSE("Dual MIT/GPL");
