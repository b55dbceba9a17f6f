// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Receive buffers that the HCA refuses: none is lost, none is posted twice, and the queue is
 * given up only if that goes on.
 */
#include "ipoib_rx_world.h"

static void post_again(void)
{
	world_hurry(&world->intf->refused_work);
	wait_for_napi();
}

/* From each position of a list: those that were taken are not posted twice. */
static void refused_buffers_are_posted_again(struct kunit *test)
{
	struct ipoib_rxq *rxq = &world->intf->rxq;
	u32 from;

	for (from = 0; from < IPOIB_POLL_BATCH; from++) {
		napi_disable(&rxq->napi);
		ipoib_rxq_empty(rxq);
		memset(hca.posted, 0, sizeof(hca.posted));
		hca.refuse_from = from;
		KUNIT_ASSERT_EQ(test, ipoib_rxq_fill(rxq, world->intf->group_mtu), 0);
		napi_enable(&rxq->napi);
		KUNIT_EXPECT_EQ(test, posted(), from * RING / IPOIB_POLL_BATCH);
		KUNIT_EXPECT_EQ(test, rxq->posted, posted());
		hca.refuse_from = -1;
		post_again();
		KUNIT_EXPECT_EQ_MSG(test, posted(), RING, "%u taken of a list", from);
		KUNIT_EXPECT_EQ(test, rxq->posted, RING);
	}
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	KUNIT_EXPECT_GT(test, atomic64_read(&world->intf->receives_refused), 0LL);
}

/* One after another, until there is none left that a packet could come to. */
static void a_ring_that_has_run_dry_is_filled(struct kunit *test)
{
	u32 i;

	hca.refuse_from = 0;
	for (i = 0; i < RING; i++) {
		arrive(i, ETH_P_IP, 60);
		complete_one();
	}
	KUNIT_EXPECT_EQ(test, posted(), 0U);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), RING);
	hca.refuse_from = 1;	/* of each batch */
	post_again();
	KUNIT_EXPECT_GT(test, posted(), 0U);
	hca.refuse_from = -1;
	for (i = 0; !hca.posted[i]; i++)
		;
	arrive(i, ETH_P_IP, 60);	/* with what comes as well */
	complete_one();
	KUNIT_EXPECT_EQ(test, posted(), RING);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
}

/* Control posts again, so often, what a HCA refuses that has done so for a while. */
static void post_refused(u32 times, unsigned long ago)
{
	struct ipoib_refused *refused = &world->intf->rxq.refused;

	while (times--) {
		cancel_delayed_work_sync(&world->intf->refused_work);
		wait_for_napi();
		refused->since = jiffies - ago;
		refused->last = refused->since;
		post_again();
	}
}

/*
 * Neither a control that is late makes the end of it, nor many packets that follow, nor both, nor
 * anything while the HCA still has a buffer.
 */
static void a_queue_that_takes_nothing_restarts(struct kunit *test)
{
	u32 i;

	hca.refuse_from = 0;
	arrive(0, ETH_P_IP, 60);
	complete_one();
	post_refused(100, 2 * HZ);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	world->intf->rxq.refused.none = 0;
	for (i = 1; i < RING; i++) {
		arrive(i, ETH_P_IP, 60);
		complete_one();
	}
	KUNIT_ASSERT_EQ(test, world->intf->rxq.posted, 0U);
	post_refused(100, 0);
	post_refused(3, 2 * HZ);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	post_refused(50, 2 * HZ);
	KUNIT_EXPECT_GT(test, hca.restarts, 0U);
	hca.refuse_from = -1;
}

/* What was refused before a restart says nothing of the queue pair after it. */
static void a_restart_begins_to_count(struct kunit *test)
{
	struct ipoib_rxq *rxq = &world->intf->rxq;

	hca.refuse_from = 0;
	arrive(0, ETH_P_IP, 60);
	complete_one();
	napi_disable(&rxq->napi);
	rxq->refused.none = 1000;
	rxq->refused.since -= 2 * HZ;
	ipoib_rxq_empty(rxq);
	memset(hca.posted, 0, sizeof(hca.posted));
	KUNIT_ASSERT_EQ(test, ipoib_rxq_fill(rxq, world->intf->group_mtu), 0);
	napi_enable(&rxq->napi);
	KUNIT_EXPECT_EQ(test, posted(), 0U);		/* refused, but for the first time */
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	hca.refuse_from = -1;
	post_again();
	KUNIT_EXPECT_EQ(test, posted(), RING);
}

