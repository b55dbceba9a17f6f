// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The table of mappings of a HCA: what it reads and writes is what the DMA API lets it
 * have, every access outside is refused and counted, and so is every wrong call.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "dma.c"

#define LEN	100
#define OLD	0x11
#define NEW	0x22

struct world {
	struct sib_dma dma;
	u8 *buf;
};

static int world_init(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->buf = kunit_kzalloc(test, LEN, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w->buf);
	memset(w->buf, OLD, LEN);
	sib_dma_init(&w->dma, "kunit");
	test->priv = w;
	return 0;
}

static void world_exit(struct kunit *test)
{
	struct world *w = test->priv;

	if (w && w->buf)
		sib_dma_cleanup(&w->dma);
}

static u8 *at(struct world *w, u64 addr, u32 len, enum dma_data_direction dir)
{
	unsigned long flags;
	u8 *p;

	xa_lock_irqsave(&w->dma.maps, flags);
	p = sib_dma_at(&w->dma, addr, len, dir);
	xa_unlock_irqrestore(&w->dma.maps, flags);
	return p;
}

static u64 mapped(struct kunit *test, enum dma_data_direction dir, unsigned int how)
{
	struct world *w = test->priv;
	u64 addr = sib_dma_map(&w->dma, w->buf, LEN, dir, how);

	KUNIT_ASSERT_NE(test, addr, SIB_DMA_ERROR);
	KUNIT_ASSERT_EQ(test, w->dma.live, 1U);
	return addr;
}

/* Unmaps, and nothing has been wrong so far */
static void unmapped(struct kunit *test, u64 addr, enum dma_data_direction dir,
		     unsigned int how)
{
	struct world *w = test->priv;

	sib_dma_unmap(&w->dma, addr, LEN, dir, how);
	KUNIT_EXPECT_EQ(test, w->dma.live, 0U);
	KUNIT_EXPECT_EQ(test, w->dma.faults, 0U);
	KUNIT_EXPECT_EQ(test, w->dma.misuses, 0U);
}

/* How many octets have this value */
static u32 count_of(const u8 *p, u8 value)
{
	u32 i, n = 0;

	for (i = 0; i < LEN; i++)
		n += p[i] == value;
	return n;
}

static void to_device(struct kunit *test)
{
	struct world *w = test->priv;
	u64 addr = mapped(test, DMA_TO_DEVICE, 0);
	u8 *hca = at(w, addr, LEN, DMA_TO_DEVICE);

	KUNIT_ASSERT_NOT_NULL(test, hca);
	KUNIT_EXPECT_PTR_NE(test, hca, w->buf);
	KUNIT_EXPECT_EQ(test, count_of(hca, OLD), (u32)LEN);
	memset(w->buf, NEW, LEN);
	KUNIT_EXPECT_EQ(test, count_of(hca, OLD), (u32)LEN);	/* it is not told */
	sib_dma_sync_for_device(&w->dma, addr + 10, 20, DMA_TO_DEVICE);
	KUNIT_EXPECT_EQ(test, count_of(hca, NEW), 20U);
	KUNIT_EXPECT_EQ(test, hca[9], OLD);
	KUNIT_EXPECT_EQ(test, hca[10], NEW);
	KUNIT_EXPECT_EQ(test, hca[30], OLD);
	sib_dma_sync_for_cpu(&w->dma, addr, LEN, DMA_TO_DEVICE);
	unmapped(test, addr, DMA_TO_DEVICE, 0);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, NEW), (u32)LEN);
}

static void from_device(struct kunit *test)
{
	struct world *w = test->priv;
	u64 addr = mapped(test, DMA_FROM_DEVICE, 0);
	u8 *hca = at(w, addr, LEN, DMA_FROM_DEVICE);

	KUNIT_ASSERT_NOT_NULL(test, hca);
	/* what was there is gone: who forgets to synchronise notices */
	KUNIT_EXPECT_EQ(test, count_of(w->buf, SIB_DMA_POISON), (u32)LEN);
	memset(hca, NEW, LEN);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, NEW), 0U);
	sib_dma_sync_for_cpu(&w->dma, addr + 10, 20, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, NEW), 20U);
	sib_dma_sync_for_device(&w->dma, addr + 10, 5, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, NEW), 15U);
	KUNIT_EXPECT_EQ(test, count_of(hca, NEW), (u32)LEN);	/* what it wrote stays */
	unmapped(test, addr, DMA_FROM_DEVICE, 0);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, NEW), (u32)LEN);
}

