// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.19: dma_map_ops.map_phys() and unmap_phys() map physical addresses, not pages
#include <linux/dma-map-ops.h>

#ifdef PROBE_NEW
static dma_addr_t map(struct device *dev, phys_addr_t phys, size_t size,
		      enum dma_data_direction dir, unsigned long attrs)
{
	return phys;
}

static void unmap(struct device *dev, dma_addr_t addr, size_t size, enum dma_data_direction dir,
		  unsigned long attrs)
{
}

const struct dma_map_ops probe_ops = { .map_phys = map, .unmap_phys = unmap };
#else
static dma_addr_t map(struct device *dev, struct page *page, unsigned long offset, size_t size,
		      enum dma_data_direction dir, unsigned long attrs)
{
	return page_to_phys(page) + offset;
}

static void unmap(struct device *dev, dma_addr_t addr, size_t size, enum dma_data_direction dir,
		  unsigned long attrs)
{
}

const struct dma_map_ops probe_ops = { .map_page = map, .unmap_page = unmap };
#endif
