// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Performance management: widths, saturation, units, selection and refusals.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "pma.c"

struct ask {
	struct sib_pma pma;
	struct ib_mad in;
	struct ib_mad out;
};

static u8 *body(struct ib_mad *mad)
{
	return (u8 *)mad + 64;		/* IBA vol. 1, 16.1: data start there */
}

static int setup(struct kunit *test)
{
	struct ask *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	if (!a)
		return -ENOMEM;
	a->in.mad_hdr.base_version = 1;
	a->in.mad_hdr.mgmt_class = IB_MGMT_CLASS_PERF_MGMT;
	a->in.mad_hdr.class_version = 1;
	a->in.mad_hdr.tid = cpu_to_be64(0x1234567890ULL);
	test->priv = a;
	return 0;
}

static u16 request(struct kunit *test, u8 method, u16 attr, u8 port, u16 select)
{
	struct ask *a = test->priv;

	a->in.mad_hdr.method = method;
	a->in.mad_hdr.attr_id = cpu_to_be16(attr);
	body(&a->in)[1] = port;
	put_unaligned_be16(select, body(&a->in) + 2);
	KUNIT_EXPECT_EQ(test, sib_pma_process(&a->pma, &a->in, &a->out),
			IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY);
	KUNIT_EXPECT_EQ(test, a->out.mad_hdr.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, a->out.mad_hdr.tid, a->in.mad_hdr.tid);
	return be16_to_cpu(a->out.mad_hdr.status);
}

/* A counter's place in PortCounters, from the specification's table */
struct place {
	const char *name;
	enum sib_counter counter;
	u8 offset;
	u8 bits;
	u8 shift;
	u8 select;
	u8 unit;
};

static const struct place places[] = {
	{ "SymbolErrorCounter", SIB_PC_SYMBOL_ERROR, 4, 16, 0, 0, 1 },
	{ "LinkErrorRecoveryCounter", SIB_PC_LINK_RECOVERY, 6, 8, 0, 1, 1 },
	{ "LinkDownedCounter", SIB_PC_LINK_DOWNED, 7, 8, 0, 2, 1 },
	{ "PortRcvErrors", SIB_PC_RCV_ERRORS, 8, 16, 0, 3, 1 },
	{ "PortXmitDiscards", SIB_PC_XMIT_DISCARDS, 14, 16, 0, 6, 1 },
	{ "PortRcvConstraintErrors", SIB_PC_RCV_CONSTRAINT, 17, 8, 0, 8, 1 },
	{ "LocalLinkIntegrityErrors", SIB_PC_LOCAL_INTEGRITY, 19, 4, 4, 9, 1 },
	{ "ExcessiveBufferOverrunErrors", SIB_PC_BUFFER_OVERRUN, 19, 4, 0, 10, 1 },
	{ "VL15Dropped", SIB_PC_VL15_DROPPED, 22, 16, 0, 11, 1 },
	{ "PortXmitData", SIB_PC_XMIT_DATA, 24, 32, 0, 12, 4 },
	{ "PortRcvData", SIB_PC_RCV_DATA, 28, 32, 0, 13, 4 },
	{ "PortXmitPkts", SIB_PC_XMIT_PKTS, 32, 32, 0, 14, 1 },
	{ "PortRcvPkts", SIB_PC_RCV_PKTS, 36, 32, 0, 15, 1 },
};

static void place_desc(const struct place *p, char *desc)
{
	strscpy(desc, p->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(places, places, place_desc);

static u32 read_place(struct kunit *test, const struct place *p)
{
	struct ask *a = test->priv;
	u8 *at = body(&a->out) + p->offset;

	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_GET, 0x12, 1, 0), 0);
	switch (p->bits) {
	case 4:
		return *at >> p->shift & 0xF;
	case 8:
		return *at;
	case 16:
		return get_unaligned_be16(at);
	default:
		return get_unaligned_be32(at);
	}
}

static void counts_and_saturates(struct kunit *test)
{
	const struct place *p = test->param_value;
	u32 max = p->bits == 32 ? U32_MAX : BIT(p->bits) - 1;
	struct ask *a = test->priv;

	KUNIT_EXPECT_EQ(test, read_place(test, p), 0U);
	sib_pma_add(&a->pma, p->counter, 3 * p->unit);
	KUNIT_EXPECT_EQ(test, read_place(test, p), 3U);
	sib_pma_add(&a->pma, p->counter, (u64)(max - 3) * p->unit);
	KUNIT_EXPECT_EQ(test, read_place(test, p), max);
	sib_pma_add(&a->pma, p->counter, 5 * p->unit);
	KUNIT_EXPECT_EQ(test, read_place(test, p), max);
}

