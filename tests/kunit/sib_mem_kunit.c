// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Memory regions: every access that is refused, and that an access which is
 * granted touches exactly the bytes it names. Pages are separate allocations, so
 * that KASAN sees a byte too many.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/skbuff.h>

#include "dma.c"
#include "mem.c"

#define PAGES	4
#define IOVA	0x10000123ULL	/* first byte at offset 0x123 of the first page */
#define FIRST	0x123
#define LENGTH	(3 * PAGE_SIZE + 100)
#define ALL	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_ATOMIC)

struct world {
	struct sib_mem mem;
	struct ib_pd pd;
	struct ib_pd other_pd;
	struct sib_mem_ctx ctx;
	struct sib_mr mr;
	void *pages[PAGES];
};

static void make_mr(struct kunit *test, struct world *w, struct sib_mr *mr, int access)
{
	int i;

	for (i = 0; i < PAGES; i++) {
		w->pages[i] = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, w->pages[i]);
	}
	mr->kind = SIB_MR_USER;
	mr->pd = &w->pd;
	mr->access = access;
	mr->valid = true;
	mr->iova = IOVA;
	mr->length = LENGTH;
	mr->first = FIRST;
	mr->shift = PAGE_SHIFT;
	mr->pages = w->pages;
	mr->num_pages = PAGES;
	mr->max_pages = PAGES;
}

static int world_init(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	sib_mem_init(&w->mem);
	w->ctx.mem = &w->mem;
	w->ctx.pd = &w->pd;
	make_mr(test, w, &w->mr, ALL);
	KUNIT_ASSERT_EQ(test, sib_mem_add(&w->mem, &w->mr), 0);
	test->priv = w;
	return 0;
}

static void world_exit(struct kunit *test)
{
	struct world *w = test->priv;

	if (!w)
		return;
	sib_mem_del(&w->mem, &w->mr);
	sib_mem_cleanup(&w->mem);
}

static u8 *byte_at(struct world *w, u64 off)
{
	off += FIRST;
	return (u8 *)w->pages[off >> PAGE_SHIFT] + (off & ~PAGE_MASK);
}

