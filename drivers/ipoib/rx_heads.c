// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Where received packets have their GRH and encapsulation header: an area for each slot. */
#include "ipoib.h"
#include "rx_map.h"

/* One cache line for the 44 octets of GRH and encapsulation header. */
#define RX_HEAD_STRIDE	64
/*
 * So many in a page. All in one piece would be more than can be mapped at once where memory is
 * bounced (256 KiB, swiotlb), and hard to get.
 */
#define RX_HEADS	(PAGE_SIZE / RX_HEAD_STRIDE)

/**
 * ipoib_rx_free_heads - free the areas of a ring
 * @ca: HCA
 * @rxq: its slots; those behind the last that has an area have none
 *
 * Context: process.
 */
void ipoib_rx_free_heads(struct ib_device *ca, struct ipoib_rxq *rxq)
{
	u32 i;

	/* The first slot of each page has its address. */
	for (i = 0; i < rxq->size && rxq->slots[i].head; i += RX_HEADS) {
		ib_dma_unmap_single(ca, rxq->slots[i].head_dma, PAGE_SIZE, DMA_FROM_DEVICE);
		free_page((unsigned long)rxq->slots[i].head);
	}
}

/**
 * ipoib_rx_make_heads - make an area for each slot of a ring
 * @ca: HCA
 * @rxq: its slots, zeroed, and their number
 *
 * Context: process. Return: 0 or -ENOMEM.
 */
int ipoib_rx_make_heads(struct ib_device *ca, struct ipoib_rxq *rxq)
{
	void *page = NULL;
	u64 dma = 0;
	u32 i;

	for (i = 0; i < rxq->size; i++) {
		u32 at = i % RX_HEADS * RX_HEAD_STRIDE;

		if (!at) {
			page = (void *)get_zeroed_page(GFP_KERNEL);
			if (!page)
				goto err_free;
			dma = ib_dma_map_single(ca, page, PAGE_SIZE, DMA_FROM_DEVICE);
			if (ib_dma_mapping_error(ca, dma)) {
				free_page((unsigned long)page);
				goto err_free;
			}
		}
		rxq->slots[i].head = page + at;
		rxq->slots[i].head_dma = dma + at;
	}
	return 0;

err_free:
	ipoib_rx_free_heads(ca, rxq);
	return -ENOMEM;
}
