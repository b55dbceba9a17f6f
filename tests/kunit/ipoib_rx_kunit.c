// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reception: what the stack is given for a completion, what malformed packets
 * and failures do, the counters, and that no buffer is ever lost. The HCA is a
 * fake that writes into the buffers it was given; NAPI is the kernel's.
 */
#include "ipoib_world.h"

static struct ib_cq *fake_create_cq(struct ib_device *ca, ib_comp_handler comp,
				    void (*event)(struct ib_event *event, void *context),
				    void *context, const struct ib_cq_init_attr *attr,
				    const char *caller);
static void fake_receive(struct sk_buff *skb);

#undef __ib_create_cq
#define __ib_create_cq fake_create_cq
#define ib_destroy_cq(cq) ((void)(cq))
#define napi_gro_receive(napi, skb) fake_receive(skb)
#include "adapt.c"
#include "dest.c"
/* by its path: the software HCA has a file of this name as well */
#include "../../drivers/ipoib/rx.c"
#include "rx_heads.c"
#include "rx_pool.c"
#include "refused.c"

#define RING	32U

static struct {
	struct ib_cq cq;
	struct ib_sge sge[RING][3];	/* by slot, as posted last */
	bool posted[RING];
	u32 twice;		/* posted while the HCA still had it */
	int refuse_from;	/* requests accepted in a call, or -1 for all */
	int refuse_error;
	struct ib_wc wc;
	bool wc_valid;
	struct sk_buff_head got;
	u32 heard;
	union ib_gid heard_gid;
	u16 heard_lid;
	u32 restarts;
} hca;

static struct ib_cq *fake_create_cq(struct ib_device *ca, ib_comp_handler comp,
				    void (*event)(struct ib_event *event, void *context),
				    void *context, const struct ib_cq_init_attr *attr,
				    const char *caller)
{
	hca.cq.device = ca;
	return &hca.cq;
}

static void fake_receive(struct sk_buff *skb)
{
	skb_queue_tail(&hca.got, skb);
}

static int fake_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	int accepted = 0;

	for (; wr; wr = wr->next) {
		if (accepted++ == hca.refuse_from) {
			*bad = wr;
			return hca.refuse_error;
		}
		hca.twice += hca.posted[wr->wr_id];
		hca.posted[wr->wr_id] = true;
		memcpy(hca.sge[wr->wr_id], wr->sg_list, sizeof(hca.sge[0]));
	}
	return 0;
}

static int fake_poll_cq(struct ib_cq *cq, int most, struct ib_wc *wc)
{
	if (!most || !hca.wc_valid)
		return 0;
	*wc = hca.wc;
	hca.wc_valid = false;
	return 1;
}

static int fake_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	return 0;
}

void ipoib_flush(struct ipoib_intf *intf, enum ipoib_flush level)
{
	hca.restarts += level == IPOIB_FLUSH_RESTART;
}

void ipoib_tx_post_refused(struct ipoib_txq *txq)
{
}

void ipoib_path_heard(struct ipoib_intf *intf, const union ib_gid *gid, u32 slid)
{
	hca.heard++;
	hca.heard_gid = *gid;
	hca.heard_lid = slid;
}

static int setup(struct kunit *test)
{
	static const u8 broadcast[INFINIBAND_ALEN] = {
		0, 0xFF, 0xFF, 0xFF, 0xFF, 0x12, 0x40, 0x1B, 0x81, 0x23, 0, 0, 0, 0, 0, 0,
		0xFF, 0xFF, 0xFF, 0xFF,
	};
	struct ipoib_intf *intf;
	int err = world_create(test);

	if (err)
		return err;
	memset(&hca, 0, sizeof(hca));
	skb_queue_head_init(&hca.got);
	hca.refuse_from = -1;
	hca.refuse_error = -ENOMEM;
	intf = world->intf;
	world->ca->num_comp_vectors = 1;
	world->ca->ops.post_recv = fake_post_recv;
	world->ca->ops.poll_cq = fake_poll_cq;
	world->ca->ops.req_notify_cq = fake_req_notify_cq;
	memcpy((void *)intf->dev->broadcast, broadcast, sizeof(broadcast));
	intf->dev->features |= NETIF_F_RXCSUM;
	init_waitqueue_head(&intf->drained);
	ipoib_refused_init(intf);
	intf->rxq.size = RING;
	intf->txq[0].qpn = world->qp.qp_num;
	intf->running = true;
	err = ipoib_rxq_create(intf);
	if (err)
		return err;
	err = ipoib_rxq_fill(&intf->rxq, intf->group_mtu);
	napi_enable(&intf->rxq.napi);
	return err;
}

static void teardown(struct kunit *test)
{
	struct ipoib_rxq *rxq = &world->intf->rxq;

	skb_queue_purge(&hca.got);
	ipoib_refused_stop(world->intf);
	napi_disable(&rxq->napi);
	ipoib_rxq_empty(rxq);
	ipoib_rxq_destroy(world->intf);
	KUNIT_EXPECT_EQ(test, hca.twice, 0U);
	world_destroy(test);
}

/* NAPI may run in a thread of its own. */
static void wait_for_napi(void)
{
	struct napi_struct *napi = &world->intf->rxq.napi;
	unsigned long deadline = jiffies + 10 * HZ;

	while (test_bit(NAPI_STATE_SCHED, &napi->state) && time_before(jiffies, deadline))
		schedule_timeout_uninterruptible(1);
}

