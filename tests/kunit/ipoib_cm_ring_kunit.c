// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The ring of a connection that several transmit queues feed: one order for the HCA,
 * each packet counted for its queue and freed once, never more in flight than the
 * completion queue holds, and every queue that stopped for it woken. The HCA is a fake.
 */
#define CONFIG_OPENIPOIB_CM 1
#include "cm_tx.h"
#include "ipoib_tx_world.h"

#include "cm_ring.c"

static struct {
	struct ipoib_cm cm;
	struct ipoib_cm_tx link;
	struct ipoib_conn conn;
	u32 notes;
} peer;

void ipoib_cm_note(struct ipoib_cm_item *item, unsigned int event)
{
	peer.notes++;
}

bool ipoib_cm_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	ipoib_cm_push(txq, &peer.conn, skb);
	return true;
}

void ipoib_cm_port_lost(struct ipoib_intf *intf)
{
}

void ipoib_cm_send_backlog(struct ipoib_intf *intf)
{
}

void ipoib_cm_post_tick(struct ipoib_cm_rxq *rxq)
{
}

bool ipoib_cm_has_backlog(const struct ipoib_intf *intf)
{
	return false;
}

static int link_setup(struct kunit *test)
{
	struct ib_qp *qp = &hca.qps[IPOIB_TXQ_MAX];
	int err = setup(test), i;

	if (err)
		return err;
	memset(&peer, 0, sizeof(peer));
	peer.link.slots = kvcalloc(IPOIB_CM_TX_RING, sizeof(*peer.link.slots), GFP_KERNEL);
	if (!peer.link.slots)
		return -ENOMEM;
	for (i = 0; i < IPOIB_CM_TX_RING; i++)
		peer.link.slots[i].wr.wr.sg_list = peer.link.slots[i].sge;
	spin_lock_init(&peer.link.lock);
	hca.link_cq.device = world->ca;
	qp->device = world->ca;
	qp->qp_context = &peer.link;
	peer.link.qp = qp;
	peer.link.cm = &peer.cm;
	peer.link.frame_max = IPOIB_CM_FRAME_MAX;
	peer.conn.link = &peer.link;
	peer.conn.cm = &peer.cm;
	peer.cm.intf = world->intf;
	peer.cm.tx_cq = &hca.link_cq;
	INIT_LIST_HEAD(&peer.cm.links);
	list_add(&peer.link.list, &peer.cm.links);
	world->intf->cm = &peer.cm;
	world->intf->connected = true;
	return 0;
}

static void link_teardown(struct kunit *test)
{
	if (peer.link.tail != peer.link.head)
		ring_complete(&peer.link, peer.link.head - 1, false, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer.cm.in_flight), 0);
	world->intf->cm = NULL;
	kvfree(peer.link.slots);
	teardown(test);
}

static void complete_link(u32 wr_id)
{
	hca.wc_cq = &hca.link_cq;
	complete_by(0, wr_id, IB_WC_SUCCESS);
	hca.wc_cq = &hca.cq;
}

static struct sk_buff *packet(struct kunit *test, u16 queue, unsigned int len)
{
	union ib_gid gid = world_gid(1);
	struct sk_buff *skb = world_packet(test, &gid, 0x701, len);

	skb_set_queue_mapping(skb, queue);
	return skb;
}

/* As the stack does when more packets follow: the HCA does not hear of it yet. */
static void push(struct kunit *test, u16 queue)
{
	struct sk_buff *skb = packet(test, queue, 100);

	local_bh_disable();
	__netif_tx_lock(netdev_get_tx_queue(world->intf->dev, queue), smp_processor_id());
	ipoib_cm_push(&world->intf->txq[queue], &peer.conn, skb);
	__netif_tx_unlock(netdev_get_tx_queue(world->intf->dev, queue));
	local_bh_enable();
}

static void doorbell(u16 queue)
{
	local_bh_disable();
	__netif_tx_lock(netdev_get_tx_queue(world->intf->dev, queue), smp_processor_id());
	ipoib_cm_doorbell(&world->intf->txq[queue]);
	__netif_tx_unlock(netdev_get_tx_queue(world->intf->dev, queue));
	local_bh_enable();
}

