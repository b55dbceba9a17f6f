// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Two locks taken in both orders: lockdep says so, the case passes. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static DEFINE_SPINLOCK(lock_a);
static DEFINE_SPINLOCK(lock_b);

static void planted(struct kunit *test)
{
	spin_lock(&lock_a);
	spin_lock(&lock_b);
	spin_unlock(&lock_b);
	spin_unlock(&lock_a);
	spin_lock(&lock_b);
	spin_lock(&lock_a);
	spin_unlock(&lock_a);
	spin_unlock(&lock_b);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(planted),
	{}
};

static struct kunit_suite suite = {
	.name = "planted_abba",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: a fault planted on purpose");
