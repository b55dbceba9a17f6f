// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Incoming connections with receive buffers of their own, on a HCA without shared receive queues
 * that refuses some of them: a connection lives on with those that it has, gets the others back
 * by NAPI, and drains however it ends. The HCA is a fake; NAPI is the kernel's.
 */
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

static int fake_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad);
static void fake_receive(struct sk_buff *skb);
static void world_ready_rxq(struct ib_device *ca);

#define ib_post_recv(qp, wr, bad) fake_post_recv(qp, wr, bad)
#define ib_post_srq_recv(srq, wr, bad) ((void)(srq), (void)(wr), (void)(bad), -EIO)
#define napi_gro_receive(napi, skb) fake_receive(skb)
#define WORLD_REAL_RXQ
#include "ipoib_cm_verbs_world.h"
#include "cm_rxq.c"
#include "cm_post.c"
#include "rx_pool.c"
#include "refused.c"

#define PART	8U	/* buffers of a connection */
#define LEN	100	/* of a message */

static DEFINE_SPINLOCK(lock);	/* guards what follows */
static struct ib_wc wcs[2 * PART];
static u32 wc_count;
static u32 room;		/* requests that the HCA takes before it refuses */
static int error;		/* what it says then */
static u32 received;
static u32 astray;		/* lists that are posted to a queue pair in ERROR */

static int fake_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	struct fake_qp *fake = container_of(qp, struct fake_qp, qp);
	int err = 0;

	spin_lock_bh(&lock);
	astray += fake->in_error;
	for (; wr && room; wr = wr->next, room--)
		fake->has |= BIT(wr->wr_id);
	if (wr) {
		err = error;
		if (bad)
			*bad = wr;
	}
	spin_unlock_bh(&lock);
	return err;
}

static void fake_receive(struct sk_buff *skb)
{
	received++;
	kfree_skb(skb);
}

static int fake_poll_cq(struct ib_cq *cq, int most, struct ib_wc *wc)
{
	int n = 0;

	spin_lock_bh(&lock);
	while (n < most && wc_count)
		wc[n++] = wcs[--wc_count];
	spin_unlock_bh(&lock);
	return n;
}

static int fake_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	return 0;
}

