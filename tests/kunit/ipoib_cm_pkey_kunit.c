// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Connections on a HCA with a long table of P_Keys: neither asking for one nor
 * accepting one looks through it, since each entry may be a command to the HCA. And
 * how long one waits for a peer that is silent. The verbs and the CM are fakes; the table
 * is searched by the core's own functions.
 */
#include "ipoib_cm_verbs_world.h"

/* What the counter says when somebody does look. */
static void a_search_asks_for_every_entry(struct kunit *test)
{
	u16 index;

	KUNIT_ASSERT_EQ(test, ib_find_pkey(world->ca, WORLD_PORT, WORLD_PKEY, &index), 0);
	KUNIT_EXPECT_EQ(test, index, PKEY_INDEX);
	KUNIT_EXPECT_EQ(test, hca.queries, (u32)PKEYS);
}

static void asking_for_a_connection(struct kunit *test)
{
	struct ipoib_conn *conn = connect(test);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_UP);
	KUNIT_EXPECT_EQ(test, hca.rtus, 1U);
	KUNIT_EXPECT_EQ(test, hca.indices, 1U);
	KUNIT_EXPECT_EQ(test, hca.queries, 0U);
}

static void asking_again(struct kunit *test)
{
	struct ipoib_conn *conn = connect(test);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	ipoib_conn_event(conn, IPOIB_CONN_EV_RESET);
	KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_NEW);
	conn = connect(test);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_UP);
	KUNIT_EXPECT_EQ(test, hca.indices, 2U);
	KUNIT_EXPECT_EQ(test, hca.queries, 0U);
}

static void accepting_connections(struct kunit *test)
{
	u32 i;

	for (i = 1; i <= 10; i++)
		KUNIT_EXPECT_EQ(test, request(i), 0);
	KUNIT_EXPECT_EQ(test, hca.reps, 10U);
	KUNIT_EXPECT_EQ(test, hca.rejs, 0U);
	KUNIT_EXPECT_EQ(test, hca.indices, 10U);
	KUNIT_EXPECT_EQ(test, hca.queries, 0U);
}

/*
 * The path says two seconds, as OpenSM's do: the transmit queue must not wait for four of them,
 * nor for what an HCA may make of them: four times as long (IBA vol. 1, 9.7.6.1.3).
 */
static void a_silent_peer_is_given_up_before_the_queue(struct kunit *test)
{
	u64 wait;

	hca.path_timeout = 19;
	KUNIT_ASSERT_NOT_NULL(test, connect(test));
	KUNIT_ASSERT_GT(test, hca.timeout, 0);
	wait = 4 * (4096ULL << hca.timeout) * (hca.retries + 1);
	KUNIT_EXPECT_LT(test, wait, 5ULL * NSEC_PER_SEC);
}

static void the_path_may_want_less_time(struct kunit *test)
{
	hca.path_timeout = 14;
	KUNIT_ASSERT_NOT_NULL(test, connect(test));
	KUNIT_EXPECT_EQ(test, hca.timeout, 14);
}

/* A peer that is late is asked again as often as it says, which may be for ever. */
static void a_peer_says_how_often_it_is_asked_again(struct kunit *test)
{
	hca.peer_rnr_retry = 7;
	KUNIT_ASSERT_NOT_NULL(test, connect(test));
	KUNIT_EXPECT_EQ(test, hca.rnr_retry, 7);
}

/* But not while nothing of it arrives for seconds. */
static void a_peer_that_takes_nothing_is_given_up_before_the_queue(struct kunit *test)
{
	struct ipoib_conn *conn = connect(test);
	struct ipoib_cm_tx *link;
	int tick;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	link = conn->link;
	for (tick = 0; tick < 10; tick++)	/* nothing is on its way */
		ipoib_cm_tx_tick(world->intf->cm);
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_UP);
	link->head = 20;
	link->posted = 20;
	link->awaited = 20;
	for (tick = 0; tick < 10; tick++) {	/* little by little */
		ipoib_cm_tx_tick(world->intf->cm);
		ipoib_cm_tx_tick(world->intf->cm);
		link->tail++;
	}
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_UP);
	for (tick = 0; tick < 5 && conn->state == IPOIB_CONN_UP; tick++)
		ipoib_cm_tx_tick(world->intf->cm);
	KUNIT_EXPECT_NE(test, conn->state, IPOIB_CONN_UP);
	KUNIT_EXPECT_LT(test, tick * IPOIB_CM_TICK, 5 * HZ);
	link->tail = link->head;
}

static void happens(struct ipoib_cm_rx *rx, enum ib_event_type type)
{
	struct ib_event event = { .device = world->ca, .event = type };

	rx_qp_event(&event, rx);
	settle();
}

static void events_of_an_incoming_connection(struct kunit *test)
{
	static const enum ib_event_type harmless[] = {
		IB_EVENT_COMM_EST, IB_EVENT_SQ_DRAINED, IB_EVENT_PATH_MIG,
		IB_EVENT_PATH_MIG_ERR,
	};
	static const enum ib_event_type fatal[] = {
		IB_EVENT_QP_FATAL, IB_EVENT_QP_REQ_ERR, IB_EVENT_QP_ACCESS_ERR,
	};
	struct ipoib_cm *cm = world->intf->cm;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(fatal); i++) {
		struct ipoib_cm_rx *rx;

		KUNIT_ASSERT_EQ(test, request(i + 1), 0);
		rx = list_last_entry(&cm->rx_links, struct ipoib_cm_rx, list);
		for (k = 0; k < ARRAY_SIZE(harmless); k++) {
			happens(rx, harmless[k]);
			KUNIT_EXPECT_EQ_MSG(test, rx->state, IPOIB_CM_RX_LIVE, "event %d",
					    harmless[k]);
		}
		KUNIT_EXPECT_EQ(test, hca.established, i + 1);
		happens(rx, fatal[i]);
		KUNIT_EXPECT_NE_MSG(test, rx->state, IPOIB_CM_RX_LIVE, "event %d", fatal[i]);
	}
}

/* Requests can be invented as well; each would be a queue pair. */
static void incoming_connections_are_limited(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;
	u32 i;

	for (i = 0; i < IPOIB_CONNS_PORT_MAX; i++)
		KUNIT_ASSERT_EQ(test, request(1), 0);
	KUNIT_EXPECT_EQ(test, request(1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, request(2), 0);		/* another port */
	KUNIT_EXPECT_EQ(test, cm->rx_count, IPOIB_CONNS_PORT_MAX + 1U);
	cm->rx_count += IPOIB_CONNS_MAX;
	KUNIT_EXPECT_EQ(test, request(3), -ENOSPC);
	cm->rx_count -= IPOIB_CONNS_MAX;
	KUNIT_EXPECT_EQ(test, cm->stat_in_full, 2ULL);
	KUNIT_EXPECT_EQ(test, cm->stat_rejects, 0ULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_search_asks_for_every_entry),
	KUNIT_CASE(asking_for_a_connection),
	KUNIT_CASE(asking_again),
	KUNIT_CASE(accepting_connections),
	KUNIT_CASE(events_of_an_incoming_connection),
	KUNIT_CASE(incoming_connections_are_limited),
	KUNIT_CASE(a_silent_peer_is_given_up_before_the_queue),
	KUNIT_CASE(the_path_may_want_less_time),
	KUNIT_CASE(a_peer_says_how_often_it_is_asked_again),
	KUNIT_CASE(a_peer_that_takes_nothing_is_given_up_before_the_queue),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_cm_pkey",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: connections and the table of P_Keys");