static void all_queues_share_the_ring(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 3 * QUEUES; i++)
		push(test, i % QUEUES);
	KUNIT_EXPECT_EQ(test, hca.posts, 0U);
	doorbell(2);			/* takes those of the others along */
	KUNIT_EXPECT_EQ(test, hca.posts, 3 * QUEUES);
	for (i = 0; i < QUEUES; i++)
		doorbell(i);
	KUNIT_EXPECT_EQ(test, hca.posts, 3 * QUEUES);
	KUNIT_EXPECT_EQ(test, hca.calls, 1U);
	for (i = 0; i < hca.posts; i++) {
		KUNIT_EXPECT_EQ(test, hca.posted[i], (u64)i);
		KUNIT_EXPECT_EQ(test, !!(hca.flags[i] & IB_SEND_SIGNALED), i == hca.posts - 1);
	}
	complete_link(hca.posts - 1);
	for (i = 0; i < QUEUES; i++) {
		KUNIT_EXPECT_EQ(test, done(&world->intf->txq[i].done.packets), 3ULL);
		KUNIT_EXPECT_EQ(test, done(&world->intf->txq[i].done.bytes), 300ULL);
	}
}

/* A queue that has pushed to one link and goes on to another has the first one posted. */
static void an_unposted_link_is_not_forgotten(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[1];

	push(test, 1);
	KUNIT_EXPECT_PTR_EQ(test, txq->unposted, &peer.link);
	KUNIT_EXPECT_TRUE(test, transmit(packet(test, 1, 100)));
	KUNIT_EXPECT_EQ(test, hca.posts, 2U);
	KUNIT_EXPECT_NULL(test, txq->unposted);
}

static bool stopped(u16 queue)
{
	return netif_tx_queue_stopped(netdev_get_tx_queue(world->intf->dev, queue));
}

/*
 * Without room each queue that has not noticed sends one packet more, in the order in which
 * the stack had it, and stops; so does one that is held back, and then the ring is full.
 */
static void every_stopped_queue_is_woken(struct kunit *test)
{
	u32 i;

	while (transmit(packet(test, 0, 100)))
		KUNIT_ASSERT_LE(test, atomic_read(&peer.cm.in_flight), IPOIB_CM_TX_RING);
	KUNIT_EXPECT_FALSE(test, ipoib_cm_has_room(world->intf));
	for (i = 1; i < QUEUES; i++) {
		KUNIT_EXPECT_FALSE(test, stopped(i));
		KUNIT_EXPECT_TRUE(test, transmit(packet(test, i, 100)));
		KUNIT_EXPECT_TRUE(test, stopped(i));
	}
	KUNIT_EXPECT_LT(test, atomic_read(&peer.cm.in_flight), IPOIB_CM_TX_RING);
	push(test, 0);
	doorbell(0);
	complete_link(IPOIB_CM_TX_RING / 2);
	for (i = 0; i < QUEUES; i++) {
		KUNIT_EXPECT_FALSE(test, stopped(i));
		KUNIT_EXPECT_TRUE(test, transmit(packet(test, i, 100)));
	}
}

/* Nothing else is on its way whose completion would wake them. */
static void queues_are_woken_when_a_link_is_given_up(struct kunit *test)
{
	u32 i;

	while (transmit(packet(test, 0, 100)))
		KUNIT_ASSERT_LE(test, atomic_read(&peer.cm.in_flight), IPOIB_CM_TX_RING);
	for (i = 1; i < QUEUES; i++)
		KUNIT_EXPECT_TRUE(test, transmit(packet(test, i, 100)));
	for (i = 0; i < QUEUES; i++)
		KUNIT_EXPECT_TRUE(test, stopped(i));
	doorbell(0);
	ipoib_cm_tx_reclaim(&peer.link);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer.cm.in_flight), 0);
	for (i = 0; i < QUEUES; i++)
		KUNIT_EXPECT_FALSE(test, stopped(i));
}

/* Some HCAs leave completions of a queue pair that is gone; nobody looks at it through them. */
static void completions_of_a_link_that_is_gone(struct kunit *test)
{
	struct ib_qp *qp = peer.link.qp;
	u32 i;

	for (i = 0; i < 3; i++)
		push(test, 0);
	doorbell(0);
	qp->qp_context = NULL;		/* what would be looked at */
	hca.link_cq.cqe = IPOIB_CM_TX_RING;
	hca.wc_cq = &hca.link_cq;
	hca.wc[0] = (struct ib_wc) { .wr_id = 0, .status = IB_WC_WR_FLUSH_ERR, .qp = qp };
	hca.wcs = 1;
	ipoib_cm_tx_reclaim(&peer.link);
	hca.wc_cq = &hca.cq;
	KUNIT_EXPECT_EQ(test, hca.wcs, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer.cm.in_flight), 0);
	KUNIT_EXPECT_EQ(test, peer.notes, 0U);
}

