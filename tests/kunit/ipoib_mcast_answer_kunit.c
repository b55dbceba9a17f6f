// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Memberships whose record is wrong in itself: none that cannot be used is, what is known stays,
 * and so does the membership, until the SA is asked again. What is merely odd is used.
 */
#include "ipoib_mcast_world.h"

static void other_mgid(struct ib_sa_mcmember_rec *rec)
{
	rec->mgid.raw[15] ^= 1;
}

static void no_mlid(struct ib_sa_mcmember_rec *rec)
{
	rec->mlid = 0;
}

static void mlid_of_a_port(struct ib_sa_mcmember_rec *rec)
{
	rec->mlid = cpu_to_be16(0xBFFF);
}

static void permissive_mlid(struct ib_sa_mcmember_rec *rec)
{
	rec->mlid = cpu_to_be16(0xFFFF);
}

static void no_mtu(struct ib_sa_mcmember_rec *rec)
{
	rec->mtu = 0;
}

static void mtu_beyond(struct ib_sa_mcmember_rec *rec)
{
	rec->mtu = 63;
}

static void no_rate(struct ib_sa_mcmember_rec *rec)
{
	rec->rate = 0;
}

static void rate_beyond(struct ib_sa_mcmember_rec *rec)
{
	rec->rate = 26;
}

/* What is behind its end is 0. */
static void short_record(struct ib_sa_mcmember_rec *rec)
{
	struct ib_sa_mcmember_rec begun = { .mgid = rec->mgid, .port_gid = rec->port_gid };

	*rec = begun;
}

/* The first are so for every group, the others for the broadcast group alone (RFC 4391). */
static void (*const wrong[])(struct ib_sa_mcmember_rec *rec) = {
	other_mgid, no_mlid, mlid_of_a_port, permissive_mlid, short_record,
	no_mtu, mtu_beyond,
};

#define WRONG_FOR_ALL	5U
#define WRONG		((u32)ARRAY_SIZE(wrong))

/* The SA answers join @number, and something is wrong with it. */
static void answer_spoilt(u32 number, void (*spoil)(struct ib_sa_mcmember_rec *rec), u16 mlid)
{
	struct ib_sa_multicast *member = &sa.members[number];

	member->rec.mlid = cpu_to_be16(mlid);
	spoil(&member->rec);
	member->callback(0, member);
	world_settle();
}

/*
 * The group of join @number gets a wrong answer: nothing of it is used, but the membership stays
 * until the next attempt, which leaves it, and asks once the kernel has, too.
 */
static void expect_refused(struct kunit *test, struct ipoib_mcast *mcast, u32 number, u32 how)
{
	u64 count = world->intf->stat_joins_wrong;

	KUNIT_ASSERT_EQ(test, sa.joins, number + 1);
	/* The SA knows full members: it is wrong, and refuses nothing. */
	KUNIT_EXPECT_EQ(test, (int)sa.asked[number].join_state, (int)BIT(FULLMEMBER_JOIN));
	answer_spoilt(number, wrong[how], 0xC009);
	KUNIT_EXPECT_EQ_MSG(test, (int)mcast->state, IPOIB_MCAST_IDLE, "answer %u", how);
	KUNIT_EXPECT_EQ(test, world->intf->stat_joins_wrong, count + 1);
	KUNIT_EXPECT_NULL(test, mcast->dest.ah);
	KUNIT_EXPECT_EQ(test, port_joins.in_flight, 0U);
	KUNIT_EXPECT_FALSE(test, sa.left[number]);
	KUNIT_EXPECT_GT(test, skip_backoff(mcast), 0);
	KUNIT_EXPECT_TRUE(test, sa.left[number]);
	KUNIT_EXPECT_EQ(test, sa.joins, number + 1);
	KUNIT_EXPECT_GT(test, skip_backoff(mcast), 0);
}

static void wrong_answers(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	u32 n = 0, i;

	for (i = 0; i < WRONG; i++)
		expect_refused(test, intf->broadcast, n++, i);
	KUNIT_EXPECT_EQ(test, sa.attached, 0);
	KUNIT_EXPECT_EQ(test, sa.qkey, 0U);
	KUNIT_EXPECT_EQ(test, sa.notified, 0);
	answer(n++, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)intf->broadcast->state, IPOIB_MCAST_JOINED);
	listed(1, true);
	for (i = 0; i < WRONG_FOR_ALL; i++)
		expect_refused(test, find(1), n++, i);
	KUNIT_EXPECT_EQ(test, sa.attached, 1);
	answer(n, 0, 0xC001);
	KUNIT_EXPECT_EQ(test, sa.attached, 2);
	KUNIT_EXPECT_EQ(test, sa.attached_lid, 0xC001);
	KUNIT_EXPECT_EQ(test, intf->stat_joins_odd, 0ULL);
}

/* Other groups are sent to with the Q_Key and MTU of the broadcast group, whatever theirs are. */
static void what_others_need_not_have(struct kunit *test)
{
	u32 i;

	join_broadcast(test);
	for (i = WRONG_FOR_ALL; i < WRONG; i++) {
		listed(i, true);
		answer_spoilt(sa.joins - 1, wrong[i], 0xC000 + i);
		KUNIT_EXPECT_EQ_MSG(test, (int)find(i)->state, IPOIB_MCAST_JOINED, "answer %u", i);
		KUNIT_EXPECT_NOT_NULL(test, find(i)->dest.ah);
	}
	KUNIT_EXPECT_EQ(test, sa.qkey, 0xB1BU);
	KUNIT_EXPECT_EQ(test, world->intf->stat_joins_wrong, 0ULL);
}

