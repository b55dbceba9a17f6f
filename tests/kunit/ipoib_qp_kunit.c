// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Starting and stopping the queue pairs, with sends in the rings that the HCA has refused: none
 * of them is posted to a queue pair that is not in RTS, nobody waits for them, each is freed
 * once, and what waits for an address meanwhile leaves when they start again. The HCA is a fake;
 * NAPI is the kernel's.
 */
#define WORLD_REAL_QP
#include "ipoib_tx_world.h"

static struct ib_qp *fake_create_qp(void);
static int fake_modify_qp(struct ib_qp *qp, const struct ib_qp_attr *attr, int mask);

#define ib_create_qp(pd, init) ((void)(init), fake_create_qp())
#define ib_modify_qp(qp, attr, mask) fake_modify_qp(qp, attr, mask)
/* by its path: the software HCA has a file of this name as well */
#include "../../drivers/ipoib/qp.c"

unsigned int ipoib_send_queue_size = RING;
unsigned int ipoib_recv_queue_size = RING;

static struct {
	u32 qps;	/* that have been made */
	u32 fills;	/* of the receive queue */
	int fill_error;
	u32 empties;
	bool starts;	/* completions come as soon as a queue pair has left RESET */
	u32 polls;	/* for receives, meanwhile */
	u32 early;	/* of those, with nobody to post again what they find */
} made;

static struct ib_qp *fake_create_qp(void)
{
	struct ib_qp *qp = &hca.qps[made.qps];

	qp->device = world->ca;
	qp->qp_num = 0x800 + made.qps++;
	return qp;
}

static int fake_modify_qp(struct ib_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_STATE)
		hca.state[qp - hca.qps] = attr->qp_state;
	if (made.starts) {
		local_bh_disable();
		napi_schedule(&world->intf->rxq.napi);
		local_bh_enable();
	}
	return 0;
}

int ipoib_rxq_create(struct ipoib_intf *intf)
{
	return 0;
}

void ipoib_rxq_destroy(struct ipoib_intf *intf)
{
}

int ipoib_rxq_fill(struct ipoib_rxq *rxq, u32 buf_len)
{
	made.fills++;
	return made.fill_error;
}

void ipoib_rxq_empty(struct ipoib_rxq *rxq)
{
	made.empties++;
}

void ipoib_cq_discard(struct ib_cq *cq, struct ib_wc *wc)
{
}

static int fake_rx_poll(struct napi_struct *napi, int budget)
{
	made.polls += made.starts;
	made.early += made.starts && !READ_ONCE(world->intf->running);
	napi_complete(napi);
	return 0;
}

static int qp_setup(struct kunit *test)
{
	int err;

	memset(&made, 0, sizeof(made));
	err = setup(test);
	if (err)
		return err;
	world->intf->qp = world->intf->txq[0].qp;
	netif_napi_add(world->intf->dev, &world->intf->rxq.napi, fake_rx_poll);
	napi_enable(&world->intf->rxq.napi);
	return 0;
}

static void qp_teardown(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, world->intf->running);
	napi_disable(&world->intf->rxq.napi);
	netif_napi_del(&world->intf->rxq.napi);
	teardown(test);
}

/* What control does, on its queue. */
struct item {
	struct work_struct work;
	u32 queues;
};

static void stop_work(struct work_struct *work)
{
	qp_stop(world->intf);
}

static int started;

static void start_work(struct work_struct *work)
{
	started = qp_start(world->intf);
}

static void queues_work(struct work_struct *work)
{
	u32 queues = container_of(work, struct item, work)->queues;

	if (queues < world->intf->tx_queues)
		ipoib_qp_fewer_queues(world->intf, queues);
	else
		ipoib_qp_more_queues(world->intf, queues);
}

static void control(work_func_t func, u32 queues)
{
	struct item item = { .queues = queues };

	INIT_WORK_ONSTACK(&item.work, func);
	queue_work(world->intf->wq, &item.work);
	flush_work(&item.work);
	destroy_work_on_stack(&item.work);
}

/* Four packets in a list, of which the HCA takes two, that ask for no completion. */
static void refuse_half(struct kunit *test, u16 queue)
{
	hca.refuse_from = 2;
	hca.refuse_on = true;
	send_list(test, queue, 1, 4);
	KUNIT_ASSERT_EQ(test, world->intf->txq[queue].head, 4U);
	KUNIT_ASSERT_EQ(test, hca.posts, 2U);
}

/* A receive that completes before the interface runs is not posted again: none is seen then. */
static void receives_wait_for_the_start(struct kunit *test)
{
	unsigned long deadline = jiffies + 10 * HZ;

	control(stop_work, 0);
	made.starts = true;
	control(start_work, 0);
	while (!READ_ONCE(made.polls) && time_before(jiffies, deadline))
		schedule_timeout_uninterruptible(1);
	made.starts = false;
	KUNIT_EXPECT_GT(test, made.polls, 0U);
	KUNIT_EXPECT_EQ(test, made.early, 0U);
}

