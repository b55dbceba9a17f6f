// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Packet loss: as much as is asked for, and management only if asked for, too. Send
 * queues that stand still: as many.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "loss.c"

#define QPN	0x123

/* Packets lost of 1000, whose random numbers are spread evenly */
static int lost(u32 ppm, bool mads, u32 dqpn)
{
	struct sib_loss loss = { .drop_ppm = ppm, .drop_mads = mads };
	struct sib_pkt pkt = { .dqpn = dqpn };
	int i, n = 0;

	for (i = 0; i < 1000; i++)
		n += sib_loss_drops(&loss, &pkt, U32_MAX / 1000 * i + 1000);
	return n;
}

static void fraction(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, lost(0, true, QPN), 0);
	KUNIT_EXPECT_EQ(test, lost(10000, false, QPN), 10);
	KUNIT_EXPECT_EQ(test, lost(500000, false, QPN), 500);
	KUNIT_EXPECT_EQ(test, lost(1000000, false, QPN), 1000);
	KUNIT_EXPECT_EQ(test, lost(U32_MAX, false, QPN), 1000);
}

static void extremes(struct kunit *test)
{
	struct sib_loss loss = { .drop_ppm = 1 };
	struct sib_pkt pkt = { .dqpn = QPN };

	KUNIT_EXPECT_TRUE(test, sib_loss_drops(&loss, &pkt, 0));
	KUNIT_EXPECT_FALSE(test, sib_loss_drops(&loss, &pkt, U32_MAX));
	loss.drop_ppm = 0;
	KUNIT_EXPECT_FALSE(test, sib_loss_drops(&loss, &pkt, 0));
	loss.drop_ppm = 1000000;
	KUNIT_EXPECT_TRUE(test, sib_loss_drops(&loss, &pkt, U32_MAX));
}

static void management(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, lost(1000000, false, 0), 0);
	KUNIT_EXPECT_EQ(test, lost(1000000, false, 1), 0);
	KUNIT_EXPECT_EQ(test, lost(1000000, false, 2), 1000);
	KUNIT_EXPECT_EQ(test, lost(1000000, false, SIB_QPN_MCAST), 1000);
	KUNIT_EXPECT_EQ(test, lost(100000, true, 0), 100);
	KUNIT_EXPECT_EQ(test, lost(100000, true, 1), 100);
}

/* As many queue pairs as are asked for, but not those of management */
static void hang(struct kunit *test)
{
	struct sib_loss loss = { .hang_sends = 2 };

	KUNIT_EXPECT_FALSE(test, sib_loss_hangs(&loss, 0));
	KUNIT_EXPECT_FALSE(test, sib_loss_hangs(&loss, 1));
	KUNIT_EXPECT_TRUE(test, sib_loss_hangs(&loss, QPN));
	KUNIT_EXPECT_TRUE(test, sib_loss_hangs(&loss, QPN + 1));
	KUNIT_EXPECT_FALSE(test, sib_loss_hangs(&loss, QPN + 2));
	KUNIT_EXPECT_EQ(test, loss.hang_sends, 0U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(fraction),
	KUNIT_CASE(extremes),
	KUNIT_CASE(management),
	KUNIT_CASE(hang),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_loss",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of packet loss");
MODULE_LICENSE("Dual MIT/GPL");
