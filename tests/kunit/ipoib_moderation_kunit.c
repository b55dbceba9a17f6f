// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Moderation of completions: all queues have it, or none has; and receives may adapt. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/module.h>

#define CONFIG_OPENIPOIB_CM 1
#include "adapt.c"
#include "ipoib_netdev.h"
#include "moderation.c"

#define RING	256

enum { SEND, RECEIVE, CONNECTIONS, EXCHANGED, QUEUES };

/* What the HCA has been told, by queue; and at which call it refuses. */
static struct {
	u16 frames[QUEUES];
	u16 usecs[QUEUES];
	int calls;
	int refuse_at;
	struct ib_cq cq[QUEUES];
	struct ib_device ca;
} hca;

static struct ipoib_intf *intf;
static struct net_device *dev;

static int hca_told(unsigned int queue, u16 frames, u16 usecs)
{
	if (hca.calls++ == hca.refuse_at)
		return -EINVAL;
	hca.frames[queue] = frames;
	hca.usecs[queue] = usecs;
	return 0;
}

static int fake_modify_cq(struct ib_cq *cq, u16 frames, u16 usecs)
{
	return hca_told(cq - hca.cq, frames, usecs);
}

int ipoib_cm_moderate(struct ipoib_intf *owner, const struct ipoib_queue_settings *wanted)
{
	return hca_told(CONNECTIONS, wanted->rx_frames, wanted->rx_usecs);
}

static int moderate(const struct ipoib_queue_settings *wanted)
{
	int err;

	rtnl_lock();
	hca.calls = 0;
	err = ipoib_moderate(intf, wanted);
	rtnl_unlock();
	return err;
}

static const struct ipoib_queue_settings first = {
	.tx_usecs = 1, .tx_frames = 2, .rx_usecs = 3, .rx_frames = 4,
};

static const struct ipoib_queue_settings second = {
	.tx_usecs = 10, .tx_frames = 20, .rx_usecs = 30, .rx_frames = 40,
};

static void expect_first(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, hca.usecs[SEND], 1);
	KUNIT_EXPECT_EQ(test, hca.frames[SEND], 2);
	KUNIT_EXPECT_EQ(test, hca.usecs[RECEIVE], 3);
	KUNIT_EXPECT_EQ(test, hca.frames[RECEIVE], 4);
	KUNIT_EXPECT_EQ(test, hca.usecs[CONNECTIONS], 3);
	KUNIT_EXPECT_EQ(test, hca.frames[CONNECTIONS], 4);
}

static void every_queue_has_it(struct kunit *test)
{
	intf->queues.tx_size = 128;
	KUNIT_EXPECT_EQ(test, moderate(&first), 0);
	expect_first(test);
	KUNIT_EXPECT_EQ(test, intf->queues.rx_usecs, 3);
	KUNIT_EXPECT_EQ(test, intf->queues.tx_size, 128U);
}

static void a_refusal_changes_nothing(struct kunit *test)
{
	int queue;

	KUNIT_EXPECT_EQ(test, moderate(&first), 0);
	for (queue = 0; queue <= CONNECTIONS; queue++) {
		hca.refuse_at = queue;
		KUNIT_EXPECT_EQ(test, moderate(&second), -EINVAL);
		expect_first(test);
		KUNIT_EXPECT_EQ(test, intf->queues.tx_frames, 2);
	}
}

static void a_hca_without_it(struct kunit *test)
{
	hca.ca.ops.modify_cq = NULL;
	KUNIT_EXPECT_EQ(test, moderate(&first), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, intf->queues.rx_usecs, 0);
}

static void new_queues_have_it_too(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, moderate(&first), 0);
	memset(hca.usecs, 0, sizeof(hca.usecs));
	memset(hca.frames, 0, sizeof(hca.frames));
	ipoib_moderate_new(intf);
	expect_first(test);
	hca.calls = 0;
	hca.refuse_at = RECEIVE;
	ipoib_moderate_new(intf);
	KUNIT_EXPECT_EQ(test, intf->queues.tx_usecs, 0);
	KUNIT_EXPECT_EQ(test, intf->queues.rx_frames, 0);
	KUNIT_EXPECT_EQ(test, hca.usecs[SEND], 0);
	hca.calls = 0;
	ipoib_moderate_new(intf);
	KUNIT_EXPECT_EQ(test, hca.calls, 0);
}

static const struct ipoib_queue_settings adaptive = {
	.tx_usecs = 1, .tx_frames = 2, .rx_usecs = 3, .rx_frames = 4, .rx_adaptive = true,
};

/* As much as the library measures at a time, of so many packets a poll. */
static void traffic(u64 packets)
{
	struct ipoib_rxq *rxq = &intf->rxq;
	int polls;

	for (polls = 0; polls <= DIM_NEVENTS; polls++) {
		u64_stats_add(&rxq->count.packets, packets);
		u64_stats_add(&rxq->count.bytes, packets * 1000);
		ipoib_adapt_polled(&rxq->adapt, &rxq->count);
		if (!polls)
			msleep(20);
	}
	flush_work(&rxq->adapt.dim.work);
}

static void nobody_has_to_wait_at_first(struct kunit *test)
{
	struct dim_cq_moder least = net_dim_get_rx_moderation(DIM_CQ_PERIOD_MODE_START_FROM_EQE, 0);

	KUNIT_EXPECT_EQ(test, moderate(&adaptive), 0);
	KUNIT_EXPECT_EQ(test, hca.usecs[SEND], 1);
	KUNIT_EXPECT_EQ(test, hca.usecs[RECEIVE], least.usec);
	KUNIT_EXPECT_EQ(test, hca.frames[RECEIVE], min_t(u16, least.pkts, RING / 2));
	KUNIT_EXPECT_TRUE(test, intf->queues.rx_adaptive);
}