static void bidirectional(struct kunit *test)
{
	struct world *w = test->priv;
	u64 addr = mapped(test, DMA_BIDIRECTIONAL, 0);
	u8 *hca = at(w, addr, LEN, DMA_BIDIRECTIONAL);

	KUNIT_ASSERT_NOT_NULL(test, hca);
	KUNIT_EXPECT_PTR_EQ(test, at(w, addr, LEN, DMA_TO_DEVICE), hca);
	KUNIT_EXPECT_PTR_EQ(test, at(w, addr + 1, LEN - 1, DMA_FROM_DEVICE), hca + 1);
	KUNIT_EXPECT_EQ(test, count_of(hca, OLD), (u32)LEN);
	hca[0] = NEW;
	KUNIT_EXPECT_EQ(test, count_of(w->buf, OLD), (u32)LEN);
	sib_dma_sync_for_cpu(&w->dma, addr, 1, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, w->buf[0], NEW);
	w->buf[1] = NEW;
	sib_dma_sync_for_device(&w->dma, addr + 1, 1, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, hca[1], NEW);
	hca[2] = NEW;
	unmapped(test, addr, DMA_BIDIRECTIONAL, 0);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, NEW), 3U);
}

static void no_sync(struct kunit *test)
{
	struct world *w = test->priv;
	u64 addr = mapped(test, DMA_BIDIRECTIONAL, SIB_DMA_NO_SYNC);
	u8 *hca = at(w, addr, LEN, DMA_BIDIRECTIONAL);

	KUNIT_ASSERT_NOT_NULL(test, hca);
	KUNIT_EXPECT_EQ(test, count_of(hca, SIB_DMA_POISON), (u32)LEN);
	memset(hca, NEW, LEN);
	unmapped(test, addr, DMA_BIDIRECTIONAL, SIB_DMA_NO_SYNC);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, OLD), (u32)LEN);
	addr = mapped(test, DMA_FROM_DEVICE, SIB_DMA_NO_SYNC);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, OLD), (u32)LEN);
	unmapped(test, addr, DMA_FROM_DEVICE, SIB_DMA_NO_SYNC);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, OLD), (u32)LEN);
}

static void shared(struct kunit *test)
{
	struct world *w = test->priv;
	u64 addr = mapped(test, DMA_FROM_DEVICE, SIB_DMA_SHARED);

	KUNIT_EXPECT_PTR_EQ(test, at(w, addr, LEN, DMA_FROM_DEVICE), w->buf);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, OLD), (u32)LEN);
	sib_dma_sync_for_device(&w->dma, addr, LEN, DMA_FROM_DEVICE);
	unmapped(test, addr, DMA_FROM_DEVICE, 0);
	KUNIT_EXPECT_EQ(test, count_of(w->buf, OLD), (u32)LEN);
}

/* Refused, and counted */
static void refused(struct kunit *test, u64 addr, u32 len, enum dma_data_direction dir)
{
	struct world *w = test->priv;
	u32 faults = w->dma.faults;

	KUNIT_EXPECT_NULL(test, at(w, addr, len, dir));
	KUNIT_EXPECT_EQ(test, w->dma.faults, faults + 1);
}

static void range(struct kunit *test)
{
	struct world *w = test->priv;
	u64 addr = mapped(test, DMA_TO_DEVICE, 0);

	KUNIT_EXPECT_NOT_NULL(test, at(w, addr + LEN - 1, 1, DMA_TO_DEVICE));
	KUNIT_EXPECT_EQ(test, w->dma.faults, 0U);
	refused(test, addr, LEN + 1, DMA_TO_DEVICE);
	refused(test, addr + 1, LEN, DMA_TO_DEVICE);
	refused(test, addr + LEN, 1, DMA_TO_DEVICE);
	refused(test, addr - 1, 2, DMA_TO_DEVICE);
	refused(test, addr, U32_MAX, DMA_TO_DEVICE);
	refused(test, 0, 1, DMA_TO_DEVICE);
	refused(test, (uintptr_t)w->buf, 1, DMA_TO_DEVICE);
	refused(test, U64_MAX, 1, DMA_TO_DEVICE);
	refused(test, SIB_DMA_BASE, 1, DMA_TO_DEVICE);
	refused(test, addr + BIT_ULL(SIB_DMA_BITS), 1, DMA_TO_DEVICE);
}

