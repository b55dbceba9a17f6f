// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The link protocol: training, silence, restarts, and frames nobody should send.
 */
#include "sib_cable.h"

static void trains(struct kunit *test)
{
	struct cable *c = test->priv;

	bring_up(test);
	KUNIT_EXPECT_EQ(test, c->a.ups, 1U);
	KUNIT_EXPECT_EQ(test, c->b.ups, 1U);
	KUNIT_EXPECT_EQ(test, c->a.link.peer, c->b.link.session);
	KUNIT_EXPECT_EQ(test, c->b.link.peer, c->a.link.session);
	KUNIT_EXPECT_EQ(test, sib_link_max_frame(&c->a.link), 9000U);
	run_ms(c, 10000);
	KUNIT_EXPECT_EQ(test, c->a.downs + c->b.downs, 0U);
}

static void alone_it_stays_down(struct kunit *test)
{
	struct cable *c = test->priv;

	sib_link_start(&c->a.link, c->now);
	run_ms(c, 3000);
	KUNIT_EXPECT_EQ(test, (int)c->a.link.state, (int)SIB_LINK_LISTEN);
	KUNIT_EXPECT_EQ(test, c->a.ups, 0U);
	/* hellos at their interval, not a storm */
	KUNIT_EXPECT_GE(test, c->a.link.stats.tx_hello, 3000ULL / 50 / 2);
	KUNIT_EXPECT_LE(test, c->a.link.stats.tx_hello, 3000ULL / 50 + 2);
	KUNIT_EXPECT_FALSE(test, sib_link_can_send(&c->a.link));
}

static void trains_over_a_bad_cable(struct kunit *test)
{
	struct cable *c = test->priv;

	c->loss = 60;
	start(c);
	run_ms(c, 5000);
	c->loss = 0;
	run_ms(c, 500);
	KUNIT_EXPECT_TRUE(test, both_up(c));
}

static void late_joiner(struct kunit *test)
{
	struct cable *c = test->priv;

	sib_link_start(&c->a.link, c->now);
	run_ms(c, 2000);
	sib_link_start(&c->b.link, c->now);
	run_ms(c, 200);
	KUNIT_EXPECT_TRUE(test, both_up(c));
}

static void silence_takes_it_down(struct kunit *test)
{
	struct cable *c = test->priv;

	bring_up(test);
	c->cut = true;
	run_ms(c, TIMEOUT_MS / 2);
	KUNIT_EXPECT_TRUE(test, both_up(c));
	run_ms(c, TIMEOUT_MS);
	KUNIT_EXPECT_EQ(test, c->a.downs, 1U);
	KUNIT_EXPECT_EQ(test, c->a.link.stats.timeout, 1ULL);
	c->cut = false;
	run_ms(c, 500);
	KUNIT_EXPECT_TRUE(test, both_up(c));
	transfer(test, 300, 2000);
}

static void restart_of_the_peer(struct kunit *test)
{
	struct cable *c = test->priv;

	bring_up(test);
	send_one(&c->a);
	sib_link_stop(&c->b.link);
	sib_link_start(&c->b.link, c->now);
	run_ms(c, 200);		/* well before the silence limit */
	KUNIT_EXPECT_EQ(test, c->a.link.stats.restart, 1ULL);
	KUNIT_EXPECT_TRUE(test, both_up(c));
	c->b.sent = 0;
	c->b.got = 0;
	transfer(test, 300, 2000);
}

static void third_station(struct kunit *test)
{
	static const u8 stranger[ETH_ALEN] = { 2, 0, 0, 0, 0, 99 };
	struct cable *c = test->priv;
	struct end *x;

	bring_up(test);
	x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, x);
	end_init(x, &c->a, c, 99);
	sib_link_start(&x->link, c->now);
	sib_link_timer(&x->link, c->now);
	KUNIT_ASSERT_EQ(test, skb_queue_len(&x->wire), 1U);
	sib_link_rx(&c->a.link, __skb_dequeue(&x->wire), stranger, c->now);
	KUNIT_EXPECT_EQ(test, c->a.link.stats.rx_foreign, 1ULL);
	KUNIT_EXPECT_TRUE(test, both_up(c));
	transfer(test, 10, 1000);
	sib_link_stop(&x->link);
}

