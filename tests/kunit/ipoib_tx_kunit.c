// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The transmit ring: what the HCA is given, what its completions and refusals
 * do, the counters, and that the ring is never filled beyond its size. The HCA
 * is a fake that notes the requests; NAPI is the kernel's.
 */
#include <trace/events/skb.h>

#include "ipoib_tx_world.h"

static void request_of_a_packet(struct kunit *test)
{
	resolved(test, 1);
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_ASSERT_EQ(test, hca.posts, 1U);
	KUNIT_EXPECT_EQ(test, hca.qpn[0], 0x701U);
	/* RFC 4391 section 6: the encapsulation header and the datagram */
	KUNIT_EXPECT_EQ(test, hca.bytes[0], 104U);
	KUNIT_EXPECT_TRUE(test, hca.flags[0] & IB_SEND_SIGNALED);
	KUNIT_EXPECT_FALSE(test, hca.flags[0] & IB_SEND_IP_CSUM);
	KUNIT_EXPECT_EQ(test, hca.resolved, 0U);
}

/* RFC 4391 section 4: whatever QPN the address says, groups have their own. */
static void request_of_a_group(struct kunit *test)
{
	u8 hwaddr[INFINIBAND_ALEN] = { 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x12, 0x40, 0x1B, 0x81, 0x23 };
	union ib_gid mgid = ipoib_hwaddr_gid(hwaddr);
	struct rdma_ah_attr attr = {};
	struct ipoib_dest *dest;

	KUNIT_EXPECT_TRUE(test, transmit(world_packet(test, &mgid, 0x42, 20)));
	KUNIT_EXPECT_EQ(test, hca.posts, 0U);
	rcu_read_lock();
	dest = ipoib_dest_find(world->intf, &mgid);
	rcu_read_unlock();
	KUNIT_ASSERT_NOT_NULL(test, dest);
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, dest, &attr), 0);
	KUNIT_ASSERT_EQ(test, hca.posts, 1U);
	KUNIT_EXPECT_EQ(test, hca.qpn[0], 0xFFFFFFU);
	KUNIT_EXPECT_EQ(test, hca.resolved, 0U);
}

static void unknown_destination_waits(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, 0U);
	KUNIT_EXPECT_EQ(test, hca.resolved, 2U);
	resolved(test, 1);
	KUNIT_EXPECT_EQ(test, hca.posts, 2U);
	/* one list, and only its last request asks for a completion */
	KUNIT_EXPECT_EQ(test, hca.calls, 1U);
	KUNIT_EXPECT_FALSE(test, hca.flags[0] & IB_SEND_SIGNALED);
	KUNIT_EXPECT_TRUE(test, hca.flags[1] & IB_SEND_SIGNALED);
}

static void stale_path_is_asked_for_again(struct kunit *test)
{
	struct ipoib_dest *dest = resolved(test, 1);

	set_bit(IPOIB_PATH_STALE, &ipoib_path_of(dest)->state);
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, 1U);	/* does not wait for it */
	KUNIT_EXPECT_EQ(test, hca.resolved, 1U);
}

/* One completion stands for all requests before it. */
static void completion_frees_and_counts(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	int i;

	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_TRUE(test, send_to(test, 1, 100));
	resolved(test, 1);
	KUNIT_EXPECT_EQ(test, in_ring(), 5U);
	complete_one(4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, in_ring(), 0U);
	KUNIT_EXPECT_EQ(test, done(&txq->done.packets), 5ULL);
	KUNIT_EXPECT_EQ(test, done(&txq->done.bytes), 500ULL);
	KUNIT_EXPECT_EQ(test, done(&txq->done.errors), 0ULL);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
}

static void failed_send_restarts(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];

	resolved(test, 1);
	KUNIT_ASSERT_TRUE(test, send_to(test, 1, 100));
	KUNIT_ASSERT_TRUE(test, send_to(test, 1, 100));
	complete_one(0, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, done(&txq->done.errors), 1ULL);
	KUNIT_EXPECT_EQ(test, hca.restarts, 1U);
	txq->running = false;			/* control has begun to start it afresh */
	complete_one(1, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, done(&txq->done.errors), 2ULL);
	KUNIT_EXPECT_EQ(test, done(&txq->done.packets), 0ULL);
	KUNIT_EXPECT_EQ(test, hca.restarts, 1U);
	txq->running = true;
}

/* A queue pair that fails by itself says no more of it. */
static void flushed_send_restarts(struct kunit *test)
{
	resolved(test, 1);
	KUNIT_ASSERT_TRUE(test, send_to(test, 1, 100));
	complete_one(0, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, hca.restarts, 1U);
}