static void direction(struct kunit *test)
{
	u64 addr = mapped(test, DMA_TO_DEVICE, 0);
	struct world *w = test->priv;

	refused(test, addr, 1, DMA_FROM_DEVICE);
	refused(test, addr, 1, DMA_BIDIRECTIONAL);
	sib_dma_unmap(&w->dma, addr, LEN, DMA_TO_DEVICE, 0);
	addr = mapped(test, DMA_FROM_DEVICE, 0);
	refused(test, addr, 1, DMA_TO_DEVICE);
	refused(test, addr, 1, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, w->dma.misuses, 0U);
}

/* What was unmapped is refused, and its address is not given to the next */
static void stale(struct kunit *test)
{
	u64 addr = mapped(test, DMA_BIDIRECTIONAL, 0);
	struct world *w = test->priv;
	u64 next;

	sib_dma_unmap(&w->dma, addr, LEN, DMA_BIDIRECTIONAL, 0);
	next = mapped(test, DMA_BIDIRECTIONAL, 0);
	KUNIT_EXPECT_NE(test, next, addr);
	refused(test, addr, 1, DMA_TO_DEVICE);
	KUNIT_EXPECT_NOT_NULL(test, at(w, next, LEN, DMA_TO_DEVICE));
}

/* Mappings have a gap between them, also where the first slot follows the last one */
static void gaps(struct kunit *test)
{
	struct world *w = test->priv;
	u64 addr[4];
	int i, j;

	w->dma.next = SIB_DMA_SLOT_LAST - 1;
	for (i = 0; i < 4; i++) {
		addr[i] = sib_dma_map(&w->dma, w->buf, LEN, DMA_TO_DEVICE, 0);
		KUNIT_ASSERT_NE(test, addr[i], SIB_DMA_ERROR);
		KUNIT_EXPECT_GE(test, addr[i], SIB_DMA_BASE);
		KUNIT_EXPECT_LT(test, addr[i] + LEN + PAGE_SIZE, 2 * SIB_DMA_BASE);
		KUNIT_EXPECT_EQ(test, addr[i] % PAGE_SIZE, (u64)offset_in_page(w->buf));
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_GE(test, max(addr[i], addr[j]) - min(addr[i], addr[j]),
					(u64)(LEN + PAGE_SIZE));
	}
	KUNIT_EXPECT_LT(test, addr[3], addr[0]);
	KUNIT_EXPECT_EQ(test, w->dma.live, 4U);
	KUNIT_EXPECT_EQ(test, w->dma.made, 4U);
}

static void lengths(struct kunit *test)
{
	struct world *w = test->priv;

	KUNIT_EXPECT_EQ(test, sib_dma_map(&w->dma, w->buf, 0, DMA_TO_DEVICE, 0), SIB_DMA_ERROR);
	KUNIT_EXPECT_EQ(test, sib_dma_map(&w->dma, w->buf, SIB_DMA_LONGEST + 1, DMA_TO_DEVICE,
					  SIB_DMA_SHARED), SIB_DMA_ERROR);
	KUNIT_EXPECT_EQ(test, w->dma.live, 0U);
}

/* Addresses that are aligned stay so, for atomic operations */
static void alignment(struct kunit *test)
{
	struct world *w = test->priv;
	u64 addr;
	u8 *hca;
	int i;

	for (i = 1; i < 16; i++) {
		addr = sib_dma_map(&w->dma, w->buf + i, 16, DMA_TO_DEVICE, 0);
		KUNIT_ASSERT_NE(test, addr, SIB_DMA_ERROR);
		hca = at(w, addr, 16, DMA_TO_DEVICE);
		KUNIT_EXPECT_EQ(test, (uintptr_t)hca % 8, addr % 8);
		KUNIT_EXPECT_EQ(test, addr % 8, (uintptr_t)(w->buf + i) % 8);
	}
}

