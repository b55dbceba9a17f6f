// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Attributes of queue pairs: the way up and down of each service, each attribute
 * out of its range, and each in a state where it may not be set.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "ah.c"
#include "limit.c"
#include "qp_attr.c"

#define INIT_RC	(IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS)
#define RTR_UC	(IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN)
#define RTR_RC	(RTR_UC | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define RTS_UC	(IB_QP_STATE | IB_QP_SQ_PSN)
#define RTS_RC	(RTS_UC | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | \
		 IB_QP_MAX_QP_RD_ATOMIC)

/* Attributes that are right everywhere */
static void good(struct ib_qp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->port_num = 1;
	attr->path_mtu = IB_MTU_2048;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->dest_qp_num = 0xABCDEF;
	attr->rq_psn = 0x123456;
	attr->sq_psn = 0x654321;
	attr->qkey = 0x1234;
	attr->qp_access_flags = ACCESS;
	attr->pkey_index = SIB_NUM_PKEYS - 1;
	attr->max_rd_atomic = SIB_MAX_RD_ATOMIC;
	attr->max_dest_rd_atomic = SIB_MAX_RD_ATOMIC;
	attr->min_rnr_timer = 31;
	attr->timeout = 31;
	attr->retry_cnt = 7;
	attr->rnr_retry = 7;
	attr->ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_dlid(&attr->ah_attr, 5);
}

struct step {
	const char *name;
	enum ib_qp_type type;
	enum ib_qp_state from, to;
	int mask;
	int err;
};

static const struct step steps[] = {
	{ "RC init", IB_QPT_RC, IB_QPS_RESET, IB_QPS_INIT, INIT_RC },
	{ "RC init without access", IB_QPT_RC, IB_QPS_RESET, IB_QPS_INIT,
	  INIT_RC & ~IB_QP_ACCESS_FLAGS, -EINVAL },
	{ "RC init with qkey", IB_QPT_RC, IB_QPS_RESET, IB_QPS_INIT, INIT_RC | IB_QP_QKEY,
	  -EINVAL },
	{ "RC rtr", IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTR, RTR_RC },
	{ "RC rtr without path", IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTR, RTR_RC & ~IB_QP_AV,
	  -EINVAL },
	{ "RC rtr without psn", IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTR, RTR_RC & ~IB_QP_RQ_PSN,
	  -EINVAL },
	{ "RC rtr from reset", IB_QPT_RC, IB_QPS_RESET, IB_QPS_RTR, RTR_RC, -EINVAL },
	{ "RC rtr alternate path", IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTR, RTR_RC | IB_QP_ALT_PATH,
	  -EOPNOTSUPP },
	{ "RC rts", IB_QPT_RC, IB_QPS_RTR, IB_QPS_RTS, RTS_RC },
	{ "RC rts without timeout", IB_QPT_RC, IB_QPS_RTR, IB_QPS_RTS,
	  RTS_RC & ~IB_QP_TIMEOUT, -EINVAL },
	{ "RC rts from init", IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTS, RTS_RC, -EINVAL },
	{ "RC sqd", IB_QPT_RC, IB_QPS_RTS, IB_QPS_SQD,
	  IB_QP_STATE | IB_QP_EN_SQD_ASYNC_NOTIFY },
	{ "RC sqd to rts", IB_QPT_RC, IB_QPS_SQD, IB_QPS_RTS, IB_QP_STATE },
	{ "RC sqd path", IB_QPT_RC, IB_QPS_SQD, IB_QPS_SQD, IB_QP_STATE | IB_QP_AV },
	{ "RC to sqe", IB_QPT_RC, IB_QPS_RTS, IB_QPS_SQE, IB_QP_STATE, -EINVAL },
	{ "RC error", IB_QPT_RC, IB_QPS_RTS, IB_QPS_ERR, IB_QP_STATE },
	{ "RC reset", IB_QPT_RC, IB_QPS_ERR, IB_QPS_RESET, IB_QP_STATE },
	{ "RC error to rts", IB_QPT_RC, IB_QPS_ERR, IB_QPS_RTS, IB_QP_STATE, -EINVAL },
	{ "RC to beyond", IB_QPT_RC, IB_QPS_RTS, IB_QPS_ERR + 1, IB_QP_STATE, -EINVAL },
	{ "RC resize", IB_QPT_RC, IB_QPS_RESET, IB_QPS_INIT, INIT_RC | IB_QP_CAP, -EOPNOTSUPP },
	{ "RC rate", IB_QPT_RC, IB_QPS_RTR, IB_QPS_RTS, RTS_RC | IB_QP_RATE_LIMIT, -EOPNOTSUPP },
	{ "UC init", IB_QPT_UC, IB_QPS_RESET, IB_QPS_INIT, INIT_RC },
	{ "UC rtr", IB_QPT_UC, IB_QPS_INIT, IB_QPS_RTR, RTR_UC },
	{ "UC rtr as RC", IB_QPT_UC, IB_QPS_INIT, IB_QPS_RTR, RTR_RC, -EINVAL },
	{ "UC rts", IB_QPT_UC, IB_QPS_RTR, IB_QPS_RTS, RTS_UC },
	{ "UC rts as RC", IB_QPT_UC, IB_QPS_RTR, IB_QPS_RTS, RTS_RC, -EINVAL },
	{ "UC from sqe", IB_QPT_UC, IB_QPS_SQE, IB_QPS_RTS, IB_QP_STATE },
	{ "UD init", IB_QPT_UD, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY },
	{ "UD rtr", IB_QPT_UD, IB_QPS_INIT, IB_QPS_RTR, IB_QP_STATE },
	{ "UD rtr as UC", IB_QPT_UD, IB_QPS_INIT, IB_QPS_RTR, RTR_UC, -EINVAL },
	{ "UD rts", IB_QPT_UD, IB_QPS_RTR, IB_QPS_RTS, RTS_UC },
	{ "UD from sqe", IB_QPT_UD, IB_QPS_SQE, IB_QPS_RTS, IB_QP_STATE | IB_QP_CUR_STATE },
};

