// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Management datagrams while their device goes away: ib_mad frees what it answers
 * with, so when the client has gone before it, nothing may be about to answer.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/timer.h>

#include "mad.c"

#define ANSWERED	(IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY)
#define SWALLOWED	(IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED)

static unsigned int asked;

int sib_sma_process(struct sib_sma *sma, bool check_mkey, u16 slid, const struct ib_smp *in,
		    struct ib_smp *out, unsigned long now)
{
	asked++;
	return ANSWERED;
}

int sib_pma_process(struct sib_pma *pma, const struct ib_mad *in, struct ib_mad *out)
{
	asked++;
	return ANSWERED;
}

void sib_port_pma_refresh(struct sib_port *port)
{
}

void sib_port_kick(struct sib_port *port)
{
}

void sib_port_set_phys(struct sib_port *port, enum sib_phys_state phys)
{
}

int sib_xmit(struct sib_port *port, struct sib_pkt *pkt, sib_gather_fn gather,
	     const void *src, unsigned long now)
{
	return 0;
}

/* A device with QP0 and QP1, whose completions @work tells of */
struct world {
	struct sib_dev dev;
	struct sib_qp qp[2];
	struct ib_cq cq;
	struct completion started;
	struct completion go_on;
	struct timer_list timer;
	bool done;
};

static int ask(struct world *w, u8 class, u8 method)
{
	struct ib_mad in = { .mad_hdr = { .mgmt_class = class, .method = method } };
	struct ib_mad out = {};

	return sib_process_mad(&w->dev.ibdev, 0, 1, NULL, NULL, &in, &out, NULL, NULL);
}

/* Asked before the client goes, it answers when it is let go on. */
static void answer(struct work_struct *work)
{
	struct world *w = container_of(work, struct world, cq.work);

	complete(&w->started);
	wait_for_completion(&w->go_on);
	w->done = true;
}

static void let_go_on(struct timer_list *timer)
{
	struct world *w = container_of(timer, struct world, timer);

	complete(&w->go_on);
}

static int init(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w);
	w->dev.ibdev.ops.process_mad = sib_process_mad;
	xa_init(&w->dev.port.qps);
	INIT_WORK(&w->cq.work, answer);
	w->cq.comp_wq = system_unbound_wq;
	for (i = 0; i < 2; i++) {
		w->qp[i].ibqp.recv_cq = &w->cq;
		KUNIT_ASSERT_FALSE(test, xa_is_err(xa_store(&w->dev.port.qps, i, &w->qp[i],
							    GFP_KERNEL)));
	}
	init_completion(&w->started);
	init_completion(&w->go_on);
	timer_setup(&w->timer, let_go_on, 0);
	asked = 0;
	test->priv = w;
	return 0;
}

static void finish(struct kunit *test)
{
	struct world *w = test->priv;

	xa_destroy(&w->dev.port.qps);
}

static void requests_end_with_the_client(struct kunit *test)
{
	struct world *w = test->priv;

	KUNIT_EXPECT_EQ(test, sib_mad_client.add(&w->dev.ibdev), 0);
	KUNIT_EXPECT_EQ(test, ask(w, IB_MGMT_CLASS_SUBN_LID_ROUTED, IB_MGMT_METHOD_GET), ANSWERED);
	KUNIT_EXPECT_EQ(test, ask(w, IB_MGMT_CLASS_PERF_MGMT, IB_MGMT_METHOD_SET), ANSWERED);
	sib_mad_client.remove(&w->dev.ibdev, NULL);
	KUNIT_EXPECT_EQ(test, ask(w, IB_MGMT_CLASS_SUBN_LID_ROUTED, IB_MGMT_METHOD_GET), SWALLOWED);
	KUNIT_EXPECT_EQ(test, ask(w, IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE, IB_MGMT_METHOD_SET),
			SWALLOWED);
	KUNIT_EXPECT_EQ(test, ask(w, IB_MGMT_CLASS_PERF_MGMT, IB_MGMT_METHOD_GET), SWALLOWED);
	/* ib_mad itself answers requests of classes nobody knows. */
	KUNIT_EXPECT_EQ(test, ask(w, IB_MGMT_CLASS_SUBN_ADM, IB_MGMT_METHOD_GET), SWALLOWED);
	KUNIT_EXPECT_EQ(test, asked, 2);
	/* Others still wait for the responses to what they have asked. */
	KUNIT_EXPECT_EQ(test, ask(w, IB_MGMT_CLASS_SUBN_ADM, IB_MGMT_METHOD_GET_RESP),
			IB_MAD_RESULT_SUCCESS);
	/* A device that moves to another network namespace comes back. */
	KUNIT_EXPECT_EQ(test, sib_mad_client.add(&w->dev.ibdev), 0);
	KUNIT_EXPECT_EQ(test, ask(w, IB_MGMT_CLASS_SUBN_LID_ROUTED, IB_MGMT_METHOD_GET), ANSWERED);
}

static void the_client_waits_for_an_answer_under_way(struct kunit *test)
{
	struct world *w = test->priv;

	queue_work(w->cq.comp_wq, &w->cq.work);
	wait_for_completion(&w->started);
	mod_timer(&w->timer, jiffies + HZ / 10);
	sib_mad_client.remove(&w->dev.ibdev, NULL);
	KUNIT_EXPECT_TRUE(test, w->done);
	flush_work(&w->cq.work);
}

static void other_devices_are_not_its_own(struct kunit *test)
{
	struct world *w = test->priv;

	w->dev.ibdev.ops.process_mad = NULL;
	KUNIT_EXPECT_NE(test, sib_mad_client.add(&w->dev.ibdev), 0);
}

static void a_device_without_qps_just_goes(struct kunit *test)
{
	struct world *w = test->priv;

	xa_erase(&w->dev.port.qps, 0);
	xa_erase(&w->dev.port.qps, 1);
	sib_mad_client.remove(&w->dev.ibdev, NULL);
	KUNIT_EXPECT_EQ(test, ask(w, IB_MGMT_CLASS_PERF_MGMT, IB_MGMT_METHOD_GET), SWALLOWED);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(requests_end_with_the_client),
	KUNIT_CASE(the_client_waits_for_an_answer_under_way),
	KUNIT_CASE(other_devices_are_not_its_own),
	KUNIT_CASE(a_device_without_qps_just_goes),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_mad",
	.init = init,
	.exit = finish,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of management datagrams");
MODULE_LICENSE("Dual MIT/GPL");
