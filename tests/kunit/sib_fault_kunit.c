// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Faults of an HCA: so many requests complete as they are told to, and no others.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "fault.h"

static void every_status(struct kunit *test)
{
	struct sib_fault_wc wc = {};
	u32 status;

	for (status = IB_WC_LOC_LEN_ERR; status <= IB_WC_GENERAL_ERR; status++) {
		wc = (struct sib_fault_wc) { .left = 2, .status = status };
		KUNIT_EXPECT_EQ(test, (u32)sib_fault_status(&wc, 5, IB_WC_SUCCESS), status);
		KUNIT_EXPECT_EQ(test, (u32)sib_fault_status(&wc, 6, IB_WC_SUCCESS), status);
		KUNIT_EXPECT_EQ(test, (int)sib_fault_status(&wc, 5, IB_WC_SUCCESS),
				(int)IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, wc.left, 0U);
	}
}

/* What fails by itself, and what ib_mad has, does not count. */
static void spared(struct kunit *test)
{
	struct sib_fault_wc wc = { .left = 1, .status = IB_WC_GENERAL_ERR };

	KUNIT_EXPECT_EQ(test, (int)sib_fault_status(&wc, 0, IB_WC_SUCCESS), (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)sib_fault_status(&wc, 1, IB_WC_SUCCESS), (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)sib_fault_status(&wc, 2, IB_WC_WR_FLUSH_ERR),
			(int)IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, wc.left, 1U);
}

/* What is written may be any number. */
static void no_such_status(struct kunit *test)
{
	struct sib_fault_wc wc = { .left = 1, .status = U32_MAX };

	KUNIT_EXPECT_EQ(test, (int)sib_fault_status(&wc, 2, IB_WC_SUCCESS),
			(int)IB_WC_GENERAL_ERR);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(every_status),
	KUNIT_CASE(spared),
	KUNIT_CASE(no_such_status),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_fault",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of faults of an HCA");
MODULE_LICENSE("Dual MIT/GPL");
