// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Subnet management agent: each attribute read and written, the port's state
 * machine, M_Key protection and lease, P_Key matching, and requests that must
 * change nothing.
 */
#include "sib_agent.h"

static void node_info_is_told(struct kunit *test)
{
	struct agent *a = test->priv;
	struct ib_node_info *ni = (void *)a->out.data;

	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_NODE_INFO, 0), 0);
	KUNIT_EXPECT_EQ(test, ni->node_type, 1);
	KUNIT_EXPECT_EQ(test, ni->num_ports, 1);
	KUNIT_EXPECT_EQ(test, ni->local_port_num, 1);
	KUNIT_EXPECT_EQ(test, get_unaligned_be24(ni->vendor_id), (u32)SIB_VENDOR_ID);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ni->node_guid), GUID);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ni->port_guid), GUID);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(ni->partition_cap), SIB_NUM_PKEYS);
	KUNIT_EXPECT_NE(test, set(test, IB_SMP_ATTR_NODE_INFO, 0), 0);
}

static void node_description(struct kunit *test)
{
	struct agent *a = test->priv;
	char name[SIB_NODE_DESC_LEN] = "h1 sib0";

	sib_sma_set_node_desc(&a->sma, name, a->now);
	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_NODE_DESC, 0), 0);
	KUNIT_EXPECT_EQ(test, memcmp(a->out.data, name, sizeof(name)), 0);
	memset(a->in.data, 'x', 64);
	KUNIT_EXPECT_NE(test, set(test, IB_SMP_ATTR_NODE_DESC, 0), 0);
	KUNIT_EXPECT_EQ(test, memcmp(a->sma.node_desc, name, sizeof(name)), 0);
}

static void port_info_set_and_read_back(struct kunit *test)
{
	struct agent *a = test->priv;
	struct ib_port_info *pi = good_port_info(a), *got = (void *)a->out.data;

	pi->gid_prefix = cpu_to_be64(0xFEC0000000001111ULL);
	pi->lid = cpu_to_be16(0x40);
	pi->mkeyprot_resv_lmc = 3;
	pi->sm_lid = cpu_to_be16(0x1234);
	pi->neighbormtu_mastersmsl = IB_MTU_4096 << 4 | 9;
	pi->clientrereg_resv_subnetto = 0x80 | 18;
	pi->link_width_enabled = 2;
	pi->linkspeedactive_enabled = 3;
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	KUNIT_EXPECT_EQ(test, got->clientrereg_resv_subnetto, 0x80 | 18);
	KUNIT_EXPECT_EQ(test, a->num_events, 4U);
	KUNIT_EXPECT_EQ(test, (int)a->events[0], (int)IB_EVENT_LID_CHANGE);
	KUNIT_EXPECT_EQ(test, (int)a->events[1], (int)IB_EVENT_SM_CHANGE);
	KUNIT_EXPECT_EQ(test, (int)a->events[2], (int)IB_EVENT_GID_CHANGE);
	KUNIT_EXPECT_EQ(test, (int)a->events[3], (int)IB_EVENT_CLIENT_REREGISTER);
	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_PORT_INFO, 0), 0);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(got->gid_prefix), 0xFEC0000000001111ULL);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(got->lid), 0x40);
	KUNIT_EXPECT_EQ(test, got->mkeyprot_resv_lmc, 3);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(got->sm_lid), 0x1234);
	KUNIT_EXPECT_EQ(test, got->neighbormtu_mastersmsl, IB_MTU_4096 << 4 | 9);
	KUNIT_EXPECT_EQ(test, got->clientrereg_resv_subnetto, 18);
	KUNIT_EXPECT_EQ(test, got->link_width_enabled, 2);
	KUNIT_EXPECT_EQ(test, got->linkspeedactive_enabled & 0xF, 3);
	KUNIT_EXPECT_EQ(test, got->inittypereply_mtucap & 0xF, IB_MTU_4096);
	/* the same once more tells nobody anything but the reregistration */
	a->num_events = 0;
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	KUNIT_EXPECT_EQ(test, a->num_events, 1U);
}

/* One field of PortInfo made wrong */
struct wrong {
	const char *name;
	u8 offset;		/* in PortInfo */
	u8 value;
};

#define AT(f)	offsetof(struct ib_port_info, f)

