/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * For suites about memberships: the SA is a fake that answers when told, the stack's
 * list of addresses is the kernel's. Nothing may be left behind.
 */
#ifndef IPOIB_MCAST_WORLD_H
#define IPOIB_MCAST_WORLD_H

#include "ipoib_world.h"

typedef int (*join_callback)(int status, struct ib_sa_multicast *multicast);

static struct ib_sa_multicast *fake_join(struct ib_sa_client *client, struct ib_device *ca,
					 u32 port, struct ib_sa_mcmember_rec *rec,
					 ib_sa_comp_mask mask, gfp_t gfp, join_callback callback,
					 void *context);
static void fake_leave(struct ib_sa_multicast *multicast);
static int fake_get_rec(struct ib_device *ca, u32 port, union ib_gid *mgid,
			struct ib_sa_mcmember_rec *rec);
static int fake_init_ah(struct ib_device *ca, u32 port, struct ib_sa_mcmember_rec *rec,
			struct net_device *dev, enum ib_gid_type type, struct rdma_ah_attr *attr);

#define ib_sa_join_multicast fake_join
#define ib_sa_free_multicast fake_leave
#define ib_sa_get_mcmember_rec fake_get_rec
#define ib_init_ah_from_mcmember fake_init_ah
#include "dest.c"
#include "join.c"
#include "mgid.c"
/* by its path: the software HCA has a file of this name as well */
#include "../../drivers/ipoib/mcast.c"
#include "mcast_list.c"
#include "answer.c"

#define MEMBERS	64

/* That of the interface */
static struct ipoib_port_joins port_joins;

/* What the SA and the HCA have been told. */
static struct {
	struct ib_sa_multicast members[MEMBERS];	/* by number of the join */
	struct ib_sa_mcmember_rec asked[MEMBERS];
	ib_sa_comp_mask mask[MEMBERS];
	bool left[MEMBERS];
	u32 left_twice;
	u32 joins;
	int attached;
	u16 attached_lid;
	int refuse;		/* error of asking at all */
	int bad_attach;
	int qp_starts;
	int qp_stops;
	u32 started_later;
	int bad_start;
	u32 qkey;
	int notified;
	u32 users;		/* end of a group that user space has joined */
} sa;

static struct ib_sa_multicast *fake_join(struct ib_sa_client *client, struct ib_device *ca,
					 u32 port, struct ib_sa_mcmember_rec *rec,
					 ib_sa_comp_mask mask, gfp_t gfp, join_callback callback,
					 void *context)
{
	struct ib_sa_multicast *member = &sa.members[sa.joins];

	if (sa.refuse || sa.joins == MEMBERS)
		return ERR_PTR(sa.refuse ?: -ENOSPC);
	sa.asked[sa.joins] = *rec;
	sa.mask[sa.joins++] = mask;
	member->rec = *rec;
	/* What the group has, where the request leaves it open */
	if (!(mask & IB_SA_MCMEMBER_REC_QKEY))
		member->rec.qkey = cpu_to_be32(0xB1B);
	if (!(mask & IB_SA_MCMEMBER_REC_MTU))
		member->rec.mtu = IB_MTU_2048;
	if (!(mask & IB_SA_MCMEMBER_REC_RATE))
		member->rec.rate = IB_RATE_10_GBPS;
	member->callback = callback;
	member->context = context;
	return member;
}

static void fake_leave(struct ib_sa_multicast *multicast)
{
	u32 number = multicast - sa.members;

	sa.left_twice += sa.left[number];
	sa.left[number] = true;
}

static int fake_get_rec(struct ib_device *ca, u32 port, union ib_gid *mgid,
			struct ib_sa_mcmember_rec *rec)
{
	return get_unaligned_be32(mgid->raw + 12) == sa.users ? 0 : -EADDRNOTAVAIL;
}

static int fake_attach(struct ipoib_intf *intf, union ib_gid *gid, u16 lid)
{
	if (sa.bad_attach)
		return sa.bad_attach;
	sa.attached++;
	sa.attached_lid = lid;
	return 0;
}

static int fake_detach(struct ipoib_intf *intf, union ib_gid *gid, u16 lid)
{
	sa.attached--;
	return 0;
}

static int fake_init_ah(struct ib_device *ca, u32 port, struct ib_sa_mcmember_rec *rec,
			struct net_device *dev, enum ib_gid_type type, struct rdma_ah_attr *attr)
{
	rdma_ah_set_static_rate(attr, rec->rate);
	return 0;
}

static int fake_start(struct ipoib_intf *intf)
{
	sa.qp_starts++;
	intf->running = !sa.bad_start;
	return sa.bad_start;
}

static void fake_stop(struct ipoib_intf *intf)
{
	sa.qp_stops++;
	intf->running = false;
}

void ipoib_start_later(struct ipoib_intf *intf)
{
	sa.started_later++;
}

static int fake_set_qkey(struct ipoib_intf *intf, u32 qkey)
{
	sa.qkey = qkey;
	return 0;
}

static const struct ipoib_data_ops fake_data = {
	.start = fake_start,
	.stop = fake_stop,
	.set_qkey = fake_set_qkey,
	.send_held = ipoib_dest_send_held,
	.attach_mcast = fake_attach,
	.detach_mcast = fake_detach,
};

