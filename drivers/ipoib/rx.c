// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reception: from a UD receive completion to a packet for the stack.
 *
 * A receive request has three pieces: a small area for GRH and encapsulation
 * header, a buffer of the group's MTU that holds the datagram from its first
 * octet on, and one sink shared by all requests. No honest packet reaches the
 * sink; it is there so that a longer one cannot put the queue pair into error.
 *
 * Short datagrams are copied and their buffer goes back to the HCA untouched:
 * a socket is charged for what it got, and no page changes hands. Long ones keep
 * their buffer, which is replaced from the page pool. Without memory for either,
 * the packet is dropped and its buffer used again: the ring never runs dry. What the HCA
 * refuses is posted again (refused.c).
 *
 * Everything here belongs to the receive NAPI while the queue pair runs, and to
 * control before and after.
 */
#include <linux/if_arp.h>
#include <linux/log2.h>

#include "ipoib.h"
#include "path.h"
#include "rx_map.h"

/* Room in front of a frame that is not copied, and behind it for pulling. */
#define RX_FRAME_HEAD	(IPOIB_HARD_LEN + 128)

#define RX_BUF_MIN	2048

/* As much as the longest packet there is, Omni-Path's. */
#define RX_SPILL_LEN	10240

static int rx_alloc_buffer(struct ipoib_rxq *rxq, struct ipoib_rx_slot *slot)
{
	struct ib_device *ca = rxq->intf->ca;
	struct page *page;
	unsigned int offset;

	page = page_pool_dev_alloc_frag(rxq->pool, &offset, rxq->buf_len);
	if (!page)
		return -ENOMEM;
	if (unlikely(ipoib_rx_map(ca, page, offset, rxq->buf_len, &slot->dma))) {
		page_pool_put_full_page(rxq->pool, page, false);
		return -ENOMEM;
	}
	slot->page = page;
	slot->offset = offset;
	return 0;
}

static void rx_post_wait(struct ipoib_rxq *rxq, u32 index)
{
	rxq->slots[index].next = rxq->waiting;
	WRITE_ONCE(rxq->waiting, index);
}

/*
 * The HCA has not taken the requests from @wr on: their buffers wait. For want of room alone, no
 * queue is given up that has a buffer, or does not run yet. Return: 0, or @err if it is given up;
 * one that runs is restarted then, and for one that is being filled it is an error of the start.
 */
static int rx_refused(struct ipoib_rxq *rxq, const struct ib_recv_wr *wr, int err)
{
	bool again = ipoib_refused(rxq->intf, &rxq->refused, false, err, wr != rxq->wr);

	for (; wr; wr = wr->next)
		rx_post_wait(rxq, wr->wr_id);
	if (again)
		return 0;
	if (err == -ENOMEM && (rxq->posted || !READ_ONCE(rxq->intf->running)))
		return 0;
	if (READ_ONCE(rxq->intf->running))
		ipoib_flush(rxq->intf, IPOIB_FLUSH_RESTART);
	return err;
}

/* Return: as rx_refused() */
static int rx_post_batch(struct ipoib_rxq *rxq)
{
	const struct ib_recv_wr *bad = rxq->wr;
	unsigned int n = rxq->refill, taken = n;
	int err;

	if (!n)
		return 0;
	rxq->refill = 0;
	rxq->wr[n - 1].next = NULL;
	err = ib_post_recv(rxq->intf->qp, rxq->wr, &bad);
	if (likely(!err)) {
		ipoib_taken(&rxq->refused);
	} else {
		bad = bad ?: rxq->wr;
		taken = bad - rxq->wr;
		err = rx_refused(rxq, bad, err);
	}
	rxq->wr[n - 1].next = n < IPOIB_POLL_BATCH ? &rxq->wr[n] : NULL;
	WRITE_ONCE(rxq->posted, rxq->posted + taken);
	return err;
}

/* Give slot @index to the HCA, at the latest at the next rx_post_batch(). Return: as that. */
static int rx_post(struct ipoib_rxq *rxq, u32 index)
{
	struct ib_sge *sge = rxq->sge[rxq->refill];

	rxq->wr[rxq->refill].wr_id = index;
	sge[0].addr = rxq->slots[index].head_dma;
	ib_dma_sync_single_for_device(rxq->intf->ca, sge[0].addr,
				      IPOIB_UD_HEAD_LEN, DMA_FROM_DEVICE);
	sge[1].addr = rxq->slots[index].dma;
	return ++rxq->refill == IPOIB_POLL_BATCH ? rx_post_batch(rxq) : 0;
}

/* Each of them once, until one is refused again: that and those behind it wait again. */
static void rx_post_waiting(struct ipoib_rxq *rxq)
{
	u32 index = rxq->waiting, next;

	WRITE_ONCE(rxq->waiting, IPOIB_NO_SLOT);
	for (; index != IPOIB_NO_SLOT; index = next) {
		next = rxq->slots[index].next;
		if (rxq->waiting == IPOIB_NO_SLOT)
			rx_post(rxq, index);
		else
			rx_post_wait(rxq, index);
	}
	rx_post_batch(rxq);
}

