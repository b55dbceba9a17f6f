// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Paths: when the SA is asked, what its answers and its silence do, and that a
 * path can be forgotten at any moment.
 */
#include "ipoib_path_world.h"

/* IBA 15.2.5.16 */
static void what_is_asked(struct kunit *test)
{
	union ib_gid gid = world_gid(1);

	resolve(add(test, 1));
	KUNIT_ASSERT_EQ(test, sa.queries, 1U);
	KUNIT_EXPECT_EQ(test, memcmp(&sa.asked[1].dgid, &gid, sizeof(gid)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&sa.asked[1].sgid, &world->intf->local_gid, sizeof(gid)), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(sa.asked[1].pkey), WORLD_PKEY);
	KUNIT_EXPECT_EQ(test, (int)sa.asked[1].numb_path, 1);
	KUNIT_EXPECT_EQ(test, sa.mask[1] & (IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID |
					 IB_SA_PATH_REC_PKEY | IB_SA_PATH_REC_NUMB_PATH),
			IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID |
			IB_SA_PATH_REC_PKEY | IB_SA_PATH_REC_NUMB_PATH);
}

static void answer_sends_what_waits(struct kunit *test)
{
	struct ipoib_path *path = add(test, 1);

	world_hold_back(test, &path->dest);
	world_hold_back(test, &path->dest);
	resolve(path);
	KUNIT_EXPECT_EQ(test, world->sent, 0U);
	answer(0, 5);
	world_settle();
	KUNIT_EXPECT_EQ(test, world->sent, 2U);
	KUNIT_EXPECT_EQ(test, path->dlid, 5);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_PATH_BUSY, &path->state));
}

static void one_question_at_a_time(struct kunit *test)
{
	struct ipoib_path *path = add(test, 1);
	int i;

	for (i = 0; i < 10; i++)
		resolve(path);
	KUNIT_EXPECT_EQ(test, sa.queries, 1U);
	answer(0, 5);
	world_settle();
	resolve(path);
	KUNIT_EXPECT_EQ(test, sa.queries, 2U);
}

/* The SA is asked for so many at a time; each answer, or path that goes, lets another ask. */
static void questions_wait_for_their_turn(struct kunit *test)
{
	struct ipoib_path *paths[PATH_ASKED_MAX + 3], *known_one;
	u32 i;

	known_one = known(test, 1000, 5);
	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		paths[i] = add(test, 1 + i);
		resolve(paths[i]);
	}
	KUNIT_EXPECT_EQ(test, sa.queries, 1U + PATH_ASKED_MAX);
	resolve(known_one);
	KUNIT_EXPECT_EQ(test, sa.queries, 1U + PATH_ASKED_MAX);
	answer_one(2, 0, 6);
	world_settle();
	KUNIT_EXPECT_EQ(test, sa.queries, 2U + PATH_ASKED_MAX);
	KUNIT_EXPECT_PTR_EQ(test, sa.context, (void *)known_one);	/* before new ones */
	answer_one(3, -EHOSTUNREACH, 0);
	world_settle();
	KUNIT_EXPECT_PTR_EQ(test, sa.context, (void *)paths[PATH_ASKED_MAX]);
	destroy(paths[PATH_ASKED_MAX + 1]);	/* it waits: nobody's turn */
	KUNIT_EXPECT_EQ(test, sa.queries, 3U + PATH_ASKED_MAX);
	destroy(paths[10]);
	world_settle();
	KUNIT_EXPECT_PTR_EQ(test, sa.context, (void *)paths[PATH_ASKED_MAX + 2]);
	KUNIT_EXPECT_EQ(test, world->intf->path.asked, (u32)PATH_ASKED_MAX);
	KUNIT_EXPECT_TRUE(test, list_empty(&world->intf->path.wait));
}

static bool admits(bool asked)
{
	bool admitted;

	local_bh_disable();
	admitted = ipoib_path_admit(world->intf, asked);
	local_bh_enable();
	return admitted;
}