void ipoib_intf_notify_stack(struct ipoib_intf *intf)
{
	sa.notified++;
}

void ipoib_carrier_update(struct ipoib_intf *intf)
{
}

/* Is in the middle of nothing: the queue has done all that is due now. */
static void run(void)
{
	world_hurry(&world->intf->mcast_work);
}

static int setup(struct kunit *test)
{
	struct ipoib_intf *intf;
	u8 broadcast[INFINIBAND_ALEN];
	int err = world_create(test);

	if (err)
		return err;
	memset(&sa, 0, sizeof(sa));
	intf = world->intf;
	intf->data = &fake_data;
	port_joins = (struct ipoib_port_joins){};
	ipoib_port_joins_init(&port_joins);
	ipoib_intf_joins_init(intf, &port_joins);
	INIT_DELAYED_WORK(&intf->mcast_work, ipoib_mcast_work);
	intf->up = true;
	intf->running = true;
	intf->rxq.buf_len = 2048;
	intf->dev->addr_len = INFINIBAND_ALEN;
	ipoib_broadcast_hwaddr(broadcast, IPOIB_SCOPE_LINK_LOCAL, WORLD_PKEY);
	memcpy(intf->dev->broadcast, broadcast, sizeof(broadcast));
	err = ipoib_mcast_start(intf);
	world_settle();
	return err;
}

static void teardown(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	struct ipoib_dest *dest, *next;
	u32 i;

	cancel_delayed_work_sync(&intf->mcast_work);
	list_for_each_entry_safe(dest, next, &intf->dest_list, all)
		ipoib_mcast_destroy(ipoib_mcast_of(dest));
	KUNIT_EXPECT_NULL(test, intf->broadcast);
	ipoib_join_forget(intf);
	KUNIT_EXPECT_EQ(test, port_joins.in_flight, 0U);
	KUNIT_EXPECT_EQ(test, sa.attached, 0);
	for (i = 0; i < sa.joins; i++)
		KUNIT_EXPECT_TRUE_MSG(test, sa.left[i], "membership %u", i);
	KUNIT_EXPECT_EQ(test, sa.left_twice, 0U);
	dev_mc_flush(intf->dev);
	world_destroy(test);
}

/* The SA answers join @number. */
static void answer(u32 number, int status, u16 mlid)
{
	struct ib_sa_multicast *member = &sa.members[number];

	if (sa.left[number])
		return;
	member->rec.mlid = cpu_to_be16(mlid);
	member->callback(status, member);
	world_settle();
}

static void join_broadcast(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, sa.joins, 1U);
	sa.members[0].rec.mtu = IB_MTU_2048;
	sa.members[0].rec.qkey = cpu_to_be32(0xB1B);
	sa.members[0].rec.rate = IB_RATE_10_GBPS;
	sa.members[0].rec.sl = 3;
	answer(0, 0, 0xC000);
	KUNIT_ASSERT_EQ(test, (int)world->intf->broadcast->state, IPOIB_MCAST_JOINED);
}

static void group(u32 n, u8 *hwaddr)
{
	memcpy(hwaddr, world->intf->dev->broadcast, INFINIBAND_ALEN);
	put_unaligned_be32(n, hwaddr + 16);
}

static struct ipoib_mcast __maybe_unused *find(u32 n)
{
	struct ipoib_dest *dest;
	u8 hwaddr[INFINIBAND_ALEN];
	union ib_gid mgid;

	group(n, hwaddr);
	mgid = ipoib_hwaddr_gid(hwaddr);
	rcu_read_lock();
	dest = ipoib_dest_find(world->intf, &mgid);
	rcu_read_unlock();
	return dest ? ipoib_mcast_of(dest) : NULL;
}

static void listed(u32 n, bool on)
{
	u8 hwaddr[INFINIBAND_ALEN];

	group(n, hwaddr);
	if (on)
		dev_mc_add(world->intf->dev, hwaddr);
	else
		dev_mc_del(world->intf->dev, hwaddr);
	WRITE_ONCE(world->intf->mcast_dirty, true);
	run();
}

/* Another interface of the port, which has asked for all that may be asked for. */
static __maybe_unused struct ipoib_intf *with_all_joins(struct kunit *test)
{
	struct ipoib_intf *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	u32 n;

	KUNIT_ASSERT_NOT_NULL(test, other);
	ipoib_intf_joins_init(other, &port_joins);
	for (n = 0; n < IPOIB_JOINS_MAX; n++)
		KUNIT_EXPECT_TRUE(test, ipoib_join_begin(other, false));
	return other;
}

/* Let the time of the next attempt come. Return: how far away it was [ms]. */
static int __maybe_unused skip_backoff(struct ipoib_mcast *mcast)
{
	int due = world_due(&world->intf->mcast_work);

	mcast->retry_at = jiffies;
	run();
	return due;
}

/* The same, twice, if there is a membership that is left first. */
static void __maybe_unused skip_leave_and_backoff(struct ipoib_mcast *mcast)
{
	u32 joins = sa.joins;

	skip_backoff(mcast);
	if (sa.joins == joins)
		skip_backoff(mcast);
}

#endif /* IPOIB_MCAST_WORLD_H */
