// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Multicast memberships: which groups are joined, how and when, what answers
 * and silence do, and that nothing is left behind.
 */
#include "ipoib_mcast_world.h"

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

static void restart_work(struct work_struct *work)
{
	ipoib_mcast_restart(world->intf);
}

static void restart(enum ib_port_state state)
{
	struct work_struct work;

	world->intf->port_state = state;
	INIT_WORK_ONSTACK(&work, restart_work);
	queue_work(world->intf->wq, &work);
	flush_work(&work);
	destroy_work_on_stack(&work);
	world_settle();
}

/* The SA cannot be told while the port is down; the kernel says that the memberships are gone. */
static void nothing_is_left_while_the_port_is_down(struct kunit *test)
{
	join_broadcast(test);
	listed(1, true);
	answer(1, 0, 0xC001);
	restart(IB_PORT_DOWN);
	KUNIT_EXPECT_FALSE(test, sa.left[0]);
	KUNIT_EXPECT_FALSE(test, sa.left[1]);
	KUNIT_EXPECT_NULL(test, world->intf->broadcast->dest.ah);
	answer(0, -ENETRESET, 0);
	answer(1, -ENETRESET, 0);
	KUNIT_EXPECT_TRUE(test, sa.left[0]);
	KUNIT_EXPECT_TRUE(test, sa.left[1]);
	KUNIT_EXPECT_EQ(test, sa.joins, 2U);
	restart(IB_PORT_ACTIVE);
	KUNIT_ASSERT_EQ(test, sa.joins, 3U);
	sa.members[2].rec.mtu = IB_MTU_2048;
	answer(2, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, sa.joins, 4U);
	answer(3, 0, 0xC001);
	restart(IB_PORT_ACTIVE);	/* another LID, for example */
	KUNIT_EXPECT_TRUE(test, sa.left[2]);
	KUNIT_EXPECT_TRUE(test, sa.left[3]);
}

/* MTUs of 8192 and 10240 octets (6 and 7) are Omni-Path's alone. */
static void groups_of_omni_path(struct kunit *test)
{
	struct ib_port_immutable *port = &world->ca->port_data[WORLD_PORT].immutable;
	struct ipoib_intf *intf = world->intf;

	sa.members[0].rec.mtu = 7;
	answer(0, 0, 0xC000);
	KUNIT_EXPECT_NE(test, (int)intf->broadcast->state, IPOIB_MCAST_JOINED);
	port->core_cap_flags = RDMA_CORE_PORT_INTEL_OPA;
	skip_leave_and_backoff(intf->broadcast);
	sa.members[1].rec.mtu = 7;
	answer(1, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)intf->broadcast->state, IPOIB_MCAST_JOINED);
	KUNIT_EXPECT_EQ(test, intf->group_mtu, 10236);
	KUNIT_EXPECT_EQ(test, sa.qp_starts, 1);
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

/* 1, 2, 4, 8, 16, 16 seconds, less up to a quarter */
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
		KUNIT_EXPECT_GT(test, due, want[i] * 750 - 500);
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
	KUNIT_EXPECT_EQ(test, port_joins.in_flight, 0U);
	sa.refuse = 0;
	KUNIT_EXPECT_GT(test, skip_backoff(mcast), 0);
	answer(1, 0, 0xC001);
	KUNIT_EXPECT_EQ(test, (int)mcast->state, IPOIB_MCAST_JOINED);
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

/* Its partition has come: it does not wait for the end of its backoff, nor is it asked twice. */
static void what_was_refused_is_asked_for_again(struct kunit *test)
{
	u32 n;

	run();
	for (n = 0; n < 4; n++) {
		KUNIT_ASSERT_EQ(test, sa.joins, n + 1);
		ipoib_mcast_retry(world->intf);		/* while it is asked for */
		world_settle();
		KUNIT_EXPECT_EQ(test, sa.joins, n + 1);
		answer(n, -EINVAL, 0);
		KUNIT_EXPECT_EQ(test, sa.joins, n + 1);
		ipoib_mcast_retry(world->intf);
		world_settle();
	}
	sa.members[n].rec.mtu = IB_MTU_2048;
	answer(n, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, sa.joins, n + 1);
	ipoib_mcast_retry(world->intf);			/* it is joined */
	world_settle();
	KUNIT_EXPECT_EQ(test, sa.joins, n + 1);
}

static void requests_in_flight_are_few(struct kunit *test)
{
	u32 n;

	join_broadcast(test);
	for (n = 1; n <= IPOIB_JOINS_MAX + 8; n++)
		listed(n, true);
	KUNIT_EXPECT_EQ(test, port_joins.in_flight, (u32)IPOIB_JOINS_MAX);
	KUNIT_EXPECT_EQ(test, sa.joins, 1U + IPOIB_JOINS_MAX);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&world->intf->mcast_work));
	for (n = 1; n <= IPOIB_JOINS_MAX + 8; n++)
		answer(n, 0, 0xC000 + n);
	KUNIT_EXPECT_EQ(test, port_joins.in_flight, 0U);
	KUNIT_EXPECT_EQ(test, sa.attached, IPOIB_JOINS_MAX + 9);
}

