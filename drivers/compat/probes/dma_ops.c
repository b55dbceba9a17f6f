// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 4.11: a device may have DMA operations of its own; no User-Mode Linux has them
#include <linux/device.h>

#ifdef PROBE_NEW
const void *probe(struct device *dev);
const void *probe(struct device *dev)
{
	return dev->dma_ops;
}
#else
/* Two members of one name would be an error. */
struct probe {
	struct device;
	int dma_ops;
};
#endif
