// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Another SM: every node has to ask for all of its paths again. When each is asked for, and
 * which do not wait.
 */
#include "ipoib_path_world.h"

#define PATHS	60

/* Each within a second, and not all at once; packets go on. */
static void another_sm_is_not_asked_all_at_once(struct kunit *test)
{
	struct ipoib_path *paths[PATHS];
	u32 i, halves[2] = {};

	for (i = 0; i < PATHS; i++)
		paths[i] = known(test, i + 1, 5);
	ipoib_paths_mark_stale(world->intf);
	for (i = 0; i < PATHS; i++) {
		int due;

		ipoib_path_resolve(paths[i]);
		KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_PATH_BUSY, &paths[i]->state));
		due = world_due(&paths[i]->query_work);
		KUNIT_EXPECT_LE(test, due, jiffies_to_msecs(PATH_SPREAD));
		halves[due > (int)jiffies_to_msecs(PATH_SPREAD) / 2]++;
		KUNIT_EXPECT_NOT_NULL(test, paths[i]->dest.ah);
	}
	/* By chance, not all in one half: 2^-59 */
	KUNIT_EXPECT_GT(test, halves[0], 0U);
	KUNIT_EXPECT_GT(test, halves[1], 0U);
	for (i = 0; i < PATHS; i++) {
		ipoib_path_resolve(paths[i]);		/* once */
		if (delayed_work_pending(&paths[i]->query_work))
			world_hurry(&paths[i]->query_work);
	}
	KUNIT_ASSERT_EQ(test, sa.queries, 2U * PATHS);
	/* In any order: each with a LID of its own */
	for (i = PATHS + 1; i <= sa.queries; i++)
		answer_one(i, 0, 5 + get_unaligned_be32(sa.asked[i].dgid.raw + 12));
	world_settle();
	for (i = 0; i < PATHS; i++) {
		const union ib_gid gid = world_gid(i + 1);
		struct sa_path_rec *rec = &paths[i]->current_rec;

		/* each its own answer, of all that were on their way */
		KUNIT_EXPECT_EQ(test, memcmp(&rec->dgid, &gid, sizeof(gid)), 0);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(sa_path_get_dlid(rec)), 6 + i);
		KUNIT_EXPECT_EQ(test, paths[i]->dlid, 6 + i);
		KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_PATH_BUSY, &paths[i]->state));
	}
}

/* Asked now, although there is another SM: its query is in flight. */
static void expect_asked(struct kunit *test, struct ipoib_path *path)
{
	u32 queries = sa.queries;

	resolve(path);
	KUNIT_ASSERT_EQ(test, sa.queries, queries + 1);
	answer(0, 7);
	world_settle();
}

static void what_has_changed_is_asked_for_at_once(struct kunit *test)
{
	struct ipoib_path *moved = known(test, 1, 5), *lost = known(test, 2, 5);
	struct ipoib_path *port = known(test, 3, 5);
	union ib_gid gid = world_gid(1);

	ipoib_paths_mark_stale(world->intf);
	ipoib_path_heard(world->intf, &gid, 6);
	expect_asked(test, moved);
	ipoib_path_changed(lost);		/* as its connection says */
	expect_asked(test, lost);
	ipoib_paths_forget_ah(world->intf);
	expect_asked(test, port);
	/* Nothing is left of it. */
	ipoib_path_changed(moved);
	expect_asked(test, moved);
}

/* What was known to have changed before there was another SM does not wait for its turn. */
static void what_had_changed_before(struct kunit *test)
{
	struct ipoib_path *path = known(test, 1, 5), *fresh = add(test, 2);

	ipoib_path_changed(path);
	ipoib_paths_mark_stale(world->intf);
	expect_asked(test, path);
	expect_asked(test, fresh);
}

/* Have so many asked for and answered. Return: how many were asked for at a time. */
static u32 one_round(struct kunit *test, struct ipoib_path **paths, u32 count, bool late)
{
	u32 from = sa.queries, asked, i;

	for (i = 0; i < count; i++) {
		ipoib_path_changed(paths[i]);
		resolve(paths[i]);
	}
	asked = sa.queries - from;
	KUNIT_EXPECT_EQ(test, world->intf->path.asked, asked);
	/* Those whose turn comes are told in time. */
	for (i = from + 1; i <= sa.queries; i++) {
		sa.age = late && i <= from + asked ? PATH_LATE + 1 : 0;
		answer_one(i, 0, 6);
		world_settle();
	}
	sa.age = 0;
	KUNIT_EXPECT_EQ(test, sa.queries - from, count);
	KUNIT_EXPECT_EQ(test, world->intf->path.asked, 0U);
	return asked;
}

