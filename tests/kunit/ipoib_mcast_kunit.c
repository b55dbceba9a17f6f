// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Multicast memberships: which groups are joined, how and when, what answers
 * and silence do, and that nothing is left behind. The SA is a fake that answers
 * when told; the stack's list of addresses is the kernel's.
 */
#include "ipoib_world.h"

typedef int (*join_callback)(int status, struct ib_sa_multicast *multicast);

static struct ib_sa_multicast *fake_join(struct ib_sa_client *client, struct ib_device *ca,
					 u32 port, struct ib_sa_mcmember_rec *rec,
					 ib_sa_comp_mask mask, gfp_t gfp, join_callback callback,
					 void *context);
static void fake_leave(struct ib_sa_multicast *multicast);
static int fake_get_rec(struct ib_device *ca, u32 port, union ib_gid *mgid,
			struct ib_sa_mcmember_rec *rec);
static int fake_attach(struct ib_qp *qp, union ib_gid *gid, u16 lid);
static int fake_detach(struct ib_qp *qp, union ib_gid *gid, u16 lid);
static int fake_init_ah(struct ib_device *ca, u32 port, struct ib_sa_mcmember_rec *rec,
			struct net_device *dev, enum ib_gid_type type, struct rdma_ah_attr *attr);

#define ib_sa_join_multicast fake_join
#define ib_sa_free_multicast fake_leave
#define ib_sa_get_mcmember_rec fake_get_rec
#define ib_attach_mcast fake_attach
#define ib_detach_mcast fake_detach
#define ib_init_ah_from_mcmember fake_init_ah
#include "dest.c"
#include "mgid.c"
/* by its path: the software HCA has a file of this name as well */
#include "../../drivers/ipoib/mcast.c"

#define MEMBERS	64

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

static int fake_attach(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	if (sa.bad_attach)
		return sa.bad_attach;
	sa.attached++;
	sa.attached_lid = lid;
	return 0;
}

static int fake_detach(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	sa.attached--;
	return 0;
}

static int fake_init_ah(struct ib_device *ca, u32 port, struct ib_sa_mcmember_rec *rec,
			struct net_device *dev, enum ib_gid_type type, struct rdma_ah_attr *attr)
{
	return 0;
}

int ipoib_qp_start(struct ipoib_intf *intf)
{
	sa.qp_starts++;
	intf->running = !sa.bad_start;
	return sa.bad_start;
}

void ipoib_qp_stop(struct ipoib_intf *intf)
{
	sa.qp_stops++;
	intf->running = false;
}

int ipoib_qp_set_qkey(struct ipoib_intf *intf, u32 qkey)
{
	sa.qkey = qkey;
	return 0;
}

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
	KUNIT_EXPECT_EQ(test, intf->joins, 0U);
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

static struct ipoib_mcast *find(u32 n)
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

static struct ipoib_mcast *send_to(struct kunit *test, u32 n)
{
	u8 hwaddr[INFINIBAND_ALEN];
	struct ipoib_dest *dest;
	union ib_gid mgid;

	group(n, hwaddr);
	mgid = ipoib_hwaddr_gid(hwaddr);
	netif_tx_lock_bh(world->intf->dev);
	dest = ipoib_mcast_create_sendonly(world->intf, &mgid);
	netif_tx_unlock_bh(world->intf->dev);
	KUNIT_ASSERT_NOT_NULL(test, dest);
	world_hold_back(test, dest);
	world_settle();
	return ipoib_mcast_of(dest);
}

/* Let the time of the next attempt come. Return: how far away it was [ms]. */
static int skip_backoff(struct ipoib_mcast *mcast)
{
	int due = world_due(&world->intf->mcast_work);

	mcast->retry_at = jiffies;
	run();
	return due;
}

/* RFC 4391 section 5: without the broadcast group there is no link. */
static void nothing_before_the_broadcast_group(struct kunit *test)
{
	listed(1, true);
	KUNIT_EXPECT_EQ(test, sa.joins, 1U);
	KUNIT_EXPECT_EQ(test, (int)sa.asked[0].join_state, (int)BIT(FULLMEMBER_JOIN));
	KUNIT_EXPECT_EQ(test, be16_to_cpu(sa.asked[0].pkey), WORLD_PKEY);
	KUNIT_EXPECT_FALSE(test, sa.mask[0] & IB_SA_MCMEMBER_REC_QKEY);
	join_broadcast(test);
	KUNIT_EXPECT_EQ(test, sa.joins, 2U);
	KUNIT_EXPECT_EQ(test, sa.attached, 1);
	KUNIT_EXPECT_EQ(test, sa.qkey, 0xB1BU);
	KUNIT_EXPECT_GE(test, sa.notified, 1);
}