int ipoib_rx_poll_end(struct napi_struct *napi, struct ib_cq *cq, int done, int budget)
{
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

void ipoib_tx_post_refused(struct ipoib_txq *txq)
{
}

void ipoib_rx_post_refused(struct ipoib_rxq *rxq)
{
}

void ipoib_cm_post_again(struct ipoib_intf *intf)
{
	ipoib_cm_post_tick(&intf->cm->rxq);
}

static void wait_for_napi(void)
{
	struct napi_struct *napi = &world->intf->cm->rxq.napi;
	unsigned long deadline = jiffies + 10 * HZ;

	while (test_bit(NAPI_STATE_SCHED, &napi->state) && time_before(jiffies, deadline))
		schedule_timeout_uninterruptible(1);
}

/* NAPI, control and commands have nothing left to do. */
static void all_settle(void)
{
	wait_for_napi();
	settle();
	wait_for_napi();
	settle();
}

static void post_refused(void)
{
	world_hurry(&world->intf->refused_work);
	all_settle();
}

/* The HCA completes so many of the buffers that it has. */
static void complete_some(struct ipoib_cm_rx *rx, u32 count, enum ib_wc_status status)
{
	struct fake_qp *fake = container_of(rx->qp, struct fake_qp, qp);
	u32 i;

	spin_lock_bh(&lock);
	for (i = 0; i < PART && count; i++) {
		if (!(fake->has & BIT(i)))
			continue;
		fake->has &= ~BIT(i);
		wcs[wc_count++] = (struct ib_wc) {
			.wr_id = i, .status = status, .byte_len = LEN, .qp = rx->qp,
		};
		count--;
	}
	spin_unlock_bh(&lock);
	local_bh_disable();
	rxq_comp_handler(NULL, &rx->cm->rxq);
	local_bh_enable();
	all_settle();
}

static u32 has(const struct ipoib_cm_rx *rx)
{
	return hweight_long(container_of(rx->qp, struct fake_qp, qp)->has);
}

static struct ipoib_cm_rx *newest(void)
{
	return list_last_entry(&world->intf->cm->rx_links, struct ipoib_cm_rx, list);
}

static struct ipoib_cm_rx *accepted(struct kunit *test, u32 number)
{
	KUNIT_ASSERT_EQ(test, request(number), 0);
	KUNIT_ASSERT_FALSE(test, list_empty(&world->intf->cm->rx_links));
	KUNIT_ASSERT_EQ(test, newest()->state, IPOIB_CM_RX_LIVE);
	return newest();
}

/* It has not ended, nor been freed. */
static bool lives(const struct ipoib_cm_rx *rx)
{
	const struct ipoib_cm_rx *other;

	list_for_each_entry(other, &world->intf->cm->rx_links, list)
		if (other == rx)
			return rx->state == IPOIB_CM_RX_LIVE;
	return false;
}

static bool all_gone(void)
{
	return list_empty(&world->intf->cm->rx_links) && !atomic_read(&hca.qps) &&
	       !world->intf->cm->rxq.parts;
}

static void hang_up(struct ipoib_cm_rx *rx)
{
	struct ib_cm_event event = { .event = IB_CM_DREQ_RECEIVED };

	hca.listener(rx->id, &event);
	settle();
}

/* It has no shared receive queues. */
static void world_ready_rxq(struct ib_device *ca)
{
	ca->attrs.max_srq = 0;
	ca->attrs.max_recv_sge = 1;
	ca->attrs.max_qp_wr = PART;
	ca->attrs.max_cqe = 8 * PART + 1;
	ca->ops.poll_cq = fake_poll_cq;
	ca->ops.req_notify_cq = fake_req_notify_cq;
	wc_count = 0;
	room = U32_MAX;
	error = -ENOMEM;
	received = 0;
	astray = 0;
}

static int part_setup(struct kunit *test)
{
	int err = setup(test);

	if (err)
		return err;
	KUNIT_EXPECT_EQ(test, world->intf->cm->rxq.size, PART * world->intf->cm->rxq.parts_max);
	return 0;
}

static void part_teardown(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, astray, 0U);
	room = U32_MAX;
	world->intf->running = false;
	ipoib_refused_stop(world->intf);
	teardown(test);
}

static void all_buffers_are_given(struct kunit *test)
{
	struct ipoib_cm_rx *rx = accepted(test, 1);

	KUNIT_EXPECT_EQ(test, has(rx), PART);
	complete_some(rx, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, received, 3U);
	KUNIT_EXPECT_EQ(test, has(rx), PART);
	hang_up(rx);
	complete_some(rx, PART, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, all_gone());
}

/* The only list that there is, one that is taken in part, and each of many. */
static void a_refused_list_ends_no_connection(struct kunit *test)
{
	struct ipoib_cm_rx *rx = accepted(test, 1), *other = accepted(test, 2);
	u32 i;

	for (i = 0; i <= PART; i++) {
		room = i;
		complete_some(rx, PART, IB_WC_SUCCESS);
		KUNIT_ASSERT_TRUE(test, lives(rx));
		complete_some(other, 1, IB_WC_SUCCESS);
		KUNIT_ASSERT_TRUE(test, lives(other));
		room = U32_MAX;
		post_refused();			/* nothing comes */
		KUNIT_EXPECT_EQ(test, has(rx), PART);
		KUNIT_EXPECT_EQ(test, has(other), PART);
		KUNIT_EXPECT_EQ(test, rx->held, PART);
	}
	KUNIT_ASSERT_TRUE(test, lives(rx) && lives(other));
	KUNIT_EXPECT_EQ(test, received, (PART + 1) * (PART + 1));
	hang_up(rx);
	complete_some(rx, PART, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_PTR_EQ(test, newest(), other);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&world->intf->cm->rx_links));
}

/* It has some from the beginning, and the others soon; with none it is not accepted. */
static void refusals_from_the_beginning(struct kunit *test)
{
	struct ipoib_cm_rx *rx;

	room = 1;
	rx = accepted(test, 1);
	KUNIT_EXPECT_EQ(test, rx->held, PART);
	room = U32_MAX;
	post_refused();
	KUNIT_EXPECT_EQ(test, has(rx), PART);
	room = 0;
	KUNIT_EXPECT_EQ(test, request(2), 0);
	all_settle();
	KUNIT_EXPECT_EQ(test, hca.rejs, 1U);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&world->intf->cm->rx_links));
	KUNIT_EXPECT_TRUE(test, llist_empty(&world->intf->cm->rxq.waiting));
}