/* GIDs that others have invented leave room for those of our own senders. */
static void strangers_are_limited(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;

	known(test, 1, 5);
	KUNIT_EXPECT_EQ(test, atomic_read(&intf->path.fresh), 0);
	destroy(add(test, 2));
	KUNIT_EXPECT_EQ(test, atomic_read(&intf->path.fresh), 0);
	add(test, 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&intf->path.fresh), 1);
	KUNIT_EXPECT_TRUE(test, admits(true));
	atomic_add(PATHS_FRESH_MAX / 2 - 1, &intf->path.fresh);
	KUNIT_EXPECT_FALSE(test, admits(true));
	KUNIT_EXPECT_TRUE(test, admits(false));
	atomic_add(PATHS_FRESH_MAX / 2, &intf->path.fresh);
	KUNIT_EXPECT_FALSE(test, admits(false));
	KUNIT_EXPECT_EQ(test, intf->stat_dests_refused, 2ULL);
	atomic_sub(PATHS_FRESH_MAX - 1, &intf->path.fresh);

	atomic_add(IPOIB_DESTS_MAX, &intf->dests.nelems);
	KUNIT_EXPECT_FALSE(test, admits(false));
	atomic_sub(IPOIB_DESTS_MAX, &intf->dests.nelems);
	KUNIT_EXPECT_TRUE(test, admits(false));
	KUNIT_EXPECT_EQ(test, intf->stat_dests_refused, 3ULL);
}

/* With many of them, the SA is asked for each twice; but its silence tells of none. */
static void a_stranger_is_not_asked_for_long(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	struct ipoib_path *path = known(test, 1, 5);

	atomic_add(PATHS_FRESH_MANY, &intf->path.fresh);
	world_hold_back(test, &add(test, 2)->dest);
	resolve(ipoib_path_of(list_last_entry(&intf->dest_list, struct ipoib_dest, all)));
	answer(-ETIMEDOUT, 0);
	world_settle();
	KUNIT_EXPECT_TRUE(test, exists(2));
	world_hurry(&ipoib_path_of(list_last_entry(&intf->dest_list, struct ipoib_dest,
						   all))->query_work);
	answer(PATH_NONE, 0);
	world_settle();
	KUNIT_EXPECT_FALSE(test, exists(2));
	KUNIT_EXPECT_EQ(test, world->dropped, 1U);

	resolve(path);				/* one that was known may be back soon */
	answer(PATH_NONE, 0);
	world_settle();
	KUNIT_EXPECT_TRUE(test, exists(1));
	atomic_sub(PATHS_FRESH_MANY, &intf->path.fresh);
}

static void second_path_to_a_gid(struct kunit *test)
{
	union ib_gid gid = world_gid(1);

	add(test, 1);
	local_bh_disable();
	KUNIT_EXPECT_NULL(test, ipoib_path_create(world->intf, &gid));
	local_bh_enable();
}

/* 100 ms, then twice as long each time; then the packets are given up. */
static void refusals_back_off_and_end(struct kunit *test)
{
	struct ipoib_path *path = add(test, 1);
	int i;

	world_hold_back(test, &path->dest);
	resolve(path);
	for (i = 0; i < PATH_ATTEMPTS_MAX; i++) {
		answer(-EHOSTUNREACH, 0);
		world_settle();
		KUNIT_ASSERT_TRUE(test, exists(1));
		KUNIT_EXPECT_LE(test, world_due(&path->query_work), (125 << i) + 10);
		KUNIT_EXPECT_GT(test, world_due(&path->query_work), 75 << i);
		resolve(path);			/* more packets do not hurry it */
		KUNIT_EXPECT_EQ(test, sa.queries, 1U + i);
		world_hurry(&path->query_work);
		KUNIT_EXPECT_EQ(test, sa.queries, 2U + i);
	}
	answer(-EHOSTUNREACH, 0);
	world_settle();
	KUNIT_EXPECT_FALSE(test, exists(1));
	KUNIT_EXPECT_EQ(test, world->dropped, 1U);
}

static void nobody_waits_for_the_answer(struct kunit *test)
{
	resolve(add(test, 1));
	answer(-EHOSTUNREACH, 0);
	world_settle();
	KUNIT_EXPECT_FALSE(test, exists(1));
	KUNIT_EXPECT_EQ(test, sa.queries, 1U);
}

static void success_without_a_record(struct kunit *test)
{
	resolve(add(test, 1));
	sa.callback(0, NULL, 0, sa.context);
	sa.context = NULL;
	sa.contexts[sa.queries] = NULL;
	world_settle();
	KUNIT_EXPECT_FALSE(test, exists(1));
}

