// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Timers of connected queue pairs: deadlines come in their order and when they are due, not
 * with the next tick, and a port goes with deadlines that have not come.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/module.h>

#include "rc_timer.c"

#define TRIES	100

struct world {
	struct sib_port port;
	struct timerqueue_node node[3];
	struct completion kicked;
	ktime_t at;
};

void sib_port_kick(struct sib_port *port)
{
	struct world *w = container_of(port, struct world, port);

	w->at = ktime_get();
	complete(&w->kicked);
}

static int world_init(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	spin_lock_init(&w->port.lock);
	init_completion(&w->kicked);
	for (i = 0; i < ARRAY_SIZE(w->node); i++)
		timerqueue_init(&w->node[i]);
	sib_rc_timer_init(&w->port);
	test->priv = w;
	return 0;
}

static void world_exit(struct kunit *test)
{
	struct world *w = test->priv;

	sib_rc_timer_cleanup(&w->port);
}

/* A deadline, and the clock is told. */
static void set(struct world *w, unsigned int i, ktime_t at)
{
	spin_lock_bh(&w->port.lock);
	sib_rc_timer_set(&w->port, &w->node[i], at);
	sib_rc_timer_follow(&w->port);
	spin_unlock_bh(&w->port.lock);
}

static struct timerqueue_node *take(struct world *w, ktime_t now)
{
	struct timerqueue_node *node;

	spin_lock_bh(&w->port.lock);
	node = sib_rc_timer_take(&w->port, now);
	spin_unlock_bh(&w->port.lock);
	return node;
}

/* The best of many, since others use the processor, too. */
static void sooner_than_a_tick(struct kunit *test)
{
	struct world *w = test->priv;
	ktime_t at, best = KTIME_MAX;
	int i;

	if (hrtimer_resolution >= TICK_NSEC)
		kunit_skip(test, "the clock ticks");
	for (i = 0; i < TRIES && best >= TICK_NSEC / 2; i++) {
		at = ktime_add_us(ktime_get(), 10);
		set(w, 0, at);
		KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&w->kicked, 10 * HZ), 0);
		KUNIT_EXPECT_GE(test, w->at, at);
		best = min(best, ktime_sub(w->at, at));
		KUNIT_EXPECT_PTR_EQ(test, take(w, w->at), &w->node[0]);
	}
	KUNIT_EXPECT_LT(test, best, (ktime_t)(TICK_NSEC / 2));
}

static void in_order(struct kunit *test)
{
	struct world *w = test->priv;
	ktime_t hour = ktime_add(ktime_get(), ktime_set(3600, 0));

	set(w, 0, hour + 30);
	set(w, 1, hour + 20);
	set(w, 2, hour + 10);
	KUNIT_EXPECT_EQ(test, hrtimer_get_expires(&w->port.rc_timer), hour + 10);
	set(w, 1, hour + 5);		/* one that comes sooner than it did */
	KUNIT_EXPECT_EQ(test, hrtimer_get_expires(&w->port.rc_timer), hour + 5);
	set(w, 2, hour + 40);		/* one that comes later is looked at too early */
	KUNIT_EXPECT_NULL(test, take(w, hour + 4));
	KUNIT_EXPECT_PTR_EQ(test, take(w, hour + 10), &w->node[1]);
	KUNIT_EXPECT_PTR_EQ(test, take(w, hour + 10), &w->node[2]);
	KUNIT_EXPECT_NULL(test, take(w, hour + 10));
	KUNIT_EXPECT_PTR_EQ(test, take(w, hour + 30), &w->node[0]);
	KUNIT_EXPECT_NULL(test, take(w, KTIME_MAX));
}

static void stopped(struct kunit *test)
{
	struct world *w = test->priv;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		set(w, 0, ktime_add(ktime_get(), ktime_set(3600, 0)));
		spin_lock_bh(&w->port.lock);
		sib_rc_timer_stop(&w->port, &w->node[0]);
		sib_rc_timer_stop(&w->port, &w->node[0]);
		spin_unlock_bh(&w->port.lock);
		KUNIT_EXPECT_NULL(test, take(w, KTIME_MAX));
	}
}

/* Queue pairs go, and then the port, while the clock still has a deadline of theirs. */
static void torn_down(struct kunit *test)
{
	struct world *w = test->priv;

	set(w, 0, ktime_add(ktime_get(), ktime_set(3600, 0)));
	spin_lock_bh(&w->port.lock);
	sib_rc_timer_stop(&w->port, &w->node[0]);
	spin_unlock_bh(&w->port.lock);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&w->port.rc_timer));
	sib_rc_timer_cleanup(&w->port);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&w->port.rc_timer));
	KUNIT_EXPECT_FALSE(test, completion_done(&w->kicked));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(sooner_than_a_tick),
	KUNIT_CASE(in_order),
	KUNIT_CASE(stopped),
	KUNIT_CASE(torn_down),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_rc_timer",
	.init = world_init,
	.exit = world_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of the timers of connected queue pairs");
MODULE_LICENSE("Dual MIT/GPL");
