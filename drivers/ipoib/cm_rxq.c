// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The receive buffers of connected mode: one shared receive queue for all incoming
 * connections of an interface, or, where the HCA has none, a part of the buffers for
 * each of so many connections.
 *
 * A buffer is as many single pages as the longest message needs. A message takes
 * the pages that it fills with it to the stack, and new ones take their place;
 * short messages are copied and their buffer stays. So what the interface has
 * posted, and what its pool keeps of the pages that sockets have given back, is
 * limited whatever the number of connections, and a socket is charged for what it
 * got. Without memory the message is dropped and its buffer posted
 * again: the queue never runs dry for good.
 *
 * The shared queue exists while there are incoming connections; the part of a
 * connection, as long as it. It is posted to no more once its queue pair has failed,
 * and when all of it has come back, the connection has drained.
 */
#include <linux/sched/mm.h>

#include "cm_post.h"
#include "rx_map.h"

#define RXQ_MEMORY_DEFAULT	8
#define RXQ_MEMORY_MAX		1024
/* Fewer buffers than this are of little use to a connection of its own. */
#define RXQ_PART_MIN		8
/* One page in so many waits in the pool, the others are posted. */
#define RXQ_SPARE		4

static unsigned int rxq_memory = RXQ_MEMORY_DEFAULT;
module_param_named(cm_recv_memory, rxq_memory, uint, 0444);
MODULE_PARM_DESC(cm_recv_memory,
		 "receive memory of all connections of an interface, MiB, from 1 to 1024 (8)");

/**
 * ipoib_cm_rxq_frame_max - the longest message there is a buffer for
 * @rxq: receive queue
 *
 * Return: octets, encapsulation header included.
 */
u32 ipoib_cm_rxq_frame_max(const struct ipoib_cm_rxq *rxq)
{
	return min_t(u32, rxq->sges * PAGE_SIZE, IPOIB_CM_FRAME_MAX);
}

static void rxq_free_page(const struct ipoib_cm_rxq *rxq, struct page_pool *pool,
			  const struct ipoib_cm_rx_slot *slot, int i)
{
	ipoib_rx_unmap(rxq->cm->intf->ca, slot->dma[i], PAGE_SIZE);
	page_pool_put_full_page(pool, slot->pages[i], false);
}

/* Put new pages in the place of the first @count, or leave them all. */
static bool rxq_replace(const struct ipoib_cm_rxq *rxq, struct page_pool *pool,
			struct ipoib_cm_rx_slot *slot, int count)
{
	struct ib_device *ca = rxq->cm->intf->ca;
	struct ipoib_cm_rx_slot fresh;
	int i;

	for (i = 0; i < count; i++) {
		fresh.pages[i] = page_pool_dev_alloc_pages(pool);
		if (unlikely(!fresh.pages[i]))
			goto err_free;
		if (unlikely(ipoib_rx_map(ca, fresh.pages[i], 0, PAGE_SIZE, &fresh.dma[i]))) {
			page_pool_put_full_page(pool, fresh.pages[i], false);
			goto err_free;
		}
	}
	memcpy(slot->pages, fresh.pages, count * sizeof(*slot->pages));
	memcpy(slot->dma, fresh.dma, count * sizeof(*slot->dma));
	return true;

err_free:
	while (i--)
		rxq_free_page(rxq, pool, &fresh, i);
	return false;
}

static void rxq_push_header(struct sk_buff *skb, const void *encap)
{
	u8 *hard = skb_put(skb, IPOIB_HARD_LEN);

	memset(hard, 0, INFINIBAND_ALEN);
	memcpy(hard + INFINIBAND_ALEN, encap, IPOIB_ENCAP_LEN);
	skb_reset_mac_header(skb);
	__skb_pull(skb, IPOIB_HARD_LEN);
}

static struct sk_buff *rxq_copy(struct ipoib_cm_rxq *rxq,
				const struct ipoib_cm_rx_slot *slot, u32 len)
{
	const void *frame = page_address(slot->pages[0]);
	struct sk_buff *skb = napi_alloc_skb(&rxq->napi, INFINIBAND_ALEN + len);

	if (unlikely(!skb))
		return NULL;
	rxq_push_header(skb, frame);
	skb_put_data(skb, frame + IPOIB_ENCAP_LEN, len - IPOIB_ENCAP_LEN);
	return skb;
}