static struct sk_buff *skb_of(struct kunit *test, u32 len, u8 fill)
{
	struct sk_buff *skb = alloc_skb(len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	memset(skb_put(skb, len), fill, len);
	return skb;
}

/* One check each: everything else about the access is right. */
struct refusal {
	const char *name;
	int access;	/* of the region */
	int want;	/* of the peer */
	s64 va;		/* relative to the region */
	u64 len;
	u32 key_xor;
	bool other_pd;
	bool invalid;
	bool granted;
};

static const struct refusal refusals[] = {
	{ .name = "whole region", .access = ALL, .want = ALL, .len = LENGTH, .granted = true },
	{ .name = "last byte", .access = ALL, .va = LENGTH - 1, .len = 1, .granted = true },
	{ .name = "one byte more", .access = ALL, .len = LENGTH + 1 },
	{ .name = "byte after", .access = ALL, .va = LENGTH, .len = 1 },
	{ .name = "byte before", .access = ALL, .va = -1, .len = 1 },
	{ .name = "from before into", .access = ALL, .va = -1, .len = 2 },
	{ .name = "length wraps", .access = ALL, .va = 8, .len = -4ULL },
	{ .name = "length is all", .access = ALL, .len = U64_MAX },
	{ .name = "address wraps", .access = ALL, .va = -(s64)IOVA - 1, .len = 2 },
	{ .name = "variant of the key", .access = ALL, .len = 1, .key_xor = 1 },
	{ .name = "another index", .access = ALL, .len = 1, .key_xor = 0x100 },
	{ .name = "index out of the table", .access = ALL, .len = 1, .key_xor = 0xFF000000 },
	{ .name = "another domain", .access = ALL, .len = 1, .other_pd = true },
	{ .name = "not valid", .access = ALL, .len = 1, .invalid = true },
	{ .name = "no remote read", .access = ALL & ~IB_ACCESS_REMOTE_READ,
	  .want = IB_ACCESS_REMOTE_READ, .len = 1 },
	{ .name = "no remote write", .access = ALL & ~IB_ACCESS_REMOTE_WRITE,
	  .want = IB_ACCESS_REMOTE_WRITE, .len = 1 },
	{ .name = "no remote atomic", .access = ALL & ~IB_ACCESS_REMOTE_ATOMIC,
	  .want = IB_ACCESS_REMOTE_ATOMIC, .len = 8 },
	{ .name = "local only", .access = IB_ACCESS_LOCAL_WRITE,
	  .want = IB_ACCESS_REMOTE_READ, .len = 1 },
	{ .name = "zero length, nothing right", .va = -5, .len = 0, .key_xor = 0x7777,
	  .want = ALL, .other_pd = true, .granted = true },
};

static void refusal_desc(const struct refusal *r, char *desc)
{
	strscpy(desc, r->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(refusals, refusals, refusal_desc);

static void remote_access(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	struct world *w = test->priv;

	w->mr.access = r->access;
	w->mr.valid = !r->invalid;
	if (r->other_pd)
		w->ctx.pd = &w->other_pd;
	KUNIT_EXPECT_EQ(test, sib_mem_check(&w->ctx, w->mr.key ^ r->key_xor, IOVA + r->va,
					    r->len, r->want), r->granted ? 0 : -EACCES);
}

/* The same for the lists of work requests, read and written */
static void local_access(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	struct world *w = test->priv;
	struct ib_sge sge = { .addr = IOVA + r->va, .length = r->len,
			      .lkey = w->mr.key ^ r->key_xor };
	u8 *buf = kunit_kzalloc(test, LENGTH + 1, GFP_KERNEL);
	bool granted = r->granted || r->want;	/* remote rights do not matter here */
	__wsum sum = 0;

	if (r->len > LENGTH + 1)
		return;		/* the length of an entry has 32 bits */
	w->mr.access = r->access;
	w->mr.valid = !r->invalid;
	if (r->other_pd)
		w->ctx.pd = &w->other_pd;
	KUNIT_EXPECT_EQ(test, sib_sge_gather(&w->ctx, &sge, 1, 0, buf, r->len, &sum),
			granted ? 0 : -EACCES);
	KUNIT_EXPECT_EQ(test, sib_sge_write(&w->ctx, &sge, 1, 0, buf, r->len),
			granted ? 0 : -EACCES);
}

static void no_local_write(struct kunit *test)
{
	struct world *w = test->priv;
	struct ib_sge sge = { .addr = IOVA, .length = 16, .lkey = w->mr.key };
	struct sk_buff *skb = skb_of(test, 16, 0xAA);
	u8 buf[16] = { 1 };
	__wsum sum = 0;

	w->mr.access = IB_ACCESS_REMOTE_READ;
	KUNIT_EXPECT_EQ(test, sib_sge_gather(&w->ctx, &sge, 1, 0, buf, 16, &sum), 0);
	KUNIT_EXPECT_EQ(test, sib_sge_write(&w->ctx, &sge, 1, 0, buf, 16), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_sge_scatter(&w->ctx, &sge, 1, 0, skb, 0, 16, NULL), -EACCES);
	KUNIT_EXPECT_EQ(test, *byte_at(w, 0), 0);
	kfree_skb(skb);
}

/* A process that passes the local DMA key, and a kernel address with it */
static void local_dma_key(struct kunit *test)
{
	struct world *w = test->priv;
	u8 secret[8] = "secret", buf[8] = { };
	struct ib_sge sge = { .addr = (uintptr_t)secret, .length = 8, .lkey = SIB_LKEY };
	__wsum sum = 0;

	KUNIT_EXPECT_EQ(test, sib_sge_gather(&w->ctx, &sge, 1, 0, buf, 8, &sum), -EACCES);
	KUNIT_EXPECT_EQ(test, buf[0], 0);
	KUNIT_EXPECT_EQ(test, sib_sge_write(&w->ctx, &sge, 1, 0, buf, 8), -EACCES);
	KUNIT_EXPECT_EQ(test, secret[0], 's');
	KUNIT_EXPECT_EQ(test, sib_mem_check(&w->ctx, SIB_LKEY, sge.addr, 8, 0), -EACCES);
	w->ctx.kernel = true;
	KUNIT_EXPECT_EQ(test, sib_sge_gather(&w->ctx, &sge, 1, 0, buf, 8, &sum), 0);
	KUNIT_EXPECT_STREQ(test, (char *)buf, "secret");
	KUNIT_EXPECT_EQ(test, sib_mem_check(&w->ctx, SIB_LKEY, sge.addr, 8, 0), -EACCES);
}

/* Segments of a message whose list has entries of all kinds */
static void segments(struct kunit *test)
{
	struct world *w = test->priv;
	struct ib_sge sge[] = {
		{ .addr = IOVA + 5, .length = 100, .lkey = w->mr.key },
		{ .addr = 0, .length = 0, .lkey = 0 },
		{ .addr = IOVA + PAGE_SIZE - FIRST - 1, .length = PAGE_SIZE + 2,
		  .lkey = w->mr.key },
		{ .addr = IOVA + LENGTH - 7, .length = 7, .lkey = w->mr.key },
	};
	u32 total = 100 + PAGE_SIZE + 2 + 7, skip, n, i;
	u8 *all = kunit_kzalloc(test, total, GFP_KERNEL);
	u8 *part = kunit_kzalloc(test, total, GFP_KERNEL);
	__wsum sum;

	for (i = 0; i < LENGTH; i++)
		*byte_at(w, i) = i * 7 + (i >> 8);
	sum = 0;
	KUNIT_ASSERT_EQ(test, sib_sge_gather(&w->ctx, sge, 4, 0, all, total, &sum), 0);
	KUNIT_EXPECT_EQ(test, csum_fold(sum), csum_fold(csum_partial(all, total, 0)));
	for (skip = 0; skip < total; skip += n) {
		n = min_t(u32, 99, total - skip);
		sum = 0;
		KUNIT_ASSERT_EQ(test, sib_sge_gather(&w->ctx, sge, 4, skip, part, n, &sum), 0);
		KUNIT_EXPECT_EQ(test, memcmp(part, all + skip, n), 0);
		KUNIT_EXPECT_EQ(test, csum_fold(sum), csum_fold(csum_partial(part, n, 0)));
	}
	KUNIT_EXPECT_EQ(test, all[0], *byte_at(w, 5));
	KUNIT_EXPECT_EQ(test, all[100], *byte_at(w, PAGE_SIZE - FIRST - 1));
	KUNIT_EXPECT_EQ(test, all[total - 1], *byte_at(w, LENGTH - 1));
	KUNIT_EXPECT_EQ(test, sib_sge_gather(&w->ctx, sge, 4, 1, part, total, &sum), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_sge_gather(&w->ctx, sge, 0, 0, part, 1, &sum), -EACCES);
}

/* What is written is where it belongs, and nothing else has changed. */
static void scattered(struct kunit *test)
{
	struct world *w = test->priv;
	struct sk_buff *skb = skb_of(test, PAGE_SIZE, 0x5A);
	struct ib_sge sge[] = {
		{ .addr = IOVA + 10, .length = 10, .lkey = w->mr.key },
		{ .addr = IOVA + PAGE_SIZE, .length = 2000, .lkey = w->mr.key },
	};
	u32 i, hits = 0;

	KUNIT_ASSERT_EQ(test, sib_sge_scatter(&w->ctx, sge, 2, 5, skb, 1, 1005, NULL), 0);
	for (i = 0; i < LENGTH; i++) {
		bool in = (i >= 15 && i < 20) || (i >= PAGE_SIZE && i < PAGE_SIZE + 1000);

		hits += *byte_at(w, i) == (in ? 0x5A : 0);
	}
	KUNIT_EXPECT_EQ(test, hits, (u32)LENGTH);
	KUNIT_EXPECT_EQ(test, sib_sge_scatter(&w->ctx, sge, 2, 0, skb, 0, 2011, NULL),
			-EACCES);
	KUNIT_EXPECT_EQ(test, sib_sge_scatter(&w->ctx, sge, 1, 0, skb, PAGE_SIZE - 1, 2, NULL),
			-EACCES);
	kfree_skb(skb);
}

static void rdma(struct kunit *test)
{
	struct world *w = test->priv;
	struct sk_buff *skb = skb_of(test, 300, 0x33);
	u64 va = IOVA + 2 * PAGE_SIZE - FIRST - 150;
	u8 buf[302] = { };
	__wsum sum = 0;

	KUNIT_EXPECT_EQ(test, sib_mem_write(&w->ctx, w->mr.key, va, skb, 0, 300), 0);
	KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, w->mr.key, va - 1, buf, 302, &sum), 0);
	KUNIT_EXPECT_EQ(test, buf[0], 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(buf + 1, 0x33, 300));
	KUNIT_EXPECT_EQ(test, buf[301], 0);
	KUNIT_EXPECT_EQ(test, csum_fold(sum), csum_fold(csum_partial(buf, 302, 0)));
	w->mr.access = ALL & ~IB_ACCESS_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, sib_mem_write(&w->ctx, w->mr.key, va, skb, 0, 1), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_write(&w->ctx, w->mr.key, va, skb, 0, 0), 0);
	w->mr.access = ALL & ~IB_ACCESS_REMOTE_READ;
	KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, w->mr.key, va, buf, 1, &sum), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, 0, 0, buf, 0, &sum), 0);
	kfree_skb(skb);
}