/* Some HCAs do not say which request they have refused: the first one then. */
static void refusals_that_name_no_request(struct kunit *test)
{
	for (hca.telling = TELLS_NOTHING; hca.telling <= TELLS_NULL; hca.telling++) {
		hca.refuse_from = 0;
		arrive(hca.telling, ETH_P_IP, 60);
		complete_one();
		KUNIT_EXPECT_EQ(test, world->intf->rxq.posted, RING - 1);
		KUNIT_EXPECT_EQ(test, posted(), RING - 1);
		hca.refuse_from = -1;
		post_again();
		KUNIT_EXPECT_EQ(test, world->intf->rxq.posted, RING);
		KUNIT_EXPECT_EQ(test, posted(), RING);
	}
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
}

/* A HCA that has no room is asked once in a pass, not for each list that waits. */
static void a_pass_ends_where_one_is_refused(struct kunit *test)
{
	struct ipoib_rxq *rxq = &world->intf->rxq;

	napi_disable(&rxq->napi);
	ipoib_rxq_empty(rxq);
	memset(hca.posted, 0, sizeof(hca.posted));
	hca.refuse_from = 0;
	KUNIT_ASSERT_EQ(test, ipoib_rxq_fill(rxq, world->intf->group_mtu), 0);
	hca.lists = 0;
	napi_enable(&rxq->napi);
	post_again();
	KUNIT_EXPECT_EQ(test, hca.lists, 1U);
	hca.refuse_from = -1;
	post_again();
	KUNIT_EXPECT_EQ(test, posted(), RING);
}

/*
 * A queue that is filled is not given up behind the back of what fills it, which would begin
 * again at once, for ever.
 */
static void a_queue_that_cannot_be_filled(struct kunit *test)
{
	struct ipoib_rxq *rxq = &world->intf->rxq;

	napi_disable(&rxq->napi);
	world->intf->running = false;
	ipoib_rxq_empty(rxq);
	memset(hca.posted, 0, sizeof(hca.posted));
	hca.refuse_error = -EIO;
	hca.refuse_from = 0;
	KUNIT_EXPECT_EQ(test, ipoib_rxq_fill(rxq, world->intf->group_mtu), -EIO);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	hca.refuse_from = -1;
	ipoib_rxq_empty(rxq);
	KUNIT_EXPECT_EQ(test, ipoib_rxq_fill(rxq, world->intf->group_mtu), 0);
	KUNIT_EXPECT_EQ(test, posted(), RING);
	world->intf->running = true;
	napi_enable(&rxq->napi);
}

/* Filling a long ring may take longer than a queue that runs is given: nothing is lost by it. */
static void filling_takes_long(struct kunit *test)
{
	struct ipoib_rxq *rxq = &world->intf->rxq;

	napi_disable(&rxq->napi);
	world->intf->running = false;
	ipoib_rxq_empty(rxq);
	memset(hca.posted, 0, sizeof(hca.posted));
	rxq->refused.none = 1000;
	rxq->refused.since = jiffies - 2 * HZ;
	hca.refuse_from = 0;
	KUNIT_EXPECT_EQ(test, ipoib_rxq_fill(rxq, world->intf->group_mtu), 0);
	hca.refuse_from = -1;
	world->intf->running = true;
	napi_enable(&rxq->napi);
	post_again();
	KUNIT_EXPECT_EQ(test, posted(), RING);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
}

static void refused_buffer_restarts(struct kunit *test)
{
	hca.refuse_from = 0;
	hca.refuse_error = -EIO;
	arrive(0, ETH_P_IP, 60);
	complete_one();
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), 1U);
	KUNIT_EXPECT_EQ(test, world->intf->rxq.posted, RING - 1);
	KUNIT_EXPECT_EQ(test, hca.restarts, 1U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(refused_buffers_are_posted_again),
	KUNIT_CASE(a_ring_that_has_run_dry_is_filled),
	KUNIT_CASE(a_queue_that_takes_nothing_restarts),
	KUNIT_CASE(a_restart_begins_to_count),
	KUNIT_CASE(refusals_that_name_no_request),
	KUNIT_CASE(a_pass_ends_where_one_is_refused),
	KUNIT_CASE(a_queue_that_cannot_be_filled),
	KUNIT_CASE(filling_takes_long),
	KUNIT_CASE(refused_buffer_restarts),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_rx_refused",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: receive buffers that the HCA refuses");
