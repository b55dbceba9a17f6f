/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The IOMMU of a HCA whose memory has to be mapped: a table of mappings, each with
 * addresses of its own. What the HCA reads and writes is a copy of the memory, in the
 * mapping's buffer, which a consumer brings up to date as the DMA API has it: for the HCA
 * by mapping and sync_for_device, for itself by sync_for_cpu and unmapping. One who forgets
 * gets what was there before, or rubbish.
 *
 * Addresses: each mapping has a slot of 16 MiB, in which it begins as far behind a page's
 * beginning as its memory does. What is around it in the slot is never mapped, no address is
 * one of the kernel's or 0, and a slot is used again only after all others.
 *
 * Knows neither devices nor verbs: dma_dev.c has the kernel's DMA API call it.
 *
 * Context: any. All is guarded by the lock of &sib_dma.maps, with interrupts off.
 */
#ifndef SIB_DMA_H
#define SIB_DMA_H

#include <linux/bits.h>
#include <linux/dma-direction.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct dentry;
struct device;
struct task_struct;

#define SIB_DMA_BITS		48	/* of an address */
#define SIB_DMA_SLOT_BITS	24	/* of them, within a slot */
#define SIB_DMA_BASE		BIT_ULL(SIB_DMA_BITS - 1)
#define SIB_DMA_SLOT_FIRST	1
#define SIB_DMA_SLOT_LAST	(BIT(SIB_DMA_BITS - 1 - SIB_DMA_SLOT_BITS) - 1)
/* What is mapped at once, at most: nothing is in the last page of a slot */
#define SIB_DMA_LONGEST		(BIT(SIB_DMA_SLOT_BITS) - 2 * PAGE_SIZE)
#define SIB_DMA_ERROR		(~0ULL)	/* DMA_MAPPING_ERROR */
#define SIB_DMA_POISON		0xDB

/* How to map and unmap */
#define SIB_DMA_SHARED		BIT(0)	/* the HCA uses the memory itself */
#define SIB_DMA_NO_SYNC		BIT(1)	/* copy nothing now (DMA_ATTR_SKIP_CPU_SYNC) */

/**
 * struct sib_dma - table of a HCA's mappings
 * @maps: &struct sib_dma_map by slot
 * @next: slot to try next
 * @name: of the HCA, for messages
 * @dev: device that they are of; NULL in tests
 * @gone: the HCA has gone
 * @live: mappings there are
 * @made: mappings there have been
 * @faults: accesses of the HCA that were refused
 * @misuses: calls of consumers that were wrong
 * @pins: tasks that map pages of processes, &struct sib_dma_pin
 * @orphan: link in the list of tables whose HCA has gone before its mappings
 */
struct sib_dma {
	struct xarray maps;
	u32 next;
	char name[64];
	struct device *dev;
	bool gone;
	u32 live;
	u32 made;
	u32 faults;
	u32 misuses;
	struct list_head pins;
	struct list_head orphan;
};

/**
 * struct sib_dma_pin - a task that maps pages of a process: see sib_dma_pin()
 * @list: link in &sib_dma.pins
 * @task: who
 */
struct sib_dma_pin {
	struct list_head list;
	struct task_struct *task;
};

/* dma.c */
void sib_dma_init(struct sib_dma *dma, const char *name);
u64 sib_dma_map(struct sib_dma *dma, void *cpu, size_t len, enum dma_data_direction dir,
		unsigned int how);
void sib_dma_unmap(struct sib_dma *dma, u64 addr, size_t len, enum dma_data_direction dir,
		   unsigned int how);
void sib_dma_sync_for_cpu(struct sib_dma *dma, u64 addr, size_t len,
			  enum dma_data_direction dir);
void sib_dma_sync_for_device(struct sib_dma *dma, u64 addr, size_t len,
			     enum dma_data_direction dir);
void *sib_dma_at(struct sib_dma *dma, u64 addr, u32 len, enum dma_data_direction dir);
u32 sib_dma_end(struct sib_dma *dma);
void sib_dma_cleanup(struct sib_dma *dma);
void sib_dma_pin(struct sib_dma *dma, struct sib_dma_pin *pin);
void sib_dma_unpin(struct sib_dma *dma, struct sib_dma_pin *pin);
bool sib_dma_is_pinning(struct sib_dma *dma);

/* dma_dev.c */
struct sib_dma *sib_dma_open(struct device *dev, const char *name);
void sib_dma_show(struct sib_dma *dma, const char *name, struct dentry *dir);
void sib_dma_close(struct sib_dma *dma);
void sib_dma_exit(void);

#endif /* SIB_DMA_H */