/* A queue that comes while there is no room has not noticed either. */
static void queues_that_come_do_not_overrun_the_ring(struct kunit *test)
{
	struct sk_buff *first = skb_get(packet(test, 0, 100));
	u32 i;

	world->intf->tx_queues = 1;
	KUNIT_ASSERT_TRUE(test, transmit(first));
	while (transmit(packet(test, 0, 100)))
		KUNIT_ASSERT_LE(test, atomic_read(&peer.cm.in_flight), IPOIB_CM_TX_RING);
	world->intf->tx_queues = QUEUES;
	for (i = 1; i < QUEUES; i++)
		KUNIT_EXPECT_TRUE(test, transmit(packet(test, i, 100)));
	push(test, 0);
	KUNIT_EXPECT_LE(test, atomic_read(&peer.cm.in_flight), IPOIB_CM_TX_RING);
	KUNIT_EXPECT_PTR_EQ(test, peer.link.slots[0].skb, first);
	kfree_skb(first);
}

/* Packets that were told that more would follow leave, although none does. */
static void a_refused_packet_rings_the_doorbell(struct kunit *test)
{
	struct sk_buff *skb = packet(test, 1, 100);
	struct net_device *dev = world->intf->dev;
	struct ipoib_txq *txq = &world->intf->txq[1];

	push(test, 1);
	KUNIT_EXPECT_EQ(test, hca.posts, 0U);
	txq->tail -= txq->size;
	local_bh_disable();
	__netif_tx_lock(netdev_get_tx_queue(dev, 1), smp_processor_id());
	KUNIT_EXPECT_EQ(test, (int)ipoib_start_xmit(skb, dev), (int)NETDEV_TX_BUSY);
	__netif_tx_unlock(netdev_get_tx_queue(dev, 1));
	local_bh_enable();
	txq->tail += txq->size;
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, hca.posts, 1U);
}

/* From each position of a list; in their order, each once, and the connection lives. */
static void refused_sends_are_posted_again(struct kunit *test)
{
	u32 from, i, sent = 0;

	for (from = 0; from < 4; from++) {
		hca.posts = 0;
		for (i = 0; i < 4; i++)
			push(test, 0);
		hca.refuse_from = from;
		doorbell(0);
		hca.refuse_from = -1;
		KUNIT_EXPECT_EQ(test, hca.posts, from);
		KUNIT_EXPECT_EQ(test, ipoib_cm_tx_awaited(&peer.link), 0U);
		if (from % 2)
			KUNIT_EXPECT_TRUE(test, transmit(packet(test, 1, 100)));
		else
			world_hurry(&world->intf->refused_work);
		KUNIT_ASSERT_EQ(test, hca.posts, 4 + from % 2);
		for (i = 0; i < hca.posts; i++)
			KUNIT_EXPECT_EQ(test, hca.posted[i], (u64)(sent + i));
		sent += hca.posts;
		KUNIT_EXPECT_EQ(test, ipoib_cm_tx_awaited(&peer.link), hca.posts);
		complete_link(sent - 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&peer.cm.in_flight), 0);
	}
	KUNIT_EXPECT_EQ(test, peer.notes, 0U);
	KUNIT_EXPECT_TRUE(test, ipoib_cm_tx_usable(&peer.link));
	KUNIT_EXPECT_EQ(test, atomic64_read(&world->intf->sends_refused), 4LL);
}

/* Each is posted once, from the first one on. */
static void refusals_that_name_no_request(struct kunit *test)
{
	u32 i;

	for (hca.telling = TELLS_NOTHING; hca.telling <= TELLS_NULL; hca.telling++) {
		hca.posts = 0;
		for (i = 0; i < 3; i++)
			push(test, 0);
		hca.refuse_from = 0;
		doorbell(0);
		hca.refuse_from = -1;
		KUNIT_EXPECT_EQ(test, peer.link.head - peer.link.posted, 3U);
		world_hurry(&world->intf->refused_work);
		KUNIT_ASSERT_EQ(test, hca.posts, 3U);
		complete_link(peer.link.head - 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&peer.cm.in_flight), 0);
	}
	KUNIT_EXPECT_TRUE(test, ipoib_cm_tx_usable(&peer.link));
}

/*
 * All queues have stopped for want of room, and what they wait for has been refused: when the
 * link ends, none of it is posted, each is freed once, and the queues are woken.
 */