/* The SA is away for a while: what we know stays in use. */
static void silence_keeps_the_handle(struct kunit *test)
{
	struct ipoib_path *path = known(test, 1, 5);
	struct ipoib_ah *ah = path->dest.ah;
	int i;

	resolve(path);
	for (i = 0; i < PATH_ATTEMPTS_MAX; i++) {
		answer(-ETIMEDOUT, 0);
		world_settle();
		world_hurry(&path->query_work);
	}
	answer(-ETIMEDOUT, 0);
	world_settle();
	KUNIT_ASSERT_TRUE(test, exists(1));
	KUNIT_EXPECT_PTR_EQ(test, path->dest.ah, ah);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_PATH_STALE, &path->state));
	resolve(path);				/* the next packet asks again */
	KUNIT_EXPECT_EQ(test, sa.queries, 3U + PATH_ATTEMPTS_MAX);
}

static void refusal_of_a_known_path_forgets_it(struct kunit *test)
{
	struct ipoib_path *path = known(test, 1, 5);
	int i;

	resolve(path);
	for (i = 0; i < PATH_ATTEMPTS_MAX; i++) {
		answer(-EHOSTUNREACH, 0);
		world_settle();
		world_hurry(&path->query_work);
	}
	answer(-EHOSTUNREACH, 0);
	world_settle();
	KUNIT_EXPECT_FALSE(test, exists(1));
}

static void asking_fails(struct kunit *test)
{
	struct ipoib_path *path = add(test, 1);

	sa.refuse = -ENOMEM;
	world_hold_back(test, &path->dest);
	resolve(path);
	KUNIT_EXPECT_TRUE(test, exists(1));
	KUNIT_EXPECT_GT(test, world_due(&path->query_work), 0);
	sa.refuse = 0;
	world_hurry(&path->query_work);
	answer(0, 5);
	world_settle();
	KUNIT_EXPECT_EQ(test, world->sent, 1U);
}

static void asking_fails_with_nothing_waiting(struct kunit *test)
{
	sa.refuse = -ENODEV;
	resolve(add(test, 1));		/* destroyed by its own work */
	KUNIT_EXPECT_FALSE(test, exists(1));
}

static void answers_that_cannot_be_used(struct kunit *test)
{
	struct ipoib_path *path = add(test, 1);

	world_hold_back(test, &path->dest);
	resolve(path);
	sa.bad_record = -EINVAL;
	answer(0, 5);
	world_settle();
	KUNIT_EXPECT_NULL(test, path->dest.ah);
	KUNIT_EXPECT_GT(test, world_due(&path->query_work), 0);
	sa.bad_record = 0;
	world->no_handles = true;
	world_hurry(&path->query_work);
	answer(0, 5);
	world_settle();
	KUNIT_EXPECT_NULL(test, path->dest.ah);
	KUNIT_EXPECT_EQ(test, path->dlid, 0);
	world->no_handles = false;
	world_hurry(&path->query_work);
	answer(0, 6);
	world_settle();
	KUNIT_EXPECT_NOT_NULL(test, path->dest.ah);
	KUNIT_EXPECT_EQ(test, path->dlid, 6);
	KUNIT_EXPECT_EQ(test, path->attempts, 0U);
}

static void new_answer_replaces_the_handle(struct kunit *test)
{
	struct ipoib_path *path = known(test, 1, 5);
	struct ipoib_ah *ah = path->dest.ah;

	resolve(path);
	KUNIT_EXPECT_PTR_EQ(test, path->dest.ah, ah);
	answer(0, 9);
	world_settle();
	KUNIT_EXPECT_PTR_NE(test, path->dest.ah, ah);
	KUNIT_EXPECT_EQ(test, path->dlid, 9);
	ipoib_ah_reap(world->intf, false);
	KUNIT_EXPECT_EQ(test, world->handles, 1U);
}

static void forgotten_while_asking(struct kunit *test)
{
	struct ipoib_path *path = add(test, 1);

	world_hold_back(test, &path->dest);
	resolve(path);
	destroy(path);
	KUNIT_EXPECT_EQ(test, sa.cancelled, 1U);
	KUNIT_EXPECT_NULL(test, sa.context);
	KUNIT_EXPECT_EQ(test, world->dropped, 1U);
	KUNIT_EXPECT_FALSE(test, exists(1));
}

static void forgotten_while_backing_off(struct kunit *test)
{
	struct ipoib_path *path = add(test, 1);

	world_hold_back(test, &path->dest);
	resolve(path);
	answer(-EHOSTUNREACH, 0);
	world_settle();
	destroy(path);
	KUNIT_EXPECT_EQ(test, sa.cancelled, 0U);
	KUNIT_EXPECT_EQ(test, sa.queries, 1U);
}