static void atomics(struct kunit *test)
{
	struct world *w = test->priv;
	u64 va = IOVA + 5, orig = 0, *p = (u64 *)byte_at(w, 5);	/* 0x128 is aligned */
	u32 key = w->mr.key;

	*p = 10;
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, key, va, false, 5, 0, &orig), 0);
	KUNIT_EXPECT_EQ(test, orig, 10ULL);
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, key, va, true, 99, 14, &orig), 0);
	KUNIT_EXPECT_EQ(test, orig, 15ULL);
	KUNIT_EXPECT_EQ(test, *p, 15ULL);
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, key, va, true, 99, 15, &orig), 0);
	KUNIT_EXPECT_EQ(test, *p, 99ULL);
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, key, va, false, U64_MAX, 0, &orig), 0);
	KUNIT_EXPECT_EQ(test, *p, 98ULL);
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, key, va + 1, false, 1, 0, &orig), -EINVAL);
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, key ^ 1, va, false, 1, 0, &orig), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, key, ALIGN(IOVA + LENGTH, 8) - 8, false, 1,
					     0, &orig), -EACCES);
	w->mr.first++;		/* the address is aligned, its memory is not */
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, key, va, false, 1, 0, &orig), -EACCES);
	w->mr.first--;
	w->mr.access = ALL & ~IB_ACCESS_REMOTE_ATOMIC;
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, key, va, false, 1, 0, &orig), -EACCES);
	KUNIT_EXPECT_EQ(test, *p, 98ULL);
	KUNIT_EXPECT_EQ(test, orig, 99ULL);
}