/* Room in front of a packet that is not copied, and behind it for pulling. */
#define RXQ_FRAME_HEAD	(IPOIB_HARD_LEN + 128)

static struct sk_buff *rxq_take(struct ipoib_cm_rxq *rxq, struct page_pool *pool,
				struct ipoib_cm_rx_slot *slot, u32 len)
{
	struct ib_device *ca = rxq->cm->intf->ca;
	struct ipoib_cm_rx_slot old = *slot;
	int count = DIV_ROUND_UP(len, PAGE_SIZE), i;
	u32 from = IPOIB_ENCAP_LEN;
	struct sk_buff *skb;

	skb = napi_alloc_skb(&rxq->napi, RXQ_FRAME_HEAD);
	if (unlikely(!skb))
		return NULL;
	if (unlikely(!rxq_replace(rxq, pool, slot, count))) {
		napi_consume_skb(skb, 1);
		return NULL;
	}
	for (i = 0; i < count && ipoib_rx_unmaps(ca); i++)
		ipoib_rx_unmap(ca, old.dma[i], PAGE_SIZE);
	rxq_push_header(skb, page_address(old.pages[0]));
	for (i = 0; i < count; i++) {
		u32 piece = min_t(u32, len, PAGE_SIZE);

		skb_add_rx_frag(skb, i, old.pages[i], from, piece - from,
				PAGE_SIZE);
		len -= piece;
		from = 0;
	}
	skb_mark_for_recycle(skb);
	return skb;
}

/* @sync: ib_dma_sync_single_for_cpu() or ib_dma_sync_single_for_device() */
static void rxq_sync(struct ipoib_cm_rxq *rxq, const struct ipoib_cm_rx_slot *slot, u32 len,
		     void (*sync)(struct ib_device *ca, u64 addr, size_t size,
				  enum dma_data_direction dir))
{
	struct ib_device *ca = rxq->cm->intf->ca;
	int i;

	for (i = 0; len; i++) {
		u32 piece = min_t(u32, len, PAGE_SIZE);

		sync(ca, slot->dma[i], piece, DMA_FROM_DEVICE);
		len -= piece;
	}
}

/* The checksum that the peer has left to us, as if the packet were our own. */
static bool rxq_checksum(struct sk_buff *skb, u16 mark)
{
	u16 start, offset;

	return ipoib_partial_parse(mark, skb->len, &start, &offset) &&
	       pskb_may_pull(skb, start + offset + sizeof(__sum16)) &&
	       skb_partial_csum_set(skb, start, offset);
}

static void rxq_deliver(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx *rx,
			struct sk_buff *skb)
{
	const struct ipoib_header *encap;
	u16 mark;

	encap = (const void *)skb_mac_header(skb) + INFINIBAND_ALEN;
	skb->protocol = encap->proto;
	skb->dev = rxq->cm->intf->dev;
	skb->pkt_type = PACKET_HOST;
	mark = be16_to_cpu(encap->reserved);
	if (mark & IPOIB_PARTIAL && ipoib_cm_rx_partial(rx) &&
	    unlikely(!rxq_checksum(skb, mark))) {
		ipoib_count_error(&rxq->count);
		kfree_skb_reason(skb, SKB_DROP_REASON_DEV_HDR);
		return;
	}
	u64_stats_update_begin(&rxq->count.sync);
	u64_stats_inc(&rxq->count.packets);
	u64_stats_add(&rxq->count.bytes, skb->len);
	u64_stats_update_end(&rxq->count.sync);
	napi_gro_receive(&rxq->napi, skb);
}

static void rxq_packet(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx *rx,
		       const struct ipoib_cm_rx_bufs *bufs, u32 index, u32 len)
{
	struct ipoib_cm_rx_slot *slot = &bufs->slots[index];
	struct page *first = slot->pages[0];
	struct sk_buff *skb;

	if (unlikely(len <= IPOIB_ENCAP_LEN ||
		     len > ipoib_cm_rxq_frame_max(rxq))) {
		ipoib_count_error(&rxq->count);
		return;
	}
	rxq_sync(rxq, slot, len, ib_dma_sync_single_for_cpu);
	skb = len <= IPOIB_RX_COPYBREAK ? rxq_copy(rxq, slot, len) :
					  rxq_take(rxq, bufs->pool, slot, len);
	if (slot->pages[0] == first)
		rxq_sync(rxq, slot, len, ib_dma_sync_single_for_device);
	if (unlikely(!skb))
		ipoib_count_dropped(&rxq->count);
	else
		rxq_deliver(rxq, rx, skb);
}