static u64 sends_refused(void)
{
	return atomic64_read(&world->intf->sends_refused);
}

/* From each position of a list: with the next packet, in their order, and each once. */
static void refused_requests_are_posted_again(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	u32 from, i;

	resolved(test, 1);
	for (from = 0; from < 4; from++) {
		struct ipoib_dest *dest = find(1);

		hca.posts = 0;
		ipoib_dest_clear_ah(world->intf, dest);
		for (i = 0; i < 4; i++)
			KUNIT_ASSERT_TRUE(test, send_to(test, 1, 100));
		hca.refuse_from = from;
		resolved(test, 1);
		hca.refuse_from = -1;
		KUNIT_EXPECT_EQ(test, hca.posts, from);
		KUNIT_EXPECT_EQ(test, in_ring(), 4U);
		/* nothing says when those that were taken are done */
		KUNIT_EXPECT_EQ(test, ipoib_tx_awaited(txq), 0U);
		KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
		KUNIT_ASSERT_EQ(test, hca.posts, 5U);
		for (i = 0; i < 5; i++)
			KUNIT_EXPECT_EQ(test, hca.posted[i], (u64)(txq->head - 5 + i));
		KUNIT_EXPECT_TRUE(test, hca.flags[4] & IB_SEND_SIGNALED);
		KUNIT_EXPECT_EQ(test, ipoib_tx_awaited(txq), 5U);
		complete_one(txq->head - 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, in_ring(), 0U);
		KUNIT_EXPECT_EQ(test, done(&txq->done.packets), 5ULL * (from + 1));
		KUNIT_EXPECT_EQ(test, sends_refused(), from + 1ULL);
	}
	KUNIT_EXPECT_EQ(test, done(&txq->drops.errors), 0ULL);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
}

/* A queue that is full of them stands still, and nothing follows. */
static void refused_requests_wait_for_nobody(struct kunit *test)
{
	struct netdev_queue *queue = netdev_get_tx_queue(world->intf->dev, 0);
	u32 i;

	resolved(test, 1);
	hca.refuse_from = 0;
	for (i = 0; i < RING; i++)
		KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(queue));
	KUNIT_EXPECT_EQ(test, hca.posts, 0U);
	KUNIT_EXPECT_GE(test, world_due(&world->intf->refused_work), 0);
	world_hurry(&world->intf->refused_work);	/* refused again */
	KUNIT_EXPECT_GE(test, world_due(&world->intf->refused_work), 0);
	hca.refuse_from = -1;
	world_hurry(&world->intf->refused_work);
	KUNIT_EXPECT_EQ(test, hca.posts, RING);
	complete_one(RING - 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(queue));
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
}

/* Some HCAs do not say which request they have refused: the first one then. */
static void refusals_that_name_no_request(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	u32 i;

	for (hca.telling = TELLS_NOTHING; hca.telling <= TELLS_NULL; hca.telling++) {
		hca.posts = 0;
		hca.refuse_from = 0;
		send_list(test, 0, 1, 3);
		KUNIT_EXPECT_EQ(test, in_ring(), 3U);
		hca.refuse_from = -1;
		world_hurry(&world->intf->refused_work);
		KUNIT_ASSERT_EQ(test, hca.posts, 3U);
		for (i = 0; i < 3; i++)
			KUNIT_EXPECT_EQ(test, hca.posted[i], (u64)(txq->head - 3 + i));
		complete_one(hca.posted[2], IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, in_ring(), 0U);
		hca.refuse_from = 0;
		hca.refuse_error = -EINVAL;	/* for good: nothing is left */
		send_list(test, 0, 1, 2);
		KUNIT_EXPECT_EQ(test, in_ring(), 0U);
		hca.refuse_error = -ENOMEM;
	}
	KUNIT_EXPECT_EQ(test, hca.restarts, 2U);
	KUNIT_EXPECT_EQ(test, done(&txq->drops.errors), 4ULL);
	hca.refuse_from = -1;
}

/*
 * A HCA that takes nothing for a second, however often, has to start afresh; one that takes some
 * need not.
 */