static void fast_registration(struct kunit *test)
{
	struct world *w = test->priv;
	struct sib_mr mr = { .ibmr.page_size = PAGE_SIZE };
	u32 key, next;

	make_mr(test, w, &mr, 0);
	mr.kind = SIB_MR_FAST;
	mr.valid = false;
	KUNIT_ASSERT_EQ(test, sib_mem_add(&w->mem, &mr), 0);
	key = mr.key;
	next = (key & ~0xFF) | ((key + 1) & 0xFF);
	KUNIT_EXPECT_EQ(test, sib_mem_invalidate(&w->ctx, key), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_fast_reg(&w->ctx, w->mr.key, ALL, IOVA, 1), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_fast_reg(&w->ctx, key, ALL, IOVA,
					       PAGES * PAGE_SIZE - FIRST + 1), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_fast_reg(&w->ctx, key, ALL, -8ULL, 16), -EACCES);
	w->ctx.pd = &w->other_pd;
	KUNIT_EXPECT_EQ(test, sib_mem_fast_reg(&w->ctx, key, ALL, IOVA, 1), -EACCES);
	w->ctx.pd = &w->pd;
	KUNIT_EXPECT_EQ(test, sib_mem_fast_reg(&w->ctx, next, ALL, IOVA,
					       PAGES * PAGE_SIZE - FIRST), 0);
	KUNIT_EXPECT_EQ(test, sib_mem_fast_reg(&w->ctx, next, ALL, IOVA, 1), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_check(&w->ctx, key, IOVA, 1, 0), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_check(&w->ctx, next, IOVA, PAGES * PAGE_SIZE - FIRST,
					    ALL), 0);
	KUNIT_EXPECT_EQ(test, sib_mem_invalidate(&w->ctx, key), -EACCES);
	w->ctx.pd = &w->other_pd;
	KUNIT_EXPECT_EQ(test, sib_mem_invalidate(&w->ctx, next), -EACCES);
	w->ctx.pd = &w->pd;
	KUNIT_EXPECT_EQ(test, sib_mem_invalidate(&w->ctx, next), 0);
	KUNIT_EXPECT_EQ(test, sib_mem_check(&w->ctx, next, IOVA, 1, 0), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_invalidate(&w->ctx, w->mr.key), -EACCES);
	mr.num_pages = 0;
	KUNIT_EXPECT_EQ(test, sib_mem_fast_reg(&w->ctx, next, ALL, 0, 0), -EACCES);
	sib_mem_del(&w->mem, &mr);
}