static void more_traffic_has_to_wait_longer(struct kunit *test)
{
	u16 before;
	int i;

	KUNIT_EXPECT_EQ(test, moderate(&adaptive), 0);
	for (i = 1; i <= 3; i++) {
		before = hca.usecs[RECEIVE];
		traffic(10 << i);
		KUNIT_EXPECT_GT(test, hca.usecs[RECEIVE], before);
		KUNIT_EXPECT_LE(test, hca.frames[RECEIVE], RING / 2);
	}
	for (i = 0; i < 20; i++)
		traffic(1);
	KUNIT_EXPECT_LT(test, hca.usecs[RECEIVE], before);
}

static void what_is_set_by_hand_is_there_again(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, moderate(&adaptive), 0);
	traffic(10);
	KUNIT_EXPECT_EQ(test, moderate(&first), 0);
	expect_first(test);
	KUNIT_EXPECT_FALSE(test, intf->queues.rx_adaptive);
	traffic(1000);
	/* queued before it was switched off, and late */
	schedule_work(&intf->rxq.adapt.dim.work);
	flush_work(&intf->rxq.adapt.dim.work);
	expect_first(test);
}

static void adapting_goes_on_after_it_was_off(struct kunit *test)
{
	u16 before;

	KUNIT_EXPECT_EQ(test, moderate(&adaptive), 0);
	traffic(10);
	before = hca.usecs[RECEIVE];
	KUNIT_EXPECT_EQ(test, moderate(&first), 0);
	KUNIT_EXPECT_EQ(test, moderate(&adaptive), 0);
	KUNIT_EXPECT_EQ(test, hca.usecs[RECEIVE], before);
	traffic(100);
	KUNIT_EXPECT_GT(test, hca.usecs[RECEIVE], before);
}

static void a_new_queue_adapts(struct kunit *test)
{
	u16 before;

	KUNIT_EXPECT_EQ(test, moderate(&adaptive), 0);
	traffic(10);
	before = hca.usecs[RECEIVE];
	ipoib_adapt_use(&intf->rxq.adapt, &hca.cq[EXCHANGED], 2 * RING);
	ipoib_moderate_new(intf);
	KUNIT_EXPECT_EQ(test, hca.usecs[EXCHANGED], before);
	traffic(100);
	KUNIT_EXPECT_GT(test, hca.usecs[EXCHANGED], before);
	KUNIT_EXPECT_EQ(test, hca.usecs[RECEIVE], before);
}

static void a_refusal_leaves_it_off(struct kunit *test)
{
	int queue;

	KUNIT_EXPECT_EQ(test, moderate(&first), 0);
	for (queue = 0; queue <= CONNECTIONS; queue++) {
		hca.refuse_at = queue;
		KUNIT_EXPECT_EQ(test, moderate(&adaptive), -EINVAL);
		traffic(10);
		expect_first(test);
		KUNIT_EXPECT_FALSE(test, intf->queues.rx_adaptive);
	}
	hca.ca.ops.modify_cq = NULL;
	KUNIT_EXPECT_EQ(test, moderate(&adaptive), -EOPNOTSUPP);
}

static void a_hca_that_comes_back_without_it(struct kunit *test)
{
	intf->queues = adaptive;
	hca.ca.ops.modify_cq = NULL;
	ipoib_moderate_new(intf);
	KUNIT_EXPECT_FALSE(test, intf->queues.rx_adaptive);
	KUNIT_EXPECT_FALSE(test, intf->rxq.adapt.on);
}

static int setup(struct kunit *test)
{
	intf = netdev_create(test, 1);
	if (!intf)
		return -ENOMEM;
	dev = intf->dev;
	memset(&hca, 0, sizeof(hca));
	hca.refuse_at = -1;
	hca.ca.ops.modify_cq = fake_modify_cq;
	hca.cq[SEND].device = &hca.ca;
	hca.cq[RECEIVE].device = &hca.ca;
	hca.cq[EXCHANGED].device = &hca.ca;
	intf->tx_queues = 1;
	intf->txq[0].cq = &hca.cq[SEND];
	intf->rxq.cq = &hca.cq[RECEIVE];
	ipoib_adapt_create(&intf->rxq.adapt, intf->rxq.cq, RING);
	return 0;
}

static void teardown(struct kunit *test)
{
	if (!dev)
		return;
	ipoib_adapt_destroy(&intf->rxq.adapt);
	free_netdev(dev);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(every_queue_has_it),
	KUNIT_CASE(a_refusal_changes_nothing),
	KUNIT_CASE(a_hca_without_it),
	KUNIT_CASE(new_queues_have_it_too),
	KUNIT_CASE(nobody_has_to_wait_at_first),
	KUNIT_CASE(more_traffic_has_to_wait_longer),
	KUNIT_CASE(what_is_set_by_hand_is_there_again),
	KUNIT_CASE(adapting_goes_on_after_it_was_off),
	KUNIT_CASE(a_new_queue_adapts),
	KUNIT_CASE(a_refusal_leaves_it_off),
	KUNIT_CASE(a_hca_that_comes_back_without_it),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_moderation",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of moderation of completions");
MODULE_LICENSE("Dual MIT/GPL");