/* RFC 4391 section 6 */
static void groups_are_like_the_broadcast_group(struct kunit *test)
{
	join_broadcast(test);
	listed(1, true);
	KUNIT_ASSERT_EQ(test, sa.joins, 2U);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(sa.asked[1].qkey), 0xB1BU);
	KUNIT_EXPECT_EQ(test, (int)sa.asked[1].mtu, (int)IB_MTU_2048);
	KUNIT_EXPECT_EQ(test, (int)sa.asked[1].rate, (int)IB_RATE_10_GBPS);
	KUNIT_EXPECT_EQ(test, (int)sa.asked[1].sl, 3);
	KUNIT_EXPECT_EQ(test, sa.mask[1] & MCAST_COMP_CREATE, MCAST_COMP_CREATE);
	answer(1, 0, 0xC001);
	KUNIT_EXPECT_EQ(test, sa.attached, 2);
	KUNIT_EXPECT_EQ(test, sa.attached_lid, 0xC001);
	listed(1, false);
	KUNIT_EXPECT_NULL(test, find(1));
	KUNIT_EXPECT_TRUE(test, sa.left[1]);
	KUNIT_EXPECT_EQ(test, sa.attached, 1);
}

static void addresses_that_are_no_groups(struct kunit *test)
{
	u8 hwaddr[INFINIBAND_ALEN];

	join_broadcast(test);
	group(1, hwaddr);
	hwaddr[9] ^= 1;				/* another partition */
	dev_mc_add(world->intf->dev, hwaddr);
	listed(2, true);
	KUNIT_EXPECT_EQ(test, sa.joins, 2U);
	KUNIT_EXPECT_NULL(test, find(1));
	KUNIT_EXPECT_NOT_NULL(test, find(2));
}

/* 1, 2, 4, 8, 16, 16 seconds */
static void refused_joins_back_off(struct kunit *test)
{
	struct ipoib_mcast *broadcast = world->intf->broadcast;
	static const int want[] = { 1, 2, 4, 8, 16, 16, 16 };
	int i, due;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		KUNIT_ASSERT_EQ(test, sa.joins, 1U + i);
		answer(i, -EINVAL, 0);
		KUNIT_EXPECT_TRUE(test, sa.left[i]);
		due = skip_backoff(broadcast);
		KUNIT_EXPECT_LE(test, due, want[i] * 1000);
		KUNIT_EXPECT_GT(test, due, want[i] * 1000 - 500);
	}
	sa.members[i].rec.mtu = IB_MTU_2048;
	answer(i, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)broadcast->state, IPOIB_MCAST_JOINED);
	KUNIT_EXPECT_EQ(test, broadcast->backoff, 1U);
}

static void asking_fails(struct kunit *test)
{
	struct ipoib_mcast *mcast;

	join_broadcast(test);
	sa.refuse = -ENOMEM;
	listed(1, true);
	mcast = find(1);
	KUNIT_ASSERT_NOT_NULL(test, mcast);
	KUNIT_EXPECT_EQ(test, (int)mcast->state, IPOIB_MCAST_IDLE);
	KUNIT_EXPECT_EQ(test, world->intf->joins, 0U);
	sa.refuse = 0;
	KUNIT_EXPECT_GT(test, skip_backoff(mcast), 0);
	answer(1, 0, 0xC001);
	KUNIT_EXPECT_EQ(test, (int)mcast->state, IPOIB_MCAST_JOINED);
}

/* RFC 4391 section 5: a sender that does not listen, and SAs that know no such. */
static void send_only_joins(struct kunit *test)
{
	struct ipoib_mcast *mcast;

	join_broadcast(test);
	mcast = send_to(test, 1);
	KUNIT_ASSERT_EQ(test, sa.joins, 2U);
	KUNIT_EXPECT_EQ(test, (int)sa.asked[1].join_state, (int)BIT(SENDONLY_FULLMEMBER_JOIN));
	answer(1, -EINVAL, 0);
	skip_backoff(mcast);
	KUNIT_ASSERT_EQ(test, sa.joins, 3U);
	KUNIT_EXPECT_EQ(test, (int)sa.asked[2].join_state, (int)BIT(SENDONLY_NONMEBER_JOIN));
	KUNIT_EXPECT_FALSE(test, sa.mask[2] & IB_SA_MCMEMBER_REC_QKEY);
	answer(2, 0, 0xC001);
	KUNIT_EXPECT_EQ(test, world->sent, 1U);
	KUNIT_EXPECT_EQ(test, sa.attached, 1);	/* the broadcast group alone */
}

static void packets_do_not_wait_for_ever(struct kunit *test)
{
	struct ipoib_mcast *mcast;
	u32 i;

	join_broadcast(test);
	mcast = send_to(test, 1);
	for (i = 1; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, world->dropped, 0U);
		answer(i, -EINVAL, 0);
		skip_backoff(mcast);
	}
	KUNIT_EXPECT_EQ(test, world->dropped, 1U);
}