static void a_queue_that_takes_nothing_is_given_up(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];

	resolved(test, 1);
	hca.refuse_from = 0;
	KUNIT_ASSERT_TRUE(test, send_to(test, 1, 100));
	KUNIT_ASSERT_TRUE(test, send_to(test, 1, 100));
	retry_refused(&txq->refused, 3, 2 * HZ);	/* by a control that is late itself */
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	retry_refused(&txq->refused, 1000, 0);		/* by many packets that follow */
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	hca.refuse_from = 1;
	retry_refused(&txq->refused, 1, 2 * HZ);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	KUNIT_EXPECT_EQ(test, hca.posts, 1U);
	hca.refuse_from = 0;
	retry_refused(&txq->refused, 3, 2 * HZ);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	retry_refused(&txq->refused, 50, 2 * HZ);
	KUNIT_EXPECT_EQ(test, hca.restarts, 1U);
	KUNIT_EXPECT_EQ(test, in_ring(), 1U);
	KUNIT_EXPECT_EQ(test, done(&txq->drops.errors), 1ULL);
	reclaim();
	KUNIT_EXPECT_EQ(test, in_ring(), 0U);
}

/* What a HCA refuses for good is not in the ring; what it took stays. */
static void refused_requests_are_taken_back(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	int i;

	hca.refuse_error = -EIO;
	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_TRUE(test, send_to(test, 1, 100));
	hca.refuse_from = 2;
	resolved(test, 1);
	KUNIT_EXPECT_EQ(test, in_ring(), 2U);
	KUNIT_EXPECT_EQ(test, txq->posted, txq->head);
	KUNIT_EXPECT_EQ(test, done(&txq->drops.errors), 3ULL);
	KUNIT_EXPECT_EQ(test, hca.restarts, 1U);
	KUNIT_EXPECT_EQ(test, ipoib_tx_awaited(txq), 0U);
	for (i = 2; i < RING; i++)
		KUNIT_EXPECT_NULL(test, txq->slots[i].skb);
	/* the restart gives the rest back */
	reclaim();
	KUNIT_EXPECT_EQ(test, in_ring(), 0U);
	KUNIT_EXPECT_EQ(test, done(&txq->done.errors), 2ULL);
}

static void full_ring_stops_the_queue(struct kunit *test)
{
	struct netdev_queue *queue = netdev_get_tx_queue(world->intf->dev, 0);
	u32 i;

	resolved(test, 1);
	for (i = 0; i < RING; i++)
		KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(queue));
	complete_one(0, IB_WC_SUCCESS);		/* not for a single slot */
	KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(queue));
	complete_one(RING / 2 - 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(queue));
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, RING + 1);
}

/* Positions are counted modulo 2^32. */
static void positions_wrap(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	u32 i, start = U32_MAX - 2;

	txq->head = start;
	txq->posted = start;
	txq->tail = start;
	resolved(test, 1);
	for (i = 0; i < RING; i++)
		KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, hca.posts, RING);
	KUNIT_EXPECT_EQ(test, in_ring(), RING);
	complete_one(hca.posted[RING - 1], IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, in_ring(), 0U);
	KUNIT_EXPECT_EQ(test, done(&txq->done.packets), (u64)RING);
}

/* Packets that waited may fill the ring; another destination's must not overfill it. */
static void waiting_packets_never_overfill(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	u32 i, sent = 0;

	resolved(test, 2);
	for (i = 0; i < 2 * RING; i++)
		KUNIT_ASSERT_TRUE(test, send_to(test, 1, 100));
	resolved(test, 1);
	KUNIT_EXPECT_EQ(test, in_ring(), RING);
	sent = send_to(test, 2, 100);	/* as the stack may, unless it is stopped */
	KUNIT_ASSERT_EQ(test, in_ring(), RING);
	KUNIT_ASSERT_EQ(test, hca.posts, RING);
	while (in_ring())
		complete_one(txq->head - 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, hca.posts, 2 * RING + sent);
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(netdev_get_tx_queue(world->intf->dev, 0)));
}

/* RFC 4391 section 7: no datagram longer than the group's MTU. */
static void too_long_packets(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];

	resolved(test, 1);
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, world->intf->group_mtu));
	KUNIT_EXPECT_EQ(test, hca.posts, 1U);
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, world->intf->group_mtu + 1));
	KUNIT_EXPECT_EQ(test, hca.posts, 1U);
	KUNIT_EXPECT_EQ(test, done(&txq->drops.errors), 1ULL);
}

/* What the kernel tells who watches drops, of packets of our own interface. */
static void compat_drop_probe(note_drop)
{
	if (skb->dev == world->intf->dev && hca.drops < ARRAY_SIZE(hca.reasons))
		hca.reasons[hca.drops++] = reason;
}

static void expect_drops(struct kunit *test, u32 drops, enum skb_drop_reason reason)
{
	KUNIT_EXPECT_EQ(test, hca.drops, drops);
	if (hca.drops)
		KUNIT_EXPECT_EQ(test, hca.reasons[hca.drops - 1], reason);
	hca.drops = 0;
}

