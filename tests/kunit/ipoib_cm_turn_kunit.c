// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How many outgoing connections there are, and how many are made at a time: who waits, whose
 * turn comes next, and who goes when there are too many.
 */
#include "ipoib_cm_dest_world.h"

/* As many connections as there may be at a time are made; each end lets another begin. */
static void set_ups_wait_for_their_turn(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;
	u32 i;

	for (i = 1; i <= SETUPS_MAX + 4; i++)
		KUNIT_ASSERT_TRUE(test, send_to(test, i, i));
	settle();
	KUNIT_EXPECT_EQ(test, conns.links, (u32)SETUPS_MAX);
	KUNIT_EXPECT_EQ(test, cm->setups, (u32)SETUPS_MAX);
	event(conn_to(1), IPOIB_CONN_EV_REP);
	KUNIT_EXPECT_EQ(test, conns.links, SETUPS_MAX + 1U);
	KUNIT_EXPECT_EQ(test, conn_to(SETUPS_MAX + 1)->state, IPOIB_CONN_REQ);
	event(conn_to(SETUPS_MAX + 2), IPOIB_CONN_EV_STOP);	/* it waits: nobody's turn */
	KUNIT_EXPECT_EQ(test, conns.links, SETUPS_MAX + 1U);
	event(conn_to(2), IPOIB_CONN_EV_REFUSED);
	KUNIT_EXPECT_EQ(test, conn_to(SETUPS_MAX + 3)->state, IPOIB_CONN_REQ);
	/* The next one hears of its turn, but ends first. */
	ipoib_conn_event(conn_to(3), IPOIB_CONN_EV_STOP);
	ipoib_conn_event(conn_to(SETUPS_MAX + 4), IPOIB_CONN_EV_STOP);
	KUNIT_ASSERT_TRUE(test, send_to(test, 500, 0));
	settle();
	KUNIT_EXPECT_EQ(test, conn_to(500)->state, IPOIB_CONN_REQ);
	KUNIT_EXPECT_EQ(test, cm->setups, (u32)SETUPS_MAX);
	KUNIT_EXPECT_TRUE(test, list_empty(&cm->turns));
}

/* What the port, or its LID, has lost meanwhile is asked for again before a turn is taken. */
static void who_waits_forgets_the_path_with_the_port(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;
	u32 i;

	for (i = 1; i <= SETUPS_MAX + 1; i++)
		KUNIT_ASSERT_TRUE(test, send_to(test, i, i));
	settle();
	KUNIT_ASSERT_FALSE(test, list_empty(&cm->turns));
	for (i = 0; i < ARRAY_SIZE(fake.paths); i++)
		set_bit(IPOIB_PATH_STALE, &fake.paths[i]->state);
	ipoib_conn_event(conn_to(SETUPS_MAX + 1), IPOIB_CONN_EV_RESET);
	KUNIT_EXPECT_TRUE(test, list_empty(&cm->turns));
	ipoib_conn_event(conn_to(1), IPOIB_CONN_EV_STOP);	/* there is a place */
	world_settle();
	KUNIT_EXPECT_EQ(test, conn_to(SETUPS_MAX + 1)->state, IPOIB_CONN_PATH);
	KUNIT_EXPECT_PTR_EQ(test, fake.asked, conn_to(SETUPS_MAX + 1)->path);
	settle();
	KUNIT_EXPECT_EQ(test, conn_to(SETUPS_MAX + 1)->state, IPOIB_CONN_REQ);
}

/* Who asks again in the background comes after those whose packets wait. */
static void packets_that_wait_go_first(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;
	u32 i;

	KUNIT_ASSERT_TRUE(test, send_to(test, 200, 0));
	settle();
	event(conn_to(200), IPOIB_CONN_EV_REFUSED);
	for (i = 1; i <= SETUPS_MAX; i++)
		KUNIT_ASSERT_TRUE(test, send_to(test, i, i));
	settle();
	conn_to(200)->ask_at = jiffies;
	KUNIT_EXPECT_FALSE(test, send_to(test, 200, 0));
	settle();
	KUNIT_ASSERT_TRUE(test, send_to(test, 201, 0));
	settle();
	KUNIT_EXPECT_FALSE(test, list_empty(&cm->retries));
	event(conn_to(1), IPOIB_CONN_EV_REP);
	KUNIT_EXPECT_EQ(test, conn_to(201)->state, IPOIB_CONN_REQ);
	KUNIT_EXPECT_EQ(test, conn_to(200)->state, IPOIB_CONN_RETRY_PATH);
	event(conn_to(2), IPOIB_CONN_EV_REP);
	KUNIT_EXPECT_EQ(test, conn_to(200)->state, IPOIB_CONN_RETRY);
}

/* Hardware addresses can be invented: of one port, and of all. */
static void connections_are_limited(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;

	connect_to(test, 1);
	KUNIT_EXPECT_EQ(test, fake.paths[1]->conn_count, 1U);
	fake.paths[1]->conn_count = IPOIB_CONNS_PORT_MAX;
	KUNIT_EXPECT_TRUE(test, send_to(test, 9, 0));	/* the same port */
	settle();
	KUNIT_EXPECT_EQ(test, conn_to(9)->state, IPOIB_CONN_DATAGRAM);
	KUNIT_EXPECT_EQ(test, conns.links, 1U);
	KUNIT_EXPECT_EQ(test, conns.datagrams, 1U);
	fake.paths[1]->conn_count = 1;
	conn_to(9)->ask_at = jiffies;
	KUNIT_EXPECT_FALSE(test, send_to(test, 9, 0));
	settle();
	KUNIT_EXPECT_EQ(test, conn_to(9)->state, IPOIB_CONN_RETRY);

	atomic_add(IPOIB_CONNS_MAX, &cm->conns.nelems);
	KUNIT_EXPECT_FALSE(test, send_to(test, 2, 0));	/* a datagram */
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 0));
	KUNIT_EXPECT_EQ(test, cm->stat_out_full, 1ULL);
	atomic_sub(IPOIB_CONNS_MAX, &cm->conns.nelems);
	event(conn_to(9), IPOIB_CONN_EV_STOP);
	KUNIT_EXPECT_EQ(test, fake.paths[1]->conn_count, 1U);
}

/* Those that are in use stay, however many there are. */
static void the_least_used_connections_go_early(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;

	connect_to(test, 1)->used = jiffies - 20 * HZ;
	connect_to(test, 2)->used = jiffies - HZ;
	ipoib_conns_tick(cm);
	KUNIT_EXPECT_NOT_NULL(test, conn_to(1));
	atomic_add(IPOIB_CONNS_MAX, &cm->conns.nelems);
	ipoib_conns_tick(cm);
	atomic_sub(IPOIB_CONNS_MAX, &cm->conns.nelems);
	KUNIT_EXPECT_NULL(test, conn_to(1));
	KUNIT_EXPECT_NOT_NULL(test, conn_to(2));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(set_ups_wait_for_their_turn),
	KUNIT_CASE(who_waits_forgets_the_path_with_the_port),
	KUNIT_CASE(packets_that_wait_go_first),
	KUNIT_CASE(connections_are_limited),
	KUNIT_CASE(the_least_used_connections_go_early),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_cm_turn",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: limits of outgoing connections, and their turns");
