// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Asynchronous events and what they make an interface forget, and the carrier. */
#include "ipoib_events_world.h"

static void levels_of_events(struct kunit *test)
{
	static const struct {
		enum ib_event_type event;
		int level;		/* -1: none of our business */
	} want[] = {
		{ IB_EVENT_SM_CHANGE, IPOIB_FLUSH_LIGHT },
		{ IB_EVENT_CLIENT_REREGISTER, IPOIB_FLUSH_LIGHT },
		{ IB_EVENT_PORT_ERR, IPOIB_FLUSH_NORMAL },
		{ IB_EVENT_PORT_ACTIVE, IPOIB_FLUSH_NORMAL },
		{ IB_EVENT_LID_CHANGE, IPOIB_FLUSH_NORMAL },
		{ IB_EVENT_PKEY_CHANGE, IPOIB_FLUSH_HEAVY },
		{ IB_EVENT_GID_CHANGE, IPOIB_FLUSH_HEAVY },
		{ IB_EVENT_QP_FATAL, -1 },
		{ IB_EVENT_SRQ_ERR, -1 },
	};
	const u64 *count = world->intf->stat_flushes;
	int i, level;

	KUNIT_ASSERT_EQ(test, open(), 0);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		u64 before[IPOIB_FLUSH_RESTART + 1];

		memcpy(before, count, sizeof(before));
		happens(want[i].event);
		for (level = 0; level <= IPOIB_FLUSH_RESTART; level++)
			KUNIT_EXPECT_EQ_MSG(test, count[level] - before[level],
					    (u64)(level == want[i].level),
					    "event %d, level %d", want[i].event, level);
	}
}

static void events_of_another_port(struct kunit *test)
{
	struct ib_event event = {
		.device = world->ca, .event = IB_EVENT_PORT_ERR, .element.port_num = 2,
	};

	join_broadcast(test);
	world->intf->event_handler.handler(&world->intf->event_handler, &event);
	world_settle();
	KUNIT_EXPECT_EQ(test, port.forgot + port.stale, 0U);
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(world->intf->dev));
}

/* Nothing can be sent, and mlx4 names no port, mlx5 the first. */
static void the_hca_fails(struct kunit *test)
{
	struct ib_event event = {
		.device = world->ca, .event = IB_EVENT_DEVICE_FATAL,
		.element.port_num = WORLD_PORT + 1,
	};

	join_broadcast(test);
	port.no_port = true;
	world->intf->event_handler.handler(&world->intf->event_handler, &event);
	world_settle();
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(world->intf->dev));
	port.no_port = false;
	happens(IB_EVENT_PORT_ACTIVE);	/* it was reset */
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(world->intf->dev));
}

static void light_flush(struct kunit *test)
{
	join_broadcast(test);
	happens(IB_EVENT_SM_CHANGE);
	KUNIT_EXPECT_EQ(test, port.stale, 1U);
	KUNIT_EXPECT_EQ(test, port.forgot, 0U);
	KUNIT_EXPECT_EQ(test, port.rejoined, 0U);
	KUNIT_EXPECT_EQ(test, port.retried, 1U);
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(world->intf->dev));
}

static void normal_flush(struct kunit *test)
{
	join_broadcast(test);
	port.lid = 9;
	happens(IB_EVENT_LID_CHANGE);
	KUNIT_EXPECT_EQ(test, port.forgot, 1U);
	KUNIT_EXPECT_EQ(test, port.rejoined, 1U);
	KUNIT_EXPECT_EQ(test, port.stops, 0U);
	KUNIT_EXPECT_EQ(test, world->intf->lid, 9);
}

static u32 consequences(void)
{
	return port.stops + port.stale + port.forgot + port.rejoined + port.notified;
}

/* A partition of others, or their GID, costs nobody a join, a query or a carrier. */
static void nothing_of_ours_has_changed(struct kunit *test)
{
	join_broadcast(test);
	happens(IB_EVENT_PKEY_CHANGE);
	happens(IB_EVENT_GID_CHANGE);
	KUNIT_EXPECT_EQ(test, consequences(), 0U);
	KUNIT_EXPECT_EQ(test, port.retried, 2U);
	KUNIT_EXPECT_EQ(test, port.followed, 2U);
	KUNIT_EXPECT_EQ(test, port.starts, 1U);
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(world->intf->dev));
	/* what else has happened meanwhile is not lost */
	set_bit(IPOIB_FLUSH_LIGHT, &world->intf->flush);
	happens(IB_EVENT_PKEY_CHANGE);
	KUNIT_EXPECT_EQ(test, port.stale, 1U);
	KUNIT_EXPECT_EQ(test, port.forgot, 0U);
	set_bit(IPOIB_FLUSH_NORMAL, &world->intf->flush);
	happens(IB_EVENT_PKEY_CHANGE);
	KUNIT_EXPECT_EQ(test, port.forgot, 1U);
	KUNIT_EXPECT_EQ(test, port.rejoined, 1U);
}

