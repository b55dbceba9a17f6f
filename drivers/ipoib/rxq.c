// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The receive queue: its requests, their buffers, and how the HCA gets them.
 *
 * A receive request has three pieces: a small area for GRH and encapsulation
 * header, a buffer of the group's MTU that holds the datagram from its first
 * octet on, and one sink shared by all requests. No honest packet reaches the
 * sink; it is there so that a longer one cannot put the queue pair into error.
 *
 * What the HCA refuses is posted again (refused.c). The queue's owner is the receive
 * NAPI while the queue pair runs, and control before and after.
 */
#include <linux/log2.h>

#include "ipoib.h"
#include "rx_map.h"

#define RX_BUF_MIN	2048

/* As much as the longest packet there is, Omni-Path's. */
#define RX_SPILL_LEN	10240

/**
 * ipoib_rxq_alloc_buffer - give a slot a buffer of the page pool
 * @rxq: receive queue
 * @slot: what it has is replaced
 *
 * Context: owner of the queue, bottom halves disabled. Return: 0, or -ENOMEM: @slot is as before.
 */
int ipoib_rxq_alloc_buffer(struct ipoib_rxq *rxq, struct ipoib_rx_slot *slot)
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

static void rxq_post_wait(struct ipoib_rxq *rxq, u32 index)
{
	rxq->slots[index].next = rxq->waiting;
	WRITE_ONCE(rxq->waiting, index);
}

/*
 * The HCA has not taken the requests from @wr on: their buffers wait. For want of room alone, no
 * queue is given up that has a buffer, or does not run yet. Return: 0, or @err if it is given up;
 * one that runs is restarted then, and for one that is being filled it is an error of the start.
 */
static int rxq_refused(struct ipoib_rxq *rxq, const struct ib_recv_wr *wr, int err)
{
	bool again = ipoib_refused(rxq->intf, &rxq->refused, false, err, wr != rxq->wr);

	for (; wr; wr = wr->next)
		rxq_post_wait(rxq, wr->wr_id);
	if (again)
		return 0;
	if (err == -ENOMEM && (rxq->posted || !READ_ONCE(rxq->intf->running)))
		return 0;
	if (READ_ONCE(rxq->intf->running))
		ipoib_flush(rxq->intf, IPOIB_FLUSH_RESTART);
	return err;
}

/**
 * ipoib_rxq_post_batch - give the requests that have been gathered to the HCA
 * @rxq: receive queue
 *
 * Context: owner of the queue. Return: 0, also if it takes them later; what the HCA says if the
 * queue is given up.
 */
int ipoib_rxq_post_batch(struct ipoib_rxq *rxq)
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
		err = rxq_refused(rxq, bad, err);
	}
	rxq->wr[n - 1].next = n < IPOIB_POLL_BATCH ? &rxq->wr[n] : NULL;
	WRITE_ONCE(rxq->posted, rxq->posted + taken);
	return err;
}

/**
 * ipoib_rxq_post - give a slot to the HCA, at the latest at the next ipoib_rxq_post_batch()
 * @rxq: receive queue
 * @index: number of a slot that has a buffer
 *
 * Context: owner of the queue. Return: as ipoib_rxq_post_batch().
 */
int ipoib_rxq_post(struct ipoib_rxq *rxq, u32 index)
{
	struct ib_sge *sge = rxq->sge[rxq->refill];

	rxq->wr[rxq->refill].wr_id = index;
	sge[0].addr = rxq->slots[index].head_dma;
	ib_dma_sync_single_for_device(rxq->intf->ca, sge[0].addr,
				      IPOIB_UD_HEAD_LEN, DMA_FROM_DEVICE);
	sge[1].addr = rxq->slots[index].dma;
	return ++rxq->refill == IPOIB_POLL_BATCH ? ipoib_rxq_post_batch(rxq) : 0;
}

/**
 * ipoib_rxq_post_waiting - post again what the HCA has refused
 * @rxq: receive queue
 *
 * Each slot once, until one is refused again: that and those behind it wait again.
 *
 * Context: owner of the queue.
 */
void ipoib_rxq_post_waiting(struct ipoib_rxq *rxq)
{
	u32 index = rxq->waiting, next;

	WRITE_ONCE(rxq->waiting, IPOIB_NO_SLOT);
	for (; index != IPOIB_NO_SLOT; index = next) {
		next = rxq->slots[index].next;
		if (rxq->waiting == IPOIB_NO_SLOT)
			ipoib_rxq_post(rxq, index);
		else
			rxq_post_wait(rxq, index);
	}
	ipoib_rxq_post_batch(rxq);
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
		err = ipoib_rxq_alloc_buffer(rxq, &rxq->slots[i]);
		if (!err)
			err = ipoib_rxq_post(rxq, i);
	}
	if (!err)
		err = ipoib_rxq_post_batch(rxq);
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

static void rxq_init_requests(struct ipoib_rxq *rxq, u32 lkey)
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

static int rxq_make_areas(struct ib_device *ca, struct ipoib_rxq *rxq)
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

static void rxq_free_areas(struct ib_device *ca, struct ipoib_rxq *rxq)
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

	err = rxq_make_areas(intf->ca, rxq);
	if (err)
		return err;
	rxq->cq = ib_create_cq(intf->ca, ipoib_rx_comp_handler, NULL, &intf->rxq, &attr);
	if (IS_ERR(rxq->cq)) {
		rxq_free_areas(intf->ca, rxq);
		return PTR_ERR(rxq->cq);
	}
	rxq_init_requests(rxq, intf->pd->local_dma_lkey);
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
	rxq_free_areas(intf->ca, rxq);
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
	rxq_init_requests(rxq, rxq->intf->pd->local_dma_lkey);
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
	netif_napi_add(intf->dev, &rxq->napi, ipoib_rx_poll);
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