static void rxq_completion(struct ipoib_cm_rxq *rxq, const struct ib_wc *wc)
{
	struct ipoib_cm_rx *rx = wc->qp->qp_context;
	struct ipoib_cm_rx_bufs *bufs;

	if (unlikely(wc->wr_id == IPOIB_CM_RX_DRAIN)) {
		ipoib_cm_rx_drained(rx);
		return;
	}
	bufs = rxq->shared ? &rxq->bufs : ipoib_cm_rx_bufs(rx);
	if (likely(wc->status == IB_WC_SUCCESS)) {
		ipoib_cm_rx_used(rx);
		rxq_packet(rxq, rx, bufs, wc->wr_id, wc->byte_len);
	} else if (wc->status != IB_WC_WR_FLUSH_ERR) {
		ipoib_count_error(&rxq->count);
	}
	if (rxq->shared || likely(wc->status == IB_WC_SUCCESS))
		ipoib_cm_post(rxq, bufs, wc->wr_id);
	else
		ipoib_cm_rx_returned(rx);
}

/**
 * ipoib_cm_rxq_skip_gone - see to what a queue pair that is gone has left behind
 * @rxq: receive queue whose NAPI is off
 * @gone: queue pair that has been destroyed; not looked at
 *
 * Some HCAs leave its completions in the queue, between those of others (rdmavt). What
 * they say of shared buffers is that these are free again. They are among what the queue
 * has room for; what comes meanwhile can wait.
 *
 * Context: control.
 */
void ipoib_cm_rxq_skip_gone(struct ipoib_cm_rxq *rxq, const struct ib_qp *gone)
{
	int left = rxq->cq->cqe, n, i;

	local_bh_disable();
	rcu_read_lock();
	while (left > 0 && (n = ib_poll_cq(rxq->cq, IPOIB_POLL_BATCH, rxq->wc)) > 0) {
		left -= n;
		for (i = 0; i < n; i++) {
			const struct ib_wc *wc = &rxq->wc[i];

			if (wc->qp != gone)
				rxq_completion(rxq, wc);
			else if (rxq->shared && wc->wr_id != IPOIB_CM_RX_DRAIN)
				ipoib_cm_post(rxq, &rxq->bufs, wc->wr_id);
		}
		ipoib_cm_post_batch(rxq);
	}
	rcu_read_unlock();
	local_bh_enable();
}

static int rxq_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_cm_rxq *rxq = container_of(napi, struct ipoib_cm_rxq, napi);
	int done = 0, n, i;

	rcu_read_lock();
	if (unlikely(!llist_empty(&rxq->waiting)))
		ipoib_cm_post_waiting(rxq);
	do {
		n = ib_poll_cq(rxq->cq, min(budget - done, IPOIB_POLL_BATCH),
			       rxq->wc);
		for (i = 0; i < n; i++)
			rxq_completion(rxq, &rxq->wc[i]);
		ipoib_cm_post_batch(rxq);
		done += max(n, 0);
	} while (n == IPOIB_POLL_BATCH && done < budget);
	rcu_read_unlock();

	if (done < budget)
		ipoib_adapt_polled(&rxq->adapt, &rxq->count);
	return ipoib_rx_poll_end(napi, rxq->cq, done, budget);
}

static void rxq_comp_handler(struct ib_cq *cq, void *context)
{
	struct ipoib_cm_rxq *rxq = context;

	napi_schedule(&rxq->napi);
}

static int rxq_create_srq(struct ipoib_cm_rxq *rxq)
{
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = rxq->size, .max_sge = rxq->sges },
	};
	struct ib_srq *srq = ib_create_srq(rxq->cm->intf->pd, &init);

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	rxq->srq = srq;
	return 0;
}

