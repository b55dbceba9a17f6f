// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reception: what the stack is given for a completion, what malformed packets
 * and failures do, the counters, and that no buffer is ever lost.
 */
#include "ipoib_rx_world.h"

static void all_buffers_are_given(struct kunit *test)
{
	u32 i;

	KUNIT_EXPECT_EQ(test, posted(), RING);
	KUNIT_EXPECT_EQ(test, world->intf->rxq.posted, RING);
	for (i = 0; i < RING; i++) {
		KUNIT_EXPECT_EQ(test, hca.sge[i][0].length, 44U);
		/* IBA 9.7: a packet longer than the buffers would be an error */
		KUNIT_EXPECT_GE(test, hca.sge[i][1].length + hca.sge[i][2].length, 4096U);
	}
}

static void check_content(struct kunit *test, struct sk_buff *skb, u32 len)
{
	u8 octet;
	u32 i, bad = 0;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, skb->len, len);
	for (i = 0; i < len; i++)
		bad += skb_copy_bits(skb, i, &octet, 1) || octet != (u8)i;
	KUNIT_EXPECT_EQ(test, bad, 0U);
	KUNIT_EXPECT_PTR_EQ(test, skb->dev, world->intf->dev);
	KUNIT_EXPECT_EQ(test, ntohs(skb->protocol), ETH_P_IP);
	KUNIT_EXPECT_EQ(test, (int)(skb->data - skb_mac_header(skb)), IPOIB_HARD_LEN);
}

static void short_packets_are_copied(struct kunit *test)
{
	u64 addr = hca.sge[3][1].addr;

	arrive(3, ETH_P_IP, 100);
	complete_one();
	check_content(test, received(), 100);
	KUNIT_EXPECT_EQ(test, (int)skb_shinfo(received())->nr_frags, 0);
	KUNIT_EXPECT_TRUE(test, hca.posted[3]);
	KUNIT_EXPECT_EQ(test, hca.sge[3][1].addr, addr);
	KUNIT_EXPECT_EQ(test, count(&world->intf->rxq.count.packets), 1ULL);
	KUNIT_EXPECT_EQ(test, count(&world->intf->rxq.count.bytes), 100ULL);
}

static void long_packets_keep_their_buffer(struct kunit *test)
{
	u64 addr = hca.sge[3][1].addr;

	arrive(3, ETH_P_IP, 2000);
	complete_one();
	KUNIT_EXPECT_TRUE(test, hca.posted[3]);
	KUNIT_EXPECT_NE(test, hca.sge[3][1].addr, addr);
	memset((void *)(uintptr_t)hca.sge[3][1].addr, 0, 2000);
	check_content(test, received(), 2000);
	KUNIT_EXPECT_EQ(test, (int)skb_shinfo(received())->nr_frags, 1);
	/* The socket pays for its buffer, not for the page, which may have 64 KiB. */
	KUNIT_EXPECT_EQ(test, received()->truesize,
			SKB_TRUESIZE(skb_end_offset(received())) + world->intf->rxq.buf_len);
}

/* Every length the HCA may report, honest or not. */
/* The packet is dropped, and the HCA has the buffer that it had. */
static void buffers_that_cannot_be_mapped(struct kunit *test)
{
	u64 before = hca.sge[3][1].addr;

	arrive(3, ETH_P_IP, 1800);
	unmappable = true;
	complete_one();
	unmappable = false;
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), 0U);
	KUNIT_EXPECT_TRUE(test, hca.posted[3]);
	KUNIT_EXPECT_EQ(test, hca.sge[3][1].addr, before);
}

static void lengths(struct kunit *test)
{
	static const struct {
		u32 byte_len;
		bool good;
	} want[] = {
		{ 0, false }, { 39, false }, { 40, false }, { 43, false }, { 44, false },
		{ 45, true }, { 44 + 1536, true }, { 44 + 1537, true }, { 44 + 2044, true },
		{ 44 + PAGE_SIZE / 2 + 1, false }, { 0x7FFFFFFF, false }, { 0xFFFFFFFF, false },
	};
	u64 good = 0, bad = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		arrive(i, ETH_P_IP, 60);
		hca.wc.byte_len = want[i].byte_len;
		complete_one();
		good += want[i].good;
		bad += !want[i].good;
		KUNIT_EXPECT_EQ_MSG(test, count(&world->intf->rxq.count.packets), good,
				    "length %u", want[i].byte_len);
		KUNIT_EXPECT_EQ_MSG(test, count(&world->intf->rxq.count.errors), bad,
				    "length %u", want[i].byte_len);
		KUNIT_EXPECT_EQ(test, posted(), RING);
	}
	KUNIT_EXPECT_EQ(test, (u64)skb_queue_len(&hca.got), good);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
}

