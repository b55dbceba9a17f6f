// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The table of memory regions, and all access to memory: see mem.h. Knows
 * neither ports nor queue pairs.
 */
#include <linux/bitops.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <net/checksum.h>

#include "dma.h"
#include "mem.h"

#ifdef CONFIG_HIGHMEM
#error "sib reaches all memory by its kernel address, which pages of high memory do not have"
#endif

/**
 * sib_mem_init - set up an empty table
 * @mem: zeroed memory
 */
void sib_mem_init(struct sib_mem *mem)
{
	xa_init_flags(&mem->mrs, XA_FLAGS_ALLOC);
	mem->next = SIB_MR_FIRST;
}

/**
 * sib_mem_cleanup - free a table
 * @mem: table without regions
 */
void sib_mem_cleanup(struct sib_mem *mem)
{
	WARN_ON(!xa_empty(&mem->mrs));
	xa_destroy(&mem->mrs);
}

/**
 * sib_mem_add - give a region its key and make it known
 * @mem: the table
 * @mr: complete region; its keys are set
 *
 * Indices go round, so that the key of a region that is gone names no other for
 * a long time. Context: process. Return: 0 or -ENOMEM.
 */
int sib_mem_add(struct sib_mem *mem, struct sib_mr *mr)
{
	u32 index;
	int err;

	err = xa_alloc_cyclic(&mem->mrs, &index, NULL, XA_LIMIT(SIB_MR_FIRST, SIB_MR_LAST),
			      &mem->next, GFP_KERNEL);
	if (err < 0)
		return -ENOMEM;
	mr->key = index << 8 | (get_random_u32() & 0xFF);
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	xa_store(&mem->mrs, index, mr, GFP_KERNEL);	/* the entry is there already */
	return 0;
}

/**
 * sib_mem_del - make a region unknown
 * @mem: the table
 * @mr: region in it
 *
 * It may still be in use by whoever holds port->lock. Context: process.
 */
void sib_mem_del(struct sib_mem *mem, struct sib_mr *mr)
{
	xa_erase(&mem->mrs, mr->key >> 8);
}

static struct sib_mr *find(const struct sib_mem_ctx *ctx, u32 key)
{
	struct sib_mr *mr = xa_load(&ctx->mem->mrs, key >> 8);

	return mr && mr->pd == ctx->pd ? mr : NULL;
}

/* The region with this key, if that much of it may be accessed that way */
static struct sib_mr *find_range(const struct sib_mem_ctx *ctx, u32 key, u64 va, u64 len,
				 int access)
{
	struct sib_mr *mr = find(ctx, key);

	if (!mr || !mr->valid || mr->key != key || (mr->access & access) != access)
		return NULL;
	if (va < mr->iova || len > mr->length || va - mr->iova > mr->length - len)
		return NULL;
	return mr;
}

/* By which a region's pages are mapped, NULL if their addresses are the kernel's */
static struct sib_dma *dma_of(const struct sib_mem_ctx *ctx, const struct sib_mr *mr)
{
	return mr->kind == SIB_MR_USER ? NULL : ctx->mem->dma;
}

/*
 * Address of a byte within a region, and how many follow it there. 0 where there is no
 * memory: a DMA region reaches over holes.
 */
static u64 mr_at(const struct sib_mem_ctx *ctx, const struct sib_mr *mr, u64 va, u32 *n)
{
	u64 off = va - mr->iova + mr->first;
	u64 mask = (1ULL << mr->shift) - 1;

	if (!mr->pages && dma_of(ctx, mr))
		return va;
	*n = min_t(u64, *n, mask + 1 - (off & mask));
	if (!mr->pages)
		return virt_addr_valid((void *)(uintptr_t)va) ? va : 0;
	return (uintptr_t)mr->pages[off >> mr->shift] + (off & mask);
}

/*
 * struct source - what is written to memory: an skb from @off on, or @va. Of an
 * skb, the unfolded checksum of @done bytes has been added to @sum if there is one.
 */
struct source {
	struct sk_buff *skb;
	unsigned int off;
	const void *va;
	__wsum *sum;
	u32 done;
};

