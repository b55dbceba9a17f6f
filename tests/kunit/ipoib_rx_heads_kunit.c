// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Areas for the headers of received packets: no mapping is longer than what can be bounced, and
 * none is left, whichever fails.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "ipoib.h"
#include "rx_map.h"

/* The most that ethtool -G takes */
#define RING	8192U
/* Of which swiotlb maps four times as much at once */
#define LONGEST	SZ_64K
#define OFFSET	0x1000000000ULL
#define FAILED	(~0ULL)

static struct {
	u32 mapped;
	u32 unmapped;
	size_t longest;
	u32 fails_at;		/* this mapping, from 1; 0: none */
} dma;

static u64 fake_map(const void *from, size_t len)
{
	if (++dma.mapped == dma.fails_at)
		return FAILED;
	dma.longest = max(dma.longest, len);
	return (uintptr_t)from + OFFSET;
}

static void fake_unmap(u64 addr)
{
	dma.unmapped += addr != FAILED;
}

#define ib_dma_map_single(ca, from, len, dir) fake_map(from, len)
#define ib_dma_unmap_single(ca, addr, len, dir) fake_unmap(addr)
#define ib_dma_mapping_error(ca, addr) ((addr) == FAILED)
#include "rx_heads.c"

static struct ipoib_rxq rxq;

static int setup(struct kunit *test)
{
	memset(&dma, 0, sizeof(dma));
	memset(&rxq, 0, sizeof(rxq));
	rxq.size = RING;
	rxq.slots = kvcalloc(RING, sizeof(*rxq.slots), GFP_KERNEL);
	return rxq.slots ? 0 : -ENOMEM;
}

static void teardown(struct kunit *test)
{
	kvfree(rxq.slots);
}

static void each_slot_has_its_own(struct kunit *test)
{
	u32 i;

	KUNIT_ASSERT_EQ(test, ipoib_rx_make_heads(NULL, &rxq), 0);
	for (i = 0; i < RING; i++) {
		const struct ipoib_rx_slot *slot = &rxq.slots[i];

		KUNIT_EXPECT_EQ(test, slot->head_dma, (uintptr_t)slot->head + OFFSET);
		memset(slot->head, i, IPOIB_UD_HEAD_LEN);
	}
	for (i = 0; i < RING; i++)
		KUNIT_EXPECT_NULL(test, memchr_inv(rxq.slots[i].head, i, IPOIB_UD_HEAD_LEN));
	KUNIT_EXPECT_LE(test, dma.longest, (size_t)LONGEST);
	ipoib_rx_free_heads(NULL, &rxq);
	KUNIT_EXPECT_EQ(test, dma.unmapped, dma.mapped);
}

static void whichever_mapping_fails(struct kunit *test)
{
	u32 count = RING / RX_HEADS, i;
	u32 fails[] = { 1, 2, count / 2, count };

	for (i = 0; i < ARRAY_SIZE(fails); i++) {
		memset(&dma, 0, sizeof(dma));
		memset(rxq.slots, 0, RING * sizeof(*rxq.slots));
		dma.fails_at = fails[i];
		KUNIT_EXPECT_EQ(test, ipoib_rx_make_heads(NULL, &rxq), -ENOMEM);
		KUNIT_EXPECT_EQ(test, dma.mapped, fails[i]);
		KUNIT_EXPECT_EQ(test, dma.unmapped, fails[i] - 1);
	}
}

/* Fewer than fill a page */
static void a_short_ring(struct kunit *test)
{
	rxq.size = RX_HEADS / 2;
	KUNIT_ASSERT_EQ(test, ipoib_rx_make_heads(NULL, &rxq), 0);
	KUNIT_EXPECT_EQ(test, dma.mapped, 1U);
	ipoib_rx_free_heads(NULL, &rxq);
	KUNIT_EXPECT_EQ(test, dma.unmapped, 1U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(each_slot_has_its_own),
	KUNIT_CASE(whichever_mapping_fails),
	KUNIT_CASE(a_short_ring),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_rx_heads",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: areas for the headers of received packets");