static void whom_it_is_for(struct kunit *test)
{
	struct ib_grh *grh;

	arrive(0, ETH_P_IP, 60);
	hca.wc.wc_flags = 0;
	complete_one();
	KUNIT_EXPECT_EQ(test, (int)received()->pkt_type, PACKET_HOST);
	grh = arrive(1, ETH_P_IP, 60);
	grh->dgid = world->intf->local_gid;
	complete_one();
	KUNIT_EXPECT_EQ(test, (int)received()->pkt_type, PACKET_HOST);
	grh = arrive(2, ETH_P_IP, 60);
	grh->dgid = ipoib_hwaddr_gid(world->intf->dev->broadcast);
	complete_one();
	KUNIT_EXPECT_EQ(test, (int)received()->pkt_type, PACKET_BROADCAST);
	grh = arrive(3, ETH_P_IP, 60);
	grh->dgid = ipoib_hwaddr_gid(world->intf->dev->broadcast);
	grh->dgid.raw[15] = 1;
	complete_one();
	KUNIT_EXPECT_EQ(test, (int)received()->pkt_type, PACKET_MULTICAST);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), 4U);
	KUNIT_EXPECT_EQ(test, count(&world->intf->rxq.count.multicast), 1ULL);
}

/* A group's packet that a switch sends back to its sender. */
static void our_own_packets(struct kunit *test)
{
	struct ib_grh *grh = arrive(0, ETH_P_IP, 60);

	grh->sgid = world->intf->local_gid;
	hca.wc.src_qp = world->qp.qp_num;
	complete_one();
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), 0U);
	grh = arrive(1, ETH_P_IP, 60);		/* of a neighbour on the same port */
	grh->sgid = world->intf->local_gid;
	complete_one();
	arrive(2, ETH_P_IP, 60);		/* of a port with the same QPN */
	hca.wc.src_qp = world->qp.qp_num;
	complete_one();
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), 2U);
	KUNIT_EXPECT_EQ(test, posted(), RING);
}

/* Whichever of our transmit queues has sent it; and none that is not there any more. */
static void our_own_packets_of_every_queue(struct kunit *test)
{
	u32 i;

	for (i = 1; i < IPOIB_TXQ_MAX; i++)
		world->intf->txq[i].qpn = 0x500 + i;
	for (i = 1; i < IPOIB_TXQ_MAX; i++) {
		arrive(i, ETH_P_IP, 60)->sgid = world->intf->local_gid;
		hca.wc.src_qp = 0x500 + i;
		complete_one();
	}
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), 0U);
	world->intf->txq[3].qpn = 0;
	arrive(0, ETH_P_IP, 60)->sgid = world->intf->local_gid;
	hca.wc.src_qp = 0x503;
	complete_one();
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), 1U);
}

/* RFC 4391 section 9.1.2, RFC 4391 section 9.2 */
static void who_is_heard(struct kunit *test)
{
	union ib_gid gid = world_gid(0x3000), sgid = world_gid(0x2000);
	u8 *data;

	arrive(0, ETH_P_IP, 60);
	complete_one();
	KUNIT_EXPECT_EQ(test, hca.heard, 0U);
	arrive(0, ETH_P_ARP, 56);
	data = (void *)(uintptr_t)hca.sge[0][1].addr;
	memcpy(data + 8 + 4, &gid, sizeof(gid));
	complete_one();
	KUNIT_EXPECT_EQ(test, hca.heard, 1U);
	KUNIT_EXPECT_EQ(test, memcmp(&hca.heard_gid, &gid, sizeof(gid)), 0);
	KUNIT_EXPECT_EQ(test, hca.heard_lid, 9);
	arrive(0, ETH_P_ARP, 8 + INFINIBAND_ALEN - 1);	/* too short to tell */
	complete_one();
	KUNIT_EXPECT_EQ(test, hca.heard, 1U);
	arrive(0, ETH_P_IPV6, 60);
	complete_one();
	KUNIT_EXPECT_EQ(test, hca.heard, 2U);
	KUNIT_EXPECT_EQ(test, memcmp(&hca.heard_gid, &sgid, sizeof(sgid)), 0);
}

