// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Numbers of objects: as many as are advertised, and not one more.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "limit.c"

static void exhaust(struct kunit *test)
{
	static const enum sib_kind kinds[] = {
		SIB_KIND_AH, SIB_KIND_CQ, SIB_KIND_MR, SIB_KIND_PD, SIB_KIND_QP, SIB_KIND_SRQ,
	};
	struct sib_limit limit = {};
	int i, n;

	KUNIT_ASSERT_EQ(test, (int)ARRAY_SIZE(kinds), (int)SIB_KINDS);
	for (i = 0; i < SIB_KINDS; i++) {
		KUNIT_ASSERT_GT(test, sib_limit_max(kinds[i]), 0);
		for (n = 0; n < sib_limit_max(kinds[i]); n++)
			KUNIT_ASSERT_EQ(test, sib_limit_take(&limit, kinds[i]), 0);
		KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, kinds[i]), -ENOMEM);
		KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, kinds[i]), -ENOMEM);
	}
}

/* Each kind for itself; what was given back can be had again. */
static void give_back(struct kunit *test)
{
	struct sib_limit limit = {};
	int n;

	for (n = 0; n < sib_limit_max(SIB_KIND_PD); n++)
		KUNIT_ASSERT_EQ(test, sib_limit_take(&limit, SIB_KIND_PD), 0);
	KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, SIB_KIND_PD), -ENOMEM);
	KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, SIB_KIND_QP), 0);
	sib_limit_give(&limit, SIB_KIND_PD);
	KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, SIB_KIND_PD), 0);
	KUNIT_EXPECT_EQ(test, sib_limit_take(&limit, SIB_KIND_PD), -ENOMEM);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(exhaust),
	KUNIT_CASE(give_back),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_limit",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of numbers of objects");
MODULE_LICENSE("Dual MIT/GPL");