static int take(struct source *from, void *to, u32 n)
{
	__wsum part;

	if (from->sum) {
		part = skb_copy_and_csum_bits(from->skb, from->off, to, n);
		*from->sum = csum_block_add(*from->sum, part, from->done);
		from->off += n;
		from->done += n;
	} else if (from->skb) {
		if (skb_copy_bits(from->skb, from->off, to, n))
			return -EACCES;
		from->off += n;
	} else {
		memcpy(to, from->va, n);
		from->va += n;
	}
	return 0;
}

static void give(void *to, const void *from, u32 n, u32 off, __wsum *sum)
{
	__wsum part = csum_partial_copy_nocheck(from, to + off, n);

	*sum = csum_block_add(*sum, part, off);
}

/* Copy from an address, which is one of the kernel's without a table of mappings. */
static int give_at(struct sib_dma *dma, u64 addr, void *to, u32 n, u32 off, __wsum *sum)
{
	unsigned long flags;
	const void *p;

	if (!dma) {
		give(to, (void *)(uintptr_t)addr, n, off, sum);
		return 0;
	}
	xa_lock_irqsave(&dma->maps, flags);
	p = sib_dma_at(dma, addr, n, DMA_TO_DEVICE);
	if (p)
		give(to, p, n, off, sum);
	xa_unlock_irqrestore(&dma->maps, flags);
	return p ? 0 : -EACCES;
}

/* Copy to one */
static int take_at(struct sib_dma *dma, u64 addr, struct source *from, u32 n)
{
	unsigned long flags;
	int err = -EACCES;
	void *p;

	if (!dma)
		return take(from, (void *)(uintptr_t)addr, n);
	xa_lock_irqsave(&dma->maps, flags);
	p = sib_dma_at(dma, addr, n, DMA_FROM_DEVICE);
	if (p)
		err = take(from, p, n);
	xa_unlock_irqrestore(&dma->maps, flags);
	return err;
}

/* Copy out of a region to @to + @off; returns -EACCES where there is no memory. */
static int mr_read(const struct sib_mem_ctx *ctx, const struct sib_mr *mr, u64 va, void *to,
		   u32 off, u32 len, __wsum *sum)
{
	u64 addr;
	u32 n;

	for (; len; len -= n) {
		n = len;
		addr = mr_at(ctx, mr, va, &n);
		if (!addr || give_at(dma_of(ctx, mr), addr, to, n, off, sum))
			return -EACCES;
		va += n;
		off += n;
	}
	return 0;
}

static int mr_write(const struct sib_mem_ctx *ctx, const struct sib_mr *mr, u64 va,
		    struct source *from, u32 len)
{
	u64 addr;
	u32 n;

	for (; len; len -= n) {
		n = len;
		addr = mr_at(ctx, mr, va, &n);
		if (!addr || take_at(dma_of(ctx, mr), addr, from, n))
			return -EACCES;
		va += n;
	}
	return 0;
}

static bool is_local_dma(const struct sib_mem_ctx *ctx, const struct ib_sge *sge)
{
	return ctx->kernel && sge->lkey == SIB_LKEY;
}

/**
 * sib_sge_gather - copy part of a message out of a gather list, and sum it up
 * @ctx: whose list it is
 * @sge: the list
 * @num_sge: its length
 * @skip: bytes of the message that come before
 * @to: @len bytes
 * @len: bytes wanted
 * @sum: unfolded Internet checksum of @to is added to it
 *
 * An entry of length 0 has no meaning and its key is not looked at.
 *
 * Return: 0; -EACCES if an entry may not be read or the list is too short.
 */
int sib_sge_gather(const struct sib_mem_ctx *ctx, const struct ib_sge *sge, u32 num_sge,
		   u32 skip, void *to, u32 len, __wsum *sum)
{
	const struct sib_mr *mr;
	u32 off = 0, n;

	for (; num_sge && off < len; sge++, num_sge--) {
		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = min(sge->length - skip, len - off);
		if (is_local_dma(ctx, sge)) {
			if (give_at(ctx->mem->dma, sge->addr + skip, to, n, off, sum))
				return -EACCES;
		} else {
			mr = find_range(ctx, sge->lkey, sge->addr + skip, n, 0);
			if (!mr || mr_read(ctx, mr, sge->addr + skip, to, off, n, sum))
				return -EACCES;
		}
		off += n;
		skip = 0;
	}
	return off == len ? 0 : -EACCES;
}