/* All of memory: the peer names kernel addresses, and some are of nothing. */
static void dma_region(struct kunit *test)
{
	struct world *w = test->priv;
	struct sib_mr mr = {
		.kind = SIB_MR_DMA, .pd = &w->pd, .access = ALL, .valid = true,
		.length = U64_MAX, .shift = PAGE_SHIFT,
	};
	u8 *p = kunit_kzalloc(test, 16, GFP_KERNEL), buf[16] = { };
	__wsum sum = 0;

	KUNIT_ASSERT_EQ(test, sib_mem_add(&w->mem, &mr), 0);
	p[3] = 77;
	KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, mr.key, (uintptr_t)p, buf, 16, &sum), 0);
	KUNIT_EXPECT_EQ(test, buf[3], 77);
	/* s390 has memory at address 0 */
	if (!IS_ENABLED(CONFIG_S390))
		KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, mr.key, 0x10, buf, 16, &sum), -EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, mr.key, -64ULL, buf, 16, &sum), -EACCES);
	sib_mem_del(&w->mem, &mr);
}

/* Memory that has to be mapped: @buf of @len octets, until the test is over */
static u64 map(struct kunit *test, struct sib_dma *dma, void *buf, u32 len,
	       enum dma_data_direction dir)
{
	u64 addr = sib_dma_map(dma, buf, len, dir, 0);

	KUNIT_ASSERT_NE(test, addr, SIB_DMA_ERROR);
	return addr;
}

/* The local DMA key: what is mapped, that way, and all of it */
static void mapped_local(struct kunit *test)
{
	struct world *w = test->priv;
	struct sib_dma dma = { };
	u8 in[16] = "fifteen octets.", out[16] = { }, got[16] = { };
	struct ib_sge sge = { .length = 16, .lkey = SIB_LKEY };
	__wsum sum = 0;

	sib_dma_init(&dma, "kunit");
	w->mem.dma = &dma;
	w->ctx.kernel = true;
	sge.addr = map(test, &dma, in, 16, DMA_TO_DEVICE);
	KUNIT_EXPECT_EQ(test, sib_sge_gather(&w->ctx, &sge, 1, 4, got, 12, &sum), 0);
	KUNIT_EXPECT_EQ(test, memcmp(got, in + 4, 12), 0);
	KUNIT_EXPECT_EQ(test, dma.faults, 0U);
	KUNIT_EXPECT_EQ(test, sib_sge_write(&w->ctx, &sge, 1, 0, got, 1), -EACCES);
	KUNIT_EXPECT_EQ(test, dma.faults, 1U);
	sge.length = 17;
	KUNIT_EXPECT_EQ(test, sib_sge_gather(&w->ctx, &sge, 1, 0, got, 17, &sum), -EACCES);
	sge.addr = (uintptr_t)in;
	KUNIT_EXPECT_EQ(test, sib_sge_gather(&w->ctx, &sge, 1, 0, got, 1, &sum), -EACCES);
	KUNIT_EXPECT_EQ(test, dma.faults, 3U);
	sge.length = 16;
	sge.addr = map(test, &dma, out, 16, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, sib_sge_write(&w->ctx, &sge, 1, 0, in, 16), 0);
	KUNIT_EXPECT_NE(test, memcmp(out, in, 16), 0);
	sib_dma_unmap(&dma, sge.addr, 16, DMA_FROM_DEVICE, 0);
	KUNIT_EXPECT_EQ(test, memcmp(out, in, 16), 0);
	sib_dma_cleanup(&dma);
}

