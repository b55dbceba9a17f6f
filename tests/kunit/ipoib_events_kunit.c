// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Asynchronous events and what they make an interface forget, the carrier,
 * opening and closing, and the forgetting of what is long unused. Everything
 * below events.c but the table of destinations is a fake that notes its calls.
 */
#include "ipoib_world.h"

static int fake_query_port(struct ib_device *ca, u32 port, struct ib_port_attr *attr);
static int fake_query_gid(struct ib_device *ca, u32 port, int index, union ib_gid *gid);
static int fake_find_pkey(struct ib_device *ca, u32 port, u16 pkey, u16 *index);

#define ib_query_port fake_query_port
#define rdma_query_gid fake_query_gid
#include "gid.c"
#define ib_find_pkey fake_find_pkey
#include "dest.c"
#include "events.c"

/* The port, and what has been done about it. */
static struct {
	u8 state;
	u16 lid;
	union ib_gid gid;
	u16 pkey_index;
	bool no_port;
	bool no_pkey;
	int bad_start;
	bool no_memory;
	u32 starts;
	u32 stops;
	u32 notified;
	u32 stale;
	u32 forgot;
	u32 rejoined;
	u32 retried;
	u32 followed;
	u32 paths_destroyed;
	u32 groups_destroyed;
	u32 turns_forgotten;
} port;

static int fake_query_port(struct ib_device *ca, u32 number, struct ib_port_attr *attr)
{
	if (port.no_port)
		return -ENODEV;
	memset(attr, 0, sizeof(*attr));
	attr->state = port.state;
	attr->lid = port.lid;
	return 0;
}

static int fake_query_gid(struct ib_device *ca, u32 number, int index, union ib_gid *gid)
{
	*gid = port.gid;
	return 0;
}

static int fake_find_pkey(struct ib_device *ca, u32 number, u16 pkey, u16 *index)
{
	*index = port.pkey_index;
	return port.no_pkey ? -ENOENT : 0;
}

static int fake_start(struct ipoib_intf *intf)
{
	port.starts++;
	if (!port.bad_start)
		intf->running = true;
	return port.bad_start;
}

static void fake_stop(struct ipoib_intf *intf)
{
	port.stops += intf->running;
	intf->running = false;
}

static const struct ipoib_data_ops fake_data = {
	.start = fake_start,
	.stop = fake_stop,
	.send_held = ipoib_dest_send_held,
};

void ipoib_intf_notify_stack(struct ipoib_intf *intf)
{
	port.notified++;
}

void ipoib_paths_mark_stale(struct ipoib_intf *intf)
{
	port.stale++;
}

void ipoib_paths_forget_ah(struct ipoib_intf *intf)
{
	port.forgot++;
}

void ipoib_path_destroy(struct ipoib_path *path)
{
	port.paths_destroyed++;
	ipoib_dest_unlink(path->intf, &path->dest);
	kfree_rcu(path, dest.rcu);
}

void ipoib_mcast_destroy(struct ipoib_mcast *mcast)
{
	port.groups_destroyed++;
	ipoib_dest_unlink(mcast->intf, &mcast->dest);
	if (mcast->intf->broadcast == mcast)
		mcast->intf->broadcast = NULL;
	kfree_rcu(mcast, dest.rcu);
}

/* Only when no group is left that could wait for its turn */
void ipoib_join_forget(struct ipoib_intf *intf)
{
	port.turns_forgotten += !intf->broadcast;
}

void ipoib_mcast_restart(struct ipoib_intf *intf)
{
	port.rejoined++;
}

void ipoib_mcast_retry(struct ipoib_intf *intf)
{
	port.retried++;
}

void ipoib_pkey_follow(struct ipoib_intf *intf)
{
	port.followed++;
}

void ipoib_mcast_work(struct work_struct *work)
{
}

static int insert(struct ipoib_dest *dest, u8 first)
{
	static u32 number;
	union ib_gid gid = world_gid(++number);
	int err;

	gid.raw[0] = first;
	ipoib_dest_init(dest, &gid);
	local_bh_disable();
	err = ipoib_dest_insert(world->intf, dest);
	local_bh_enable();
	return err;
}

static struct ipoib_mcast *add_group(bool sendonly)
{
	struct ipoib_mcast *mcast = kzalloc(sizeof(*mcast), GFP_KERNEL);

	if (!mcast)
		return NULL;
	mcast->intf = world->intf;
	mcast->sendonly = sendonly;
	if (!insert(&mcast->dest, 0xFF))
		return mcast;
	kfree(mcast);
	return NULL;
}

static struct ipoib_path *add_path(void)
{
	struct ipoib_path *path = kzalloc(sizeof(*path), GFP_KERNEL);

	if (!path)
		return NULL;
	path->intf = world->intf;
	INIT_LIST_HEAD(&path->conns);
	if (!insert(&path->dest, 0xFE))
		return path;
	kfree(path);
	return NULL;
}

int ipoib_mcast_start(struct ipoib_intf *intf)
{
	if (port.no_memory)
		return -ENOMEM;
	intf->broadcast = add_group(false);
	return intf->broadcast ? 0 : -ENOMEM;
}

static int setup(struct kunit *test)
{
	int err = world_create(test);

	if (err)
		return err;
	memset(&port, 0, sizeof(port));
	port.state = IB_PORT_ACTIVE;
	port.lid = 7;
	port.gid = world->intf->local_gid;
	port.pkey_index = 2;
	world->intf->data = &fake_data;
	ipoib_events_init(world->intf);
	netif_carrier_off(world->intf->dev);
	return 0;
}

static int open(void)
{
	queue_work(world->intf->wq, &world->intf->up_work);
	world_settle();
	return world->intf->up_error;
}

static void stop(void)
{
	queue_work(world->intf->wq, &world->intf->down_work);
	world_settle();
}

static void teardown(struct kunit *test)
{
	stop();
	world_destroy(test);
}

static void happens(enum ib_event_type type)
{
	struct ib_event event = {
		.device = world->ca, .event = type, .element.port_num = WORLD_PORT,
	};

	world->intf->event_handler.handler(&world->intf->event_handler, &event);
	world_settle();
}

static struct rdma_ah_attr no_attr;

static void join_broadcast(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, open(), 0);
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, &world->intf->broadcast->dest,
						&no_attr), 0);
	ipoib_carrier_update(world->intf);
	KUNIT_ASSERT_TRUE(test, netif_carrier_ok(world->intf->dev));
}

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
	KUNIT_CASE(what_waits_is_lost_with_the_port),
	KUNIT_CASE(events_while_closed),
	KUNIT_CASE(open_that_fails),
	KUNIT_CASE(close_forgets_everything),
	KUNIT_CASE(the_long_unused_is_forgotten),
	KUNIT_CASE(the_least_used_goes_early),
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
