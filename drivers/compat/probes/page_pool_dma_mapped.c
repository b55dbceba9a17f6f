// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.16: a page pool that is destroyed unmaps what sockets still have of it
#if __has_include("net/page_pool/helpers.h")
#include <net/page_pool/helpers.h>
#else
#include <net/page_pool.h>
#endif

#if defined(PROBE_NEW) != defined(PP_DMA_INDEX_BITS)
#error "PP_DMA_INDEX_BITS is there, or missing"
#endif

#ifdef PROBE_NEW
struct xarray *probe(struct page_pool *pool)
{
	return &pool->dma_mapped;
}
#endif
