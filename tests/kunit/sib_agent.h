/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A subnet management agent that tells what it was made to do, and requests to
 * it. For suites of the agent, whose sources it includes.
 */
#ifndef SIB_AGENT_H
#define SIB_AGENT_H

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include "sma.c"
#include "sma_state.c"
#undef REREGISTER
#include "portinfo.c"
#include "trap.c"

#define GUID	0x5054000123456789ULL
#define DOWN	IB_PORT_DOWN
#define INIT	IB_PORT_INIT
#define ARMED	IB_PORT_ARMED
#define ACTIVE	IB_PORT_ACTIVE

struct agent {
	struct sib_sma sma;
	struct ib_smp in;
	struct ib_smp out;
	enum ib_event_type events[32];
	unsigned int num_events;
	enum sib_phys_state phys;
	unsigned int num_phys;
	struct ib_smp sent;
	u16 sent_to;
	unsigned int num_sent;
	unsigned long now;
};

static inline struct agent *agent_of(struct sib_sma *sma)
{
	return container_of(sma, struct agent, sma);
}

static void fake_event(struct sib_sma *sma, enum ib_event_type event)
{
	struct agent *a = agent_of(sma);

	lockdep_assert_not_held(&sma->lock);
	a->events[a->num_events++ % ARRAY_SIZE(a->events)] = event;
}

static void fake_phys(struct sib_sma *sma, enum sib_phys_state phys)
{
	struct agent *a = agent_of(sma);

	lockdep_assert_not_held(&sma->lock);
	a->phys = phys;
	a->num_phys++;
}

static int fake_send(struct sib_sma *sma, u16 dlid, u8 sl, const struct ib_smp *smp)
{
	struct agent *a = agent_of(sma);

	lockdep_assert_not_held(&sma->lock);
	a->sent = *smp;
	a->sent_to = dlid;
	a->num_sent++;
	return 0;
}

static const struct sib_sma_ops fake_ops = {
	.event = fake_event,
	.phys = fake_phys,
	.send = fake_send,
};

static int setup(struct kunit *test)
{
	struct agent *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	if (!a)
		return -ENOMEM;
	a->now = INITIAL_JIFFIES;
	sib_sma_init(&a->sma, &fake_ops, cpu_to_be64(GUID));
	sib_sma_set_mtu_cap(&a->sma, IB_MTU_4096);
	a->in.base_version = IB_MGMT_BASE_VERSION;
	a->in.mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	a->in.class_version = 1;
	a->in.tid = cpu_to_be64(42);
	test->priv = a;
	return 0;
}

/* Status of a request whose data are in a->in.data; the answer is in a->out. */
static inline u16 request(struct kunit *test, u8 method, __be16 attr, u32 mod)
{
	struct agent *a = test->priv;

	a->in.method = method;
	a->in.attr_id = attr;
	a->in.attr_mod = cpu_to_be32(mod);
	KUNIT_EXPECT_EQ(test, sib_sma_process(&a->sma, true, 7, &a->in, &a->out, a->now),
			IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY);
	KUNIT_EXPECT_EQ(test, a->out.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, a->out.tid, a->in.tid);
	return be16_to_cpu(a->out.status);
}

static inline u16 get(struct kunit *test, __be16 attr, u32 mod)
{
	return request(test, IB_MGMT_METHOD_GET, attr, mod);
}

static inline u16 set(struct kunit *test, __be16 attr, u32 mod)
{
	return request(test, IB_MGMT_METHOD_SET, attr, mod);
}

/* A PortInfo that a subnet manager could set; changes nothing of the state */
static inline struct ib_port_info *good_port_info(struct agent *a)
{
	struct ib_port_info *pi = (void *)a->in.data;

	memset(a->in.data, 0, sizeof(a->in.data));
	pi->gid_prefix = cpu_to_be64(0xFE80ULL << 48);
	pi->lid = cpu_to_be16(4);
	pi->sm_lid = cpu_to_be16(1);
	pi->neighbormtu_mastersmsl = IB_MTU_2048 << 4;
	pi->operationalvl_pei_peo_fpi_fpo = 1 << 4;
	return pi;
}

static inline void to_state(struct kunit *test, u8 state)
{
	struct agent *a = test->priv;
	u8 s;

	if (state != DOWN)
		sib_sma_link_up(&a->sma);
	for (s = ARMED; s <= state; s++) {
		good_port_info(a)->linkspeed_portstate = s;
		KUNIT_ASSERT_EQ(test, set(test, IB_SMP_ATTR_PORT_INFO, 1), 0);
	}
	KUNIT_ASSERT_EQ(test, a->sma.state, state);
	a->num_events = 0;
}

static inline bool had_event(struct agent *a, enum ib_event_type event)
{
	unsigned int i;

	for (i = 0; i < a->num_events; i++)
		if (a->events[i] == event)
			return true;
	return false;
}

#endif /* SIB_AGENT_H */