static void own_frame_comes_back(struct kunit *test)
{
	struct cable *c = test->priv;

	sib_link_start(&c->a.link, c->now);
	sib_link_timer(&c->a.link, c->now);
	KUNIT_ASSERT_EQ(test, skb_queue_len(&c->a.wire), 1U);
	sib_link_rx(&c->a.link, __skb_dequeue(&c->a.wire), c->a.mac, c->now);
	KUNIT_EXPECT_EQ(test, c->a.link.stats.rx_loop, 1ULL);
	KUNIT_EXPECT_EQ(test, (int)c->a.link.state, (int)SIB_LINK_LISTEN);
}

static void stop_frees_everything(struct kunit *test)
{
	struct cable *c = test->priv;
	int i;

	bring_up(test);
	for (i = 0; i < 20; i++)
		send_one(&c->a);
	kfree_skb(__skb_dequeue(&c->a.wire));	/* b holds 19 ahead of their turn */
	carry(&c->a);
	KUNIT_EXPECT_EQ(test, c->b.link.rx_held, 19U);
	sib_link_stop(&c->b.link);
	sib_link_stop(&c->a.link);
	KUNIT_EXPECT_EQ(test, c->b.link.rx_held, 0U);
	KUNIT_EXPECT_EQ(test, c->a.link.tx_next, 0U);
	/* a stopped link takes nothing and wants no timer */
	KUNIT_EXPECT_TRUE(test, time_after(sib_link_deadline(&c->a.link, c->now),
					   c->now + 1000 * HZ));
	carry(&c->b);
	KUNIT_EXPECT_EQ(test, (int)c->a.link.state, (int)SIB_LINK_OFF);
}

