// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A HCA's table of mappings: see dma.h.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dma.h"

/**
 * struct sib_dma_map - a mapping
 * @addr: its first address
 * @len: octets
 * @dir: who writes
 * @cpu: the memory
 * @room: allocated for @hca, NULL if that is the memory itself
 * @hca: what the HCA reads and writes, aligned as @addr is
 * @slot: where it is in the table
 */
struct sib_dma_map {
	u64 addr;
	size_t len;
	enum dma_data_direction dir;
	u8 *cpu;
	u8 *room;
	u8 *hca;
	u32 slot;
};

/**
 * sib_dma_init - set up an empty table
 * @dma: zeroed memory
 * @name: of the HCA
 */
void sib_dma_init(struct sib_dma *dma, const char *name)
{
	xa_init_flags(&dma->maps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	dma->next = SIB_DMA_SLOT_FIRST;
	strscpy(dma->name, name, sizeof(dma->name));
	INIT_LIST_HEAD(&dma->pins);
	INIT_LIST_HEAD(&dma->orphan);
}

static void count(u32 *counter)
{
	WRITE_ONCE(*counter, *counter + 1);	/* debugfs reads it without the lock */
}

static const char *dir_name(enum dma_data_direction dir)
{
	switch (dir) {
	case DMA_TO_DEVICE:
		return "reading";
	case DMA_FROM_DEVICE:
		return "writing";
	case DMA_BIDIRECTIONAL:
		return "reading and writing";
	default:
		return "nothing";
	}
}

/* A call of a consumer that is wrong; the lock is held. */
static void misuse(struct sib_dma *dma, const char *what, u64 addr, size_t len,
		   enum dma_data_direction dir, const char *why)
{
	count(&dma->misuses);
	pr_err_ratelimited("%s: DMA: %s of %zu octets at 0x%llx for %s: %s\n", dma->name, what,
			   len, addr, dir_name(dir), why);
}

static struct sib_dma_map *map_at(struct sib_dma *dma, u64 addr)
{
	if (addr < SIB_DMA_BASE || addr >= 2 * SIB_DMA_BASE)
		return NULL;
	return xa_load(&dma->maps, (addr - SIB_DMA_BASE) >> SIB_DMA_SLOT_BITS);
}

/* Whether it is all in a mapping */
static bool is_within(const struct sib_dma_map *map, u64 addr, size_t len)
{
	return addr >= map->addr && len <= map->len && addr - map->addr <= map->len - len;
}

/* What the memory has now is what the HCA is to read, or no longer of any worth. */
static void to_hca(const struct sib_dma_map *map, size_t off, size_t len)
{
	if (!map->room)
		return;
	if (map->dir == DMA_FROM_DEVICE)
		memset(map->cpu + off, SIB_DMA_POISON, len);
	else
		memcpy(map->hca + off, map->cpu + off, len);
}

/* The memory gets what the HCA has written. */
static void to_cpu(const struct sib_dma_map *map, size_t off, size_t len)
{
	if (map->room && map->dir != DMA_TO_DEVICE)
		memcpy(map->cpu + off, map->hca + off, len);
}

static struct sib_dma_map *map_new(void *cpu, size_t len, enum dma_data_direction dir, bool shared)
{
	size_t skew = (uintptr_t)cpu & (sizeof(u64) - 1);
	struct sib_dma_map *map;

	map = kzalloc(sizeof(*map), GFP_ATOMIC | __GFP_NOWARN);
	if (!map)
		return NULL;
	map->len = len;
	map->dir = dir;
	map->cpu = cpu;
	map->hca = cpu;
	if (shared)
		return map;
	map->room = kmalloc(len + skew, GFP_ATOMIC | __GFP_NOWARN);
	if (!map->room) {
		kfree(map);
		return NULL;
	}
	map->hca = map->room + skew;
	memset(map->hca, SIB_DMA_POISON, len);
	return map;
}

static void map_free(struct sib_dma_map *map)
{
	kfree(map->room);
	kfree(map);
}

/**
 * sib_dma_map - map memory
 * @dma: the table
 * @cpu: the memory
 * @len: octets, in one piece of the kernel's addresses
 * @dir: who will write to it
 * @how: SIB_DMA_*
 *
 * Context: any. Return: its address, or SIB_DMA_ERROR.
 */
u64 sib_dma_map(struct sib_dma *dma, void *cpu, size_t len, enum dma_data_direction dir,
		unsigned int how)
{
	struct sib_dma_map *map;
	unsigned long flags;
	int err;

	if (!len || len > SIB_DMA_LONGEST)
		return SIB_DMA_ERROR;
	map = map_new(cpu, len, dir, how & SIB_DMA_SHARED);
	if (!map)
		return SIB_DMA_ERROR;
	if (!(how & SIB_DMA_NO_SYNC))
		to_hca(map, 0, len);
	xa_lock_irqsave(&dma->maps, flags);
	err = dma->gone ? -ENODEV :
	      __xa_alloc_cyclic(&dma->maps, &map->slot, map,
				XA_LIMIT(SIB_DMA_SLOT_FIRST, SIB_DMA_SLOT_LAST), &dma->next,
				GFP_ATOMIC | __GFP_NOWARN);
	if (err >= 0) {
		map->addr = SIB_DMA_BASE + ((u64)map->slot << SIB_DMA_SLOT_BITS) +
			    offset_in_page(cpu);
		count(&dma->made);
		count(&dma->live);
	}
	xa_unlock_irqrestore(&dma->maps, flags);
	if (err >= 0)
		return map->addr;
	map_free(map);
	return SIB_DMA_ERROR;
}

/* Takes a mapping out of the table; the lock is held. */
static struct sib_dma_map *take_out(struct sib_dma *dma, u64 addr, size_t len,
				    enum dma_data_direction dir)
{
	struct sib_dma_map *map = map_at(dma, addr);

	if (!map || map->addr != addr) {
		misuse(dma, "unmapping", addr, len, dir,
		       map ? "the mapping there begins elsewhere" : "nothing is mapped there");
		return NULL;
	}
	if (map->len != len)
		misuse(dma, "unmapping", addr, len, dir, "the mapping has another length");
	if (map->dir != dir)
		misuse(dma, "unmapping", addr, len, dir, "the mapping has another direction");
	if (dma->gone)
		misuse(dma, "unmapping", addr, len, dir, "the HCA has gone already");
	__xa_erase(&dma->maps, map->slot);
	WRITE_ONCE(dma->live, dma->live - 1);
	return map;
}

/**
 * sib_dma_unmap - undo sib_dma_map()
 * @dma: the table
 * @addr: what it returned
 * @len: as it was
 * @dir: as it was
 * @how: SIB_DMA_NO_SYNC
 *
 * Context: any.
 */
void sib_dma_unmap(struct sib_dma *dma, u64 addr, size_t len, enum dma_data_direction dir,
		   unsigned int how)
{
	struct sib_dma_map *map;
	unsigned long flags;

	xa_lock_irqsave(&dma->maps, flags);
	map = take_out(dma, addr, len, dir);
	xa_unlock_irqrestore(&dma->maps, flags);
	if (!map)
		return;
	if (!(how & SIB_DMA_NO_SYNC))
		to_cpu(map, 0, map->len);
	map_free(map);
}

static void sync(struct sib_dma *dma, u64 addr, size_t len, enum dma_data_direction dir,
		 const char *what, void (*copy)(const struct sib_dma_map *, size_t, size_t))
{
	struct sib_dma_map *map;
	unsigned long flags;

	xa_lock_irqsave(&dma->maps, flags);
	map = map_at(dma, addr);
	if (!map)
		misuse(dma, what, addr, len, dir, "nothing is mapped there");
	else if (!is_within(map, addr, len))
		misuse(dma, what, addr, len, dir, "not all of it is mapped");
	else if (map->dir != dir && map->dir != DMA_BIDIRECTIONAL)
		misuse(dma, what, addr, len, dir, "the mapping has another direction");
	else
		copy(map, addr - map->addr, len);
	xa_unlock_irqrestore(&dma->maps, flags);
}

/**
 * sib_dma_sync_for_cpu - let the memory have what the HCA has written
 * @dma: the table
 * @addr: where
 * @len: octets, all of one mapping
 * @dir: of the mapping
 *
 * Context: any.
 */
void sib_dma_sync_for_cpu(struct sib_dma *dma, u64 addr, size_t len,
			  enum dma_data_direction dir)
{
	sync(dma, addr, len, dir, "sync_for_cpu", to_cpu);
}

/**
 * sib_dma_sync_for_device - let the HCA have what the memory has
 * @dma: the table
 * @addr: where
 * @len: octets, all of one mapping
 * @dir: of the mapping
 *
 * Memory that the HCA alone writes to has no worth until sib_dma_sync_for_cpu().
 *
 * Context: any.
 */
void sib_dma_sync_for_device(struct sib_dma *dma, u64 addr, size_t len,
			     enum dma_data_direction dir)
{
	sync(dma, addr, len, dir, "sync_for_device", to_hca);
}

/**
 * sib_dma_at - the HCA accesses memory
 * @dma: the table
 * @addr: first octet
 * @len: how many
 * @dir: DMA_TO_DEVICE to read, DMA_FROM_DEVICE to write, DMA_BIDIRECTIONAL for both
 *
 * Context: the lock is held, and stays so as long as the memory is used.
 * Return: where it is; NULL, with a message, if it is not mapped that way.
 */
void *sib_dma_at(struct sib_dma *dma, u64 addr, u32 len, enum dma_data_direction dir)
{
	struct sib_dma_map *map = map_at(dma, addr);
	const char *why = "mapped for the other direction";

	if (!map)
		why = "not mapped";
	else if (!is_within(map, addr, len))
		why = "not within a mapping";
	else if (map->dir == dir || map->dir == DMA_BIDIRECTIONAL)
		return map->hca + (addr - map->addr);
	count(&dma->faults);
	pr_err_ratelimited("%s: DMA: %u octets at 0x%llx are %s: no %s\n", dma->name, len, addr,
			   why, dir_name(dir));
	return NULL;
}

/**
 * sib_dma_end - the HCA has gone
 * @dma: its table
 *
 * Context: any. Return: how many mappings are left, which is reported.
 */
u32 sib_dma_end(struct sib_dma *dma)
{
	struct sib_dma_map *map;
	unsigned long flags;
	unsigned long slot = 0;
	u32 left;

	xa_lock_irqsave(&dma->maps, flags);
	dma->gone = true;
	left = dma->live;
	map = xa_find(&dma->maps, &slot, ULONG_MAX, XA_PRESENT);
	if (map)
		pr_err("%s: DMA: %u mappings were never unmapped, one of them %zu octets at 0x%llx for %s\n",
		       dma->name, left, map->len, map->addr, dir_name(map->dir));
	xa_unlock_irqrestore(&dma->maps, flags);
	return left;
}

/**
 * sib_dma_cleanup - free a table, with what is still mapped
 * @dma: table that nobody uses any more
 */
void sib_dma_cleanup(struct sib_dma *dma)
{
	struct sib_dma_map *map;
	unsigned long slot;

	xa_for_each(&dma->maps, slot, map)
		map_free(map);
	xa_destroy(&dma->maps);
}

/**
 * sib_dma_pin - begin to map pages of a process
 * @dma: the table
 * @pin: to remember it by until sib_dma_unpin()
 *
 * What the caller maps meanwhile are pages that a process uses while the HCA does, so that
 * nothing may be copied. ib_umem_get(), which maps them, says so nowhere. If the caller has
 * to wait for a page that is read through the same HCA, that one is shared, too, which is
 * less strict but not wrong.
 *
 * Context: process.
 */
void sib_dma_pin(struct sib_dma *dma, struct sib_dma_pin *pin)
{
	pin->task = current;
	xa_lock_irq(&dma->maps);
	list_add(&pin->list, &dma->pins);
	xa_unlock_irq(&dma->maps);
}

/**
 * sib_dma_unpin - end what sib_dma_pin() has begun
 * @dma: the table
 * @pin: likewise
 *
 * Context: process.
 */
void sib_dma_unpin(struct sib_dma *dma, struct sib_dma_pin *pin)
{
	xa_lock_irq(&dma->maps);
	list_del(&pin->list);
	xa_unlock_irq(&dma->maps);
}

/**
 * sib_dma_is_pinning - whether the caller maps pages of a process
 * @dma: the table
 *
 * Context: any. Return: true between sib_dma_pin() and sib_dma_unpin().
 */
bool sib_dma_is_pinning(struct sib_dma *dma)
{
	struct sib_dma_pin *pin;
	unsigned long flags;
	bool found = false;

	if (!in_task())
		return false;
	xa_lock_irqsave(&dma->maps, flags);
	list_for_each_entry(pin, &dma->pins, list)
		found |= pin->task == current;
	xa_unlock_irqrestore(&dma->maps, flags);
	return found;
}
