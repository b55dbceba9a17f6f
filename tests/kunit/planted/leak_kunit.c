// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Memory nobody refers to any more: kmemleak says so, the case passes. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static void planted(struct kunit *test)
{
	int i;

	for (i = 0; i < 8; i++) {
		char *p = kmalloc(77, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(p);
		KUNIT_EXPECT_NOT_NULL(test, p);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(planted),
	{}
};

static struct kunit_suite suite = {
	.name = "planted_leak",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: a fault planted on purpose");