static const struct wrong wrongs[] = {
	{ "LID 0", AT(lid) + 1, 0 },
	{ "LID multicast", AT(lid), 0xC0 },
	{ "SM LID 0", AT(sm_lid) + 1, 0 },
	{ "SM LID multicast", AT(sm_lid), 0xC0 },
	{ "LID not aligned to LMC", AT(mkeyprot_resv_lmc), 3 },
	{ "MTU 0", AT(neighbormtu_mastersmsl), 0 },
	{ "MTU beyond the capability", AT(neighbormtu_mastersmsl), 6 << 4 },
	{ "state 5", AT(linkspeed_portstate), 5 },
	{ "state INIT", AT(linkspeed_portstate), 2 },
	{ "ARMED while DOWN", AT(linkspeed_portstate), 3 },
	{ "ACTIVE while DOWN", AT(linkspeed_portstate), 4 },
	{ "physical state sleep", AT(portphysstate_linkdown), 1 << 4 },
	{ "physical state link up", AT(portphysstate_linkdown), 5 << 4 },
	{ "link down default sleep", AT(portphysstate_linkdown), 1 },
	{ "width 8x", AT(link_width_enabled), 4 },
	{ "speed without SDR", AT(linkspeedactive_enabled), 2 },
	{ "speed reserved", AT(linkspeedactive_enabled), 9 },
	{ "more VLs than there are", AT(operationalvl_pei_peo_fpi_fpo), 5 << 4 },
};

static void wrong_desc(const struct wrong *w, char *desc)
{
	strscpy(desc, w->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(wrongs, wrongs, wrong_desc);

static void a_wrong_field_changes_nothing(struct kunit *test)
{
	const struct wrong *w = test->param_value;
	struct agent *a = test->priv;
	struct sib_sma *before;

	good_port_info(a);
	KUNIT_ASSERT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	before = kunit_kzalloc(test, sizeof(*before), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, before);
	memcpy(before, &a->sma, sizeof(*before));
	a->num_events = 0;
	good_port_info(a)->mkey = cpu_to_be64(0xBAD);
	a->in.data[w->offset] = w->value;
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0x001C);
	KUNIT_EXPECT_EQ(test, memcmp(&before->ops, &a->sma.ops,
				     sizeof(*before) - offsetof(struct sib_sma, ops)), 0);
	KUNIT_EXPECT_EQ(test, a->num_events + a->num_phys, 0U);
}

/* The port state machine (IBA vol. 1, 7.2.7): from each state to each */
struct step {
	u8 from;
	u8 to;
	bool ok;
	u8 then;
};

static const struct step steps[] = {
	{ DOWN, DOWN, true, DOWN }, { DOWN, ARMED, false, DOWN }, { DOWN, ACTIVE, false, DOWN },
	{ INIT, INIT, false, INIT }, { INIT, ARMED, true, ARMED }, { INIT, ACTIVE, false, INIT },
	{ ARMED, ARMED, true, ARMED }, { ARMED, ACTIVE, true, ACTIVE },
	{ ARMED, INIT, false, ARMED }, { ACTIVE, ACTIVE, true, ACTIVE },
	{ ACTIVE, ARMED, false, ACTIVE }, { ACTIVE, INIT, false, ACTIVE },
	{ ACTIVE, IB_PORT_NOP, true, ACTIVE }, { INIT, IB_PORT_NOP, true, INIT },
};

static void step_desc(const struct step *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u to %u", s->from, s->to);
}

KUNIT_ARRAY_PARAM(steps, steps, step_desc);

static void port_states(struct kunit *test)
{
	const struct step *s = test->param_value;
	struct agent *a = test->priv;

	to_state(test, s->from);
	good_port_info(a)->linkspeed_portstate = s->to;
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1) == 0, s->ok);
	KUNIT_EXPECT_EQ(test, a->sma.state, s->then);
	KUNIT_EXPECT_EQ(test, had_event(a, IB_EVENT_PORT_ACTIVE),
			s->from != ACTIVE && s->then == ACTIVE);
}