/* Somebody starts to listen to a group that was only sent to. */
static void send_only_becomes_full(struct kunit *test)
{
	struct ipoib_mcast *mcast;

	join_broadcast(test);
	mcast = send_to(test, 1);
	answer(1, 0, 0xC001);
	listed(1, true);
	KUNIT_EXPECT_TRUE(test, sa.left[1]);
	KUNIT_ASSERT_EQ(test, sa.joins, 3U);
	KUNIT_EXPECT_EQ(test, (int)sa.asked[2].join_state, (int)BIT(FULLMEMBER_JOIN));
	KUNIT_EXPECT_NOT_NULL(test, mcast->dest.ah);	/* sending goes on */
	answer(2, 0, 0xC001);
	KUNIT_EXPECT_EQ(test, sa.attached, 2);
}

/* The SA has lost its memberships (IBA 15.2.5.17): ask at once, keep sending. */
static void membership_lost(struct kunit *test)
{
	struct ipoib_mcast *broadcast = world->intf->broadcast;

	join_broadcast(test);
	answer(0, -ENETRESET, 0);
	KUNIT_EXPECT_TRUE(test, sa.left[0]);
	KUNIT_ASSERT_EQ(test, sa.joins, 2U);
	KUNIT_EXPECT_NOT_NULL(test, broadcast->dest.ah);
	KUNIT_EXPECT_EQ(test, sa.attached, 1);
	sa.members[1].rec.mtu = IB_MTU_2048;
	answer(1, 0, 0xC005);			/* under another LID */
	KUNIT_EXPECT_EQ(test, sa.attached, 1);
	KUNIT_EXPECT_EQ(test, sa.attached_lid, 0xC005);
}

static void silence_keeps_the_handle(struct kunit *test)
{
	struct ipoib_mcast *broadcast = world->intf->broadcast;
	u32 n;

	join_broadcast(test);
	answer(0, -ENETRESET, 0);
	for (n = 1; n < 5; n++) {
		answer(n, -ETIMEDOUT, 0);
		KUNIT_EXPECT_NOT_NULL(test, broadcast->dest.ah);
		skip_backoff(broadcast);
	}
	answer(n, -EINVAL, 0);			/* but a refusal at last does not */
	KUNIT_EXPECT_NULL(test, broadcast->dest.ah);
}

/* A subnet manager that has just started knows no group and no port yet. */
static void first_refusals_keep_the_handle(struct kunit *test)
{
	struct ipoib_mcast *broadcast = world->intf->broadcast;

	join_broadcast(test);
	answer(0, -ENETRESET, 0);
	answer(1, -EINVAL, 0);
	KUNIT_EXPECT_NOT_NULL(test, broadcast->dest.ah);
	skip_backoff(broadcast);
	answer(2, -EINVAL, 0);
	KUNIT_EXPECT_NOT_NULL(test, broadcast->dest.ah);
	skip_backoff(broadcast);
	answer(3, -EINVAL, 0);
	KUNIT_EXPECT_NULL(test, broadcast->dest.ah);
}

static void restart_joins_everything_again(struct kunit *test)
{
	join_broadcast(test);
	listed(1, true);
	answer(1, 0, 0xC001);
	ipoib_mcast_restart(world->intf);
	world_settle();
	KUNIT_EXPECT_TRUE(test, sa.left[0] && sa.left[1]);
	KUNIT_EXPECT_NULL(test, find(1)->dest.ah);
	KUNIT_ASSERT_EQ(test, sa.joins, 3U);	/* the broadcast group first */
	sa.members[2].rec.mtu = IB_MTU_2048;
	answer(2, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, sa.joins, 4U);
	answer(3, 0, 0xC001);
	KUNIT_EXPECT_EQ(test, sa.attached, 2);
}

static void requests_in_flight_are_few(struct kunit *test)
{
	u32 n;

	join_broadcast(test);
	for (n = 1; n <= MCAST_JOINS_MAX + 8; n++)
		listed(n, true);
	KUNIT_EXPECT_EQ(test, world->intf->joins, (u32)MCAST_JOINS_MAX);
	KUNIT_EXPECT_EQ(test, sa.joins, 1U + MCAST_JOINS_MAX);
	for (n = 1; n <= MCAST_JOINS_MAX + 8; n++)
		answer(n, 0, 0xC000 + n);
	KUNIT_EXPECT_EQ(test, world->intf->joins, 0U);
	KUNIT_EXPECT_EQ(test, sa.attached, MCAST_JOINS_MAX + 9);
}