static void checksums(struct kunit *test)
{
	arrive(0, ETH_P_IP, 60);
	complete_one();
	KUNIT_EXPECT_EQ(test, (int)received()->ip_summed, CHECKSUM_NONE);
	arrive(1, ETH_P_IP, 60);
	hca.wc.wc_flags |= IB_WC_IP_CSUM_OK;
	complete_one();
	KUNIT_EXPECT_EQ(test, (int)received()->ip_summed, CHECKSUM_UNNECESSARY);
	world->intf->dev->features &= ~NETIF_F_RXCSUM;
	arrive(2, ETH_P_IP, 60);
	hca.wc.wc_flags |= IB_WC_IP_CSUM_OK;
	complete_one();
	KUNIT_EXPECT_EQ(test, (int)received()->ip_summed, CHECKSUM_NONE);
}

static void failed_receive_restarts(struct kunit *test)
{
	arrive(0, ETH_P_IP, 60);
	hca.wc.status = IB_WC_LOC_PROT_ERR;
	complete_one();
	KUNIT_EXPECT_EQ(test, count(&world->intf->rxq.count.errors), 1ULL);
	KUNIT_EXPECT_EQ(test, hca.restarts, 1U);
	arrive(1, ETH_P_IP, 60);
	hca.wc.status = IB_WC_WR_FLUSH_ERR;
	complete_one();
	KUNIT_EXPECT_EQ(test, count(&world->intf->rxq.count.errors), 1ULL);
	KUNIT_EXPECT_EQ(test, hca.restarts, 2U);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), 0U);
	/* A queue pair in ERROR would return them at once. */
	KUNIT_EXPECT_EQ(test, posted(), RING - 2U);
}

static void stopping_takes_buffers_back(struct kunit *test)
{
	u32 i;

	world->intf->running = false;
	for (i = 0; i < RING; i++) {
		arrive(i, ETH_P_IP, 60);
		hca.wc.status = IB_WC_WR_FLUSH_ERR;
		complete_one();
	}
	KUNIT_EXPECT_EQ(test, posted(), 0U);
	KUNIT_EXPECT_EQ(test, world->intf->rxq.posted, 0U);
}

/* Buffers of another length, of which one is filled. */
static void receive_with(struct kunit *test, u32 len)
{
	struct ipoib_rxq *rxq = &world->intf->rxq;

	napi_disable(&rxq->napi);
	skb_queue_purge(&hca.got);
	ipoib_rxq_empty(rxq);
	memset(hca.posted, 0, sizeof(hca.posted));
	KUNIT_ASSERT_EQ(test, ipoib_rxq_fill(rxq, len), 0);
	napi_enable(&rxq->napi);
	KUNIT_EXPECT_EQ(test, rxq->posted, RING);
	arrive(0, ETH_P_IP, len);
	complete_one();
	check_content(test, received(), len);
}

/* The broadcast group turns out to have the larger MTU. */
static void larger_buffers(struct kunit *test)
{
	arrive(0, ETH_P_IP, 2000);
	complete_one();
	receive_with(test, 4092);
}

/* Omni-Path's take several pages in one piece. */
static void buffers_of_several_pages(struct kunit *test)
{
	receive_with(test, 10236);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(all_buffers_are_given),
	KUNIT_CASE(short_packets_are_copied),
	KUNIT_CASE(long_packets_keep_their_buffer),
	KUNIT_CASE(buffers_that_cannot_be_mapped),
	KUNIT_CASE(lengths),
	KUNIT_CASE(whom_it_is_for),
	KUNIT_CASE(our_own_packets),
	KUNIT_CASE(our_own_packets_of_every_queue),
	KUNIT_CASE(who_is_heard),
	KUNIT_CASE(checksums),
	KUNIT_CASE(failed_receive_restarts),
	KUNIT_CASE(stopping_takes_buffers_back),
	KUNIT_CASE(larger_buffers),
	KUNIT_CASE(buffers_of_several_pages),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_rx",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: reception of an interface");
