/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * For suites about events.c. Everything below it but the table of destinations is a fake
 * that notes its calls.
 */
#ifndef IPOIB_EVENTS_WORLD_H
#define IPOIB_EVENTS_WORLD_H

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
	bool deaf;
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

bool ipoib_accel_is_deaf(const struct ipoib_intf *intf)
{
	return port.deaf;
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

static __maybe_unused struct ipoib_path *add_path(void)
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

static __maybe_unused void happens(enum ib_event_type type)
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

#endif /* IPOIB_EVENTS_WORLD_H */