/**
 * ipoib_rx_post_refused - post again what the HCA has refused, should nothing come any more
 * @rxq: receive queue whose NAPI is on
 *
 * Context: control.
 */
void ipoib_rx_post_refused(struct ipoib_rxq *rxq)
{
	if (READ_ONCE(rxq->waiting) == IPOIB_NO_SLOT)
		return;
	local_bh_disable();
	napi_schedule(&rxq->napi);
	local_bh_enable();
}

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
	if (unlikely(rx_alloc_buffer(rxq, slot))) {
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
		rx_post(rxq, index);
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

static int rx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_rxq *rxq = container_of(napi, struct ipoib_rxq, napi);
	int done = 0, n, i;

	if (unlikely(rxq->waiting != IPOIB_NO_SLOT) && READ_ONCE(rxq->intf->running))
		rx_post_waiting(rxq);
	do {
		n = ib_poll_cq(rxq->cq, min(budget - done, IPOIB_POLL_BATCH),
			       rxq->wc);
		for (i = 0; i < n; i++)
			rx_completion(rxq, &rxq->wc[i]);
		rx_post_batch(rxq);
		done += max(n, 0);
	} while (n == IPOIB_POLL_BATCH && done < budget);

	if (!READ_ONCE(rxq->intf->running))
		wake_up(&rxq->intf->drained);
	if (done < budget)
		ipoib_adapt_polled(&rxq->adapt, &rxq->count);
	return ipoib_rx_poll_end(napi, rxq->cq, done, budget);
}

static void rx_comp_handler(struct ib_cq *cq, void *context)
{
	struct ipoib_rxq *rxq = context;

	napi_schedule(&rxq->napi);
}

/**
 * ipoib_rxq_fill - make buffers and give them to the queue pair
 * @rxq: receive queue, empty; NAPI is disabled
 * @buf_len: largest datagram to expect [octets]
 *
 * Context: control; queue pair in INIT or later.
 * Return: 0, -ENOMEM, or what the HCA says; in case of an error ipoib_rxq_empty() is still due.
 */
int ipoib_rxq_fill(struct ipoib_rxq *rxq, u32 buf_len)
{
	struct page_pool *pool;
	int err = 0;
	u32 i;

	/* Parts of a page, or several pages in one piece: what the pool can share. */
	rxq->buf_len = roundup_pow_of_two(max_t(u32, buf_len, RX_BUF_MIN));
	pool = ipoib_rx_create_pool(rxq->intf->ca, COMPAT_PP_FLAG_FRAG,
				    get_order(rxq->buf_len), rxq->size);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	rxq->pool = pool;
	for (i = 0; i < IPOIB_POLL_BATCH; i++)
		rxq->sge[i][1].length = rxq->buf_len;

	local_bh_disable();
	for (i = 0; i < rxq->size && !err; i++) {
		err = rx_alloc_buffer(rxq, &rxq->slots[i]);
		if (!err)
			err = rx_post(rxq, i);
	}
	if (!err)
		err = rx_post_batch(rxq);
	local_bh_enable();
	return err;
}

/**
 * ipoib_rxq_empty - take all buffers back
 * @rxq: receive queue; NAPI is disabled, the queue pair reset
 *
 * Context: control.
 */
void ipoib_rxq_empty(struct ipoib_rxq *rxq)
{
	u32 i;

	if (!rxq->pool)
		return;
	for (i = 0; i < rxq->size; i++) {
		if (!rxq->slots[i].page)
			continue;
		ipoib_rx_unmap(rxq->intf->ca, rxq->slots[i].dma, rxq->buf_len);
		page_pool_put_full_page(rxq->pool, rxq->slots[i].page, false);
		rxq->slots[i].page = NULL;
	}
	page_pool_destroy(rxq->pool);
	rxq->pool = NULL;
	rxq->posted = 0;
	rxq->refill = 0;
	rxq->waiting = IPOIB_NO_SLOT;
	ipoib_taken(&rxq->refused);
}

static void rx_init_requests(struct ipoib_rxq *rxq, u32 lkey)
{
	unsigned int i;

	for (i = 0; i < IPOIB_POLL_BATCH; i++) {
		struct ib_sge *sge = rxq->sge[i];

		sge[0] = (struct ib_sge) {
			.length = IPOIB_UD_HEAD_LEN, .lkey = lkey,
		};
		sge[1] = (struct ib_sge) { .lkey = lkey };
		sge[2] = (struct ib_sge) {
			.addr = rxq->spill_dma, .lkey = lkey,
			.length = RX_SPILL_LEN,
		};
		rxq->wr[i].sg_list = sge;
		rxq->wr[i].num_sge = 3;
		rxq->wr[i].next = i + 1 < IPOIB_POLL_BATCH ?
				  &rxq->wr[i + 1] : NULL;
	}
}

