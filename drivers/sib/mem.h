/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Memory the HCA reads and writes: registered regions, found by key, and the
 * scatter/gather lists that name them (IBA vol. 1, 10.6). Every access checks
 * key, protection domain, bounds and rights, byte for byte of what is touched.
 *
 * A key is a region's index in the table, shifted by 8, and a variant of 8 bits;
 * L_Key and R_Key of a region are the same number. The device's local DMA key
 * names no region: with it, kernel consumers pass DMA addresses; nobody else may
 * use it. Those are kernel addresses, which are not checked, or, if the device has
 * its memory mapped, those of its table of mappings (dma.h).
 *
 * Context: functions with a &struct sib_mem_ctx are called with the table's
 * users serialised, port->lock held. A region leaves the table and the lock is
 * taken once before its memory goes, so none of these needs a reference.
 */
#ifndef SIB_MEM_H
#define SIB_MEM_H

#include <linux/skbuff.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

/* The local DMA key, and the range of indices of all other keys */
#define SIB_LKEY		0x51B0
#define SIB_MR_FIRST		0x100
#define SIB_MR_LAST		0xFFFFFF
/* Pages of a region for fast registration */
#define SIB_MAX_FAST_REG	512

struct sib_dma;
struct sib_share;

enum sib_mr_kind {
	SIB_MR_DMA,	/* all of the kernel's memory, by DMA addresses */
	SIB_MR_USER,	/* pinned pages of a process */
	SIB_MR_FAST,	/* for fast registration */
};

/**
 * struct sib_mr - memory region
 * @ibmr: ib_core's part; its keys may be ahead of @key until a registration
 *	request is executed
 * @kind: set once
 * @share: of the process that has registered it, NULL for kernel consumers
 * @pd: protection domain
 * @key: L_Key and R_Key
 * @access: IB_ACCESS_*
 * @valid: may be used; only SIB_MR_FAST changes it
 * @iova: address of its first byte
 * @length: bytes; @iova + @length does not wrap
 * @first: offset of its first byte in the first page
 * @shift: log2 of the page size
 * @pages: kernel addresses of its pages, DMA addresses if it is for fast registration;
 *	NULL for SIB_MR_DMA
 * @num_pages: entries used, SIB_MR_FAST: set by the consumer before it posts a
 *	registration request
 * @max_pages: entries there are
 * @umem: what keeps a user region's pages, else NULL
 *
 * Guarded by port->lock from the moment it is in the table, but for @pages and
 * @num_pages of a region for fast registration that is not valid.
 */
struct sib_mr {
	struct ib_mr ibmr;
	enum sib_mr_kind kind;
	struct sib_share *share;
	struct ib_pd *pd;
	u32 key;
	int access;
	bool valid;
	u64 iova;
	u64 length;
	u32 first;
	u8 shift;
	void **pages;
	u32 num_pages;
	u32 max_pages;
	struct ib_umem *umem;
};

/**
 * struct sib_mem - a device's regions
 * @mrs: by key >> 8; own lock for changes, see above for use
 * @next: where the search for a free index starts; guarded by the lock of @mrs
 * @dma: what is mapped, NULL if DMA addresses are kernel addresses
 */
struct sib_mem {
	struct xarray mrs;
	u32 next;
	struct sib_dma *dma;
};

/**
 * struct sib_mem_ctx - on whose behalf memory is accessed
 * @mem: the regions
 * @pd: protection domain
 * @kernel: the local DMA key is allowed
 *
 * Constant for the life of a queue pair.
 */
struct sib_mem_ctx {
	struct sib_mem *mem;
	struct ib_pd *pd;
	bool kernel;
};

static inline struct sib_mr *to_smr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct sib_mr, ibmr);
}

void sib_mem_init(struct sib_mem *mem);
void sib_mem_cleanup(struct sib_mem *mem);
int sib_mem_add(struct sib_mem *mem, struct sib_mr *mr);
void sib_mem_del(struct sib_mem *mem, struct sib_mr *mr);

/* scatter/gather lists of work requests; all return 0 or -EACCES */
int sib_sge_gather(const struct sib_mem_ctx *ctx, const struct ib_sge *sge, u32 num_sge,
		   u32 skip, void *to, u32 len, __wsum *sum);
int sib_sge_scatter(const struct sib_mem_ctx *ctx, const struct ib_sge *sge, u32 num_sge,
		    u32 skip, struct sk_buff *skb, unsigned int off, u32 len, __wsum *sum);
int sib_sge_write(const struct sib_mem_ctx *ctx, const struct ib_sge *sge, u32 num_sge,
		  u32 skip, const void *from, u32 len);

/* memory named by an R_Key; @access: IB_ACCESS_REMOTE_* */
int sib_mem_check(const struct sib_mem_ctx *ctx, u32 rkey, u64 va, u64 len, int access);
int sib_mem_read(const struct sib_mem_ctx *ctx, u32 rkey, u64 va, void *to, u32 len,
		 __wsum *sum);
int sib_mem_write(const struct sib_mem_ctx *ctx, u32 rkey, u64 va, struct sk_buff *skb,
		  unsigned int off, u32 len);
int sib_mem_atomic(const struct sib_mem_ctx *ctx, u32 rkey, u64 va, bool cmp_swap,
		   u64 swap_add, u64 compare, u64 *orig);

/* fast registration */
int sib_mem_fast_reg(const struct sib_mem_ctx *ctx, u32 key, int access, u64 iova, u64 length);
int sib_mem_invalidate(const struct sib_mem_ctx *ctx, u32 key);

#endif /* SIB_MEM_H */
