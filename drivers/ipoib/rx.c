// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reception: from a UD receive completion to a packet for the stack.
 *
 * Short datagrams are copied and their buffer goes back to the HCA untouched:
 * a socket is charged for what it got, and no page changes hands. Long ones keep
 * their buffer, which is replaced from the page pool. Without memory for either,
 * the packet is dropped and its buffer used again: the ring never runs dry.
 *
 * Everything here belongs to the receive NAPI while the queue pair runs, and to
 * control before and after.
 */
#include <linux/if_arp.h>

#include "ipoib.h"
#include "path.h"
#include "rx_map.h"

/* Room in front of a frame that is not copied, and behind it for pulling. */
#define RX_FRAME_HEAD	(IPOIB_HARD_LEN + 128)

/* Room in front of the datagram for the header that the stack expects. */
static void rx_push_header(struct sk_buff *skb, const void *head)
{
	u8 *hard = skb_put(skb, IPOIB_HARD_LEN);

	memset(hard, 0, INFINIBAND_ALEN);
	memcpy(hard + INFINIBAND_ALEN, head + IPOIB_GRH_LEN, IPOIB_ENCAP_LEN);
	skb_reset_mac_header(skb);
	__skb_pull(skb, IPOIB_HARD_LEN);
}

static struct sk_buff *rx_copy(struct ipoib_rxq *rxq,
			       struct ipoib_rx_slot *slot, const void *head,
			       u32 len)
{
	struct sk_buff *skb = napi_alloc_skb(&rxq->napi, IPOIB_HARD_LEN + len);

	if (unlikely(!skb))
		return NULL;
	rx_push_header(skb, head);
	skb_put_data(skb, page_address(slot->page) + slot->offset, len);
	return skb;
}

static struct sk_buff *rx_take(struct ipoib_rxq *rxq,
			       struct ipoib_rx_slot *slot, const void *head,
			       u32 len)
{
	struct ipoib_rx_slot old = *slot;
	struct sk_buff *skb;

	skb = napi_alloc_skb(&rxq->napi, RX_FRAME_HEAD);
	if (unlikely(!skb))
		return NULL;
	if (unlikely(ipoib_rxq_alloc_buffer(rxq, slot))) {
		napi_consume_skb(skb, 1);
		return NULL;
	}
	ipoib_rx_unmap(rxq->intf->ca, old.dma, rxq->buf_len);
	rx_push_header(skb, head);
	skb_add_rx_frag(skb, 0, old.page, old.offset, len, rxq->buf_len);
	skb_mark_for_recycle(skb);
	return skb;
}

/* RFC 4391 section 9.1.2: an ARP packet carries its sender's GID. */
static void rx_learn_from_arp(struct ipoib_intf *intf, const u8 *data, u32 len,
			      u32 slid)
{
	union ib_gid gid;

	if (len < sizeof(struct arphdr) + INFINIBAND_ALEN)
		return;
	gid = ipoib_hwaddr_gid(data + sizeof(struct arphdr));
	ipoib_path_heard(intf, &gid, slid);
}

static void rx_learn(struct ipoib_rxq *rxq, const struct ipoib_rx_slot *slot,
		     const void *head, const struct ib_wc *wc, u32 len)
{
	const struct ipoib_header *encap = head + IPOIB_GRH_LEN;
	const struct ib_grh *grh = head;

	if (encap->proto == htons(ETH_P_ARP))
		rx_learn_from_arp(rxq->intf,
				  page_address(slot->page) + slot->offset, len,
				  wc->slid);
	else if (wc->wc_flags & IB_WC_GRH && encap->proto == htons(ETH_P_IPV6))
		ipoib_path_heard(rxq->intf, &grh->sgid, wc->slid);
}

static u8 rx_packet_type(const struct ipoib_intf *intf, const struct ib_grh *grh,
			 const struct ib_wc *wc)
{
	if (!(wc->wc_flags & IB_WC_GRH) || grh->dgid.raw[0] != 0xff)
		return PACKET_HOST;
	return memcmp(&grh->dgid, intf->dev->broadcast + IPOIB_HWADDR_GID,
		      sizeof(grh->dgid)) ? PACKET_MULTICAST : PACKET_BROADCAST;
}

/*
 * A switch may send a group's packet back to the port that it came from; any of our
 * transmit queues may have sent it.
 */
static bool rx_is_own(const struct ipoib_intf *intf, const struct ib_grh *grh,
		      const struct ib_wc *wc)
{
	int i;

	if (!(wc->wc_flags & IB_WC_GRH))
		return false;
	/* While the GID changes, what is half one and half the other is nobody's. */
	if (data_race(memcmp(&grh->sgid, &intf->local_gid, sizeof(grh->sgid))))
		return false;
	for (i = 0; i < IPOIB_TXQ_MAX; i++)
		if (wc->src_qp && wc->src_qp == READ_ONCE(intf->txq[i].qpn))
			return true;
	return false;
}

static void rx_deliver(struct ipoib_rxq *rxq, struct sk_buff *skb,
		       const void *head, const struct ib_wc *wc)
{
	const struct ipoib_header *encap = head + IPOIB_GRH_LEN;
	struct ipoib_intf *intf = rxq->intf;

	skb->protocol = encap->proto;
	skb->dev = intf->dev;
	skb->pkt_type = rx_packet_type(intf, head, wc);
	/* Written under rtnl: a packet just then may be treated either way. */
	if (data_race(intf->dev->features) & NETIF_F_RXCSUM &&
	    wc->wc_flags & IB_WC_IP_CSUM_OK)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	u64_stats_update_begin(&rxq->count.sync);
	u64_stats_inc(&rxq->count.packets);
	u64_stats_add(&rxq->count.bytes, skb->len);
	if (skb->pkt_type == PACKET_MULTICAST)
		u64_stats_inc(&rxq->count.multicast);
	u64_stats_update_end(&rxq->count.sync);
	napi_gro_receive(&rxq->napi, skb);
}

