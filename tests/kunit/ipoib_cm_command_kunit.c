// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Connections on a HCA that takes its time: who waits for it, and who does not. What happens
 * to a connection while the HCA makes its queue pair waits until it has.
 */
#include "ipoib_cm_verbs_world.h"

static void wait_for(struct kunit *test, const atomic_t *what, int count)
{
	unsigned long end = jiffies + LIMIT / 2;

	while (atomic_read(what) != count && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, atomic_read(what), count);
}

static void wait_for_waiting(struct kunit *test, int count)
{
	wait_for(test, &hca.waiting, count);
}

static void slow(void)
{
	WRITE_ONCE(hca.slow, true);
}

/* All that wait are served, and those that come. */
static void fast(void)
{
	WRITE_ONCE(hca.slow, false);
	complete_all(&hca.let);
	settle();
}

/* Control goes on, with whatever it has to do, while queue pairs are made for others. */
static void nobody_waits_for_a_set_up(struct kunit *test)
{
	struct ipoib_conn *conn = connect(test);

	slow();
	send_to(test, 2);
	KUNIT_EXPECT_EQ(test, request(3), 0);
	wait_for_waiting(test, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&hca.qps), 1);
	ipoib_conn_event(conn, IPOIB_CONN_EV_IDLE);	/* one that is up ends, all the way */
	wait_for(test, &hca.qps, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&hca.waiting), 2);
	KUNIT_EXPECT_EQ(test, conn_to(2)->state, IPOIB_CONN_REQ);
	KUNIT_EXPECT_EQ(test, hca.reqs, 1U);
	fast();
	KUNIT_EXPECT_EQ(test, hca.reqs, 2U);
	KUNIT_EXPECT_EQ(test, hca.reps, 1U);
	agree(hca.id);
	settle();
	KUNIT_EXPECT_EQ(test, conn_to(2)->state, IPOIB_CONN_UP);
}

/* But the HCA is not given any number of commands at a time. */
static void commands_are_limited(struct kunit *test)
{
	u32 i;

	slow();
	for (i = 1; i <= 2 * COMMANDS_MAX; i++)
		KUNIT_EXPECT_EQ(test, request(i), 0);
	world_settle();
	wait_for_waiting(test, COMMANDS_MAX);
	schedule_timeout_uninterruptible(HZ / 20);	/* no more of them come */
	KUNIT_EXPECT_EQ(test, atomic_read(&hca.waiting), COMMANDS_MAX);
	fast();
	KUNIT_EXPECT_EQ(test, hca.reps, 2U * COMMANDS_MAX);
}

/* Asked for and given up at once; asked for again meanwhile. */
static void an_end_waits_for_the_set_up(struct kunit *test)
{
	slow();
	send_to(test, 1);
	wait_for_waiting(test, 1);
	ipoib_conn_event(conn_to(1), IPOIB_CONN_EV_RESET);
	KUNIT_EXPECT_FALSE(test, list_empty(&world->intf->cm->links));
	send_to(test, 1);
	wait_for_waiting(test, 2);
	ipoib_conn_event(conn_to(1), IPOIB_CONN_EV_STOP);
	fast();
	KUNIT_EXPECT_TRUE(test, list_empty(&world->intf->cm->links));
	KUNIT_EXPECT_EQ(test, atomic_read(&hca.qps), 0);
}

/* A peer that answers before the command that has asked it is at its end is not missed. */
static void an_answer_waits_for_the_set_up(struct kunit *test)
{
	hca.prompt = true;
	send_to(test, 1);
	settle();
	KUNIT_EXPECT_EQ(test, conn_to(1)->state, IPOIB_CONN_UP);
	KUNIT_EXPECT_EQ(test, hca.rtus, 1U);
}

/* The peer asks and hangs up while its queue pair is made. */
static void a_peer_hangs_up_early(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;
	struct ib_cm_event event = { .event = IB_CM_DREQ_RECEIVED };
	struct ipoib_cm_rx *rx;

	slow();
	KUNIT_EXPECT_EQ(test, request(1), 0);
	world_settle();
	wait_for_waiting(test, 1);
	rx = list_first_entry(&cm->rx_links, struct ipoib_cm_rx, list);
	hca.listener(rx->id, &event);
	world_settle();
	KUNIT_EXPECT_EQ(test, rx->state, IPOIB_CM_RX_NEW);
	fast();
	KUNIT_EXPECT_EQ(test, hca.reps, 1U);
	KUNIT_EXPECT_EQ(test, rx->state, IPOIB_CM_RX_FLUSHING);
	rx_qp_event(&(struct ib_event) { .event = IB_EVENT_QP_LAST_WQE_REACHED }, rx);
	settle();
	KUNIT_EXPECT_EQ(test, rx->state, IPOIB_CM_RX_DRAINING);
	ipoib_cm_rx_drained(rx);
	settle();
	KUNIT_EXPECT_TRUE(test, list_empty(&cm->rx_links));
	KUNIT_EXPECT_EQ(test, atomic_read(&hca.qps), 0);
}

/* As control does */
static void stop_work(struct work_struct *work)
{
	struct ipoib_intf *intf = world->intf;

	intf->running = false;
	intf->up = false;
	ipoib_cm_quiesce(intf);
	ipoib_cm_reclaim(intf);
	ipoib_cm_stop(intf);
}

/*
 * The interface stops while the HCA is at work, for both directions. What has not begun is not
 * done.
 */