/* Regions: those of processes are not mapped, others are */
static void mapped_regions(struct kunit *test)
{
	struct world *w = test->priv;
	struct sib_mr mr = {
		.kind = SIB_MR_DMA, .pd = &w->pd, .access = ALL, .valid = true,
		.length = U64_MAX, .shift = PAGE_SHIFT,
	};
	u8 *buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL), got[8] = { };
	struct sib_dma dma = { };
	void *page;
	__wsum sum = 0;
	u64 addr, orig = 1;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	sib_dma_init(&dma, "kunit");
	w->mem.dma = &dma;
	KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, w->mr.key, IOVA, got, 8, &sum), 0);
	KUNIT_ASSERT_EQ(test, sib_mem_add(&w->mem, &mr), 0);
	buf[8] = 7;
	addr = map(test, &dma, buf, 64, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, mr.key, addr + 8, got, 8, &sum), 0);
	KUNIT_EXPECT_EQ(test, got[0], 7);
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, mr.key, addr, false, 5, 0, &orig), 0);
	KUNIT_EXPECT_EQ(test, orig, 0ULL);
	KUNIT_EXPECT_EQ(test, dma.faults, 0U);
	KUNIT_EXPECT_EQ(test, sib_mem_atomic(&w->ctx, mr.key, addr + 64, false, 5, 0, &orig),
			-EACCES);
	KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, mr.key, (uintptr_t)buf, got, 8, &sum), -EACCES);
	KUNIT_EXPECT_EQ(test, dma.faults, 2U);
	sib_mem_del(&w->mem, &mr);

	/* fast registration has addresses of pages, of which only a part may be mapped */
	page = (void *)(uintptr_t)(addr & PAGE_MASK);
	mr.kind = SIB_MR_FAST;
	mr.pages = &page;
	mr.num_pages = 1;
	mr.max_pages = 1;
	mr.iova = IOVA & PAGE_MASK;
	mr.length = PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, sib_mem_add(&w->mem, &mr), 0);
	KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, mr.key, mr.iova + (addr & ~PAGE_MASK) + 8, got,
					   8, &sum), 0);
	KUNIT_EXPECT_EQ(test, dma.faults, 2U);
	KUNIT_EXPECT_EQ(test, sib_mem_read(&w->ctx, mr.key, mr.iova, got, 8, &sum),
			offset_in_page(buf) ? -EACCES : 0);
	sib_mem_del(&w->mem, &mr);
	sib_dma_unmap(&dma, addr, 64, DMA_BIDIRECTIONAL, 0);
	KUNIT_EXPECT_EQ(test, buf[0], IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? 0 : 5);
	sib_dma_cleanup(&dma);
}

static void keys_go_round(struct kunit *test)
{
	struct world *w = test->priv;
	struct sib_mr mr = { .pd = &w->pd, .valid = true, .length = 1 };
	u32 last = w->mr.key >> 8, i;

	for (i = 0; i < 100; i++) {
		KUNIT_ASSERT_EQ(test, sib_mem_add(&w->mem, &mr), 0);
		KUNIT_EXPECT_EQ(test, mr.key >> 8, last + 1);
		KUNIT_EXPECT_EQ(test, mr.ibmr.lkey, mr.key);
		KUNIT_EXPECT_EQ(test, mr.ibmr.rkey, mr.key);
		last = mr.key >> 8;
		sib_mem_del(&w->mem, &mr);
		KUNIT_EXPECT_EQ(test, sib_mem_check(&w->ctx, mr.key, 0, 1, 0), -EACCES);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(remote_access, refusals_gen_params),
	KUNIT_CASE_PARAM(local_access, refusals_gen_params),
	KUNIT_CASE(no_local_write),
	KUNIT_CASE(local_dma_key),
	KUNIT_CASE(segments),
	KUNIT_CASE(scattered),
	KUNIT_CASE(rdma),
	KUNIT_CASE(atomics),
	KUNIT_CASE(fast_registration),
	KUNIT_CASE(dma_region),
	KUNIT_CASE(mapped_local),
	KUNIT_CASE(mapped_regions),
	KUNIT_CASE(keys_go_round),
	{ }
};

static struct kunit_suite suite = {
	.name = "sib_mem",
	.init = world_init,
	.exit = world_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of memory regions");
MODULE_LICENSE("Dual MIT/GPL");