static int sge_fill(const struct sib_mem_ctx *ctx, const struct ib_sge *sge, u32 num_sge,
		    u32 skip, struct source *from, u32 len)
{
	const struct sib_mr *mr;
	u32 n;

	for (; num_sge && len; sge++, num_sge--) {
		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = min(sge->length - skip, len);
		if (is_local_dma(ctx, sge)) {
			if (take_at(ctx->mem->dma, sge->addr + skip, from, n))
				return -EACCES;
		} else {
			mr = find_range(ctx, sge->lkey, sge->addr + skip, n,
					IB_ACCESS_LOCAL_WRITE);
			if (!mr || mr_write(ctx, mr, sge->addr + skip, from, n))
				return -EACCES;
		}
		len -= n;
		skip = 0;
	}
	return len ? -EACCES : 0;
}

/**
 * sib_sge_scatter - copy packet data into a scatter list
 * @ctx: whose list it is
 * @sge: the list
 * @num_sge: its length
 * @skip: bytes of the list to leave alone
 * @skb: where the data are
 * @off: at which offset
 * @len: how many; they must be there
 * @sum: their unfolded Internet checksum is added to it, unless it is NULL
 *
 * Return: 0; -EACCES if an entry may not be written or the list is too short.
 */
int sib_sge_scatter(const struct sib_mem_ctx *ctx, const struct ib_sge *sge, u32 num_sge,
		    u32 skip, struct sk_buff *skb, unsigned int off, u32 len, __wsum *sum)
{
	struct source from = { .skb = skb, .off = off, .sum = sum };

	return sge_fill(ctx, sge, num_sge, skip, &from, len);
}

/**
 * sib_sge_write - copy memory into a scatter list
 * @ctx: whose list it is
 * @sge: the list
 * @num_sge: its length
 * @skip: bytes of the list to leave alone
 * @from: @len bytes
 * @len: how many
 *
 * Return: 0; -EACCES if an entry may not be written or the list is too short.
 */
int sib_sge_write(const struct sib_mem_ctx *ctx, const struct ib_sge *sge, u32 num_sge,
		  u32 skip, const void *from, u32 len)
{
	struct source src = { .va = from };

	return sge_fill(ctx, sge, num_sge, skip, &src, len);
}

/**
 * sib_mem_check - whether the peer may access memory
 * @ctx: whose memory
 * @rkey: R_Key
 * @va: first byte
 * @len: bytes; with 0, neither key nor address mean anything (IBA vol. 1, 9.7.4.1.5)
 * @access: IB_ACCESS_REMOTE_*
 *
 * Return: 0 or -EACCES.
 */
int sib_mem_check(const struct sib_mem_ctx *ctx, u32 rkey, u64 va, u64 len, int access)
{
	return !len || find_range(ctx, rkey, va, len, access) ? 0 : -EACCES;
}

/**
 * sib_mem_read - RDMA READ of memory
 * @ctx: whose memory
 * @rkey: R_Key; everything is checked again
 * @va: first byte
 * @to: @len bytes
 * @len: bytes
 * @sum: unfolded Internet checksum of @to is added to it
 *
 * Return: 0 or -EACCES.
 */
int sib_mem_read(const struct sib_mem_ctx *ctx, u32 rkey, u64 va, void *to, u32 len,
		 __wsum *sum)
{
	const struct sib_mr *mr;

	if (!len)
		return 0;
	mr = find_range(ctx, rkey, va, len, IB_ACCESS_REMOTE_READ);
	return mr ? mr_read(ctx, mr, va, to, 0, len, sum) : -EACCES;
}

/**
 * sib_mem_write - RDMA WRITE of memory
 * @ctx: whose memory
 * @rkey: R_Key; everything is checked again
 * @va: first byte
 * @skb: where the data are
 * @off: at which offset
 * @len: bytes
 *
 * Return: 0 or -EACCES.
 */
