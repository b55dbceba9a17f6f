// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The device that a HCA does its DMA with, if its memory has to be mapped: the kernel's DMA
 * API calls the HCA's own operations, which are those of its table (dma.h).
 *
 * A consumer may still have mappings when the HCA goes, and with it everything that could
 * notice. Their table then stays, as an orphan, to recognise what is unmapped late. When
 * the module goes, the device gets the kernel's own operations. On x86 they do nothing with an
 * address that they do not know; where they maintain caches (arm64), it must not be unmapped.
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "dma.h"
#include "dma_ops.h"

/* What a consumer that asks for it puts into one segment, at most */
#define DMA_SEGMENT	SZ_64K

static const char * const modes[] = { "virtual", "mapped" };
static bool mapped;

static int mode_set(const char *value, const struct kernel_param *param)
{
	int mode = __sysfs_match_string(modes, ARRAY_SIZE(modes), value);

	if (mode < 0) {
		pr_err("dma=%s: neither virtual nor mapped\n", value);
		return mode;
	}
	if (mode && !COMPAT_CAN_SET_DMA_OPS) {
		pr_err("dma=mapped: this kernel lets no device have DMA operations of its own (no CONFIG_DMA_OPS or CONFIG_ARCH_HAS_DMA_OPS)\n");
		return -EOPNOTSUPP;
	}
	WRITE_ONCE(mapped, mode);
	return 0;
}

static int mode_show(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", modes[READ_ONCE(mapped)]);
}

static const struct kernel_param_ops mode_ops = {
	.set = mode_set,
	.get = mode_show,
};
module_param_cb(dma, &mode_ops, NULL, 0644);
MODULE_PARM_DESC(dma,
		 "how new devices reach the kernel's memory: by its own addresses (virtual, default) or as it was mapped for them (mapped)");

static LIST_HEAD(orphans);
static DEFINE_MUTEX(orphans_lock);

static unsigned int how(struct sib_dma *dma, unsigned long attrs)
{
	return (attrs & DMA_ATTR_SKIP_CPU_SYNC ? SIB_DMA_NO_SYNC : 0) |
	       (sib_dma_is_pinning(dma) ? SIB_DMA_SHARED : 0);
}

static dma_addr_t dev_map_phys(struct device *dev, phys_addr_t phys, size_t size,
			       enum dma_data_direction dir, unsigned long attrs)
{
	struct sib_dma *dma = dev_get_drvdata(dev);

	if (!dma || !pfn_valid(PHYS_PFN(phys)))
		return DMA_MAPPING_ERROR;
	return sib_dma_map(dma, phys_to_virt(phys), size, dir, how(dma, attrs));
}

static void dev_unmap_phys(struct device *dev, dma_addr_t addr, size_t size,
			   enum dma_data_direction dir, unsigned long attrs)
{
	struct sib_dma *dma = dev_get_drvdata(dev);

	if (dma)
		sib_dma_unmap(dma, addr, size, dir,
			      attrs & DMA_ATTR_SKIP_CPU_SYNC ? SIB_DMA_NO_SYNC : 0);
}

static void dev_unmap_sg(struct device *dev, struct scatterlist *sgl, int nents,
			 enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		dev_unmap_phys(dev, sg_dma_address(sg), sg_dma_len(sg), dir, attrs);
}

static int dev_map_sg(struct device *dev, struct scatterlist *sgl, int nents,
		      enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i) {
		sg_dma_address(sg) = dev_map_phys(dev, sg_phys(sg), sg->length, dir, attrs);
		if (sg_dma_address(sg) == DMA_MAPPING_ERROR) {
			dev_unmap_sg(dev, sgl, i, dir, attrs | DMA_ATTR_SKIP_CPU_SYNC);
			return -ENOMEM;
		}
		sg_dma_len(sg) = sg->length;
	}
	return nents;
}

static void dev_sync_for_cpu(struct device *dev, dma_addr_t addr, size_t size,
			     enum dma_data_direction dir)
{
	struct sib_dma *dma = dev_get_drvdata(dev);

	if (dma)
		sib_dma_sync_for_cpu(dma, addr, size, dir);
}

static void dev_sync_for_device(struct device *dev, dma_addr_t addr, size_t size,
				enum dma_data_direction dir)
{
	struct sib_dma *dma = dev_get_drvdata(dev);

	if (dma)
		sib_dma_sync_for_device(dma, addr, size, dir);
}

static void dev_sync_sg_for_cpu(struct device *dev, struct scatterlist *sgl, int nents,
				enum dma_data_direction dir)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		dev_sync_for_cpu(dev, sg_dma_address(sg), sg_dma_len(sg), dir);
}

static void dev_sync_sg_for_device(struct device *dev, struct scatterlist *sgl, int nents,
				   enum dma_data_direction dir)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		dev_sync_for_device(dev, sg_dma_address(sg), sg_dma_len(sg), dir);
}