static void rxq_free_bufs(const struct ipoib_cm_rxq *rxq,
			  struct ipoib_cm_rx_bufs *bufs)
{
	u32 i;
	int k;

	for (i = 0; i < bufs->size; i++)
		for (k = 0; k < rxq->sges; k++)
			if (bufs->slots[i].pages[k])
				rxq_free_page(rxq, bufs->pool, &bufs->slots[i], k);
	page_pool_destroy(bufs->pool);
	bufs->pool = NULL;
	kvfree(bufs->slots);
}

static int rxq_alloc_bufs(const struct ipoib_cm_rxq *rxq,
			  struct ipoib_cm_rx_bufs *bufs, u32 size)
{
	struct page_pool *pool;
	bool ok = true;
	u32 i;

	bufs->slots = kvcalloc(size, sizeof(*bufs->slots), GFP_KERNEL);
	if (!bufs->slots)
		return -ENOMEM;
	pool = ipoib_rx_create_pool(rxq->cm->intf->ca, 0, 0,
				    max(size * rxq->sges / (RXQ_SPARE - 1), 1U));
	if (IS_ERR(pool)) {
		kvfree(bufs->slots);
		return PTR_ERR(pool);
	}
	bufs->pool = pool;
	bufs->size = size;
	bufs->waiting = IPOIB_NO_SLOT;
	ipoib_taken(&bufs->refused);
	local_bh_disable();
	for (i = 0; i < size && ok; i++)
		ok = rxq_replace(rxq, pool, &bufs->slots[i], rxq->sges);
	local_bh_enable();
	if (ok)
		return 0;
	rxq_free_bufs(rxq, bufs);
	return -ENOMEM;
}

/**
 * ipoib_cm_rxq_fill - make the shared buffers, unless they are there
 * @rxq: receive queue
 *
 * Context: command, with ipoib_cm_rxq.fill_lock, while no queue pair uses it.
 * Return: 0, -ENOMEM, or what the HCA says; nothing is left behind on error.
 */
int ipoib_cm_rxq_fill(struct ipoib_cm_rxq *rxq)
{
	int err;
	u32 i;

	if (!rxq->shared || rxq->srq)
		return 0;
	err = rxq_alloc_bufs(rxq, &rxq->bufs, rxq->size);
	if (err)
		return err;
	err = rxq_create_srq(rxq);
	if (err) {
		rxq_free_bufs(rxq, &rxq->bufs);
		return err;
	}
	local_bh_disable();
	for (i = 0; i < rxq->size; i++)
		ipoib_cm_post(rxq, &rxq->bufs, i);
	ipoib_cm_post_batch(rxq);
	local_bh_enable();
	return 0;
}

/**
 * ipoib_cm_rxq_empty - free the shared buffers
 * @rxq: receive queue that no queue pair uses any more
 *
 * Context: control.
 */
void ipoib_cm_rxq_empty(struct ipoib_cm_rxq *rxq)
{
	if (!rxq->srq)
		return;
	ib_destroy_srq(rxq->srq);
	rxq->srq = NULL;
	ipoib_cm_post_forget(rxq, &rxq->bufs);
	rxq_free_bufs(rxq, &rxq->bufs);
}

/**
 * ipoib_cm_rxq_part - make the buffers of one connection
 * @rxq: receive queue
 * @bufs: of the connection, empty; they stay so if the buffers are shared
 *
 * Context: control.
 * Return: 0, -ENOMEM, or -ENOSPC if too many connections have some.
 */
int ipoib_cm_rxq_part(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs)
{
	int err;

	if (rxq->shared)
		return 0;
	if (rxq->parts >= rxq->parts_max)
		return -ENOSPC;
	err = rxq_alloc_bufs(rxq, bufs, rxq->size / rxq->parts_max);
	if (!err)
		rxq->parts++;
	return err;
}

/**
 * ipoib_cm_rxq_post_part - give a queue pair its own buffers
 * @rxq: receive queue
 * @bufs: of the connection; none if the buffers are shared
 * @qp: in INIT
 *
 * What the HCA refuses, all but one at most, waits for ipoib_cm_post_ready().
 *
 * Context: command.
 * Return: 0 or what the HCA says.
 */