/* All levels are kept while the port cannot be asked. */
static void a_port_that_cannot_be_asked(struct kunit *test)
{
	join_broadcast(test);
	port.no_port = true;
	set_bit(IPOIB_FLUSH_LIGHT, &world->intf->flush);
	happens(IB_EVENT_PKEY_CHANGE);
	KUNIT_EXPECT_EQ(test, consequences(), 0U);
	KUNIT_EXPECT_LE(test, world_due(&world->intf->gc_work), 1000);
	port.no_port = false;
	world_hurry(&world->intf->gc_work);
	KUNIT_EXPECT_EQ(test, port.stale, 1U);
	KUNIT_EXPECT_EQ(test, port.forgot, 0U);
}

/* The queue pair is stopped only if the P_Key's index is another. */
static void heavy_flush(struct kunit *test)
{
	join_broadcast(test);
	port.pkey_index = 5;
	happens(IB_EVENT_PKEY_CHANGE);
	KUNIT_EXPECT_EQ(test, port.stops, 1U);
	KUNIT_EXPECT_EQ(test, port.starts, 2U);
	KUNIT_EXPECT_EQ(test, world->intf->pkey_index, 5);
	KUNIT_EXPECT_EQ(test, port.forgot, 1U);
	KUNIT_EXPECT_EQ(test, port.rejoined, 1U);
}

static void restart(struct kunit *test)
{
	join_broadcast(test);
	ipoib_flush(world->intf, IPOIB_FLUSH_RESTART);
	world_settle();
	KUNIT_EXPECT_EQ(test, port.stops, 1U);
	KUNIT_EXPECT_EQ(test, port.starts, 2U);
	KUNIT_EXPECT_EQ(test, port.forgot, 1U);
}

/* Events that come while the queue is busy are handled once, at the highest level. */
static void levels_add_up(struct kunit *test)
{
	join_broadcast(test);
	set_bit(IPOIB_FLUSH_LIGHT, &world->intf->flush);
	set_bit(IPOIB_FLUSH_RESTART, &world->intf->flush);
	ipoib_flush(world->intf, IPOIB_FLUSH_NORMAL);
	world_settle();
	KUNIT_EXPECT_EQ(test, world->intf->stat_flushes[IPOIB_FLUSH_RESTART], 1ULL);
	KUNIT_EXPECT_EQ(test, world->intf->stat_flushes[IPOIB_FLUSH_NORMAL], 0ULL);
	KUNIT_EXPECT_EQ(test, port.forgot, 1U);
	KUNIT_EXPECT_EQ(test, world->intf->flush, 0UL);
}

/* The table of P_Keys loses ours, and has it again. */
static void pkey_leaves_and_returns(struct kunit *test)
{
	join_broadcast(test);
	port.no_pkey = true;
	happens(IB_EVENT_PKEY_CHANGE);
	KUNIT_EXPECT_FALSE(test, world->intf->running);
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(world->intf->dev));
	KUNIT_EXPECT_EQ(test, port.starts, 1U);
	port.no_pkey = false;
	happens(IB_EVENT_PKEY_CHANGE);
	KUNIT_EXPECT_TRUE(test, world->intf->running);
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(world->intf->dev));
}

static void open_before_the_pkey_is_there(struct kunit *test)
{
	port.no_pkey = true;
	KUNIT_EXPECT_EQ(test, open(), 0);
	KUNIT_EXPECT_EQ(test, port.starts, 0U);
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(world->intf->dev));
	port.no_pkey = false;
	happens(IB_EVENT_PKEY_CHANGE);
	KUNIT_EXPECT_TRUE(test, world->intf->running);
}