static void taking_the_link_down(struct kunit *test)
{
	struct agent *a = test->priv;

	to_state(test, ACTIVE);
	good_port_info(a)->portphysstate_linkdown = SIB_PHYS_DISABLED << 4;
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	KUNIT_EXPECT_EQ(test, (int)a->phys, (int)SIB_PHYS_DISABLED);
	good_port_info(a)->linkspeed_portstate = DOWN;
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	KUNIT_EXPECT_EQ(test, (int)a->phys, (int)SIB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, a->num_phys, 2U);
	sib_sma_link_down(&a->sma, SIB_PHYS_POLLING);
	KUNIT_EXPECT_TRUE(test, had_event(a, IB_EVENT_PORT_ERR));
	KUNIT_EXPECT_EQ(test, a->sma.state, DOWN);
	a->num_events = 0;
	sib_sma_link_down(&a->sma, SIB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, a->num_events, 0U);
}

static void guid_info_table(struct kunit *test)
{
	struct agent *a = test->priv;
	__be64 *g = (void *)a->in.data, *got = (void *)a->out.data;

	g[0] = cpu_to_be64(1);		/* read only */
	g[3] = cpu_to_be64(0x33);
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_GUID_INFO, 0), 0);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(got[0]), GUID);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(got[3]), 0x33ULL);
	KUNIT_EXPECT_TRUE(test, had_event(a, IB_EVENT_GID_CHANGE));
	a->num_events = 0;
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_GUID_INFO, 0), 0);
	KUNIT_EXPECT_EQ(test, a->num_events, 0U);
	KUNIT_EXPECT_NE(test, get(test, IB_SMP_ATTR_GUID_INFO, 1), 0);
}

static void pkey_table_entries(struct kunit *test)
{
	struct agent *a = test->priv;
	__be16 *in = (void *)a->in.data, *got = (void *)a->out.data;

	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_PKEY_TABLE, 0), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(got[0]), 0xFFFF);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(got[1]), 0);
	in[0] = cpu_to_be16(0xFFFF);
	in[31] = cpu_to_be16(0x8001);
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PKEY_TABLE, 0), 0);
	KUNIT_EXPECT_EQ(test, a->num_events, 1U);
	KUNIT_EXPECT_TRUE(test, had_event(a, IB_EVENT_PKEY_CHANGE));
	KUNIT_EXPECT_EQ(test, sib_sma_pkey_find(&a->sma, 0x0001, -1), 31);
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PKEY_TABLE, 0), 0);
	KUNIT_EXPECT_EQ(test, a->num_events, 1U);
}

/* What a HCA does not have of a block is written to nothing. */
static void pkey_table_of_sixteen(struct kunit *test)
{
	struct agent *a = test->priv;
	__be16 *in = (void *)a->in.data, *got = (void *)a->out.data;

	a->sma.num_pkeys = 16;
	in[15] = cpu_to_be16(0x8001);
	in[16] = cpu_to_be16(0x8002);
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PKEY_TABLE, 0), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(got[15]), 0x8001);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(got[16]), 0);
	KUNIT_EXPECT_EQ(test, sib_sma_pkey_find(&a->sma, 0x0002, -1), -ENOENT);
	KUNIT_EXPECT_NE(test, get(test, IB_SMP_ATTR_PKEY_TABLE, 1), 0);
}

/* Tables that change without an SMP */
static void tables_change(struct kunit *test)
{
	struct agent *a = test->priv;

	a->sma.pkeys[1] = 0x8001;
	KUNIT_EXPECT_EQ(test, sib_sma_swap_pkeys(&a->sma, 0), 0);
	KUNIT_EXPECT_EQ(test, (int)a->sma.pkeys[0], 0x8001);
	KUNIT_EXPECT_EQ(test, (int)a->sma.pkeys[1], 0xFFFF);
	KUNIT_EXPECT_EQ(test, a->num_events, 1U);
	KUNIT_EXPECT_TRUE(test, had_event(a, IB_EVENT_PKEY_CHANGE));
	KUNIT_EXPECT_EQ(test, sib_sma_swap_pkeys(&a->sma, SIB_NUM_PKEYS - 2), 0);
	KUNIT_EXPECT_EQ(test, sib_sma_swap_pkeys(&a->sma, SIB_NUM_PKEYS - 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, sib_sma_swap_pkeys(&a->sma, U64_MAX), -EINVAL);
	KUNIT_EXPECT_EQ(test, a->num_events, 2U);
	sib_sma_set_gid_prefix(&a->sma, cpu_to_be64(0xFEC0ULL << 48));
	KUNIT_EXPECT_TRUE(test, had_event(a, IB_EVENT_GID_CHANGE));
	KUNIT_EXPECT_EQ(test, a->num_events, 3U);
}

static void pkey_table_blocks(struct kunit *test)
{
	struct agent *a = test->priv;
	const u32 last = SIB_NUM_PKEYS / SIB_PKEY_BLOCK - 1;
	__be16 *in = (void *)a->in.data, *got = (void *)a->out.data;

	in[31] = cpu_to_be16(0x8001);
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PKEY_TABLE, last), 0);
	KUNIT_EXPECT_EQ(test, sib_sma_pkey_find(&a->sma, 0x0001, -1), SIB_NUM_PKEYS - 1);
	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_PKEY_TABLE, 0), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(got[0]), 0xFFFF);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(got[31]), 0);
	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_PKEY_TABLE, last), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(got[31]), 0x8001);
	KUNIT_EXPECT_NE(test, get(test, IB_SMP_ATTR_PKEY_TABLE, last + 1), 0);
	/* A HCA has one port: the number in the upper half is a switch's. */
	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_PKEY_TABLE, 1 << 16 | last), 0);
}