int sib_mem_write(const struct sib_mem_ctx *ctx, u32 rkey, u64 va, struct sk_buff *skb,
		  unsigned int off, u32 len)
{
	struct source from = { .skb = skb, .off = off };
	const struct sib_mr *mr;

	if (!len)
		return 0;
	mr = find_range(ctx, rkey, va, len, IB_ACCESS_REMOTE_WRITE);
	return mr ? mr_write(ctx, mr, va, &from, len) : -EACCES;
}

/* An address that the consumer chose need not be aligned as its memory is. */
static int atomic_at(void *p, bool cmp_swap, u64 swap_add, u64 compare, u64 *orig)
{
	if (!p || !IS_ALIGNED((uintptr_t)p, sizeof(atomic64_t)))
		return -EACCES;
	*orig = cmp_swap ? atomic64_cmpxchg(p, compare, swap_add) :
			   atomic64_fetch_add(swap_add, p);
	return 0;
}

/**
 * sib_mem_atomic - atomic operation of the peer on 64 bits
 * @ctx: whose memory
 * @rkey: R_Key
 * @va: address
 * @cmp_swap: compare and swap, else fetch and add
 * @swap_add: new value or summand
 * @compare: what has to be there
 * @orig: what was there; unchanged on errors
 *
 * Values are in host order. Also atomic against processors.
 *
 * Return: 0; -EINVAL if @va is not aligned; -EACCES.
 */
int sib_mem_atomic(const struct sib_mem_ctx *ctx, u32 rkey, u64 va, bool cmp_swap,
		   u64 swap_add, u64 compare, u64 *orig)
{
	u32 n = sizeof(*orig);
	struct sib_dma *dma;
	struct sib_mr *mr;
	unsigned long flags;
	u64 addr;
	int err;

	if (!IS_ALIGNED(va, sizeof(*orig)))
		return -EINVAL;
	mr = find_range(ctx, rkey, va, sizeof(*orig), IB_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		return -EACCES;
	addr = mr_at(ctx, mr, va, &n);
	dma = dma_of(ctx, mr);
	if (!addr || !dma)
		return atomic_at((void *)(uintptr_t)addr, cmp_swap, swap_add, compare, orig);
	xa_lock_irqsave(&dma->maps, flags);
	err = atomic_at(sib_dma_at(dma, addr, n, DMA_BIDIRECTIONAL), cmp_swap, swap_add,
			compare, orig);
	xa_unlock_irqrestore(&dma->maps, flags);
	return err;
}

/**
 * sib_mem_fast_reg - make a region for fast registration valid
 * @ctx: whose region
 * @key: its new key: the index it has, and any variant
 * @access: IB_ACCESS_*
 * @iova: address of its first byte, within the first of its pages
 * @length: bytes
 *
 * Return: 0; -EACCES if there is no such region, it is valid already, or its
 * pages are too few.
 */
int sib_mem_fast_reg(const struct sib_mem_ctx *ctx, u32 key, int access, u64 iova, u64 length)
{
	struct sib_mr *mr = find(ctx, key);
	u64 size;

	if (!mr || mr->kind != SIB_MR_FAST || mr->valid || !mr->num_pages)
		return -EACCES;
	mr->shift = ilog2(mr->ibmr.page_size);
	size = (u64)min(mr->num_pages, mr->max_pages) << mr->shift;
	mr->first = iova & ((1ULL << mr->shift) - 1);
	if (length > size || mr->first > size - length || iova + length < iova)
		return -EACCES;
	mr->key = key;
	mr->access = access;
	mr->iova = iova;
	mr->length = length;
	mr->valid = true;
	return 0;
}

/**
 * sib_mem_invalidate - revoke a fast registration
 * @ctx: whose region
 * @key: its key
 *
 * Return: 0; -EACCES if it is not the key of a valid fast registration.
 */
int sib_mem_invalidate(const struct sib_mem_ctx *ctx, u32 key)
{
	struct sib_mr *mr = find(ctx, key);

	if (!mr || mr->kind != SIB_MR_FAST || !mr->valid || mr->key != key)
		return -EACCES;
	mr->valid = false;
	return 0;
}
