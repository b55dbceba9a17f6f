/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* DMA operations of a device. */
#ifndef OPENIPOIB_COMPAT_DMA_OPS_H
#define OPENIPOIB_COMPAT_DMA_OPS_H

#include <linux/dma-map-ops.h>

#include "op.h"

#if COMPAT_DMA_OPS
#define COMPAT_CAN_SET_DMA_OPS true
#else
#define COMPAT_CAN_SET_DMA_OPS false	/* set_dma_ops() does nothing */
#endif

#if COMPAT_DMA_MAP_PHYS
#define COMPAT_MAP_PHYS(fn)
#else
#define map_phys map_page
#define unmap_phys unmap_page
#define COMPAT_MAP_PHYS(fn) \
static dma_addr_t compat_##fn(struct device *dev, struct page *page, unsigned long offset, \
			      size_t size, enum dma_data_direction dir, unsigned long attrs) \
{ \
	return fn(dev, page_to_phys(page) + offset, size, dir, attrs); \
}
#endif

#endif /* OPENIPOIB_COMPAT_DMA_OPS_H */