/* Table of IBA vol. 1, 10.9.3: at least one of two must be a full member. */
static void pkey_matching(struct kunit *test)
{
	static const struct { u16 mine, theirs; bool match; } table[] = {
		{ 0xFFFF, 0xFFFF, true }, { 0xFFFF, 0x7FFF, true }, { 0x7FFF, 0xFFFF, true },
		{ 0x7FFF, 0x7FFF, false }, { 0x8001, 0x8002, false }, { 0x8001, 0x0001, true },
		{ 0x0000, 0x8000, false }, { 0x8000, 0x8000, false }, { 0x0000, 0x0000, false },
	};
	struct agent *a = test->priv;
	int i;

	memset(a->sma.pkeys, 0, sizeof(a->sma.pkeys));
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		a->sma.pkeys[5] = table[i].mine;
		KUNIT_EXPECT_EQ_MSG(test, sib_sma_pkey_find(&a->sma, table[i].theirs, -1),
				    table[i].match ? 5 : -ENOENT, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, sib_sma_pkey_find(&a->sma, table[i].theirs, 5),
				    table[i].match ? 5 : -ENOENT, "row %d", i);
		KUNIT_EXPECT_EQ(test, sib_sma_pkey_find(&a->sma, table[i].theirs, 4), -ENOENT);
	}
}

static void vl_tables(struct kunit *test)
{
	struct agent *a = test->priv;
	int i;

	for (i = 0; i < 64; i++)
		a->in.data[i] = i * 3;
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_SL_TO_VL_TABLE, 0), 0);
	KUNIT_EXPECT_EQ(test, memcmp(a->out.data, a->in.data, 8), 0);
	KUNIT_EXPECT_EQ(test, a->out.data[8], 0);
	for (i = 1; i <= 4; i++) {
		a->in.data[0] = i;
		KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_VL_ARB_TABLE, i << 16), 0);
	}
	for (i = 1; i <= 4; i++) {
		KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_VL_ARB_TABLE, i << 16), 0);
		KUNIT_EXPECT_EQ(test, a->out.data[0], i);
		KUNIT_EXPECT_EQ(test, a->out.data[63], 63 * 3);
	}
	KUNIT_EXPECT_NE(test, get(test, IB_SMP_ATTR_VL_ARB_TABLE, 0), 0);
	KUNIT_EXPECT_NE(test, get(test, IB_SMP_ATTR_VL_ARB_TABLE, 5 << 16), 0);
	KUNIT_EXPECT_NE(test, get(test, IB_SMP_ATTR_VL_ARB_TABLE, 0xFFFF0000), 0);
}

static void operational_lanes(struct kunit *test)
{
	static const u8 last[] = { 0, 1, 3, 7 };	/* of OperationalVLs 1 to 4 */
	struct agent *a = test->priv;
	int i;

	KUNIT_EXPECT_TRUE(test, sib_sma_has_lane(&a->sma, 7));
	for (i = 0; i < ARRAY_SIZE(last); i++) {
		good_port_info(a)->operationalvl_pei_peo_fpi_fpo = (i + 1) << 4;
		KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
		KUNIT_EXPECT_TRUE(test, sib_sma_has_lane(&a->sma, last[i]));
		KUNIT_EXPECT_FALSE(test, sib_sma_has_lane(&a->sma, last[i] + 1));
	}
	good_port_info(a)->operationalvl_pei_peo_fpi_fpo = 0;	/* no change */
	KUNIT_EXPECT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	KUNIT_EXPECT_TRUE(test, sib_sma_has_lane(&a->sma, 7));
	KUNIT_EXPECT_FALSE(test, sib_sma_has_lane(&a->sma, SIB_VL15));
}

