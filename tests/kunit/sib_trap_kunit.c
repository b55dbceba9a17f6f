// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Subnet management agent: traps, their repetition and their limits.
 */
#include "sib_agent.h"

static void trap_is_repeated_until_repressed(struct kunit *test)
{
	struct agent *a = test->priv;
	struct ib_mad_notice_attr *n = (void *)a->sent.data;
	unsigned int s;

	to_state(test, ACTIVE);
	sib_sma_set_caps(&a->sma, IB_PORT_SM, 0, a->now);
	sib_trap_run(&a->sma, a->now);
	KUNIT_EXPECT_EQ(test, a->num_sent, 1U);
	KUNIT_EXPECT_EQ(test, a->sent_to, 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(n->trap_num), 144);
	KUNIT_EXPECT_TRUE(test, !!(be32_to_cpu(n->details.ntc_144.new_cap_mask) & IB_PORT_SM));
	KUNIT_EXPECT_EQ(test, sib_trap_deadline(&a->sma, a->now + 60 * HZ), a->now + HZ);
	for (s = 0; s < 2 * HZ; s++)
		sib_trap_run(&a->sma, ++a->now);
	KUNIT_EXPECT_EQ(test, a->num_sent, 3U);
	/* the repress of another trap is not ours */
	a->in.method = IB_MGMT_METHOD_TRAP_REPRESS;
	a->in.tid = cpu_to_be64(999999);
	sib_sma_process(&a->sma, true, 1, &a->in, &a->out, a->now);
	a->now += HZ;
	sib_trap_run(&a->sma, a->now);
	KUNIT_EXPECT_EQ(test, a->num_sent, 4U);
	a->in.tid = a->sent.tid;
	KUNIT_EXPECT_EQ(test, sib_sma_process(&a->sma, true, 1, &a->in, &a->out, a->now),
			IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED);
	for (s = 0; s < 10; s++) {
		a->now += HZ;
		sib_trap_run(&a->sma, a->now);
	}
	KUNIT_EXPECT_EQ(test, a->num_sent, 4U);
	KUNIT_EXPECT_EQ(test, sib_trap_deadline(&a->sma, a->now + 60 * HZ), a->now + 60 * HZ);
}

static void trap_gives_up(struct kunit *test)
{
	struct agent *a = test->priv;
	unsigned int s;

	to_state(test, ACTIVE);
	sib_sma_violation(&a->sma, false, 0x8001, 2, 10, 20, 3, 4, a->now);
	for (s = 0; s < 100; s++) {
		sib_trap_run(&a->sma, a->now);
		a->now += HZ;
	}
	KUNIT_EXPECT_EQ(test, a->num_sent, 5U);
	KUNIT_EXPECT_EQ(test, a->sma.pkey_violations, 1);
}

/* A million bad packets make one trap a second, not a million. */
static void traps_are_limited(struct kunit *test)
{
	struct agent *a = test->priv;
	unsigned int i;

	to_state(test, ACTIVE);
	for (i = 0; i < 1000 * HZ / 100; i++) {
		sib_sma_violation(&a->sma, true, i, 0, 1, 2, 3, 4, a->now);
		sib_trap_run(&a->sma, a->now);
		if (i % 10 == 0)
			a->now++;
	}
	KUNIT_EXPECT_LE(test, a->num_sent, 3U);
	KUNIT_EXPECT_GE(test, a->num_sent, 1U);
	KUNIT_EXPECT_EQ(test, a->sma.qkey_violations, min_t(unsigned int, i, U16_MAX));
}

static void no_trap_before_active(struct kunit *test)
{
	struct agent *a = test->priv;

	sib_sma_set_caps(&a->sma, IB_PORT_SM, 0, a->now);
	sib_trap_run(&a->sma, a->now);
	KUNIT_EXPECT_EQ(test, a->num_sent, 0U);
	to_state(test, ACTIVE);
	sib_trap_run(&a->sma, a->now);
	KUNIT_EXPECT_EQ(test, a->num_sent, 1U);
}

static void bad_mkey_trap_tells_who(struct kunit *test)
{
	struct agent *a = test->priv;
	struct ib_mad_notice_attr *n = (void *)a->sent.data;

	to_state(test, ACTIVE);
	a->sma.mkey = cpu_to_be64(1);
	a->sma.mkey_prot = 3;
	a->in.mgmt_class = IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
	a->in.hop_cnt = 63;
	a->in.mkey = cpu_to_be64(2);
	a->in.method = IB_MGMT_METHOD_SET;
	a->in.attr_id = IB_SMP_ATTR_PORT_INFO;
	sib_sma_process(&a->sma, true, 0x77, &a->in, &a->out, a->now);
	sib_trap_run(&a->sma, a->now);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(n->trap_num), 256);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(n->details.ntc_256.lid), 0x77);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(n->details.ntc_256.mkey), 2ULL);
	KUNIT_EXPECT_TRUE(test, !!(n->details.ntc_256.dr_trunc_hop & IB_NOTICE_TRAP_DR_TRUNC));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(trap_is_repeated_until_repressed),
	KUNIT_CASE(trap_gives_up),
	KUNIT_CASE(traps_are_limited),
	KUNIT_CASE(no_trap_before_active),
	KUNIT_CASE(bad_mkey_trap_tells_who),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_trap",
	.init = setup,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: traps of the subnet management agent");
