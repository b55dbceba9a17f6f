// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Completion vectors: the handler of a CQ is called once for each time that it has become
 * due, in the context that the profile says, and not after it has been forgotten.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/module.h>

#include "choice.c"
#include "vector.c"

struct world {
	struct sib_profile profile;
	struct sib_dev dev;
	struct sib_cq cq;
	struct completion called;
	struct work_struct run;
	unsigned int calls;
	bool hardirq;
	bool softirqs_off;
	bool slow;		/* the handler sleeps until somebody waits for its end */
	bool waited_for;
};

/* Return: true once somebody waits for the handler's end. Context: process. */
static bool is_waited_for(struct world *w)
{
	unsigned long deadline = jiffies + 10 * HZ;

	/* nothing depends on when this sees the waiter */
	while (!waitqueue_active(&w->dev.vectors[w->cq.vector].idle)) {
		if (time_after(jiffies, deadline))
			return false;
		schedule_timeout_uninterruptible(1);
	}
	return true;
}

static void handler(struct ib_cq *ibcq, void *context)
{
	struct world *w = context;

	w->calls++;
	w->hardirq = in_hardirq();
	w->softirqs_off = softirq_count();
	complete(&w->called);
	if (w->slow)
		w->waited_for = is_waited_for(w);
}

static int world_init(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_ASSERT_EQ(test, sib_vectors_start(), 0);
	init_completion(&w->called);
	w->profile.vectors = 3;
	w->dev.profile = &w->profile;
	w->dev.chooser.profile = &w->profile;
	sib_vectors_init(&w->dev);
	w->cq.ibcq.device = &w->dev.ibdev;
	w->cq.ibcq.comp_handler = handler;
	w->cq.ibcq.cq_context = w;
	w->cq.vector = 2;
	INIT_LIST_HEAD(&w->cq.event);
	test->priv = w;
	return 0;
}

static void world_exit(struct kunit *test)
{
	struct world *w = test->priv;

	sib_vectors_cleanup(&w->dev);
	sib_vectors_stop();
}

static void softirq(struct kunit *test)
{
	struct world *w = test->priv;

	w->profile.handler = SIB_HANDLER_SOFTIRQ;
	KUNIT_EXPECT_FALSE(test, sib_vectors_are_due(&w->dev));
	sib_vector_raise(&w->cq);
	sib_vector_raise(&w->cq);
	KUNIT_EXPECT_EQ(test, w->calls, 0);
	KUNIT_EXPECT_TRUE(test, sib_vectors_are_due(&w->dev));
	sib_vectors_run(&w->dev);
	KUNIT_EXPECT_EQ(test, w->calls, 1);
	KUNIT_EXPECT_FALSE(test, sib_vectors_are_due(&w->dev));
}

static void expect_call(struct kunit *test, unsigned int calls)
{
	struct world *w = test->priv;

	sib_vector_raise(&w->cq);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&w->called, 10 * HZ), 0);
	KUNIT_EXPECT_EQ(test, w->calls, calls);
}

static void hardirq(struct kunit *test)
{
	struct world *w = test->priv;

	w->profile.handler = SIB_HANDLER_HARDIRQ;
	expect_call(test, 1);
	KUNIT_EXPECT_TRUE(test, w->hardirq);
	expect_call(test, 2);
}

/* With a seed, some calls are late, and all come. */
static void late(struct kunit *test)
{
	struct world *w = test->priv;
	unsigned int i, timed = 0;

	w->profile.handler = SIB_HANDLER_HARDIRQ;
	w->profile.late_us = 1000;
	w->dev.chooser.seed = 1;
	for (i = 1; i <= 20; i++) {
		timed += sib_choice_late_us(&w->dev.chooser, i) > 0;
		expect_call(test, i);
		KUNIT_EXPECT_TRUE(test, w->hardirq);
	}
	KUNIT_EXPECT_GT(test, timed, 0);
	KUNIT_EXPECT_LT(test, timed, 20);
}

/* A CQ goes, and then its device, before a late call has come. */
static void too_late(struct kunit *test)
{
	struct world *w = test->priv;

	w->profile.handler = SIB_HANDLER_HARDIRQ;
	w->profile.late_us = U16_MAX;
	w->dev.chooser.seed = 1;
	while (sib_choice_late_us(&w->dev.chooser, w->dev.vectors[2].starts + 1) < U16_MAX / 2)
		w->dev.vectors[2].starts++;
	sib_vector_raise(&w->cq);
	sib_vector_forget(&w->cq);
	sib_vectors_cleanup(&w->dev);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&w->dev.vectors[2].timer));
	KUNIT_EXPECT_EQ(test, w->calls, 0);
}

static void worker(struct kunit *test)
{
	struct world *w = test->priv;

	w->profile.handler = SIB_HANDLER_WORKER;
	expect_call(test, 1);
	KUNIT_EXPECT_FALSE(test, w->hardirq);
	KUNIT_EXPECT_TRUE(test, w->softirqs_off);
	expect_call(test, 2);
}

static void forgotten(struct kunit *test)
{
	struct world *w = test->priv;

	w->profile.handler = SIB_HANDLER_SOFTIRQ;
	sib_vector_raise(&w->cq);
	sib_vector_forget(&w->cq);
	KUNIT_EXPECT_FALSE(test, sib_vectors_are_due(&w->dev));
	sib_vectors_run(&w->dev);
	KUNIT_EXPECT_EQ(test, w->calls, 0);
}

static void call_port(struct work_struct *work)
{
	struct world *w = container_of(work, struct world, run);

	sib_vectors_run(&w->dev);
}

/* Who destroys a CQ waits until its handler has returned. */
static void forgotten_while_called(struct kunit *test)
{
	struct world *w = test->priv;

	w->profile.handler = SIB_HANDLER_SOFTIRQ;
	w->slow = true;
	INIT_WORK(&w->run, call_port);
	sib_vector_raise(&w->cq);
	queue_work(system_long_wq, &w->run);
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&w->called, 10 * HZ), 0);
	sib_vector_forget(&w->cq);
	KUNIT_EXPECT_TRUE(test, w->waited_for);
	flush_work(&w->run);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(softirq),
	KUNIT_CASE(hardirq),
	KUNIT_CASE(late),
	KUNIT_CASE(too_late),
	KUNIT_CASE(worker),
	KUNIT_CASE(forgotten),
	KUNIT_CASE(forgotten_while_called),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_vector",
	.init = world_init,
	.exit = world_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of completion vectors");
MODULE_LICENSE("Dual MIT/GPL");