/* A rate that there is not, or not yet, is the port's own; other groups ask for what there is. */
static void odd_answers(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;

	sa.members[0].rec.qkey = cpu_to_be32(0xB1B);
	sa.members[0].rec.mtu = IB_MTU_2048;
	answer_spoilt(0, rate_beyond, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)intf->broadcast->state, IPOIB_MCAST_JOINED);
	KUNIT_EXPECT_EQ(test, (int)world->static_rate, (int)IB_RATE_PORT_CURRENT);
	KUNIT_EXPECT_EQ(test, intf->stat_joins_odd, 1ULL);
	listed(1, true);
	KUNIT_EXPECT_EQ(test, (int)sa.asked[1].rate, 26);
	sa.members[1].rec.rate = IB_RATE_10_GBPS;
	answer(1, 0, 0xC001);
	KUNIT_EXPECT_EQ(test, (int)world->static_rate, (int)IB_RATE_10_GBPS);
	listed(2, true);
	answer_spoilt(2, no_rate, 0xC002);
	KUNIT_EXPECT_EQ(test, (int)find(2)->state, IPOIB_MCAST_JOINED);
	KUNIT_EXPECT_EQ(test, (int)world->static_rate, (int)IB_RATE_PORT_CURRENT);
	KUNIT_EXPECT_EQ(test, intf->stat_joins_odd, 2ULL);
	KUNIT_EXPECT_EQ(test, intf->stat_joins_wrong, 0ULL);
}

/* As Omni-Path's fabric manager has it. */
static void a_q_key_of_0(struct kunit *test)
{
	sa.qkey = 0xB1B;
	sa.members[0].rec.qkey = 0;
	answer(0, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)world->intf->broadcast->state, IPOIB_MCAST_JOINED);
	KUNIT_EXPECT_EQ(test, sa.qkey, 0U);
	KUNIT_EXPECT_EQ(test, world->intf->stat_joins_wrong, 0ULL);
}

/* They say nothing against what is known, however many come. */
static void wrong_answers_keep_the_handle(struct kunit *test)
{
	struct ipoib_mcast *broadcast = world->intf->broadcast;
	u32 n;

	join_broadcast(test);
	answer(0, -ENETRESET, 0);
	for (n = 1; n <= WRONG; n++) {
		answer_spoilt(n, wrong[n - 1], 0xC009);
		KUNIT_EXPECT_NOT_NULL(test, broadcast->dest.ah);
		KUNIT_EXPECT_EQ(test, sa.attached_lid, 0xC000);
		KUNIT_EXPECT_FALSE(test, sa.left[n]);	/* packets still come */
		skip_leave_and_backoff(broadcast);
	}
	KUNIT_EXPECT_EQ(test, be16_to_cpu(broadcast->rec.mlid), 0xC000);
	answer(n, 0, 0xC005);
	KUNIT_EXPECT_EQ(test, sa.attached_lid, 0xC005);
}

/* The SA loses one that is kept: it is asked at once; the port goes down: it is not told. */
static void a_kept_membership_is_lost(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;

	answer_spoilt(0, no_mtu, 0xC000);
	KUNIT_EXPECT_FALSE(test, sa.left[0]);
	answer(0, -ENETRESET, 0);
	KUNIT_EXPECT_TRUE(test, sa.left[0]);
	KUNIT_ASSERT_EQ(test, sa.joins, 2U);
	answer_spoilt(1, no_mtu, 0xC000);
	intf->port_state = IB_PORT_DOWN;
	ipoib_mcast_restart(intf);
	world_settle();
	KUNIT_EXPECT_FALSE(test, sa.left[1]);
	intf->port_state = IB_PORT_ACTIVE;
	ipoib_mcast_restart(intf);
	world_settle();
	KUNIT_EXPECT_TRUE(test, sa.left[1]);
	KUNIT_ASSERT_EQ(test, sa.joins, 3U);
	answer(2, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)intf->broadcast->state, IPOIB_MCAST_JOINED);
}

/* A status counts, whatever comes with it. */
static void a_refusal_with_a_record(struct kunit *test)
{
	answer(0, -EINVAL, 0xC000);
	KUNIT_EXPECT_EQ(test, (int)world->intf->broadcast->state, IPOIB_MCAST_IDLE);
	KUNIT_EXPECT_NULL(test, world->intf->broadcast->dest.ah);
	KUNIT_EXPECT_TRUE(test, sa.left[0]);
	KUNIT_EXPECT_EQ(test, world->intf->stat_joins_wrong, 0ULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(wrong_answers),
	KUNIT_CASE(what_others_need_not_have),
	KUNIT_CASE(odd_answers),
	KUNIT_CASE(a_q_key_of_0),
	KUNIT_CASE(wrong_answers_keep_the_handle),
	KUNIT_CASE(a_kept_membership_is_lost),
	KUNIT_CASE(a_refusal_with_a_record),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_mcast_answer",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: memberships whose record is wrong, or odd");