static void reset_only_what_is_selected(struct kunit *test)
{
	const struct place *p = test->param_value;
	struct ask *a = test->priv;
	const struct place *q;
	int i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		sib_pma_add(&a->pma, places[i].counter, 7 * places[i].unit);
	memset(body(&a->in), 0, 64);
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_SET, 0x12, 1, BIT(p->select)), 0);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		q = &places[i];
		KUNIT_EXPECT_EQ_MSG(test, read_place(test, q), q == p ? 0U : 7U, "%s", q->name);
	}
	/* it counts on from there */
	sib_pma_add(&a->pma, p->counter, 2 * p->unit);
	KUNIT_EXPECT_EQ(test, read_place(test, p), 2U);
}

static void set_to_a_value(struct kunit *test)
{
	struct ask *a = test->priv;
	const struct place *p = &places[11];

	put_unaligned_be32(1000, body(&a->in) + p->offset);
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_SET, 0x12, 1, BIT(p->select)), 0);
	KUNIT_EXPECT_EQ(test, read_place(test, p), 1000U);
	sib_pma_inc(&a->pma, p->counter);
	KUNIT_EXPECT_EQ(test, read_place(test, p), 1001U);
}

static void wait_has_a_select_of_its_own(struct kunit *test)
{
	struct ask *a = test->priv;

	sib_pma_add(&a->pma, SIB_PC_XMIT_WAIT, 9);
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_SET, 0x12, 1, 0xFFFF), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(body(&a->out) + 40), 9U);
	body(&a->in)[18] = 1;
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_SET, 0x12, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(body(&a->out) + 40), 0U);
}

static void extended_counters(struct kunit *test)
{
	struct ask *a = test->priv;
	u8 *out = body(&a->out);

	sib_pma_add(&a->pma, SIB_PC_XMIT_DATA, (u64)1 << 40);
	sib_pma_add(&a->pma, SIB_PC_MCAST_RCV, 77);
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_GET, 0x1D, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(out + 8), (u64)1 << 38);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(out + 64), 77ULL);
	/* the two attributes are reset apart */
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_SET, 0x1D, 1, 0xFFFF), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(out + 8), 0ULL);
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_GET, 0x12, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(out + 24), U32_MAX);
}

static void class_port_info_is_told(struct kunit *test)
{
	struct ask *a = test->priv;
	struct ib_class_port_info *cpi = (void *)body(&a->out);

	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_GET, 1, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, cpi->base_version, 1);
	KUNIT_EXPECT_EQ(test, cpi->class_version, 1);
	KUNIT_EXPECT_TRUE(test, !!(cpi->capability_mask & IB_PMA_CLASS_CAP_EXT_WIDTH));
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_SET, 1, 0, 0), 0x0008);
}

static void refusals(struct kunit *test)
{
	struct ask *a = test->priv;

	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_GET, 0x12, 0xFF, 0), 0);
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_GET, 0x12, 0, 0), 0x001C);
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_GET, 0x12, 2, 0), 0x001C);
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_GET, 0x99, 1, 0), 0x000C);
	a->in.mad_hdr.class_version = 2;
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_GET, 0x12, 1, 0), 0x0004);
	a->in.mad_hdr.class_version = 1;
	a->in.mad_hdr.base_version = 0x80;
	KUNIT_EXPECT_EQ(test, request(test, IB_MGMT_METHOD_GET, 0x12, 1, 0), 0x0004);
	a->in.mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	KUNIT_EXPECT_EQ(test, sib_pma_process(&a->pma, &a->in, &a->out), IB_MAD_RESULT_SUCCESS);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(counts_and_saturates, places_gen_params),
	KUNIT_CASE_PARAM(reset_only_what_is_selected, places_gen_params),
	KUNIT_CASE(set_to_a_value),
	KUNIT_CASE(wait_has_a_select_of_its_own),
	KUNIT_CASE(extended_counters),
	KUNIT_CASE(class_port_info_is_told),
	KUNIT_CASE(refusals),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_pma",
	.init = setup,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: performance management agent");