/* Frames of lengths and headers nobody should send */
static void malformed_frames_are_counted(struct kunit *test)
{
	struct cable *c = test->priv;
	struct sib_link_stats *st = &c->a.link.stats;
	struct sk_buff *skb;
	u64 before;
	u32 len;
	u8 *p;

	bring_up(test);
	for (len = 0; len < SIB_LINK_HLEN; len++) {
		skb = alloc_skb(max(len, 1U), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		skb_put_zero(skb, len);
		if (len)
			skb->data[0] = SIB_LINK_VERSION;
		before = st->rx_length;
		sib_link_rx(&c->a.link, skb, c->b.mac, c->now);
		KUNIT_EXPECT_EQ(test, st->rx_length, before + 1);
	}
	skb = sib_link_ctl_skb(&c->b.link, 0);
	sib_link_fill(&c->b.link, skb, 77, 0, 0, 0, 0, 0);
	sib_link_rx(&c->a.link, skb, c->b.mac, c->now);
	KUNIT_EXPECT_EQ(test, st->rx_type, 1ULL);
	skb = sib_link_ctl_skb(&c->b.link, 0);
	sib_link_fill(&c->b.link, skb, SIB_FRAME_ACK, 0, 0, 0, 0, 0);
	skb->data[0] = 9;
	sib_link_rx(&c->a.link, skb, c->b.mac, c->now);
	KUNIT_EXPECT_EQ(test, st->rx_version, 1ULL);
	skb = sib_link_ctl_skb(&c->b.link, 0);
	sib_link_fill(&c->b.link, skb, SIB_FRAME_ACK, 0, 0, 0, 0, 0);
	skb->data[20] ^= 1;
	sib_link_rx(&c->a.link, skb, c->b.mac, c->now);
	KUNIT_EXPECT_EQ(test, st->rx_check, 1ULL);
	/* a hello that is cut short, and one that takes next to nothing */
	skb = sib_link_ctl_skb(&c->b.link, 4);
	p = skb_put_zero(skb, 4);
	sib_link_fill(&c->b.link, skb, SIB_FRAME_HELLO, 0, 0, 0, 0, csum_partial(p, 4, 0));
	before = st->rx_length;
	sib_link_rx(&c->a.link, skb, c->b.mac, c->now);
	skb = sib_link_ctl_skb(&c->b.link, SIB_HELLO_LEN);
	p = skb_put_zero(skb, SIB_HELLO_LEN);
	sib_link_fill(&c->b.link, skb, SIB_FRAME_HELLO, 0, 0, 0, 0,
		      csum_partial(p, SIB_HELLO_LEN, 0));
	sib_link_rx(&c->a.link, skb, c->b.mac, c->now);
	KUNIT_EXPECT_EQ(test, st->rx_length, before + 2);
	KUNIT_EXPECT_TRUE(test, both_up(c));
	transfer(test, 100, 2000);
}

/* An acknowledgment of what was never sent, and frames far outside the window */
static void numbers_out_of_range(struct kunit *test)
{
	static const u32 acks[] = { 1, 100, 0x7FFFFFFF };
	static const u32 seqs[] = { SIB_LINK_WINDOW, 1000, 0x80000000, 0xFFFFFF00 };
	struct cable *c = test->priv;
	struct sib_link *a = &c->a.link;
	struct sk_buff *skb;
	int i;

	bring_up(test);
	for (i = 0; i < ARRAY_SIZE(acks); i++) {
		c->b.link.rx_next += acks[i];
		skb = sib_link_ctl_skb(&c->b.link, 0);
		sib_link_fill(&c->b.link, skb, SIB_FRAME_ACK, 0, 0, 0, 500, 0);
		c->b.link.rx_next -= acks[i];
		sib_link_rx(a, skb, c->b.mac, c->now);
		KUNIT_EXPECT_EQ(test, a->tx_una, 0U);
	}
	KUNIT_EXPECT_EQ(test, a->stats.rx_window, 3ULL);
	for (i = 0; i < ARRAY_SIZE(seqs); i++) {
		skb = sib_link_ctl_skb(&c->b.link, 0);
		sib_link_fill(&c->b.link, skb, SIB_FRAME_DATA, 0, 1, seqs[i], 0, 0);
		sib_link_rx(a, skb, c->b.mac, c->now);
	}
	KUNIT_EXPECT_EQ(test, a->rx_next, 0U);
	KUNIT_EXPECT_EQ(test, a->rx_held, 0U);
	KUNIT_EXPECT_EQ(test, a->stats.rx_window, 3ULL + ARRAY_SIZE(seqs));
}

/* Random frames with a good checksum and the right sessions, while data move */
static void hostile_peer(struct kunit *test)
{
	struct cable *c = test->priv;
	struct sib_link_hdr *hdr;
	struct sk_buff *skb;
	u32 i, len;

	bring_up(test);
	for (i = 0; i < 20000; i++) {
		len = SIB_LINK_HLEN + prandom_u32_state(&c->rnd) % 40;
		skb = alloc_skb(len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		prandom_bytes_state(&c->rnd, skb_put(skb, len), len);
		hdr = (void *)skb->data;
		hdr->version = SIB_LINK_VERSION;
		hdr->type = prandom_u32_state(&c->rnd) % 5;
		hdr->length = cpu_to_be16(len);
		if (prandom_u32_state(&c->rnd) % 4) {
			hdr->session = cpu_to_be32(c->a.link.peer);
			hdr->peer = cpu_to_be32(c->a.link.session);
		}
		if (prandom_u32_state(&c->rnd) % 2) {
			hdr->seq = cpu_to_be32(c->a.link.rx_next +
					       prandom_u32_state(&c->rnd) % 140 - 5);
			hdr->ack = cpu_to_be32(c->a.link.tx_una +
					       prandom_u32_state(&c->rnd) % 8);
		}
		hdr->check = 0;
		hdr->check = (__force __be16)csum_fold(csum_partial(hdr, len, 0));
		sib_link_rx(&c->a.link, skb, c->b.mac, c->now);
		sib_link_flush(&c->a.link, c->now);
		if (i % 8 == 0)
			send_one(&c->a);
		if (i % 64 == 0)
			sib_link_timer(&c->a.link, ++c->now);
		KUNIT_ASSERT_LE(test, c->a.link.tx_next - c->a.link.tx_una,
				(u32)SIB_LINK_WINDOW);
		KUNIT_ASSERT_LT(test, c->a.link.rx_held, (unsigned int)SIB_LINK_WINDOW);
		__skb_queue_purge(&c->a.wire);
	}
	/* whatever state that left, honest ends find each other again */
	__skb_queue_purge(&c->b.wire);
	run_ms(c, 8000);
	KUNIT_EXPECT_TRUE(test, both_up(c));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(trains),
	KUNIT_CASE(alone_it_stays_down),
	KUNIT_CASE(trains_over_a_bad_cable),
	KUNIT_CASE(late_joiner),
	KUNIT_CASE(silence_takes_it_down),
	KUNIT_CASE(restart_of_the_peer),
	KUNIT_CASE(third_station),
	KUNIT_CASE(own_frame_comes_back),
	KUNIT_CASE(stop_frees_everything),
	KUNIT_CASE(malformed_frames_are_counted),
	KUNIT_CASE(numbers_out_of_range),
	KUNIT_CASE(hostile_peer),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_link",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: link protocol, training and hostile frames");