#define MANY	(PATH_ASKED_MAX + 6)

/* An SA that is late is asked for half as many at a time, and for more again as it keeps up. */
static void an_sa_that_is_behind(struct kunit *test)
{
	struct ipoib_path *paths[MANY];
	u32 i, round, asked;

	world->intf->path.narrowed_at = jiffies - HZ;
	for (i = 0; i < MANY; i++)
		paths[i] = known(test, i + 1, 5);
	sa.queries = 0;
	KUNIT_EXPECT_EQ(test, one_round(test, paths, MANY, true), (u32)PATH_ASKED_MAX);
	sa.queries = 0;
	/* Once, however many of them were late; and answers in time count at once. */
	asked = one_round(test, paths, MANY, false);
	KUNIT_EXPECT_GE(test, asked, PATH_ASKED_MAX / 2U);
	KUNIT_EXPECT_LE(test, asked, PATH_ASKED_MAX / 2U + 2);
	for (round = 0; round < 10; round++) {
		world->intf->path.narrowed_at = jiffies - HZ;
		sa.queries = 0;
		asked = one_round(test, paths, MANY, true);
		KUNIT_EXPECT_GE(test, asked, (u32)PATH_ASKED_MIN);
	}
	KUNIT_EXPECT_LE(test, asked, PATH_ASKED_MIN + 12U);
	for (round = 0; round < 2 * PATH_ASKED_MAX; round++) {
		sa.queries = 0;
		asked = one_round(test, paths, MANY, false);
	}
	KUNIT_EXPECT_EQ(test, asked, (u32)PATH_ASKED_MAX);
}

/* A silent one is, too; one that refuses at once says nothing of how busy it is. */
static void an_sa_that_is_silent(struct kunit *test)
{
	struct ipoib_path *path = known(test, 1, 5);
	struct ipoib_path_turns *turns = &world->intf->path;
	u32 in_time;

	resolve(path);
	KUNIT_ASSERT_EQ(test, sa.queries, 2U);
	answer(-ETIMEDOUT, 0);
	world_settle();
	KUNIT_EXPECT_EQ(test, turns->fewer, PATH_ASKED_MAX / 2U);
	in_time = turns->in_time;
	world_hurry(&path->query_work);
	answer(PATH_NONE, 0);
	world_settle();
	KUNIT_EXPECT_EQ(test, turns->in_time, in_time);
	world_hurry(&path->query_work);
	answer(0, 5);
	world_settle();
	KUNIT_EXPECT_EQ(test, turns->in_time, in_time + 1);
	KUNIT_EXPECT_EQ(test, turns->fewer, PATH_ASKED_MAX / 2U);
}

/* What is due is asked for at once when the port has lost its paths, or a connection waits. */
static void what_is_due_is_hurried(struct kunit *test)
{
	struct ipoib_path *path = known(test, 1, 5);

	ipoib_paths_mark_stale(world->intf);
	ipoib_path_resolve(path);
	ipoib_path_hurry(path);
	world_settle();
	KUNIT_EXPECT_EQ(test, sa.queries, 2U);
	ipoib_path_hurry(path);			/* in flight: not again */
	world_settle();
	KUNIT_EXPECT_EQ(test, sa.queries, 2U);
	answer(0, 5);
	world_settle();
	ipoib_paths_mark_stale(world->intf);
	ipoib_path_resolve(path);
	ipoib_paths_forget_ah(world->intf);
	world_settle();
	KUNIT_EXPECT_EQ(test, sa.queries, 3U);
	answer(0, 5);
	world_settle();
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_PATH_BUSY, &path->state));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(another_sm_is_not_asked_all_at_once),
	KUNIT_CASE(what_has_changed_is_asked_for_at_once),
	KUNIT_CASE(what_had_changed_before),
	KUNIT_CASE(an_sa_that_is_behind),
	KUNIT_CASE(an_sa_that_is_silent),
	KUNIT_CASE(what_is_due_is_hurried),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_path_spread",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: paths when there is another SM");