/* The completion that hca.wc describes. */
static void complete_one(void)
{
	hca.posted[hca.wc.wr_id] = false;
	hca.wc_valid = true;
	local_bh_disable();
	rx_comp_handler(&hca.cq, &world->intf->rxq);
	local_bh_enable();
	wait_for_napi();
}

/* What the HCA would write for a packet to slot @slot; octet i of it is i & 0xff. */
static struct ib_grh *arrive(u32 slot, u16 proto, u32 len)
{
	struct ib_grh *grh = (void *)(uintptr_t)hca.sge[slot][0].addr;
	struct ipoib_header *encap = (void *)grh + IPOIB_GRH_LEN;
	u8 *data = (void *)(uintptr_t)hca.sge[slot][1].addr;
	u32 i;

	memset(grh, 0, sizeof(*grh));
	grh->sgid = world_gid(0x2000);
	encap->proto = htons(proto);
	encap->reserved = htons(0x1234);	/* ignored (RFC 4391 section 6) */
	for (i = 0; i < min(len, hca.sge[slot][1].length); i++)
		data[i] = i;
	hca.wc = (struct ib_wc) {
		.wr_id = slot, .status = IB_WC_SUCCESS, .wc_flags = IB_WC_GRH,
		.byte_len = IPOIB_UD_HEAD_LEN + len, .src_qp = 0x222, .slid = 9,
	};
	return grh;
}

static struct sk_buff *received(void)
{
	return skb_peek_tail(&hca.got);
}

static u32 posted(void)
{
	u32 i, n = 0;

	for (i = 0; i < RING; i++)
		n += hca.posted[i];
	return n;
}

static u64 count(const u64_stats_t *counter)
{
	return u64_stats_read(counter);
}

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

static void post_again(void)
{
	world_hurry(&world->intf->refused_work);
	wait_for_napi();
}

/* From each position of a list: those that were taken are not posted twice. */
static void refused_buffers_are_posted_again(struct kunit *test)
{
	struct ipoib_rxq *rxq = &world->intf->rxq;
	u32 from;

	for (from = 0; from < IPOIB_POLL_BATCH; from++) {
		napi_disable(&rxq->napi);
		ipoib_rxq_empty(rxq);
		memset(hca.posted, 0, sizeof(hca.posted));
		hca.refuse_from = from;
		KUNIT_ASSERT_EQ(test, ipoib_rxq_fill(rxq, world->intf->group_mtu), 0);
		napi_enable(&rxq->napi);
		KUNIT_EXPECT_EQ(test, posted(), from * RING / IPOIB_POLL_BATCH);
		KUNIT_EXPECT_EQ(test, rxq->posted, posted());
		hca.refuse_from = -1;
		post_again();
		KUNIT_EXPECT_EQ_MSG(test, posted(), RING, "%u taken of a list", from);
		KUNIT_EXPECT_EQ(test, rxq->posted, RING);
	}
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	KUNIT_EXPECT_GT(test, atomic64_read(&world->intf->receives_refused), 0LL);
}

/* One after another, until there is none left that a packet could come to. */
static void a_ring_that_has_run_dry_is_filled(struct kunit *test)
{
	u32 i;

	hca.refuse_from = 0;
	for (i = 0; i < RING; i++) {
		arrive(i, ETH_P_IP, 60);
		complete_one();
	}
	KUNIT_EXPECT_EQ(test, posted(), 0U);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), RING);
	hca.refuse_from = 1;	/* of each batch */
	post_again();
	KUNIT_EXPECT_GT(test, posted(), 0U);
	hca.refuse_from = -1;
	for (i = 0; !hca.posted[i]; i++)
		;
	arrive(i, ETH_P_IP, 60);	/* with what comes as well */
	complete_one();
	KUNIT_EXPECT_EQ(test, posted(), RING);
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
}

static void a_queue_that_takes_nothing_restarts(struct kunit *test)
{
	hca.refuse_from = 0;
	arrive(0, ETH_P_IP, 60);
	complete_one();
	KUNIT_EXPECT_EQ(test, hca.restarts, 0U);
	world->intf->rxq.refused.since -= 2 * HZ;
	post_again();
	KUNIT_EXPECT_EQ(test, hca.restarts, 1U);
	hca.refuse_from = -1;
}

static void refused_buffer_restarts(struct kunit *test)
{
	hca.refuse_from = 0;
	hca.refuse_error = -EIO;
	arrive(0, ETH_P_IP, 60);
	complete_one();
	KUNIT_EXPECT_EQ(test, skb_queue_len(&hca.got), 1U);
	KUNIT_EXPECT_EQ(test, world->intf->rxq.posted, RING - 1);
	KUNIT_EXPECT_EQ(test, hca.restarts, 1U);
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
	KUNIT_CASE(lengths),
	KUNIT_CASE(whom_it_is_for),
	KUNIT_CASE(our_own_packets),
	KUNIT_CASE(our_own_packets_of_every_queue),
	KUNIT_CASE(who_is_heard),
	KUNIT_CASE(checksums),
	KUNIT_CASE(failed_receive_restarts),
	KUNIT_CASE(refused_buffers_are_posted_again),
	KUNIT_CASE(a_ring_that_has_run_dry_is_filled),
	KUNIT_CASE(a_queue_that_takes_nothing_restarts),
	KUNIT_CASE(refused_buffer_restarts),
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