static void step_desc(const struct step *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(steps, steps, step_desc);

static void transition(struct kunit *test)
{
	struct ib_qp_attr *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct ib_qp_attr *cur = kunit_kzalloc(test, sizeof(*cur), GFP_KERNEL);
	const struct step *s = test->param_value;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_NOT_NULL(test, cur);
	good(attr);
	cur->qp_state = s->from;
	attr->qp_state = s->to;
	attr->cur_qp_state = s->from;
	KUNIT_EXPECT_EQ(test, sib_qp_attr_check(s->type, cur, attr, s->mask, IB_MTU_2048),
			s->err);
	if (s->err)
		return;
	sib_qp_attr_copy(cur, attr, s->mask);
	KUNIT_EXPECT_EQ(test, cur->qp_state, s->to);
	KUNIT_EXPECT_EQ(test, cur->sq_psn, s->mask & IB_QP_SQ_PSN ? 0x654321U : 0);
	KUNIT_EXPECT_EQ(test, cur->timeout, s->mask & IB_QP_TIMEOUT ? 31 : 0);
	KUNIT_EXPECT_EQ(test, cur->dest_qp_num, s->mask & IB_QP_DEST_QPN ? 0xABCDEFU : 0);
}

/* Spoils one attribute of a step that is right otherwise. */
#define SPOIL(_name, _code)				\
static void spoil_##_name(struct ib_qp_attr *attr)	\
{							\
	_code;						\
}

SPOIL(port, attr->port_num = 2)
SPOIL(pkey, attr->pkey_index = SIB_NUM_PKEYS)
SPOIL(access, attr->qp_access_flags |= IB_ACCESS_ON_DEMAND)
SPOIL(lid_none, rdma_ah_set_dlid(&attr->ah_attr, 0))
SPOIL(lid_mcast, rdma_ah_set_dlid(&attr->ah_attr, 0xC000))
SPOIL(ah_type, attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE)
SPOIL(mtu_more, attr->path_mtu = IB_MTU_4096)
SPOIL(mtu_none, attr->path_mtu = 0)
SPOIL(mtu_much, attr->path_mtu = IB_MTU_4096 + 1)
SPOIL(qpn, attr->dest_qp_num = 0x1000000)
SPOIL(dest_rd, attr->max_dest_rd_atomic = SIB_MAX_RD_ATOMIC + 1)
SPOIL(rnr_timer, attr->min_rnr_timer = 32)
SPOIL(timeout, attr->timeout = 32)
SPOIL(retry, attr->retry_cnt = 8)
SPOIL(rnr_retry, attr->rnr_retry = 8)
SPOIL(rd, attr->max_rd_atomic = SIB_MAX_RD_ATOMIC + 1)
SPOIL(cur_state, attr->cur_qp_state = IB_QPS_RTS)
SPOIL(migration, attr->path_mig_state = IB_MIG_ARMED)

/* What the way up from each state sets */
static const int way_up[] = {
	[IB_QPS_RESET] = INIT_RC,
	[IB_QPS_INIT] = RTR_RC,
	[IB_QPS_RTR] = RTS_RC,
};

struct spoilt {
	const char *name;
	void (*spoil)(struct ib_qp_attr *attr);
	enum ib_qp_state from;
	int more;
};

static const struct spoilt spoilt[] = {
	{ "port", spoil_port, IB_QPS_RESET },
	{ "P_Key index", spoil_pkey, IB_QPS_RESET },
	{ "access", spoil_access, IB_QPS_RESET },
	{ "no LID", spoil_lid_none, IB_QPS_INIT },
	{ "multicast LID", spoil_lid_mcast, IB_QPS_INIT },
	{ "kind of address", spoil_ah_type, IB_QPS_INIT },
	{ "MTU of path over that of port", spoil_mtu_more, IB_QPS_INIT },
	{ "MTU 0", spoil_mtu_none, IB_QPS_INIT },
	{ "MTU unknown", spoil_mtu_much, IB_QPS_INIT },
	{ "QP number", spoil_qpn, IB_QPS_INIT },
	{ "READs to serve", spoil_dest_rd, IB_QPS_INIT },
	{ "RNR timer", spoil_rnr_timer, IB_QPS_INIT },
	{ "timeout", spoil_timeout, IB_QPS_RTR },
	{ "retries", spoil_retry, IB_QPS_RTR },
	{ "RNR retries", spoil_rnr_retry, IB_QPS_RTR },
	{ "READs to have", spoil_rd, IB_QPS_RTR },
	{ "current state", spoil_cur_state, IB_QPS_RTR, IB_QP_CUR_STATE },
	{ "migration", spoil_migration, IB_QPS_RTR, IB_QP_PATH_MIG_STATE },
};

static void spoilt_desc(const struct spoilt *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(spoilt, spoilt, spoilt_desc);

static void out_of_range(struct kunit *test)
{
	struct ib_qp_attr *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct ib_qp_attr *cur = kunit_kzalloc(test, sizeof(*cur), GFP_KERNEL);
	const struct spoilt *s = test->param_value;
	int mask = way_up[s->from] | s->more;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_NOT_NULL(test, cur);
	good(attr);
	cur->qp_state = s->from;
	attr->qp_state = s->from + 1;
	attr->cur_qp_state = s->from;
	KUNIT_EXPECT_EQ(test, sib_qp_attr_check(IB_QPT_RC, cur, attr, mask, IB_MTU_2048), 0);
	s->spoil(attr);
	KUNIT_EXPECT_EQ(test, sib_qp_attr_check(IB_QPT_RC, cur, attr, mask, IB_MTU_2048),
			-EINVAL);
}

static void psn_has_24_bits(struct kunit *test)
{
	struct ib_qp_attr *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct ib_qp_attr *cur = kunit_kzalloc(test, sizeof(*cur), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_NOT_NULL(test, cur);
	attr->sq_psn = 0xFF000001;
	attr->rq_psn = 0x01FFFFFF;
	sib_qp_attr_copy(cur, attr, IB_QP_SQ_PSN | IB_QP_RQ_PSN);
	KUNIT_EXPECT_EQ(test, cur->sq_psn, 1U);
	KUNIT_EXPECT_EQ(test, cur->rq_psn, 0xFFFFFFU);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(transition, steps_gen_params),
	KUNIT_CASE_PARAM(out_of_range, spoilt_gen_params),
	KUNIT_CASE(psn_has_24_bits),
	{ }
};

static struct kunit_suite suite = {
	.name = "sib_qp_attr",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of queue pair attributes");
MODULE_LICENSE("Dual MIT/GPL");