/* Each way to lose a packet says which one it is, and what arrives is no drop. */
static void reasons_of_drops(struct kunit *test)
{
	u32 sent;

	KUNIT_ASSERT_EQ(test, register_trace_kfree_skb(note_drop, NULL), 0);
	hca.no_dest = true;
	send_to(test, 1, 100);
	expect_drops(test, 1, SKB_DROP_REASON_NOMEM);
	hca.no_dest = false;
	world->intf->txq[0].running = false;
	send_to(test, 1, 100);
	expect_drops(test, 1, SKB_DROP_REASON_DEV_READY);
	world->intf->txq[0].running = true;
	for (sent = 0; !hca.drops && sent < 4000; sent++)
		send_to(test, 1, 1000);
	expect_drops(test, 1, SKB_DROP_REASON_NEIGH_QUEUEFULL);
	ipoib_dest_drop_pending(world->intf, find(1));
	expect_drops(test, min_t(u32, sent - 1, ARRAY_SIZE(hca.reasons)),
		     SKB_DROP_REASON_NEIGH_FAILED);
	resolved(test, 1);
	send_to(test, 1, 100);
	complete_one(0, IB_WC_SUCCESS);
	expect_drops(test, 0, SKB_NOT_DROPPED_YET);
	send_to(test, 1, 100);
	complete_one(1, IB_WC_WR_FLUSH_ERR);
	expect_drops(test, 1, SKB_DROP_REASON_DEV_READY);
	hca.refuse_from = 0;
	hca.refuse_error = -EIO;
	send_to(test, 1, 100);
	expect_drops(test, 1, SKB_DROP_REASON_DEV_READY);
	unregister_trace_kfree_skb(note_drop, NULL);
	tracepoint_synchronize_unregister();
}

static void packets_that_cannot_go(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	struct sk_buff *skb;

	hca.no_dest = true;			/* no memory */
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, done(&txq->drops.dropped), 1ULL);
	hca.no_dest = false;
	world->intf->txq[0].running = false;
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, done(&txq->drops.dropped), 2ULL);
	world->intf->txq[0].running = true;
	skb = alloc_skb(64, GFP_KERNEL);	/* has no hardware address */
	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, IPOIB_HARD_LEN - 1);
	KUNIT_EXPECT_TRUE(test, transmit(skb));
	KUNIT_EXPECT_EQ(test, done(&txq->drops.dropped), 3ULL);
	KUNIT_EXPECT_EQ(test, hca.posts, 0U);
}

static void add_pieces(struct kunit *test, struct sk_buff *skb, u32 pieces, u32 len)
{
	u32 i;

	for (i = 0; i < pieces; i++) {
		struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

		KUNIT_ASSERT_NOT_NULL(test, page);
		skb_add_rx_frag(skb, i, page, 0, len, PAGE_SIZE);
	}
}

/* Pieces beyond what the HCA takes are copied together. */
static void packets_in_many_pieces(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	union ib_gid gid = world_gid(1);
	u32 pieces;

	resolved(test, 1);
	for (pieces = 1; pieces <= 6; pieces++) {
		struct sk_buff *skb = world_packet(test, &gid, 5, 10);

		add_pieces(test, skb, pieces, 100);
		KUNIT_EXPECT_TRUE(test, transmit(skb));
		KUNIT_EXPECT_EQ(test, hca.bytes[pieces - 1], 14 + 100 * pieces);
		KUNIT_EXPECT_EQ(test, txq->slots[pieces - 1].wr.wr.num_sge,
				pieces < 4 ? (int)pieces + 1 : 1);
	}
	KUNIT_EXPECT_EQ(test, done(&txq->drops.errors), 0ULL);
}

/* A TCP segment of @len octets of data, to leave in pieces of @mss. */
static struct sk_buff *long_segment(struct kunit *test, unsigned int len, u16 mss)
{
	union ib_gid gid = world_gid(1);
	struct sk_buff *skb = world_packet(test, &gid, 0x701, 40 + len);

	skb_set_network_header(skb, IPOIB_HARD_LEN);
	skb_set_transport_header(skb, IPOIB_HARD_LEN + 20);
	tcp_hdr(skb)->doff = 5;
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
	skb_shinfo(skb)->gso_size = mss;
	skb_shinfo(skb)->gso_segs = DIV_ROUND_UP(len, mss);
	return skb;
}