static void a_stop_waits_for_commands(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;
	unsigned long end = jiffies + LIMIT / 2;
	struct work_struct stop;
	u32 i;

	INIT_WORK_ONSTACK(&stop, stop_work);
	slow();
	send_to(test, 1);
	wait_for_waiting(test, 1);
	for (i = 2; i <= COMMANDS_MAX + 10; i++)
		KUNIT_EXPECT_EQ(test, request(i), 0);
	world_settle();
	wait_for_waiting(test, COMMANDS_MAX);
	queue_work(world->intf->wq, &stop);
	while (!READ_ONCE(cm->settling) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(cm->settling));
	WRITE_ONCE(hca.slow, false);
	complete_all(&hca.let);
	flush_work(&stop);
	destroy_work_on_stack(&stop);
	KUNIT_EXPECT_EQ(test, atomic_read(&hca.qps), 0);
	KUNIT_EXPECT_EQ(test, hca.reqs, 1U);
	KUNIT_EXPECT_EQ(test, hca.reps, COMMANDS_MAX - 1U);
}

/* Whatever the HCA refuses on the way to a connection: nothing of it is left. */
static void what_the_hca_refuses(struct kunit *test)
{
	static const enum ib_qp_state states[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS };
	struct ipoib_cm *cm = world->intf->cm;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		hca.refuse_state = states[i];
		send_to(test, i + 1);
		settle();
		KUNIT_EXPECT_EQ(test, hca.reqs, i);	/* all but that of the first */
		if (i) {
			agree(hca.id);
			settle();
		}
		KUNIT_EXPECT_EQ(test, conn_to(i + 1)->state, IPOIB_CONN_DATAGRAM);
		KUNIT_EXPECT_TRUE(test, list_empty(&cm->links));
		KUNIT_EXPECT_EQ(test, atomic_read(&hca.qps), 0);
	}
	KUNIT_EXPECT_EQ(test, cm->stat_refused, (u64)ARRAY_SIZE(states));
	KUNIT_EXPECT_EQ(test, hca.rtus, 0U);
}

/* The same for one that a peer has asked for; one that might have received drains first. */
static void what_the_hca_refuses_to_a_peer(struct kunit *test)
{
	static const enum ib_qp_state states[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS, -1 };
	struct ipoib_cm *cm = world->intf->cm;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		bool drains = i >= 2;
		struct ipoib_cm_rx *rx;

		hca.refuse_state = states[i];
		hca.refuse_rep = i == 3 ? -EINVAL : 0;	/* the peer has given up meanwhile */
		KUNIT_EXPECT_EQ(test, request(1), 0);
		KUNIT_EXPECT_EQ(test, hca.rejs, i + 1);
		KUNIT_ASSERT_EQ(test, list_empty(&cm->rx_links), !drains);
		if (!drains)
			continue;
		rx = list_first_entry(&cm->rx_links, struct ipoib_cm_rx, list);
		rx_qp_event(&(struct ib_event) { .event = IB_EVENT_QP_LAST_WQE_REACHED }, rx);
		settle();
		ipoib_cm_rx_drained(rx);
		settle();
		KUNIT_EXPECT_TRUE(test, list_empty(&cm->rx_links));
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&hca.qps), 0);
	KUNIT_EXPECT_EQ(test, cm->stat_accepts, 0ULL);
}

/*
 * The send that is to come back last: asked for again at the next tick, for so long, however late
 * it was for the first time.
 */
static void a_drain_that_is_refused(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;
	struct ipoib_cm_rx *rx;
	u32 tries;

	for (tries = 1; tries <= 2; tries++) {
		KUNIT_EXPECT_EQ(test, request(1), 0);
		rx = list_first_entry(&cm->rx_links, struct ipoib_cm_rx, list);
		hca.refuse_drain = -ENOMEM;
		hca.drains = 0;
		rx_qp_event(&(struct ib_event) { .event = IB_EVENT_QP_FATAL }, rx);
		settle();
		rx->deadline = jiffies;
		rx_qp_event(&(struct ib_event) { .event = IB_EVENT_QP_LAST_WQE_REACHED }, rx);
		settle();
		KUNIT_EXPECT_EQ(test, hca.drains, 1U);
		KUNIT_EXPECT_EQ(test, rx->state, IPOIB_CM_RX_WAITING);
		KUNIT_EXPECT_NULL(test, cm->rx_draining);
		if (tries == 1)
			hca.refuse_drain = 0;
		else
			rx->deadline = jiffies;
		ipoib_cm_rx_tick(cm);
		KUNIT_EXPECT_EQ(test, hca.drains, 2U);
		KUNIT_EXPECT_EQ(test, rx->state, IPOIB_CM_RX_DRAINING);
		if (tries == 1)
			ipoib_cm_rx_drained(rx);
		else
			ipoib_cm_rx_tick(cm);
		settle();
		KUNIT_EXPECT_TRUE(test, list_empty(&cm->rx_links));
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&hca.qps), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(nobody_waits_for_a_set_up),
	KUNIT_CASE(commands_are_limited),
	KUNIT_CASE(an_end_waits_for_the_set_up),
	KUNIT_CASE(an_answer_waits_for_the_set_up),
	KUNIT_CASE(a_peer_hangs_up_early),
	KUNIT_CASE(a_stop_waits_for_commands),
	KUNIT_CASE(what_the_hca_refuses),
	KUNIT_CASE(what_the_hca_refuses_to_a_peer),
	KUNIT_CASE(a_drain_that_is_refused),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_cm_command",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: connections on a slow HCA");