static void refusals(struct kunit *test)
{
	struct agent *a = test->priv;

	KUNIT_EXPECT_EQ(test, get(test, cpu_to_be16(0x7777), 0), 0x000C);
	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_PORT_INFO, 2), 0x001C);
	a->in.class_version = 7;
	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_NODE_INFO, 0), 0x0004);
	a->in.class_version = 1;
	a->in.mgmt_class = IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_NODE_INFO, 0), 0x8000);
	a->in.method = IB_MGMT_METHOD_SEND;
	KUNIT_EXPECT_EQ(test, sib_sma_process(&a->sma, true, 0, &a->in, &a->out, a->now),
			IB_MAD_RESULT_SUCCESS);
}

/* What M_KeyProtectBits let through without the key (IBA vol. 1, 14.2.4.1) */
static void mkey_protection(struct kunit *test)
{
	struct agent *a = test->priv;
	struct ib_port_info *got = (void *)a->out.data;
	int prot, answer;

	for (prot = 0; prot < 4; prot++) {
		good_port_info(a);
		a->in.mkey = a->sma.mkey;
		((struct ib_port_info *)a->in.data)->mkey = cpu_to_be64(0x5EC0);
		((struct ib_port_info *)a->in.data)->mkeyprot_resv_lmc = prot << 6;
		KUNIT_ASSERT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
		a->in.mkey = cpu_to_be64(0xBAD);
		a->in.method = IB_MGMT_METHOD_GET;
		answer = sib_sma_process(&a->sma, true, 3, &a->in, &a->out, a->now);
		KUNIT_EXPECT_EQ(test, !!(answer & IB_MAD_RESULT_REPLY), prot < 2);
		if (prot < 2)
			KUNIT_EXPECT_EQ(test, be64_to_cpu(got->mkey), prot ? 0ULL : 0x5EC0ULL);
		a->in.method = IB_MGMT_METHOD_SET;
		KUNIT_EXPECT_EQ(test, sib_sma_process(&a->sma, true, 3, &a->in, &a->out, a->now),
				IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED);
		/* with the key, or on this very node, all is visible */
		a->in.mkey = cpu_to_be64(0x5EC0);
		KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(got->mkey), 0x5EC0ULL);
	}
	/* each Set above cleared the count */
	KUNIT_EXPECT_EQ(test, a->sma.mkey_violations, 2);
}

static void mkey_lease(struct kunit *test)
{
	struct agent *a = test->priv;
	struct ib_port_info *pi = good_port_info(a);

	pi->mkey = cpu_to_be64(0x5EC0);
	pi->mkeyprot_resv_lmc = 2 << 6;
	pi->mkey_lease_period = cpu_to_be16(10);
	KUNIT_ASSERT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	a->in.mkey = 0;
	a->in.method = IB_MGMT_METHOD_GET;
	sib_sma_process(&a->sma, true, 3, &a->in, &a->out, a->now);
	a->now += 9 * HZ;
	KUNIT_EXPECT_FALSE(test, sib_sma_process(&a->sma, true, 3, &a->in, &a->out, a->now) &
				 IB_MAD_RESULT_REPLY);
	a->now += HZ;
	KUNIT_EXPECT_TRUE(test, sib_sma_process(&a->sma, true, 3, &a->in, &a->out, a->now) &
				IB_MAD_RESULT_REPLY);
	KUNIT_EXPECT_EQ(test, a->sma.mkey_prot, 0);
}