/* It goes as one request, and counts as what leaves; the next request is as usual. */
static void long_segments_are_left_to_the_hca(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	const struct ib_ud_wr *wr = &txq->slots[0].wr;

	resolved(test, 1);
	KUNIT_ASSERT_TRUE(test, transmit(long_segment(test, 3001, 1000)));
	KUNIT_EXPECT_EQ(test, hca.posts, 1U);
	KUNIT_EXPECT_EQ(test, wr->wr.opcode, IB_WR_LSO);
	KUNIT_EXPECT_EQ(test, wr->hlen, IPOIB_ENCAP_LEN + 40);
	KUNIT_EXPECT_EQ(test, wr->mss, 1000);
	KUNIT_EXPECT_EQ(test, hca.bytes[0], 3001U);
	KUNIT_EXPECT_TRUE(test, hca.flags[0] & IB_SEND_IP_CSUM);
	KUNIT_EXPECT_EQ(test, txq->lso, 1ULL);
	complete_one(0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, done(&txq->done.packets), 4ULL);
	KUNIT_EXPECT_EQ(test, done(&txq->done.bytes), 3001ULL + 4 * 40);
	KUNIT_ASSERT_TRUE(test, send_to(test, 1, 100));
	KUNIT_EXPECT_EQ(test, txq->slots[1].wr.wr.opcode, IB_WR_SEND);
	complete_one(1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, done(&txq->done.packets), 5ULL);
}

/* The headers are where they are after copying: with more than four pieces elsewhere. */
static void long_segments_in_many_pieces(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	u32 pieces;

	resolved(test, 1);
	for (pieces = 3; pieces <= 6; pieces++) {
		struct ipoib_tx_slot *slot = &txq->slots[pieces - 3];
		struct sk_buff *skb = long_segment(test, 0, 1000);

		add_pieces(test, skb, pieces, 1000);
		KUNIT_ASSERT_TRUE(test, transmit(skb));
		KUNIT_EXPECT_EQ(test, hca.bytes[pieces - 3], 1000 * pieces);
		KUNIT_EXPECT_EQ(test, slot->wr.wr.num_sge, pieces <= 4 ? (int)pieces : 1);
		KUNIT_EXPECT_PTR_EQ(test, slot->wr.header, (void *)(skb->data - slot->wr.hlen));
	}
	KUNIT_EXPECT_EQ(test, done(&txq->drops.errors), 0ULL);
}

static void long_segments_that_cannot_go(struct kunit *test)
{
	struct ipoib_txq *txq = &world->intf->txq[0];
	struct sk_buff *skb = long_segment(test, 3000, 1000);

	resolved(test, 1);
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	KUNIT_EXPECT_TRUE(test, transmit(skb));
	KUNIT_EXPECT_EQ(test, done(&txq->drops.errors), 1ULL);
	skb = long_segment(test, 3 * world->intf->group_mtu, world->intf->group_mtu - 39);
	KUNIT_EXPECT_TRUE(test, transmit(skb));
	KUNIT_EXPECT_EQ(test, done(&txq->drops.errors), 2ULL);
	skb = long_segment(test, 3 * world->intf->group_mtu, world->intf->group_mtu - 40);
	KUNIT_EXPECT_TRUE(test, transmit(skb));
	KUNIT_EXPECT_EQ(test, hca.posts, 1U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(request_of_a_packet),
	KUNIT_CASE(request_of_a_group),
	KUNIT_CASE(unknown_destination_waits),
	KUNIT_CASE(stale_path_is_asked_for_again),
	KUNIT_CASE(completion_frees_and_counts),
	KUNIT_CASE(failed_send_restarts),
	KUNIT_CASE(flushed_send_restarts),
	KUNIT_CASE(refused_requests_are_posted_again),
	KUNIT_CASE(refused_requests_wait_for_nobody),
	KUNIT_CASE(refusals_that_name_no_request),
	KUNIT_CASE(a_queue_that_takes_nothing_is_given_up),
	KUNIT_CASE(refused_requests_are_taken_back),
	KUNIT_CASE(full_ring_stops_the_queue),
	KUNIT_CASE(positions_wrap),
	KUNIT_CASE(waiting_packets_never_overfill),
	KUNIT_CASE(too_long_packets),
	KUNIT_CASE(packets_that_cannot_go),
	KUNIT_CASE(reasons_of_drops),
	KUNIT_CASE(packets_in_many_pieces),
	KUNIT_CASE(long_segments_are_left_to_the_hca),
	KUNIT_CASE(long_segments_in_many_pieces),
	KUNIT_CASE(long_segments_that_cannot_go),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_tx",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: transmit ring of an interface");