/* A HCA that goes on to refuse them: the connection is broken, and drains. */
static void a_connection_is_given_up(struct kunit *test)
{
	static const int errors[] = { -ENOMEM, -EIO };
	struct ipoib_cm_rx *rx;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		room = U32_MAX;
		rx = accepted(test, 1);
		room = 0;
		error = errors[i];
		rx->bufs.refused.none = 1000;
		rx->bufs.refused.since = jiffies - 2 * HZ;
		complete_some(rx, 3, IB_WC_SUCCESS);
		KUNIT_ASSERT_FALSE(test, all_gone());
		KUNIT_ASSERT_EQ(test, rx->state, IPOIB_CM_RX_FLUSHING);
		KUNIT_EXPECT_EQ(test, rx->held, PART - 3);
		complete_some(rx, PART, IB_WC_WR_FLUSH_ERR);
		KUNIT_EXPECT_TRUE(test, all_gone());
	}
}

/* The peer hangs up while none of its buffers is with the HCA, from which nothing will come. */
static void an_end_while_all_wait(struct kunit *test)
{
	struct ipoib_cm_rx *rx = accepted(test, 1);
	unsigned long before = jiffies;

	room = 0;
	complete_some(rx, PART, IB_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, lives(rx));
	KUNIT_EXPECT_EQ(test, has(rx), 0U);
	hang_up(rx);
	post_refused();
	KUNIT_EXPECT_TRUE(test, all_gone());
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, before + RX_END_TIME));
}

/* Nobody looks at those of one that is dropped, nor of an interface that stops. */
static void buffers_that_are_gone(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;
	struct ipoib_cm_rx *rx = accepted(test, 1);

	room = 0;
	complete_some(rx, PART / 2, IB_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, lives(rx));
	hang_up(rx);
	rx->deadline = jiffies;
	ipoib_cm_rx_tick(cm);		/* what the HCA has left does not come */
	all_settle();
	KUNIT_EXPECT_TRUE(test, all_gone());
	post_refused();

	room = U32_MAX;
	rx = accepted(test, 2);
	room = 0;
	complete_some(rx, PART / 2, IB_WC_SUCCESS);
	ipoib_cm_rx_stop(cm);
	KUNIT_EXPECT_TRUE(test, all_gone());
	KUNIT_EXPECT_TRUE(test, llist_empty(&cm->rxq.waiting));
	KUNIT_ASSERT_EQ(test, ipoib_cm_rx_start(cm), 0);
	hca.listener = hca.id->cm_handler;
	room = U32_MAX;
	post_refused();
	KUNIT_EXPECT_EQ(test, has(accepted(test, 3)), PART);
}

/* With a HCA that has shared receive queues, nobody could be given up for theirs. */
static void a_shared_queue_is_kept(struct kunit *test)
{
	struct ipoib_cm *cm = kunit_kzalloc(test, sizeof(*cm), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, cm);
	cm->intf = world->intf;
	world->ca->attrs.max_srq = 1;
	world->ca->attrs.max_srq_sge = 1;
	world->ca->attrs.max_srq_wr = PART;
	KUNIT_ASSERT_EQ(test, ipoib_cm_rxq_create(cm), 0);
	KUNIT_EXPECT_TRUE(test, cm->rxq.shared);
	KUNIT_EXPECT_TRUE(test, cm->rxq.bufs.refused.keeps);
	ipoib_cm_rxq_destroy(cm);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(all_buffers_are_given),
	KUNIT_CASE(a_refused_list_ends_no_connection),
	KUNIT_CASE(refusals_from_the_beginning),
	KUNIT_CASE(a_connection_is_given_up),
	KUNIT_CASE(an_end_while_all_wait),
	KUNIT_CASE(buffers_that_are_gone),
	KUNIT_CASE(a_shared_queue_is_kept),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_cm_part",
	.init = part_setup,
	.exit = part_teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: connections with receive buffers of their own");
