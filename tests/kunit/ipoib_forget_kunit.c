// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Opening an interface, closing it, and the forgetting of destinations long unused. */
#include "ipoib_events_world.h"

static void open_that_fails(struct kunit *test)
{
	port.no_port = true;
	KUNIT_EXPECT_EQ(test, open(), -ENODEV);
	port.no_port = false;
	port.bad_start = -ENOMEM;
	KUNIT_EXPECT_EQ(test, open(), -ENOMEM);
	KUNIT_EXPECT_FALSE(test, world->intf->up);
	port.bad_start = 0;
	port.no_memory = true;
	KUNIT_EXPECT_EQ(test, open(), -ENOMEM);
	KUNIT_EXPECT_FALSE(test, world->intf->up);
	KUNIT_EXPECT_FALSE(test, world->intf->running);
	port.no_memory = false;
	KUNIT_EXPECT_EQ(test, open(), 0);
}

static void close_forgets_everything(struct kunit *test)
{
	int round;

	for (round = 1; round <= 3; round++) {
		join_broadcast(test);
		KUNIT_ASSERT_NOT_NULL(test, add_path());
		KUNIT_ASSERT_NOT_NULL(test, add_group(true));
		stop();
		KUNIT_EXPECT_TRUE(test, list_empty(&world->intf->dest_list));
		KUNIT_EXPECT_EQ(test, port.paths_destroyed, 1U * round);
		KUNIT_EXPECT_EQ(test, port.groups_destroyed, 2U * round);
		KUNIT_EXPECT_EQ(test, port.turns_forgotten, 1U * round);
		KUNIT_EXPECT_EQ(test, world->handles, 0U);
		KUNIT_EXPECT_FALSE(test, netif_carrier_ok(world->intf->dev));
		KUNIT_EXPECT_EQ(test, world_due(&world->intf->gc_work), -1);
	}
}

/* Five minutes without a packet; not what is being asked for or listened to. */
static void the_long_unused_is_forgotten(struct kunit *test)
{
	struct ipoib_path *idle, *busy, *fresh;
	struct ipoib_mcast *sent_to, *heard;

	join_broadcast(test);
	idle = add_path();
	busy = add_path();
	fresh = add_path();
	sent_to = add_group(true);
	heard = add_group(false);
	KUNIT_ASSERT_TRUE(test, idle && busy && fresh && sent_to && heard);
	idle->dest.used = jiffies - DEST_IDLE - 1;
	busy->dest.used = idle->dest.used;
	sent_to->dest.used = idle->dest.used;
	heard->dest.used = idle->dest.used;
	fresh->dest.used = jiffies - DEST_IDLE + 10 * HZ;
	world->intf->broadcast->dest.used = idle->dest.used;
	set_bit(IPOIB_PATH_BUSY, &busy->state);
	KUNIT_EXPECT_GT(test, world_due(&world->intf->gc_work), 0);
	world_hurry(&world->intf->gc_work);
	KUNIT_EXPECT_EQ(test, port.paths_destroyed, 1U);
	KUNIT_EXPECT_EQ(test, port.groups_destroyed, 1U);
	KUNIT_EXPECT_NOT_NULL(test, world->intf->broadcast);
	KUNIT_EXPECT_GT(test, world_due(&world->intf->gc_work), 0);
}

/* With many destinations, of those that are not in use the ones go that are idle for longest. */
static void the_least_used_goes_early(struct kunit *test)
{
	struct ipoib_path *old, *young, *in_use;
	struct ipoib_intf *intf = world->intf;

	join_broadcast(test);
	old = add_path();
	young = add_path();
	in_use = add_path();
	KUNIT_ASSERT_TRUE(test, old && young && in_use);
	old->dest.used = jiffies - 160 * HZ;
	young->dest.used = jiffies - 10 * HZ;
	/* The first pass of those for many makes room enough. */
	atomic_add(IPOIB_DESTS_MANY - 2, &intf->dests.nelems);
	world_hurry(&intf->gc_work);
	KUNIT_EXPECT_EQ(test, port.paths_destroyed, 2U);
	KUNIT_EXPECT_FALSE(test, list_empty(&intf->dest_list));
	KUNIT_EXPECT_LE(test, world_due(&intf->gc_work),
			(int)jiffies_to_msecs(GC_INTERVAL_MANY) + 10);
	atomic_sub(IPOIB_DESTS_MANY - 2, &intf->dests.nelems);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(open_that_fails),
	KUNIT_CASE(close_forgets_everything),
	KUNIT_CASE(the_long_unused_is_forgotten),
	KUNIT_CASE(the_least_used_goes_early),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_forget",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: opening, closing and forgetting");