static int rx_make_areas(struct ib_device *ca, struct ipoib_rxq *rxq)
{
	int err;

	rxq->slots = kvcalloc(rxq->size, sizeof(*rxq->slots), GFP_KERNEL);
	rxq->spill = kmalloc(RX_SPILL_LEN, GFP_KERNEL);
	if (!rxq->slots || !rxq->spill) {
		err = -ENOMEM;
		goto err_free;
	}
	err = ipoib_rx_make_heads(ca, rxq);
	if (err)
		goto err_free;
	rxq->spill_dma = ib_dma_map_single(ca, rxq->spill, RX_SPILL_LEN,
					   DMA_FROM_DEVICE);
	if (!ib_dma_mapping_error(ca, rxq->spill_dma))
		return 0;
	err = -ENOMEM;
	ipoib_rx_free_heads(ca, rxq);
err_free:
	kfree(rxq->spill);
	kvfree(rxq->slots);
	return err;
}

static void rx_free_areas(struct ib_device *ca, struct ipoib_rxq *rxq)
{
	ib_dma_unmap_single(ca, rxq->spill_dma, RX_SPILL_LEN, DMA_FROM_DEVICE);
	ipoib_rx_free_heads(ca, rxq);
	kfree(rxq->spill);
	kvfree(rxq->slots);
}

/**
 * ipoib_rxq_alloc - ring, header areas and completion queue
 * @intf: interface with a protection domain
 * @rxq: of that interface, or one to exchange for it; its size is set
 *
 * Context: process, rtnl.
 * Return: 0, -ENOMEM, or what the HCA says.
 */
int ipoib_rxq_alloc(struct ipoib_intf *intf, struct ipoib_rxq *rxq)
{
	struct ib_cq_init_attr attr = {
		.cqe = rxq->size,
		.comp_vector = (intf->port - 1) % intf->ca->num_comp_vectors,
	};
	int err;

	err = rx_make_areas(intf->ca, rxq);
	if (err)
		return err;
	rxq->cq = ib_create_cq(intf->ca, rx_comp_handler, NULL, &intf->rxq, &attr);
	if (IS_ERR(rxq->cq)) {
		rx_free_areas(intf->ca, rxq);
		return PTR_ERR(rxq->cq);
	}
	rx_init_requests(rxq, intf->pd->local_dma_lkey);
	return 0;
}

/**
 * ipoib_rxq_free - the reverse; the queue pair is gone
 * @intf: interface
 * @rxq: receive queue
 */
void ipoib_rxq_free(struct ipoib_intf *intf, struct ipoib_rxq *rxq)
{
	ib_destroy_cq(rxq->cq);
	rx_free_areas(intf->ca, rxq);
}

/**
 * ipoib_rxq_exchange - take the ring of another queue, and give it one's own
 * @rxq: of an interface that does not run
 * @other: from ipoib_rxq_alloc()
 *
 * Context: control.
 */
void ipoib_rxq_exchange(struct ipoib_rxq *rxq, struct ipoib_rxq *other)
{
	swap(rxq->size, other->size);
	swap(rxq->slots, other->slots);
	swap(rxq->spill, other->spill);
	swap(rxq->spill_dma, other->spill_dma);
	swap(rxq->cq, other->cq);
	ipoib_adapt_use(&rxq->adapt, rxq->cq, rxq->size);
	rx_init_requests(rxq, rxq->intf->pd->local_dma_lkey);
}

/**
 * ipoib_rxq_create - ring, header areas, completion queue and NAPI
 * @intf: interface with a protection domain and a ring size
 *
 * Context: process, rtnl.
 * Return: 0, -ENOMEM, or what the HCA says.
 */
int ipoib_rxq_create(struct ipoib_intf *intf)
{
	struct ipoib_rxq *rxq = &intf->rxq;
	int err;

	rxq->intf = intf;
	rxq->waiting = IPOIB_NO_SLOT;
	u64_stats_init(&rxq->count.sync);
	err = ipoib_rxq_alloc(intf, rxq);
	if (err)
		return err;
	ipoib_adapt_create(&rxq->adapt, rxq->cq, rxq->size);
	netif_napi_add(intf->dev, &rxq->napi, rx_poll);
	return 0;
}

/**
 * ipoib_rxq_destroy - the reverse; the queue pair is gone
 * @intf: interface
 */
void ipoib_rxq_destroy(struct ipoib_intf *intf)
{
	netif_napi_del(&intf->rxq.napi);
	ipoib_adapt_destroy(&intf->rxq.adapt);
	ipoib_rxq_free(intf, &intf->rxq);
}