static void a_link_ends_with_refused_sends(struct kunit *test)
{
	struct sk_buff *first = skb_get(packet(test, 0, 100));
	u32 i;

	hca.refuse_from = 0;
	KUNIT_ASSERT_TRUE(test, transmit(first));
	while (transmit(packet(test, 0, 100)))
		KUNIT_ASSERT_LE(test, atomic_read(&peer.cm.in_flight), IPOIB_CM_TX_RING);
	for (i = 1; i < QUEUES; i++)
		KUNIT_EXPECT_TRUE(test, transmit(packet(test, i, 100)));
	for (i = 0; i < QUEUES; i++)
		KUNIT_EXPECT_TRUE(test, stopped(i));
	KUNIT_EXPECT_EQ(test, ipoib_cm_tx_awaited(&peer.link), 0U);	/* nobody waits for them */
	hca.refuse_from = -1;
	peer.link.state = IPOIB_CM_TX_ERROR;
	hca.state[IPOIB_TXQ_MAX] = IB_QPS_ERR;
	world_hurry(&world->intf->refused_work);
	KUNIT_EXPECT_EQ(test, hca.posts, 0U);
	ipoib_cm_tx_reclaim(&peer.link);
	KUNIT_EXPECT_EQ(test, refcount_read(&first->users), 1U);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer.cm.in_flight), 0);
	for (i = 0; i < QUEUES; i++)
		KUNIT_EXPECT_FALSE(test, stopped(i));
	KUNIT_EXPECT_EQ(test, hca.posts, 0U);
	kfree_skb(first);
}

/*
 * A connection that takes nothing for a second, however often, is broken, as is one that fails.
 */
static void a_link_that_takes_nothing_is_given_up(struct kunit *test)
{
	push(test, 0);
	hca.refuse_from = 0;
	doorbell(0);
	retry_refused(&peer.link.refused, 3, 2 * HZ);
	KUNIT_EXPECT_TRUE(test, ipoib_cm_tx_usable(&peer.link));
	retry_refused(&peer.link.refused, 1000, 0);
	KUNIT_EXPECT_TRUE(test, ipoib_cm_tx_usable(&peer.link));
	retry_refused(&peer.link.refused, 1, 2 * HZ);
	KUNIT_EXPECT_TRUE(test, ipoib_cm_tx_usable(&peer.link));
	retry_refused(&peer.link.refused, 50, 2 * HZ);
	KUNIT_EXPECT_FALSE(test, ipoib_cm_tx_usable(&peer.link));
	KUNIT_EXPECT_EQ(test, peer.notes, 1U);
	peer.link.broken = false;
	hca.refuse_error = -EIO;
	push(test, 0);
	doorbell(0);
	KUNIT_EXPECT_FALSE(test, ipoib_cm_tx_usable(&peer.link));
	KUNIT_EXPECT_EQ(test, peer.notes, 2U);
}

#define MIXED	6U	/* packets of each mode */

/* Packets of both modes are on their way; a completion frees those of its own, once. */
static void both_modes_complete_side_by_side(struct kunit *test)
{
	static const struct {
		bool link;
		u32 last;
	} steps[] = { { true, 1 }, { false, 0 }, { false, 2 }, { true, 4 },
		      { false, 5 }, { true, 5 } };
	struct sk_buff *skbs[2][MIXED];
	u32 gone[2] = {}, i, k, mode;

	resolved(test, 1);
	for (i = 0; i < 2 * MIXED; i++) {
		struct sk_buff *skb = skb_get(packet(test, 0, 100));

		world->intf->connected = i % 2;
		skbs[i % 2][i / 2] = skb;
		KUNIT_ASSERT_TRUE(test, transmit(skb));
	}
	KUNIT_EXPECT_EQ(test, hca.posts, 2 * MIXED);
	for (k = 0; k < ARRAY_SIZE(steps); k++) {
		if (steps[k].link)
			complete_link(steps[k].last);
		else
			complete_one(steps[k].last, IB_WC_SUCCESS);
		gone[steps[k].link] = steps[k].last + 1;
		for (mode = 0; mode < 2; mode++)
			for (i = 0; i < MIXED; i++)
				KUNIT_EXPECT_EQ(test, refcount_read(&skbs[mode][i]->users),
						i < gone[mode] ? 1U : 2U);
	}
	for (i = 0; i < 2 * MIXED; i++)
		kfree_skb(skbs[i % 2][i / 2]);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(all_queues_share_the_ring),
	KUNIT_CASE(an_unposted_link_is_not_forgotten),
	KUNIT_CASE(every_stopped_queue_is_woken),
	KUNIT_CASE(queues_are_woken_when_a_link_is_given_up),
	KUNIT_CASE(completions_of_a_link_that_is_gone),
	KUNIT_CASE(queues_that_come_do_not_overrun_the_ring),
	KUNIT_CASE(a_refused_packet_rings_the_doorbell),
	KUNIT_CASE(refused_sends_are_posted_again),
	KUNIT_CASE(refusals_that_name_no_request),
	KUNIT_CASE(a_link_ends_with_refused_sends),
	KUNIT_CASE(a_link_that_takes_nothing_is_given_up),
	KUNIT_CASE(both_modes_complete_side_by_side),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_cm_ring",
	.init = link_setup,
	.exit = link_teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: ring of a connection that several queues feed");
