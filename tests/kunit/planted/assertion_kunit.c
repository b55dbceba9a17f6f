// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* An expectation that does not hold. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static void planted(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 1, 2);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(planted),
	{}
};

static struct kunit_suite suite = {
	.name = "planted_assertion",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: a fault planted on purpose");