static void rx_packet(struct ipoib_rxq *rxq, u32 index, const struct ib_wc *wc)
{
	struct ipoib_rx_slot *slot = &rxq->slots[index];
	const void *head = slot->head;
	u64 dma = slot->dma;
	struct sk_buff *skb;
	u32 len;

	ib_dma_sync_single_for_cpu(rxq->intf->ca, slot->head_dma, IPOIB_UD_HEAD_LEN,
				   DMA_FROM_DEVICE);
	len = wc->byte_len - IPOIB_UD_HEAD_LEN;
	if (unlikely(wc->byte_len <= IPOIB_UD_HEAD_LEN || len > rxq->buf_len)) {
		ipoib_count_error(&rxq->count);
		return;
	}
	if (rx_is_own(rxq->intf, head, wc))
		return;
	ib_dma_sync_single_for_cpu(rxq->intf->ca, slot->dma, len,
				   DMA_FROM_DEVICE);
	rx_learn(rxq, slot, head, wc, len);
	skb = len <= IPOIB_RX_COPYBREAK ? rx_copy(rxq, slot, head, len) :
					  rx_take(rxq, slot, head, len);
	if (slot->dma == dma)
		ib_dma_sync_single_for_device(rxq->intf->ca, dma, len,
					      DMA_FROM_DEVICE);
	if (unlikely(!skb))
		ipoib_count_dropped(&rxq->count);
	else
		rx_deliver(rxq, skb, head, wc);
}

/*
 * The queue pair is in ERROR. Until control has started it afresh, some HCAs return at once
 * what is posted to it (rdmavt): so nothing is.
 */
static void rx_failed(struct ipoib_rxq *rxq, const struct ib_wc *wc)
{
	if (wc->status != IB_WC_WR_FLUSH_ERR) {
		ipoib_count_error(&rxq->count);
		if (net_ratelimit())
			netdev_warn(rxq->intf->dev,
				    "receive failed: %s (vendor error 0x%x)\n",
				    ib_wc_status_msg(wc->status),
				    wc->vendor_err);
	}
	if (READ_ONCE(rxq->intf->running))
		ipoib_flush(rxq->intf, IPOIB_FLUSH_RESTART);
}

static void rx_completion(struct ipoib_rxq *rxq, const struct ib_wc *wc)
{
	u32 index = wc->wr_id;

	WRITE_ONCE(rxq->posted, rxq->posted - 1);
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rx_failed(rxq, wc);
		return;
	}
	rx_packet(rxq, index, wc);
	if (likely(READ_ONCE(rxq->intf->running)))
		ipoib_rxq_post(rxq, index);
}

/**
 * ipoib_cq_discard - drop what is in a completion queue
 * @cq: completion queue that nobody polls now
 * @wc: room for IPOIB_POLL_BATCH completions
 *
 * For completions of queue pairs that have been reset or are gone: some HCAs remove them,
 * others leave them to whoever polls (rdmavt).
 *
 * Context: control.
 */
void ipoib_cq_discard(struct ib_cq *cq, struct ib_wc *wc)
{
	while (ib_poll_cq(cq, IPOIB_POLL_BATCH, wc) > 0)
		;
}

/**
 * ipoib_rx_poll_end - end a poll of a receive completion queue
 * @napi: that polls
 * @cq: completion queue
 * @done: completions that were handled
 * @budget: that were allowed
 *
 * Arms the queue when it is empty; what came in between is polled for again.
 *
 * Context: NAPI poll.
 * Return: what the poll is to return.
 */
int ipoib_rx_poll_end(struct napi_struct *napi, struct ib_cq *cq, int done,
		      int budget)
{
	if (done == budget)
		return budget;
	if (napi_complete_done(napi, done) &&
	    ib_req_notify_cq(cq, IB_CQ_NEXT_COMP |
			     IB_CQ_REPORT_MISSED_EVENTS) > 0)
		napi_schedule(napi);
	return done;
}

/**
 * ipoib_rx_poll - NAPI poll of a receive queue
 * @napi: of the receive queue
 * @budget: completions that are allowed
 *
 * Return: completions that were handled.
 */
int ipoib_rx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_rxq *rxq = container_of(napi, struct ipoib_rxq, napi);
	int done = 0, n, i;

	if (unlikely(rxq->waiting != IPOIB_NO_SLOT) && READ_ONCE(rxq->intf->running))
		ipoib_rxq_post_waiting(rxq);
	do {
		n = ib_poll_cq(rxq->cq, min(budget - done, IPOIB_POLL_BATCH),
			       rxq->wc);
		for (i = 0; i < n; i++)
			rx_completion(rxq, &rxq->wc[i]);
		ipoib_rxq_post_batch(rxq);
		done += max(n, 0);
	} while (n == IPOIB_POLL_BATCH && done < budget);

	if (!READ_ONCE(rxq->intf->running))
		wake_up(&rxq->intf->drained);
	if (done < budget)
		ipoib_adapt_polled(&rxq->adapt, &rxq->count);
	return ipoib_rx_poll_end(napi, rxq->cq, done, budget);
}

/**
 * ipoib_rx_comp_handler - a receive completion queue has something
 * @cq: completion queue
 * @context: its receive queue
 *
 * Context: any, as the HCA's.
 */
void ipoib_rx_comp_handler(struct ib_cq *cq, void *context)
{
	struct ipoib_rxq *rxq = context;

	napi_schedule(&rxq->napi);
}
