/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The receive queue of an interface on a HCA that is a fake: it writes into the buffers that it
 * was given. NAPI is the kernel's.
 */
#ifndef IPOIB_RX_WORLD_H
#define IPOIB_RX_WORLD_H

#include "ipoib_world.h"

static struct ib_cq *fake_create_cq(struct ib_device *ca, ib_comp_handler comp,
				    void (*event)(struct ib_event *event, void *context),
				    void *context, const struct ib_cq_init_attr *attr,
				    const char *caller);
static void fake_receive(struct sk_buff *skb);

static bool unmappable;		/* what is mapped next */

#define ib_dma_mapping_error(ca, dma) ((void)(ca), (void)(dma), unmappable)
#undef __ib_create_cq
#define __ib_create_cq fake_create_cq
#define ib_destroy_cq(cq) ((void)(cq))
#define napi_gro_receive(napi, skb) fake_receive(skb)
#include "adapt.c"
#include "dest.c"
/* by its path: the software HCA has a file of this name as well */
#include "../../drivers/ipoib/rx.c"
#include "rxq.c"
#include "rx_heads.c"
#include "rx_pool.c"
#include "refused.c"

#define RING	32U

static struct {
	struct ib_cq cq;
	struct ib_sge sge[RING][3];	/* by slot, as posted last */
	bool posted[RING];
	u32 twice;		/* posted while the HCA still had it */
	u32 lists;		/* that it has been given */
	int refuse_from;	/* requests accepted in a call, or -1 for all */
	int refuse_error;
	enum telling telling;
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

	hca.lists++;
	for (; wr; wr = wr->next) {
		if (accepted++ == hca.refuse_from) {
			if (hca.telling != TELLS_NOTHING)
				*bad = hca.telling == TELLS ? wr : NULL;
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
static __maybe_unused void complete_one(void)
{
	hca.posted[hca.wc.wr_id] = false;
	hca.wc_valid = true;
	local_bh_disable();
	ipoib_rx_comp_handler(&hca.cq, &world->intf->rxq);
	local_bh_enable();
	wait_for_napi();
}

/* What the HCA would write for a packet to slot @slot; octet i of it is i & 0xff. */
static __maybe_unused struct ib_grh *arrive(u32 slot, u16 proto, u32 len)
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

static __maybe_unused struct sk_buff *received(void)
{
	return skb_peek_tail(&hca.got);
}

static __maybe_unused u32 posted(void)
{
	u32 i, n = 0;

	for (i = 0; i < RING; i++)
		n += hca.posted[i];
	return n;
}

static __maybe_unused u64 count(const u64_stats_t *counter)
{
	return u64_stats_read(counter);
}

#endif /* IPOIB_RX_WORLD_H */