static void port_down_or_stopped(struct kunit *test)
{
	join_broadcast(test);
	world->intf->port_state = IB_PORT_INIT;
	listed(1, true);
	KUNIT_EXPECT_EQ(test, sa.joins, 1U);
	world->intf->port_state = IB_PORT_ACTIVE;
	world->intf->running = false;
	run();
	KUNIT_EXPECT_EQ(test, sa.joins, 1U);
	world->intf->running = true;
	run();
	KUNIT_EXPECT_EQ(test, sa.joins, 2U);
	world->intf->up = false;
	answer(1, 0, 0xC001);
	KUNIT_EXPECT_EQ(test, sa.attached, 1);
	world->intf->up = true;
	run();
	KUNIT_EXPECT_EQ(test, sa.attached, 2);
}

/* RFC 4391 section 7: the MTU is the broadcast group's. */
static void larger_group_needs_larger_buffers(struct kunit *test)
{
	sa.members[0].rec.mtu = IB_MTU_4096;
	answer(0, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, world->intf->group_mtu, 4092);
	KUNIT_EXPECT_EQ(test, sa.qp_stops, 1);
	KUNIT_EXPECT_EQ(test, sa.qp_starts, 1);
	KUNIT_EXPECT_EQ(test, (int)world->intf->broadcast->state, IPOIB_MCAST_JOINED);
}

static void broadcast_group_that_cannot_be_used(struct kunit *test)
{
	struct ipoib_mcast *broadcast = world->intf->broadcast;

	sa.members[0].rec.mtu = 7;		/* reserved (IBA 15.2.5.17) */
	answer(0, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)broadcast->state, IPOIB_MCAST_IDLE);
	KUNIT_EXPECT_TRUE(test, sa.left[0]);
	skip_backoff(broadcast);
	sa.members[1].rec.mtu = IB_MTU_2048;
	sa.bad_attach = -ENOMEM;
	answer(1, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)broadcast->state, IPOIB_MCAST_IDLE);
	sa.bad_attach = 0;
	skip_backoff(broadcast);
	sa.members[2].rec.mtu = IB_MTU_2048;
	world->no_handles = true;
	answer(2, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)broadcast->state, IPOIB_MCAST_IDLE);
	world->no_handles = false;
	skip_backoff(broadcast);
	sa.members[3].rec.mtu = IB_MTU_2048;
	answer(3, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)broadcast->state, IPOIB_MCAST_JOINED);
	KUNIT_EXPECT_EQ(test, sa.attached, 1);
}

static void set_umcast(bool umcast)
{
	rtnl_lock();
	ipoib_mcast_set_umcast(world->intf, umcast);
	rtnl_unlock();
	world_settle();
}

/* With umcast, what user space has joined is its own until umcast is over. */
static void groups_of_user_space(struct kunit *test)
{
	join_broadcast(test);
	sa.users = 1;
	listed(1, true);
	KUNIT_EXPECT_NOT_NULL(test, find(1));
	listed(1, false);
	KUNIT_EXPECT_NULL(test, find(1));
	set_umcast(true);
	listed(1, true);
	KUNIT_EXPECT_NULL(test, find(1));
	listed(2, true);
	KUNIT_EXPECT_NOT_NULL(test, find(2));
	set_umcast(false);
	KUNIT_EXPECT_NOT_NULL(test, find(1));
}

/* A group of our own is not user space's, whatever the SA knows of it. */
static void umcast_keeps_own_groups(struct kunit *test)
{
	join_broadcast(test);
	listed(1, true);
	sa.users = 1;
	set_umcast(true);
	listed(2, true);
	KUNIT_EXPECT_NOT_NULL(test, find(1));
	KUNIT_EXPECT_EQ(test, sa.joins, 3U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(nothing_before_the_broadcast_group),
	KUNIT_CASE(groups_are_like_the_broadcast_group),
	KUNIT_CASE(addresses_that_are_no_groups),
	KUNIT_CASE(refused_joins_back_off),
	KUNIT_CASE(asking_fails),
	KUNIT_CASE(send_only_joins),
	KUNIT_CASE(packets_do_not_wait_for_ever),
	KUNIT_CASE(send_only_becomes_full),
	KUNIT_CASE(membership_lost),
	KUNIT_CASE(silence_keeps_the_handle),
	KUNIT_CASE(first_refusals_keep_the_handle),
	KUNIT_CASE(restart_joins_everything_again),
	KUNIT_CASE(requests_in_flight_are_few),
	KUNIT_CASE(port_down_or_stopped),
	KUNIT_CASE(larger_group_needs_larger_buffers),
	KUNIT_CASE(broadcast_group_that_cannot_be_used),
	KUNIT_CASE(groups_of_user_space),
	KUNIT_CASE(umcast_keeps_own_groups),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_mcast",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: multicast memberships of an interface");
