// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Groups that are only sent to: how they are joined, and what packets wait for. */
#include "ipoib_mcast_world.h"

static struct ipoib_mcast *send_to(struct kunit *test, u32 n)
{
	u8 hwaddr[INFINIBAND_ALEN];
	struct ipoib_dest *dest;
	union ib_gid mgid;

	group(n, hwaddr);
	mgid = ipoib_hwaddr_gid(hwaddr);
	ipoib_tx_lock_all(world->intf->dev);
	dest = ipoib_mcast_create_sendonly(world->intf, &mgid);
	ipoib_tx_unlock_all(world->intf->dev);
	KUNIT_ASSERT_NOT_NULL(test, dest);
	world_hold_back(test, dest);
	world_settle();
	return ipoib_mcast_of(dest);
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

/* Its group may have ended and come back under another LID, unknown to it. */
static void a_non_member_joins_again(struct kunit *test)
{
	struct ipoib_mcast *mcast;

	join_broadcast(test);
	mcast = send_to(test, 1);
	answer(1, -EINVAL, 0);			/* of an SA that has just started */
	skip_backoff(mcast);
	answer(2, 0, 0xC001);
	KUNIT_EXPECT_GE(test, skip_backoff(mcast), 1000);
	KUNIT_ASSERT_EQ(test, sa.joins, 4U);
	KUNIT_EXPECT_TRUE(test, sa.left[2]);
	KUNIT_EXPECT_NOT_NULL(test, mcast->dest.ah);	/* sending goes on */
	KUNIT_EXPECT_EQ(test, (int)sa.asked[3].join_state, (int)BIT(SENDONLY_FULLMEMBER_JOIN));
	answer(3, 0, 0xC002);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(mcast->rec.mlid), 0xC002);
	KUNIT_EXPECT_LT(test, world_due(&world->intf->mcast_work), 0);	/* for good */
}

/* It stays one until it is its turn to ask. */
static void a_non_member_waits_for_its_turn(struct kunit *test)
{
	struct ipoib_intf *other;
	struct ipoib_mcast *mcast;
	u32 n = IPOIB_JOINS_MAX;

	join_broadcast(test);
	mcast = send_to(test, 1);
	answer(1, -EINVAL, 0);
	skip_backoff(mcast);
	answer(2, 0, 0xC001);
	other = with_all_joins(test);
	skip_backoff(mcast);
	KUNIT_EXPECT_EQ(test, sa.joins, 3U);
	KUNIT_EXPECT_FALSE(test, sa.left[2]);
	while (n--)
		ipoib_join_end(other);
	world_settle();
	KUNIT_EXPECT_EQ(test, sa.joins, 4U);
	KUNIT_EXPECT_TRUE(test, sa.left[2]);
	answer(3, 0, 0xC002);
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

static struct kunit_case cases[] = {
	KUNIT_CASE(send_only_joins),
	KUNIT_CASE(a_non_member_joins_again),
	KUNIT_CASE(a_non_member_waits_for_its_turn),
	KUNIT_CASE(packets_do_not_wait_for_ever),
	KUNIT_CASE(send_only_becomes_full),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_sendonly",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: memberships of a sender");
