/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The receive queue of an interface. */
#ifndef IPOIB_RXQ_H
#define IPOIB_RXQ_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

#include "adapt.h"
#include "counters.h"
#include "refused.h"

struct ipoib_intf;
struct page_pool;

/* Completions that are polled for, and requests that are posted, at a time. */
#define IPOIB_POLL_BATCH	16

/**
 * struct ipoib_rx_slot - one receive buffer
 * @page: from the page pool, or NULL
 * @offset: of the buffer in @page [bytes]
 * @next: number of the next one that the HCA has refused; owned by NAPI
 * @dma: address of the buffer
 * @head: area for GRH and encapsulation; constant
 * @head_dma: address of @head; constant
 */
struct ipoib_rx_slot {
	struct page *page;
	unsigned int offset;
	u32 next;
	u64 dma;
	void *head;
	u64 head_dma;
};

/**
 * struct ipoib_rxq - the receive queue
 * @intf: owner; constant
 * @cq: receive completions; as the queue pair
 * @napi: polls @cq
 * @pool: pages of the buffers; lives while the queue pair runs
 * @slots: ring of @size entries; as the queue pair
 * @size: number of buffers, a power of two; as the queue pair, read with rtnl
 * @posted: buffers the HCA has; written by @napi, read by control
 * @waiting: number of the first buffer that the HCA has refused, or IPOIB_NO_SLOT; written by
 *	@napi, read by control
 * @refused: whether the HCA takes them; owned by @napi
 * @buf_len: octets of datagram that a buffer takes
 * @spill: shared sink for the excess of packets longer than the group's MTU
 * @spill_dma: address of @spill
 * @count: counters; written by @napi
 * @adapt: moderation of @cq that adapts to what comes
 * @wr: work requests of one refill; owned by @napi
 * @sge: their pieces: head, buffer, spill
 * @refill: number of entries of @wr in use
 * @wc: completions being handled; owned by @napi
 */
struct ipoib_rxq {
	struct ipoib_intf *intf;
	struct ib_cq *cq;
	struct napi_struct napi;
	struct page_pool *pool;
	struct ipoib_rx_slot *slots;
	u32 size;
	u32 posted;
	u32 waiting;
	struct ipoib_refused refused;
	u32 buf_len;
	void *spill;
	u64 spill_dma;
	struct ipoib_counters count;
	struct ipoib_adapt adapt;
	struct ib_recv_wr wr[IPOIB_POLL_BATCH];
	struct ib_sge sge[IPOIB_POLL_BATCH][3];
	unsigned int refill;
	struct ib_wc wc[IPOIB_POLL_BATCH];
};

/* rx_pool.c */
struct page_pool *ipoib_rx_create_pool(struct ib_device *ca, unsigned int flags,
				       unsigned int order, unsigned int size);

/* rx.c */
void ipoib_cq_discard(struct ib_cq *cq, struct ib_wc *wc);
int ipoib_rx_poll_end(struct napi_struct *napi, struct ib_cq *cq, int done,
		      int budget);
int ipoib_rx_poll(struct napi_struct *napi, int budget);
void ipoib_rx_comp_handler(struct ib_cq *cq, void *context);

/* rxq.c */
int ipoib_rxq_alloc_buffer(struct ipoib_rxq *rxq, struct ipoib_rx_slot *slot);
int ipoib_rxq_post(struct ipoib_rxq *rxq, u32 index);
int ipoib_rxq_post_batch(struct ipoib_rxq *rxq);
void ipoib_rxq_post_waiting(struct ipoib_rxq *rxq);
int ipoib_rxq_alloc(struct ipoib_intf *intf, struct ipoib_rxq *rxq);
void ipoib_rxq_free(struct ipoib_intf *intf, struct ipoib_rxq *rxq);
void ipoib_rxq_exchange(struct ipoib_rxq *rxq, struct ipoib_rxq *other);
int ipoib_rxq_create(struct ipoib_intf *intf);
void ipoib_rxq_destroy(struct ipoib_intf *intf);
int ipoib_rxq_fill(struct ipoib_rxq *rxq, u32 buf_len);
void ipoib_rxq_empty(struct ipoib_rxq *rxq);

#endif /* IPOIB_RXQ_H */
