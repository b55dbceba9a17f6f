/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How receive buffers are mapped for a HCA. Their pages go to sockets, which may keep them for
 * longer than there is the HCA; and behind an IOMMU, nothing can be unmapped for a device that
 * is gone. A page pool that knows what is mapped unmaps it as it is destroyed; with older ones,
 * each buffer is unmapped before a socket gets it.
 */
#ifndef IPOIB_RX_MAP_H
#define IPOIB_RX_MAP_H

#include <rdma/ib_verbs.h>

#include "page_pool.h"

/**
 * ipoib_rx_pool_maps - do page pools map what they give out
 * @ca: HCA
 */
static inline bool ipoib_rx_pool_maps(struct ib_device *ca)
{
	return COMPAT_PP_UNMAPS && !ib_uses_virt_dma(ca);
}

/**
 * ipoib_rx_map - map a buffer
 * @ca: HCA
 * @page: page, or the first of several, of a pool
 * @offset: of the buffer in it [octets]
 * @len: of the buffer [octets]
 * @dma: result: where the HCA finds it; left as it is in case of an error
 *
 * Context: any. Return: 0 or -ENOMEM.
 */
static inline int ipoib_rx_map(struct ib_device *ca, struct page *page, unsigned int offset,
			       unsigned int len, u64 *dma)
{
	u64 addr;

	if (ipoib_rx_pool_maps(ca)) {
		*dma = page_pool_get_dma_addr(page) + offset;
		return 0;
	}
	addr = ib_dma_map_page(ca, page, offset, len, DMA_FROM_DEVICE);
	if (unlikely(ib_dma_mapping_error(ca, addr)))
		return -ENOMEM;
	*dma = addr;
	return 0;
}

/**
 * ipoib_rx_unmaps - has a buffer to be unmapped before a socket gets it
 * @ca: HCA
 */
static inline bool ipoib_rx_unmaps(struct ib_device *ca)
{
	return !COMPAT_PP_UNMAPS && !ib_uses_virt_dma(ca);
}

/**
 * ipoib_rx_unmap - a buffer is not the HCA's any more
 * @ca: HCA
 * @dma: of ipoib_rx_map()
 * @len: of the buffer [octets]
 *
 * Context: any.
 */
static inline void ipoib_rx_unmap(struct ib_device *ca, u64 dma, unsigned int len)
{
	if (ipoib_rx_unmaps(ca))
		ib_dma_unmap_page(ca, dma, len, DMA_FROM_DEVICE);
}

/* rx_heads.c */
struct ipoib_rxq;
int ipoib_rx_make_heads(struct ib_device *ca, struct ipoib_rxq *rxq);
void ipoib_rx_free_heads(struct ib_device *ca, struct ipoib_rxq *rxq);

#endif /* IPOIB_RX_MAP_H */