static void start_that_fails_is_repeated(struct kunit *test)
{
	join_broadcast(test);
	port.bad_start = -ENOMEM;
	ipoib_flush(world->intf, IPOIB_FLUSH_RESTART);
	world_settle();
	KUNIT_EXPECT_FALSE(test, world->intf->running);
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(world->intf->dev));
	KUNIT_EXPECT_LE(test, world_due(&world->intf->gc_work), 1000);
	port.bad_start = 0;
	world_hurry(&world->intf->gc_work);
	KUNIT_EXPECT_TRUE(test, world->intf->running);
}

static void gid_changes(struct kunit *test)
{
	join_broadcast(test);
	port.gid = world_gid(0x2000);
	happens(IB_EVENT_SM_CHANGE);		/* whatever it was that told us */
	KUNIT_EXPECT_EQ(test, port.notified, 1U);
	KUNIT_EXPECT_EQ(test, port.forgot, 1U);
	KUNIT_EXPECT_EQ(test, memcmp(&world->intf->local_gid, &port.gid, 16), 0);
	happens(IB_EVENT_SM_CHANGE);
	KUNIT_EXPECT_EQ(test, port.notified, 1U);
}

static void carrier_follows_the_port(struct kunit *test)
{
	join_broadcast(test);
	port.state = IB_PORT_DOWN;
	happens(IB_EVENT_PORT_ERR);
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(world->intf->dev));
	port.state = IB_PORT_ACTIVE;
	happens(IB_EVENT_PORT_ACTIVE);
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(world->intf->dev));
	ipoib_dest_clear_ah(world->intf, &world->intf->broadcast->dest);
	ipoib_carrier_update(world->intf);
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(world->intf->dev));
}

/* A child whose parent is down, with some HCAs. */
static void no_carrier_for_what_hears_nothing(struct kunit *test)
{
	join_broadcast(test);
	port.deaf = true;
	happens(IB_EVENT_SM_CHANGE);
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(world->intf->dev));
	port.deaf = false;
	happens(IB_EVENT_SM_CHANGE);
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(world->intf->dev));
}

/*
 * An ARP packet that waits for the group must not leave when the port is back: the host's
 * address may be another interface's by then.
 */
static void what_waits_is_lost_with_the_port(struct kunit *test)
{
	join_broadcast(test);
	ipoib_dest_clear_ah(world->intf, &world->intf->broadcast->dest);
	world_hold_back(test, &world->intf->broadcast->dest);
	happens(IB_EVENT_LID_CHANGE);
	KUNIT_EXPECT_EQ(test, world->dropped, 0U);
	port.state = IB_PORT_DOWN;
	happens(IB_EVENT_PORT_ERR);
	KUNIT_EXPECT_EQ(test, world->dropped, 1U);
	KUNIT_EXPECT_EQ(test, atomic_read(&world->intf->pending_bytes), 0);
}

static void events_while_closed(struct kunit *test)
{
	port.state = IB_PORT_DOWN;
	happens(IB_EVENT_PORT_ERR);
	happens(IB_EVENT_PKEY_CHANGE);
	KUNIT_EXPECT_EQ(test, port.starts + port.stops + port.forgot + port.rejoined, 0U);
	KUNIT_EXPECT_EQ(test, (int)world->intf->port_state, (int)IB_PORT_DOWN);
	world_hurry(&world->intf->gc_work);
	KUNIT_EXPECT_EQ(test, world_due(&world->intf->gc_work), -1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(levels_of_events),
	KUNIT_CASE(events_of_another_port),
	KUNIT_CASE(the_hca_fails),
	KUNIT_CASE(light_flush),
	KUNIT_CASE(normal_flush),
	KUNIT_CASE(nothing_of_ours_has_changed),
	KUNIT_CASE(a_port_that_cannot_be_asked),
	KUNIT_CASE(heavy_flush),
	KUNIT_CASE(restart),
	KUNIT_CASE(levels_add_up),
	KUNIT_CASE(pkey_leaves_and_returns),
	KUNIT_CASE(open_before_the_pkey_is_there),
	KUNIT_CASE(start_that_fails_is_repeated),
	KUNIT_CASE(gid_changes),
	KUNIT_CASE(carrier_follows_the_port),
	KUNIT_CASE(no_carrier_for_what_hears_nothing),
	KUNIT_CASE(what_waits_is_lost_with_the_port),
	KUNIT_CASE(events_while_closed),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_events",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: events of an interface");
