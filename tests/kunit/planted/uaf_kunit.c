// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Memory used after it has been freed: KASAN says so, the case passes. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static void planted(struct kunit *test)
{
	char *p = kmalloc(64, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(p[8], 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(planted),
	{}
};

static struct kunit_suite suite = {
	.name = "planted_uaf",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: a fault planted on purpose");