/* The owner's Set within the period stops the clock. */
static void mkey_lease_is_renewed(struct kunit *test)
{
	struct agent *a = test->priv;
	struct ib_port_info *pi = good_port_info(a);

	pi->mkey = cpu_to_be64(0x5EC0);
	pi->mkeyprot_resv_lmc = 2 << 6;
	pi->mkey_lease_period = cpu_to_be16(10);
	KUNIT_ASSERT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	a->in.mkey = 0;
	a->in.method = IB_MGMT_METHOD_GET;
	sib_sma_process(&a->sma, true, 3, &a->in, &a->out, a->now);
	a->now += 9 * HZ;
	a->in.mkey = cpu_to_be64(0x5EC0);
	KUNIT_ASSERT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	a->now += 100 * HZ;
	KUNIT_EXPECT_EQ(test, get(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	KUNIT_EXPECT_EQ(test, a->sma.mkey_prot, 2);
}

static void sm_info_goes_to_the_sm(struct kunit *test)
{
	struct agent *a = test->priv;

	a->in.method = IB_MGMT_METHOD_GET;
	a->in.attr_id = IB_SMP_ATTR_SM_INFO;
	KUNIT_EXPECT_TRUE(test, sib_sma_process(&a->sma, true, 1, &a->in, &a->out, a->now) &
				IB_MAD_RESULT_REPLY);
	sib_sma_set_caps(&a->sma, IB_PORT_SM, 0, a->now);
	KUNIT_EXPECT_EQ(test, sib_sma_process(&a->sma, true, 1, &a->in, &a->out, a->now),
			IB_MAD_RESULT_SUCCESS);
	sib_sma_set_caps(&a->sma, IB_PORT_SM_DISABLED, IB_PORT_SM, a->now);
	KUNIT_EXPECT_EQ(test, sib_sma_process(&a->sma, true, 1, &a->in, &a->out, a->now),
			IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED);
}

/* Random requests: every index stays inside its table, whatever is asked. */
static void random_requests(struct kunit *test)
{
	static const u8 methods[] = { 1, 2, 7 };
	static const u16 attrs[] = { 0x10, 0x11, 0x14, 0x15, 0x16, 0x17, 0x18, 0x20, 0xFF };
	struct agent *a = test->priv;
	struct rnd_state rnd;
	u32 i;

	prandom_seed_state(&rnd, 14);
	sib_sma_link_up(&a->sma);
	for (i = 0; i < 20000; i++) {
		prandom_bytes_state(&rnd, &a->in, sizeof(a->in));
		a->in.base_version = 1;
		a->in.class_version = 1;
		a->in.method = methods[prandom_u32_state(&rnd) % ARRAY_SIZE(methods)];
		a->in.attr_id = cpu_to_be16(attrs[prandom_u32_state(&rnd) % ARRAY_SIZE(attrs)]);
		a->in.attr_mod &= cpu_to_be32(0x00070003);
		if (i % 2)
			a->in.mkey = a->sma.mkey;
		sib_sma_process(&a->sma, i % 3, i, &a->in, &a->out, a->now);
		sib_trap_run(&a->sma, a->now++);
		KUNIT_ASSERT_LE(test, a->sma.state, (u8)ACTIVE);
		KUNIT_ASSERT_LE(test, a->sma.lmc, 7);
		KUNIT_ASSERT_LE(test, a->sma.mtu, a->sma.mtu_cap);
		KUNIT_ASSERT_LT(test, (u32)a->sma.lid + BIT(a->sma.lmc) - 1,
				(u32)SIB_LID_MCAST_FIRST);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(node_info_is_told),
	KUNIT_CASE(node_description),
	KUNIT_CASE(port_info_set_and_read_back),
	KUNIT_CASE_PARAM(a_wrong_field_changes_nothing, wrongs_gen_params),
	KUNIT_CASE_PARAM(port_states, steps_gen_params),
	KUNIT_CASE(taking_the_link_down),
	KUNIT_CASE(guid_info_table),
	KUNIT_CASE(pkey_table_entries),
	KUNIT_CASE(pkey_table_of_sixteen),
	KUNIT_CASE(tables_change),
	KUNIT_CASE(pkey_table_blocks),
	KUNIT_CASE(pkey_matching),
	KUNIT_CASE(vl_tables),
	KUNIT_CASE(operational_lanes),
	KUNIT_CASE(refusals),
	KUNIT_CASE(mkey_protection),
	KUNIT_CASE(mkey_lease),
	KUNIT_CASE(mkey_lease_is_renewed),
	KUNIT_CASE(sm_info_goes_to_the_sm),
	KUNIT_CASE(random_requests),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_sma",
	.init = setup,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: subnet management agent");
