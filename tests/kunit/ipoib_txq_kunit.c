// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Several transmit queues: each sends through its own queue pair, packets that have
 * waited leave through the queue that they came from, a queue that is full or gone
 * concerns no other. The HCA is a fake.
 */
#include "ipoib_tx_world.h"

static struct netdev_queue *netdev_queue_of(u16 queue)
{
	return netdev_get_tx_queue(world->intf->dev, queue);
}

static void each_sends_by_itself(struct kunit *test)
{
	u16 queue;

	resolved(test, 1);
	for (queue = 0; queue < QUEUES; queue++)
		KUNIT_ASSERT_TRUE(test, send_by(test, queue, 1, 100));
	KUNIT_ASSERT_EQ(test, hca.posts, QUEUES);
	for (queue = 0; queue < QUEUES; queue++) {
		KUNIT_EXPECT_EQ(test, hca.queue[queue], queue);
		KUNIT_EXPECT_EQ(test, hca.qpn[queue], 0x701U);
	}
}

/* One address for all: the flows of each queue leave in their order, through it. */
static void waiting_packets_leave_by_their_queue(struct kunit *test)
{
	u32 i, turn[QUEUES] = {};

	for (i = 0; i < 3 * QUEUES; i++)
		KUNIT_ASSERT_TRUE(test, send_by(test, i % QUEUES, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, 0U);
	resolved(test, 1);
	KUNIT_ASSERT_EQ(test, hca.posts, 3 * QUEUES);
	KUNIT_EXPECT_EQ(test, hca.calls, QUEUES);
	for (i = 0; i < hca.posts; i++)
		KUNIT_EXPECT_EQ(test, hca.posted[i], (u64)turn[hca.queue[i]]++);
	for (i = 0; i < QUEUES; i++)
		KUNIT_EXPECT_EQ(test, turn[i], 3U);
}

/* While packets of one queue wait for room, those of the others wait behind them. */
static void a_full_queue_holds_its_destination(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 2 * RING; i++)
		KUNIT_ASSERT_TRUE(test, send_by(test, 2, 1, 100));
	resolved(test, 1);
	KUNIT_EXPECT_EQ(test, hca.posts, RING);
	KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(netdev_queue_of(2)));
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(netdev_queue_of(1)));
	KUNIT_EXPECT_TRUE(test, send_by(test, 1, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, RING);
	resolved(test, 2);			/* another is none of their business */
	KUNIT_EXPECT_TRUE(test, send_by(test, 1, 2, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, RING + 1);
	complete_by(2, RING - 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, hca.posts, 2 * RING + 2);
	KUNIT_EXPECT_TRUE(test, list_empty(&world->intf->backlog));
	complete_by(2, 2 * RING - 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(netdev_queue_of(2)));
}

static void each_counts_for_itself(struct kunit *test)
{
	u16 queue;

	resolved(test, 1);
	for (queue = 0; queue < QUEUES; queue++) {
		KUNIT_ASSERT_TRUE(test, send_by(test, queue, 1, 100 + queue));
		complete_by(queue, 0, IB_WC_SUCCESS);
	}
	for (queue = 0; queue < QUEUES; queue++) {
		KUNIT_EXPECT_EQ(test, done(&world->intf->txq[queue].done.packets), 1ULL);
		KUNIT_EXPECT_EQ(test, done(&world->intf->txq[queue].done.bytes), 100ULL + queue);
	}
}

/* The stack may still have a packet for a queue that has gone. */
static void a_queue_that_has_gone_drops(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[3];

	resolved(test, 1);
	txq->running = false;
	KUNIT_EXPECT_TRUE(test, send_by(test, 3, 1, 100));
	KUNIT_EXPECT_EQ(test, done(&txq->drops.dropped), 1ULL);
	KUNIT_EXPECT_EQ(test, hca.posts, 0U);
	KUNIT_EXPECT_TRUE(test, send_by(test, 1, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, 1U);
}

static void packets_outlive_their_queue(struct kunit *test)
{
	KUNIT_ASSERT_TRUE(test, send_by(test, 3, 1, 100));
	KUNIT_ASSERT_TRUE(test, send_by(test, 1, 1, 100));
	world->intf->tx_queues = 2;
	resolved(test, 1);
	world->intf->tx_queues = QUEUES;
	KUNIT_ASSERT_EQ(test, hca.posts, 2U);
	KUNIT_EXPECT_EQ(test, hca.queue[0], 1);
	KUNIT_EXPECT_EQ(test, hca.queue[1], 1);
}

static void stop_and_destroy(void)
{
	u32 i, n = world->intf->tx_queues;

	for (i = 0; i < n; i++)
		napi_disable(&world->intf->txq[i].napi);
	ipoib_txqs_destroy(world->intf);
}

/* One is enough, and one has to be. */
static void a_hca_that_gives_fewer(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	u32 i;

	stop_and_destroy();
	hca.queues = 0;
	KUNIT_EXPECT_EQ(test, ipoib_txqs_create(intf), -ENOMEM);
	KUNIT_EXPECT_EQ(test, intf->tx_queues, 0U);
	hca.queues = 2;
	KUNIT_EXPECT_EQ(test, ipoib_txqs_create(intf), 0);
	KUNIT_EXPECT_EQ(test, intf->tx_queues, 2U);
	KUNIT_EXPECT_EQ(test, intf->dev->real_num_tx_queues, 2U);
	KUNIT_EXPECT_EQ(test, intf->txq[1].qpn, 0x801U);
	KUNIT_EXPECT_EQ(test, intf->txq[2].qpn, 0U);
	ipoib_txqs_destroy(intf);
	KUNIT_EXPECT_EQ(test, intf->txq[1].qpn, 0U);
	hca.queues = QUEUES;
	KUNIT_ASSERT_EQ(test, ipoib_txqs_create(intf), 0);
	for (i = 0; i < QUEUES; i++)
		napi_enable(&intf->txq[i].napi);
}

/* What the HCA says of itself is not all that limits a ring. */
static void a_hca_with_shorter_rings(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	u32 before = intf->txq[0].size, i;

	stop_and_destroy();
	for (i = 0; i < IPOIB_TXQ_MAX; i++)
		intf->txq[i].size = 8192;
	hca.ring_max = 5000;
	KUNIT_EXPECT_EQ(test, ipoib_txqs_create(intf), 0);
	KUNIT_EXPECT_EQ(test, intf->tx_queues, (u32)QUEUES);
	for (i = 0; i < IPOIB_TXQ_MAX; i++)
		KUNIT_EXPECT_EQ(test, intf->txq[i].size, 4096U);
	ipoib_txqs_destroy(intf);
	hca.ring_max = IPOIB_RING_MIN - 1;
	KUNIT_EXPECT_EQ(test, ipoib_txqs_create(intf), -ENOMEM);

	hca.ring_max = 0;
	for (i = 0; i < IPOIB_TXQ_MAX; i++)
		intf->txq[i].size = before;
	KUNIT_ASSERT_EQ(test, ipoib_txqs_create(intf), 0);
	for (i = 0; i < QUEUES; i++)
		napi_enable(&intf->txq[i].napi);
}

/* One for each processor, as far as there are completion vectors, and structures for them. */
static void how_many_by_default(struct kunit *test)
{
	static const struct {
		unsigned int processors;
		int vectors;
		u32 queues;
	} want[] = {
		{ 1, 1, 1 }, { 1, 64, 1 }, { 2, 1, 1 }, { 2, 2, 2 }, { 2, 7, 2 }, { 7, 64, 7 },
		{ 64, 7, 7 }, { IPOIB_TXQ_MAX, IPOIB_TXQ_MAX, IPOIB_TXQ_MAX },
		{ IPOIB_TXQ_MAX + 1, IPOIB_TXQ_MAX + 1, IPOIB_TXQ_MAX },
		{ 64, 64, IPOIB_TXQ_MAX }, { 1, 0, 1 }, { 64, 0, 1 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		processors = want[i].processors;
		world->ca->num_comp_vectors = want[i].vectors;
		KUNIT_EXPECT_EQ_MSG(test, ipoib_txqs_default(world->ca), want[i].queues,
				    "%u processors, %d vectors", want[i].processors,
				    want[i].vectors);
	}
	processors = 1;
	world->ca->num_comp_vectors = 1;
}

/* Who has not said how many gets that many, of a HCA that has them. */
static void the_default_is_what_is_made(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	u32 i;

	stop_and_destroy();
	intf->queues.tx_queues = 0;
	processors = 3;
	world->ca->num_comp_vectors = 3;
	KUNIT_EXPECT_EQ(test, ipoib_txqs_create(intf), 0);
	KUNIT_EXPECT_EQ(test, intf->tx_queues, 3U);
	ipoib_txqs_destroy(intf);

	processors = 1;
	world->ca->num_comp_vectors = 1;
	intf->queues.tx_queues = QUEUES;
	KUNIT_ASSERT_EQ(test, ipoib_txqs_create(intf), 0);
	for (i = 0; i < QUEUES; i++)
		napi_enable(&intf->txq[i].napi);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(each_sends_by_itself),
	KUNIT_CASE(waiting_packets_leave_by_their_queue),
	KUNIT_CASE(a_full_queue_holds_its_destination),
	KUNIT_CASE(each_counts_for_itself),
	KUNIT_CASE(a_queue_that_has_gone_drops),
	KUNIT_CASE(packets_outlive_their_queue),
	KUNIT_CASE(a_hca_that_gives_fewer),
	KUNIT_CASE(a_hca_with_shorter_rings),
	KUNIT_CASE(how_many_by_default),
	KUNIT_CASE(the_default_is_what_is_made),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_txq",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: several transmit queues of an interface");
