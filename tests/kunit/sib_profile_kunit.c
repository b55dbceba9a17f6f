// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * HCAs to be like: each has a name of its own, and promises nothing that sib does not have.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "profile.c"

static void names(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NUM_PROFILES; i++)
		KUNIT_EXPECT_PTR_EQ(test, sib_profile_find(profiles[i].name), &profiles[i]);
	KUNIT_EXPECT_PTR_EQ(test, sib_profile_find("mlx4\n"), sib_profile_find("mlx4"));
	KUNIT_EXPECT_NULL(test, sib_profile_find("mlx"));
	KUNIT_EXPECT_NULL(test, sib_profile_find(""));
}

static void limits(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NUM_PROFILES; i++) {
		const struct sib_profile *profile = &profiles[i];

		KUNIT_EXPECT_LE(test, profile->max_qp_wr, (u32)SIB_MAX_WR);
		/* what ib_mad asks for */
		KUNIT_EXPECT_GE(test, profile->max_qp_wr, 512U);
		KUNIT_EXPECT_GE(test, profile->max_cqe, 2U * (128 + 512));
		KUNIT_EXPECT_LE(test, profile->max_srq_wr, (u32)SIB_MAX_WR);
		KUNIT_EXPECT_LE(test, profile->max_cqe, (u32)SIB_MAX_CQE);
		KUNIT_EXPECT_LE(test, (int)profile->max_send_sge, SIB_MAX_SGE);
		KUNIT_EXPECT_LE(test, (int)profile->max_recv_sge, SIB_MAX_SGE);
		KUNIT_EXPECT_LE(test, (int)profile->max_srq_sge, SIB_MAX_SGE);
		KUNIT_EXPECT_GE(test, (int)profile->vectors, 1);
		KUNIT_EXPECT_LE(test, (int)profile->vectors, SIB_VECTORS_MAX);
		KUNIT_EXPECT_GE(test, (int)profile->mtu_cap, (int)IB_MTU_2048);
		KUNIT_EXPECT_LE(test, (int)profile->mtu_cap, (int)IB_MTU_4096);
		KUNIT_EXPECT_EQ(test, !profile->max_srq, !profile->max_srq_sge);
		KUNIT_EXPECT_GE(test, (int)profile->pkeys, 1);
		KUNIT_EXPECT_LE(test, (int)profile->pkeys, SIB_NUM_PKEYS);
		/* a peer has to be able to answer before it is asked again */
		KUNIT_EXPECT_GE(test, (int)profile->ack_min_ms, 20);
		/* a CQ of the advertised size has to be possible */
		if (profile->cqe_pow2)
			KUNIT_EXPECT_TRUE(test, is_power_of_2(profile->max_cqe + 1));
	}
}

/* What the parameter is set to counts, and what it cannot be set to changes nothing. */
static void parameter(struct kunit *test)
{
	const struct sib_profile *before = sib_profile_get();

	KUNIT_EXPECT_EQ(test, profile_set("rdmavt\n", NULL), 0);
	KUNIT_EXPECT_STREQ(test, sib_profile_get()->name, "rdmavt");
	KUNIT_EXPECT_EQ(test, profile_set("rdma", NULL), -EINVAL);
	KUNIT_EXPECT_STREQ(test, sib_profile_get()->name, "rdmavt");
	WRITE_ONCE(chosen, before);
}

/* mlx5: 18 pieces take six blocks of 64 octets, of which it has 32768. */
static void blocks(struct kunit *test)
{
	const struct sib_profile *mlx5 = sib_profile_find("mlx5");
	struct ib_qp_cap cap = { .max_send_wr = 4096, .max_send_sge = 18 };

	KUNIT_EXPECT_TRUE(test, sib_profile_sends_fit(mlx5, &cap));
	cap.max_send_wr = 8192;
	KUNIT_EXPECT_FALSE(test, sib_profile_sends_fit(mlx5, &cap));
	KUNIT_EXPECT_TRUE(test, sib_profile_sends_fit(sib_profile_find("mlx4"), &cap));
	cap.max_send_sge = 2;
	KUNIT_EXPECT_TRUE(test, sib_profile_sends_fit(mlx5, &cap));
	cap.max_send_wr = 0;
	KUNIT_EXPECT_TRUE(test, sib_profile_sends_fit(mlx5, &cap));
}

/* What the HCAs wait for an acknowledgment when a queue pair asks for less */
static void ack_floors(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(10, sib_profile_find("mlx4")->ack_min_ms),
			500 * (u64)NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(10, sib_profile_find("mlx5")->ack_min_ms),
			30 * (u64)NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(14, sib_profile_find("mlx5")->ack_min_ms),
			134217728ULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(names),
	KUNIT_CASE(limits),
	KUNIT_CASE(parameter),
	KUNIT_CASE(blocks),
	KUNIT_CASE(ack_floors),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_profile",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of HCA profiles");
MODULE_LICENSE("Dual MIT/GPL");