/* Another interface of the port has asked for all that may be asked for. */
static void a_port_has_its_requests_in_common(struct kunit *test)
{
	struct ipoib_intf *other;
	u32 n = IPOIB_JOINS_MAX;

	join_broadcast(test);
	other = with_all_joins(test);
	listed(1, true);
	listed(2, true);
	KUNIT_EXPECT_EQ(test, sa.joins, 1U);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&world->intf->mcast_work));
	ipoib_join_end(other);
	world_settle();
	KUNIT_EXPECT_EQ(test, sa.joins, 2U);
	ipoib_join_end(other);
	world_settle();
	KUNIT_EXPECT_EQ(test, sa.joins, 3U);
	while (n-- > 2)
		ipoib_join_end(other);
	answer(1, 0, 0xC001);
	answer(2, 0, 0xC002);
	KUNIT_EXPECT_EQ(test, sa.attached, 3);
}

/* One that is refused time and again does not keep the others of its interface back. */
static void what_was_due_first_is_asked_for_first(struct kunit *test)
{
	struct ipoib_intf *other;
	u32 n = IPOIB_JOINS_MAX;

	join_broadcast(test);
	other = with_all_joins(test);
	listed(1, true);
	listed(2, true);
	find(2)->retry_at -= HZ;
	ipoib_join_end(other);
	world_settle();
	KUNIT_ASSERT_EQ(test, sa.joins, 2U);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(sa.asked[1].mgid.raw + 12), 2U);
	while (n-- > 1)
		ipoib_join_end(other);
	world_settle();
	KUNIT_EXPECT_EQ(test, sa.joins, 3U);
}

/* A group that is not wanted any more when its turn comes; the next one has it. */
static void a_turn_that_is_not_used(struct kunit *test)
{
	struct ipoib_intf *other;
	u32 n = IPOIB_JOINS_MAX;

	join_broadcast(test);
	other = with_all_joins(test);
	listed(1, true);
	listed(1, false);
	KUNIT_EXPECT_FALSE(test, list_empty(&world->intf->joins.wait));
	while (n--)
		ipoib_join_end(other);
	world_settle();
	KUNIT_EXPECT_TRUE(test, list_empty(&world->intf->joins.wait));
	KUNIT_EXPECT_EQ(test, port_joins.in_flight, 0U);
	KUNIT_EXPECT_EQ(test, sa.joins, 1U);
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

/* Nothing is joined then, but the start is tried again soon, not when idle paths are looked for. */
static void a_start_with_larger_buffers_fails(struct kunit *test)
{
	sa.bad_start = -EIO;
	sa.members[0].rec.mtu = IB_MTU_4096;
	answer(0, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, sa.qp_starts, 1);
	KUNIT_EXPECT_FALSE(test, world->intf->running);
	KUNIT_EXPECT_EQ(test, sa.started_later, 1U);
}

static void broadcast_group_that_cannot_be_used(struct kunit *test)
{
	struct ipoib_mcast *broadcast = world->intf->broadcast;

	sa.members[0].rec.mtu = 7;		/* reserved (IBA 15.2.5.17) */
	answer(0, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)broadcast->state, IPOIB_MCAST_IDLE);
	skip_leave_and_backoff(broadcast);
	KUNIT_EXPECT_TRUE(test, sa.left[0]);
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
	KUNIT_CASE(nothing_is_left_while_the_port_is_down),
	KUNIT_CASE(groups_of_omni_path),
	KUNIT_CASE(addresses_that_are_no_groups),
	KUNIT_CASE(refused_joins_back_off),
	KUNIT_CASE(asking_fails),
	KUNIT_CASE(membership_lost),
	KUNIT_CASE(silence_keeps_the_handle),
	KUNIT_CASE(first_refusals_keep_the_handle),
	KUNIT_CASE(restart_joins_everything_again),
	KUNIT_CASE(what_was_refused_is_asked_for_again),
	KUNIT_CASE(requests_in_flight_are_few),
	KUNIT_CASE(a_port_has_its_requests_in_common),
	KUNIT_CASE(a_turn_that_is_not_used),
	KUNIT_CASE(what_was_due_first_is_asked_for_first),
	KUNIT_CASE(port_down_or_stopped),
	KUNIT_CASE(larger_group_needs_larger_buffers),
	KUNIT_CASE(a_start_with_larger_buffers_fails),
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