static void wrong_unmap(struct kunit *test)
{
	u64 addr = mapped(test, DMA_FROM_DEVICE, 0);
	struct world *w = test->priv;

	sib_dma_unmap(&w->dma, addr + 1, LEN - 1, DMA_FROM_DEVICE, 0);
	KUNIT_EXPECT_EQ(test, w->dma.misuses, 1U);
	KUNIT_EXPECT_EQ(test, w->dma.live, 1U);
	/* another length: is unmapped nevertheless */
	sib_dma_unmap(&w->dma, addr, LEN - 1, DMA_FROM_DEVICE, 0);
	KUNIT_EXPECT_EQ(test, w->dma.misuses, 2U);
	KUNIT_EXPECT_EQ(test, w->dma.live, 0U);
	sib_dma_unmap(&w->dma, addr, LEN, DMA_FROM_DEVICE, 0);
	KUNIT_EXPECT_EQ(test, w->dma.misuses, 3U);
	addr = mapped(test, DMA_FROM_DEVICE, 0);
	sib_dma_unmap(&w->dma, addr, LEN, DMA_BIDIRECTIONAL, 0);
	KUNIT_EXPECT_EQ(test, w->dma.misuses, 4U);
	KUNIT_EXPECT_EQ(test, w->dma.live, 0U);
}

static void wrong_sync(struct kunit *test)
{
	u64 addr = mapped(test, DMA_FROM_DEVICE, 0);
	struct world *w = test->priv;

	sib_dma_sync_for_cpu(&w->dma, addr, LEN + 1, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, w->dma.misuses, 1U);
	sib_dma_sync_for_device(&w->dma, addr, LEN, DMA_TO_DEVICE);
	KUNIT_EXPECT_EQ(test, w->dma.misuses, 2U);
	sib_dma_unmap(&w->dma, addr, LEN, DMA_FROM_DEVICE, 0);
	sib_dma_sync_for_cpu(&w->dma, addr, LEN, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, w->dma.misuses, 3U);
	KUNIT_EXPECT_EQ(test, w->dma.faults, 0U);
}

/* The HCA goes: what is left is counted, and recognised when it is unmapped late. */
static void left_over(struct kunit *test)
{
	struct world *w = test->priv;
	u64 first = mapped(test, DMA_FROM_DEVICE, 0);
	u64 second = sib_dma_map(&w->dma, w->buf, LEN, DMA_TO_DEVICE, SIB_DMA_SHARED);

	KUNIT_ASSERT_NE(test, second, SIB_DMA_ERROR);
	KUNIT_EXPECT_EQ(test, sib_dma_end(&w->dma), 2U);
	KUNIT_EXPECT_EQ(test, sib_dma_map(&w->dma, w->buf, LEN, DMA_TO_DEVICE, 0),
			SIB_DMA_ERROR);
	sib_dma_unmap(&w->dma, first, LEN, DMA_FROM_DEVICE, 0);
	KUNIT_EXPECT_EQ(test, w->dma.misuses, 1U);
	KUNIT_EXPECT_EQ(test, w->dma.live, 1U);
	/* the other one is freed with the table */
}

static void nothing_left(struct kunit *test)
{
	struct world *w = test->priv;

	unmapped(test, mapped(test, DMA_TO_DEVICE, 0), DMA_TO_DEVICE, 0);
	KUNIT_EXPECT_EQ(test, sib_dma_end(&w->dma), 0U);
}

static void pinning(struct kunit *test)
{
	struct sib_dma_pin mine, other;
	struct world *w = test->priv;

	KUNIT_EXPECT_FALSE(test, sib_dma_is_pinning(&w->dma));
	sib_dma_pin(&w->dma, &other);
	other.task = NULL;
	KUNIT_EXPECT_FALSE(test, sib_dma_is_pinning(&w->dma));
	sib_dma_pin(&w->dma, &mine);
	KUNIT_EXPECT_TRUE(test, sib_dma_is_pinning(&w->dma));
	sib_dma_unpin(&w->dma, &mine);
	KUNIT_EXPECT_FALSE(test, sib_dma_is_pinning(&w->dma));
	sib_dma_unpin(&w->dma, &other);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(to_device),
	KUNIT_CASE(from_device),
	KUNIT_CASE(bidirectional),
	KUNIT_CASE(no_sync),
	KUNIT_CASE(shared),
	KUNIT_CASE(range),
	KUNIT_CASE(direction),
	KUNIT_CASE(stale),
	KUNIT_CASE(gaps),
	KUNIT_CASE(lengths),
	KUNIT_CASE(alignment),
	KUNIT_CASE(wrong_unmap),
	KUNIT_CASE(wrong_sync),
	KUNIT_CASE(left_over),
	KUNIT_CASE(nothing_left),
	KUNIT_CASE(pinning),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_dma",
	.init = world_init,
	.exit = world_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of the table of mappings");
MODULE_LICENSE("Dual MIT/GPL");