/* A HCA that takes no receives: the start fails, leaves nothing behind, and is possible later. */
static void a_start_without_receives_fails(struct kunit *test)
{
	control(stop_work, 0);
	made.empties = 0;
	made.fill_error = -EIO;
	control(start_work, 0);
	KUNIT_EXPECT_EQ(test, started, -EIO);
	KUNIT_EXPECT_FALSE(test, world->intf->running);
	KUNIT_EXPECT_EQ(test, hca.state[0], IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, made.empties, 1U);
	made.fill_error = 0;
	control(start_work, 0);
	KUNIT_EXPECT_EQ(test, started, 0);
	KUNIT_EXPECT_EQ(test, hca.state[0], IB_QPS_RTS);
}

static void stop_with_refused_sends(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	unsigned long before = jiffies;
	u32 calls;

	refuse_half(test, 0);
	cancel_delayed_work_sync(&world->intf->refused_work);
	hca.refuse_from = -1;
	calls = hca.calls;
	control(stop_work, 0);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, before + QP_DRAIN_TIMEOUT));
	KUNIT_EXPECT_EQ(test, hca.state[0], IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, in_ring(), 0U);
	KUNIT_EXPECT_EQ(test, done(&txq->done.errors), 4ULL);
	world_hurry(&world->intf->refused_work);
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, done(&txq->drops.dropped), 1ULL);
	KUNIT_EXPECT_EQ(test, hca.calls, calls);
	control(start_work, 0);
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, 3U);
	KUNIT_EXPECT_EQ(test, hca.posted[2], 4ULL);
	complete_one(4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, in_ring(), 0U);
}

/* What rings the doorbell before the queue pair has left RTS, and while it is in ERROR. */
static void doorbells_of_a_queue_that_stops(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	u32 calls;

	refuse_half(test, 0);
	cancel_delayed_work_sync(&intf->refused_work);
	hca.refuse_from = -1;
	calls = hca.calls;
	qps_set_running(intf, 0, QUEUES, false);
	ipoib_tx_lock_all(intf->dev);
	ipoib_tx_doorbells(intf);
	ipoib_tx_unlock_all(intf->dev);
	KUNIT_EXPECT_EQ(test, hca.calls, calls);
	KUNIT_EXPECT_EQ(test, in_ring(), 4U);
	hca.state[0] = IB_QPS_ERR;
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.calls, calls);
	reclaim();
	KUNIT_EXPECT_EQ(test, in_ring(), 0U);
	hca.state[0] = IB_QPS_RTS;
	qps_set_running(intf, 0, QUEUES, true);
}

/* The stack's queue has stopped, too, for the ring is full of what the HCA has refused. */
static void stop_with_a_ring_of_refused_sends(struct kunit *test)
{
	struct netdev_queue *queue = netdev_get_tx_queue(world->intf->dev, 0);
	struct ipoib_txq *txq = &world->intf->txq[0];
	u32 i;

	resolved(test, 1);
	hca.refuse_from = 0;
	for (i = 0; i < RING; i++)
		KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(queue));
	control(stop_work, 0);
	KUNIT_EXPECT_EQ(test, done(&txq->done.errors), (u64)RING);
	KUNIT_EXPECT_EQ(test, txq->refused.none, 0U);
	hca.refuse_from = -1;
	control(start_work, 0);
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(queue));
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, 1U);
}

/* Their addresses may become known while no queue pair sends: the P_Key may have gone. */
static void packets_wait_for_the_start(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	u32 i;

	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	control(stop_work, 0);
	resolved(test, 1);
	KUNIT_EXPECT_EQ(test, in_ring(), 0U);
	KUNIT_EXPECT_EQ(test, hca.calls, 0U);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&find(1)->hold.packets), 3U);
	control(start_work, 0);
	KUNIT_EXPECT_EQ(test, hca.posts, 3U);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&find(1)->hold.packets));
	KUNIT_EXPECT_EQ(test, atomic_read(&intf->pending_bytes), 0);
}

/* One of several goes, and comes back; the others send all the while. */
static void a_queue_goes_with_refused_sends(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[3];
	u32 calls;

	refuse_half(test, 3);
	cancel_delayed_work_sync(&world->intf->refused_work);
	hca.refuse_from = -1;
	calls = hca.calls;
	control(queues_work, 2);
	KUNIT_EXPECT_EQ(test, hca.calls, calls);
	KUNIT_EXPECT_EQ(test, txq->head, txq->tail);
	KUNIT_EXPECT_EQ(test, done(&txq->done.errors), 4ULL);
	KUNIT_EXPECT_TRUE(test, send_by(test, 3, 1, 100));	/* late */
	KUNIT_EXPECT_EQ(test, done(&txq->drops.dropped), 1ULL);
	KUNIT_EXPECT_TRUE(test, send_by(test, 1, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, 3U);
	control(queues_work, QUEUES);
	KUNIT_EXPECT_TRUE(test, send_by(test, 3, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, 4U);
	KUNIT_EXPECT_EQ(test, hca.queue[3], 3);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(receives_wait_for_the_start),
	KUNIT_CASE(a_start_without_receives_fails),
	KUNIT_CASE(stop_with_refused_sends),
	KUNIT_CASE(doorbells_of_a_queue_that_stops),
	KUNIT_CASE(stop_with_a_ring_of_refused_sends),
	KUNIT_CASE(packets_wait_for_the_start),
	KUNIT_CASE(a_queue_goes_with_refused_sends),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_qp",
	.init = qp_setup,
	.exit = qp_teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: start and stop of an interface's queue pairs");