static void *dev_alloc(struct device *dev, size_t size, dma_addr_t *addr, gfp_t gfp,
		       unsigned long attrs)
{
	struct sib_dma *dma = dev_get_drvdata(dev);
	void *cpu;

	if (!dma)
		return NULL;
	cpu = alloc_pages_exact(size, gfp | __GFP_ZERO);
	if (!cpu)
		return NULL;
	*addr = sib_dma_map(dma, cpu, size, DMA_BIDIRECTIONAL, SIB_DMA_SHARED);
	if (*addr != DMA_MAPPING_ERROR)
		return cpu;
	free_pages_exact(cpu, size);
	return NULL;
}

static void dev_free(struct device *dev, size_t size, void *cpu, dma_addr_t addr,
		     unsigned long attrs)
{
	struct sib_dma *dma = dev_get_drvdata(dev);

	if (dma)
		sib_dma_unmap(dma, addr, size, DMA_BIDIRECTIONAL, 0);
	free_pages_exact(cpu, size);
}

static size_t dev_max_mapping_size(struct device *dev)
{
	return SIB_DMA_LONGEST;
}

COMPAT_MAP_PHYS(dev_map_phys)

static const struct dma_map_ops dev_ops = {
	.alloc = dev_alloc,
	.free = dev_free,
	.map_phys = compat_op(DMA_MAP_PHYS, dev_map_phys),
	.unmap_phys = dev_unmap_phys,
	.map_sg = dev_map_sg,
	.unmap_sg = dev_unmap_sg,
	.sync_single_for_cpu = dev_sync_for_cpu,
	.sync_single_for_device = dev_sync_for_device,
	.sync_sg_for_cpu = dev_sync_sg_for_cpu,
	.sync_sg_for_device = dev_sync_sg_for_device,
	.max_mapping_size = dev_max_mapping_size,
};

static int dev_set_up(struct device *dev)
{
	set_dma_ops(dev, &dev_ops);	/* before the mask: the kernel looks what they can */
	dma_set_max_seg_size(dev, DMA_SEGMENT);
	dma_set_seg_boundary(dev, BIT(SIB_DMA_SLOT_BITS) - 1);
	return dma_set_mask_and_coherent(dev, DMA_BIT_MASK(SIB_DMA_BITS));
}

/* The device does without the table. */
static void let_go(struct sib_dma *dma)
{
	set_dma_ops(dma->dev, NULL);
	dev_set_drvdata(dma->dev, NULL);
}

/**
 * sib_dma_open - have a device's DMA mapped, if new devices are to
 * @dev: device that no driver is bound to, and that has not done any
 * @name: of the HCA
 *
 * Context: process. Return: its table, NULL if nothing is to be mapped, or ERR_PTR.
 */
struct sib_dma *sib_dma_open(struct device *dev, const char *name)
{
	struct sib_dma *dma;
	int err;

	if (!READ_ONCE(mapped))
		return NULL;
	dma = kzalloc(sizeof(*dma), GFP_KERNEL);
	if (!dma)
		return ERR_PTR(-ENOMEM);
	sib_dma_init(dma, name);
	dma->dev = get_device(dev);
	dev_set_drvdata(dev, dma);
	err = dev_set_up(dev);
	if (!err)
		return dma;
	sib_dma_close(dma);
	return ERR_PTR(err);
}

/**
 * sib_dma_show - make a table's counters accessible
 * @dma: the table, or NULL
 * @name: of the HCA, from now on
 * @dir: folder of debugfs for the files; it goes before the table does
 *
 * Context: process.
 */
void sib_dma_show(struct sib_dma *dma, const char *name, struct dentry *dir)
{
	if (!dma)
		return;
	strscpy(dma->name, name, sizeof(dma->name));
	debugfs_create_u32("dma_live", 0400, dir, &dma->live);
	debugfs_create_u32("dma_made", 0400, dir, &dma->made);
	debugfs_create_u32("dma_faults", 0400, dir, &dma->faults);
	debugfs_create_u32("dma_misuses", 0400, dir, &dma->misuses);
}

static void destroy(struct sib_dma *dma)
{
	put_device(dma->dev);
	sib_dma_cleanup(dma);
	kfree(dma);
}

/**
 * sib_dma_close - the HCA has gone
 * @dma: its table, or NULL
 *
 * Context: process.
 */
void sib_dma_close(struct sib_dma *dma)
{
	if (!dma)
		return;
	if (sib_dma_end(dma)) {
		mutex_lock(&orphans_lock);
		list_add(&dma->orphan, &orphans);
		mutex_unlock(&orphans_lock);
		return;
	}
	let_go(dma);
	destroy(dma);
}

/**
 * sib_dma_exit - forget all orphans
 *
 * Context: process, when there are no HCAs any more.
 */
void sib_dma_exit(void)
{
	struct sib_dma *dma, *next;

	list_for_each_entry(dma, &orphans, orphan)
		let_go(dma);
	synchronize_rcu();	/* whoever has found the operations leaves them, all but surely */
	list_for_each_entry_safe(dma, next, &orphans, orphan)
		destroy(dma);
}
