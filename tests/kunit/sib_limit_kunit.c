// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Numbers of objects: as many as are advertised, and not one more; of these, what a
 * process may have, and what the kernel has in any case.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "limit.c"

/* As sib has them itself */
static void init(struct sib_limit *limit)
{
	*limit = (struct sib_limit){};
	sib_limit_init(limit, 65536, 8192);
}

static void exhaust(struct kunit *test)
{
	static const enum sib_kind kinds[] = {
		SIB_KIND_AH, SIB_KIND_CQ, SIB_KIND_MCAST, SIB_KIND_MR, SIB_KIND_PD, SIB_KIND_QP,
		SIB_KIND_SRQ,
	};
	struct sib_limit limit;
	int i, n;

	init(&limit);
	KUNIT_ASSERT_EQ(test, (int)ARRAY_SIZE(kinds), (int)SIB_KINDS);
	for (i = 0; i < SIB_KINDS; i++) {
		KUNIT_ASSERT_GT(test, limit.max[kinds[i]], 0);
		for (n = 0; n < limit.max[kinds[i]]; n++)
			KUNIT_ASSERT_EQ(test, sib_limit_take(&limit, NULL, kinds[i]), 0);
		KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, NULL, kinds[i]), -ENOMEM);
		KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, NULL, kinds[i]), -ENOMEM);
	}
}

/* Each kind for itself; what was given back can be had again. */
static void give_back(struct kunit *test)
{
	struct sib_limit limit;
	int n;

	init(&limit);
	for (n = 0; n < limit.max[SIB_KIND_PD]; n++)
		KUNIT_ASSERT_EQ(test, sib_limit_take(&limit, NULL, SIB_KIND_PD), 0);
	KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, NULL, SIB_KIND_PD), -ENOMEM);
	KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, NULL, SIB_KIND_QP), 0);
	sib_limit_give(&limit, NULL, SIB_KIND_PD);
	KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, NULL, SIB_KIND_PD), 0);
	KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, NULL, SIB_KIND_PD), -ENOMEM);
}

/* Take for a process what can be had, and return how much that was. */
static int take_all(struct sib_limit *limit, struct sib_share *share, enum sib_kind kind)
{
	int n = 0;

	while (!sib_limit_take(limit, share, kind))
		n++;
	return n;
}

/* One process has half, all together leave an eighth, which is the kernel's. */
static void processes(struct kunit *test)
{
	struct sib_share one = {}, other = {}, third = {};
	struct sib_limit limit;
	int max, i;

	init(&limit);
	max = limit.max[SIB_KIND_QP];
	KUNIT_EXPECT_EQ(test, take_all(&limit, &one, SIB_KIND_QP), max / 2);
	KUNIT_EXPECT_EQ(test, take_all(&limit, &other, SIB_KIND_QP), max / 2 - max / 8);
	KUNIT_EXPECT_EQ(test, take_all(&limit, &third, SIB_KIND_QP), 0);
	KUNIT_EXPECT_EQ(test, take_all(&limit, &third, SIB_KIND_PD), max / 2);
	KUNIT_EXPECT_EQ(test, take_all(&limit, NULL, SIB_KIND_QP), max / 8);
	sib_limit_give(&limit, &one, SIB_KIND_QP);
	KUNIT_EXPECT_EQ(test, take_all(&limit, &third, SIB_KIND_QP), 1);
	for (i = 0; i < SIB_KINDS; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&limit.by_processes[i]),
				atomic_read(&one.used[i]) + atomic_read(&other.used[i]) +
				atomic_read(&third.used[i]));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(exhaust),
	KUNIT_CASE(give_back),
	KUNIT_CASE(processes),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_limit",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of numbers of objects");
MODULE_LICENSE("Dual MIT/GPL");