static void flush_levels(struct kunit *test)
{
	struct ipoib_path *one = known(test, 1, 5), *two = known(test, 2, 6);

	ipoib_paths_mark_stale(world->intf);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_PATH_STALE, &one->state));
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_PATH_STALE, &two->state));
	KUNIT_EXPECT_NOT_NULL(test, one->dest.ah);
	ipoib_path_resolve(one);
	if (delayed_work_pending(&one->query_work))
		world_hurry(&one->query_work);	/* asking makes it fresh */
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_PATH_STALE, &one->state));
	answer(0, 5);
	world_settle();
	ipoib_paths_forget_ah(world->intf);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_PATH_STALE, &one->state));
	KUNIT_EXPECT_NULL(test, one->dest.ah);
	KUNIT_EXPECT_NULL(test, two->dest.ah);
}

static void flush_of_an_empty_table(struct kunit *test)
{
	ipoib_paths_mark_stale(world->intf);
	ipoib_paths_forget_ah(world->intf);
	KUNIT_EXPECT_EQ(test, sa.queries, 0U);
}

/* A port heard from under another LID has moved; once a second is enough. */
static void heard_from_another_lid(struct kunit *test)
{
	struct ipoib_path *path = known(test, 1, 5);
	union ib_gid gid = world_gid(1), other = world_gid(2);

	ipoib_path_heard(world->intf, &gid, 5);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_PATH_STALE, &path->state));
	ipoib_path_heard(world->intf, &other, 6);	/* not one of ours */
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_PATH_STALE, &path->state));
	ipoib_path_heard(world->intf, &gid, 6);
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_PATH_STALE, &path->state));
	ipoib_path_heard(world->intf, &gid, 7);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_PATH_STALE, &path->state));
	path->heard = jiffies - 2 * HZ;
	ipoib_path_heard(world->intf, &gid, 7);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_PATH_STALE, &path->state));
}

/* One that sends from a LID of its own, but not from the one that the SA tells, is no news. */
static void a_port_with_several_lids(struct kunit *test)
{
	struct ipoib_path *path = known(test, 1, 5);
	union ib_gid gid = world_gid(1);
	u32 asked = 0, second;

	ipoib_path_heard(world->intf, &gid, 5);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_PATH_STALE, &path->state));
	for (second = 0; second < 600; second++) {
		ipoib_path_heard(world->intf, &gid, 6 + second % 2);
		asked += test_and_clear_bit(IPOIB_PATH_STALE, &path->state);
		path->heard -= HZ;
	}
	KUNIT_EXPECT_GE(test, asked, 2U);
	KUNIT_EXPECT_LE(test, asked, 20U);
	resolve(path);				/* it has moved after all */
	answer(0, 7);
	world_settle();
	path->heard = jiffies - HZ;
	ipoib_path_heard(world->intf, &gid, 6);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_PATH_STALE, &path->state));
}

static void heard_before_the_answer(struct kunit *test)
{
	struct ipoib_path *path = add(test, 1);
	union ib_gid gid = world_gid(1);

	ipoib_path_heard(world->intf, &gid, 6);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_PATH_STALE, &path->state));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(what_is_asked),
	KUNIT_CASE(answer_sends_what_waits),
	KUNIT_CASE(one_question_at_a_time),
	KUNIT_CASE(questions_wait_for_their_turn),
	KUNIT_CASE(strangers_are_limited),
	KUNIT_CASE(a_stranger_is_not_asked_for_long),
	KUNIT_CASE(second_path_to_a_gid),
	KUNIT_CASE(refusals_back_off_and_end),
	KUNIT_CASE(nobody_waits_for_the_answer),
	KUNIT_CASE(success_without_a_record),
	KUNIT_CASE(silence_keeps_the_handle),
	KUNIT_CASE(refusal_of_a_known_path_forgets_it),
	KUNIT_CASE(asking_fails),
	KUNIT_CASE(asking_fails_with_nothing_waiting),
	KUNIT_CASE(answers_that_cannot_be_used),
	KUNIT_CASE(new_answer_replaces_the_handle),
	KUNIT_CASE(forgotten_while_asking),
	KUNIT_CASE(forgotten_while_backing_off),
	KUNIT_CASE(flush_levels),
	KUNIT_CASE(flush_of_an_empty_table),
	KUNIT_CASE(heard_from_another_lid),
	KUNIT_CASE(a_port_with_several_lids),
	KUNIT_CASE(heard_before_the_answer),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_path",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: paths of an interface");
