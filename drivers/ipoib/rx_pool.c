// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Where the pages of receive buffers come from. */
#include "ipoib.h"
#include "rx_map.h"

/**
 * ipoib_rx_create_pool - make a pool of receive pages, for ipoib_rx_map()
 * @ca: HCA
 * @flags: of the pool, besides those of the mapping (PP_FLAG_*)
 * @order: of its pages
 * @size: how many free pages it keeps
 *
 * Context: process.
 * Return: the pool or an error pointer.
 */
struct page_pool *ipoib_rx_create_pool(struct ib_device *ca, unsigned int flags,
				       unsigned int order, unsigned int size)
{
	struct page_pool_params params = {
		.flags = flags,
		.order = order,
		.pool_size = size,
		.nid = NUMA_NO_NODE,
		.dma_dir = DMA_FROM_DEVICE,
		.max_len = PAGE_SIZE << order,
	};

	if (ipoib_rx_pool_maps(ca)) {
		params.flags |= PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV;
		params.dev = ca->dma_device;
	}
	return page_pool_create(&params);
}