int ipoib_cm_rxq_post_part(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs,
			   struct ib_qp *qp)
{
	struct ib_sge sge[IPOIB_CM_RX_SGE];
	struct ib_recv_wr wr = { .sg_list = sge, .num_sge = rxq->sges };
	int err = 0, taken = 0, k;
	u32 i;

	bufs->qp = qp;
	for (i = 0; i < bufs->size; i++) {
		for (k = 0; k < rxq->sges; k++)
			sge[k] = (struct ib_sge) {
				.addr = bufs->slots[i].dma[k],
				.length = PAGE_SIZE,
				.lkey = rxq->cm->intf->pd->local_dma_lkey,
			};
		wr.wr_id = i;
		err = ib_post_recv(qp, &wr, NULL);
		if (!err)
			taken++;
		else if (ipoib_refused(rxq->cm->intf, &bufs->refused, false, err, taken))
			ipoib_cm_post_wait(bufs, i);
		else
			return err;
	}
	return taken ? 0 : err;
}

/**
 * ipoib_cm_rxq_unpart - free the buffers of one connection
 * @rxq: receive queue
 * @bufs: of a connection whose queue pair is gone and whose completions nobody
 *	handles any more; none if the buffers are shared
 *
 * Context: control.
 */
void ipoib_cm_rxq_unpart(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs)
{
	if (!bufs->pool)
		return;
	rxq_free_bufs(rxq, bufs);
	rxq->parts--;
}

/* How many buffers there are, and for how many connections. */
static void rxq_divide(struct ipoib_cm_rxq *rxq, const struct ib_device_attr *attrs)
{
	u32 memory = clamp(rxq_memory, 1U, (unsigned int)RXQ_MEMORY_MAX);
	u32 pages = memory * (SZ_1M / PAGE_SIZE);

	pages -= pages / RXQ_SPARE;
	rxq->shared = ipoib_cm_shared(attrs);
	if (rxq->shared) {
		rxq->sges = min(attrs->max_srq_sge, IPOIB_CM_RX_SGE);
		rxq->size = min_t(u32, pages / rxq->sges, attrs->max_srq_wr);
		return;
	}
	rxq->sges = min(attrs->max_recv_sge, IPOIB_CM_RX_SGE);
	rxq->size = min_t(u32, pages / rxq->sges, attrs->max_cqe - 1);
	rxq->parts_max = clamp(rxq->size / RXQ_PART_MIN, 1U,
			       ipoib_nonsrq_connections);
	rxq->size = min(rxq->size, rxq->parts_max * (u32)attrs->max_qp_wr);
}

/**
 * ipoib_cm_rxq_create - completion queue and NAPI; no buffers yet
 * @cm: connected mode being made
 *
 * Context: process, rtnl.
 * Return: 0 or what the HCA says.
 */
int ipoib_cm_rxq_create(struct ipoib_cm *cm)
{
	struct ib_device *ca = cm->intf->ca;
	struct ipoib_cm_rxq *rxq = &cm->rxq;
	struct ib_cq_init_attr attr = {
		.comp_vector = (cm->intf->port - 1) % ca->num_comp_vectors,
	};

	rxq->cm = cm;
	rxq->bufs.waiting = IPOIB_NO_SLOT;
	rxq->bufs.refused.keeps = true;
	init_llist_head(&rxq->waiting);
	u64_stats_init(&rxq->count.sync);
	rxq_divide(rxq, &ca->attrs);
	/* One more for the request that ends a connection. */
	attr.cqe = rxq->size + 1;
	rxq->cq = ib_create_cq(ca, rxq_comp_handler, NULL, rxq, &attr);
	if (IS_ERR(rxq->cq))
		return PTR_ERR(rxq->cq);
	ipoib_adapt_create(&rxq->adapt, rxq->cq, rxq->size);
	ipoib_cm_post_init(rxq);
	netif_napi_add(cm->intf->dev, &rxq->napi, rxq_poll);
	return 0;
}

/**
 * ipoib_cm_rxq_destroy - the reverse; the buffers are gone
 * @cm: connected mode
 */
void ipoib_cm_rxq_destroy(struct ipoib_cm *cm)
{
	netif_napi_del(&cm->rxq.napi);
	ipoib_adapt_destroy(&cm->rxq.adapt);
	ib_destroy_cq(cm->rxq.cq);
}
