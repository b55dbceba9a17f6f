// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The link protocol: data in order and without loss over cables of every kind,
 * the window, retransmission, and no memory.
 */
#include "sib_cable.h"

struct weather {
	const char *name;
	u8 loss;
	u8 dup;
	u8 swap;
	u8 corrupt;
};

static const struct weather weathers[] = {
	{ "fair", 0, 0, 0, 0 },
	{ "loss 1 %", 1, 0, 0, 0 },
	{ "loss 20 %", 20, 0, 0, 0 },
	{ "duplicates 30 %", 0, 30, 0, 0 },
	{ "reordering 30 %", 0, 0, 30, 0 },
	{ "corruption 10 %", 0, 0, 0, 10 },
	{ "all at once", 5, 10, 20, 5 },
};

static void weather_desc(const struct weather *w, char *desc)
{
	strscpy(desc, w->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(weathers, weathers, weather_desc);

static void in_order_and_whole(struct kunit *test)
{
	const struct weather *w = test->param_value;
	struct cable *c = test->priv;

	bring_up(test);
	c->loss = w->loss;
	c->dup = w->dup;
	c->swap = w->swap;
	c->corrupt = w->corrupt;
	transfer(test, 5000, 600000);
	if (!w->loss && !w->corrupt && !w->swap && !w->dup)
		KUNIT_EXPECT_EQ(test, c->a.link.stats.retransmit, 0ULL);
}

/* Sequence numbers wrap in the middle of a transfer. */
static void numbers_wrap(struct kunit *test)
{
	struct cable *c = test->priv;
	u32 first = U32_MAX - 700;

	bring_up(test);
	c->a.link.tx_next = first;
	c->a.link.tx_una = first;
	c->a.link.peer_window = first + SIB_LINK_WINDOW;
	c->b.link.rx_next = first;
	c->b.link.rx_acked = first;
	c->loss = 5;
	c->swap = 5;
	transfer(test, 3000, 600000);
	KUNIT_EXPECT_LT(test, c->a.link.tx_next, first);
}

static void window_closes_and_opens(struct kunit *test)
{
	struct cable *c = test->priv;

	bring_up(test);
	c->cut = true;
	while (send_one(&c->a))
		;
	KUNIT_EXPECT_EQ(test, c->a.sent, (u32)SIB_LINK_WINDOW);
	KUNIT_EXPECT_GE(test, c->a.link.stats.window_full, 1ULL);
	c->cut = false;
	run_ms(c, 2000);
	KUNIT_EXPECT_EQ(test, c->b.got, (u32)SIB_LINK_WINDOW);
	KUNIT_EXPECT_EQ(test, c->a.downs, 0U);
	KUNIT_EXPECT_TRUE(test, send_one(&c->a));
}

/* One frame of many lost: exactly that one is sent again. */
static void only_the_gap_is_repeated(struct kunit *test)
{
	struct cable *c = test->priv;
	int i;

	bring_up(test);
	settle(c);
	for (i = 0; i < 10; i++)
		send_one(&c->a);
	c->now += 5;		/* they have left long ago */
	kfree_skb(__skb_dequeue(&c->a.wire));
	settle(c);
	KUNIT_EXPECT_EQ(test, c->b.got, 10U);
	KUNIT_EXPECT_EQ(test, c->a.link.stats.retransmit, 1ULL);
	KUNIT_EXPECT_EQ(test, c->b.link.stats.gap_sent, 1ULL);
	KUNIT_EXPECT_EQ(test, c->b.link.stats.rx_reorder, 9ULL);
	KUNIT_EXPECT_EQ(test, c->b.link.rx_held, 0U);
}

/*
 * The peer acknowledges, but never sends what is missing: no timer of a connection would
 * expire meanwhile, since the link loses nothing. So the link is given up.
 */
static void hole_never_filled(struct kunit *test)
{
	struct cable *c = test->priv;
	struct sk_buff *skb, *next;
	unsigned int t;

	bring_up(test);
	settle(c);
	send_one(&c->a);
	send_one(&c->a);
	kfree_skb(__skb_dequeue(&c->a.wire));
	for (t = 0; t < 10 * TIMEOUT_MS && !c->b.downs; t++) {
		sib_link_timer(&c->a.link, ++c->now);
		skb_queue_walk_safe(&c->a.wire, skb, next) {
			if (skb->data[1] == SIB_FRAME_DATA && c->b.link.rx_held) {
				__skb_unlink(skb, &c->a.wire);
				kfree_skb(skb);
			}
		}
		/* as if everything had arrived */
		c->a.link.stall_at = c->now + TIMEOUT_MS;
		carry(&c->a);
		sib_link_timer(&c->b.link, c->now);
		carry(&c->b);
	}
	KUNIT_EXPECT_EQ(test, c->b.link.stats.stall, 1ULL);
	KUNIT_EXPECT_EQ(test, c->b.got, 0U);
	run_ms(c, 1000);
	KUNIT_EXPECT_TRUE(test, both_up(c));
}

struct header {
	const char *name;
	u16 length;
	u8 count;
};

static const struct header headers[] = {
	{ "longer", U16_MAX, 1 },
	{ "shorter than itself", 0, 1 },
	{ "more packets", SIB_LINK_HLEN + sizeof(__be32), U8_MAX },
};

static void header_desc(const struct header *h, char *desc)
{
	strscpy(desc, h->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(headers, headers, header_desc);

/*
 * A frame may be memory that its sender still writes to. What was checked when it came
 * is what counts when its turn comes.
 */
static void header_changed_while_held(struct kunit *test)
{
	const struct header *h = test->param_value;
	struct cable *c = test->priv;
	struct sib_link_hdr *hdr;
	struct sk_buff *first;

	bring_up(test);
	settle(c);
	send_one(&c->a);
	send_one(&c->a);
	first = __skb_dequeue(&c->a.wire);
	KUNIT_ASSERT_NOT_NULL(test, first);
	carry(&c->a);
	KUNIT_ASSERT_EQ(test, c->b.link.rx_held, 1U);
	hdr = (void *)c->b.link.rx_ring[(c->b.link.rx_next + 1) & RING_MASK]->data;
	hdr->length = cpu_to_be16(h->length);
	hdr->count = h->count;
	__skb_queue_tail(&c->a.wire, first);
	carry(&c->a);
	KUNIT_EXPECT_EQ(test, c->b.link.rx_held, 0U);
	KUNIT_EXPECT_EQ(test, c->b.got, 2U);
	KUNIT_EXPECT_EQ(test, c->b.wrong, 0U);
}

/* The very last frame lost: only time can tell. */
static void tail_loss(struct kunit *test)
{
	struct cable *c = test->priv;

	bring_up(test);
	settle(c);
	send_one(&c->a);
	kfree_skb(__skb_dequeue_tail(&c->a.wire));
	run_ms(c, 150);
	KUNIT_EXPECT_EQ(test, c->b.got, 1U);
	KUNIT_EXPECT_EQ(test, c->a.link.stats.rto, 1ULL);
}

static bool is_ack_or_data(const struct sk_buff *skb)
{
	return skb->data[1] != SIB_FRAME_HELLO;
}

/* Hellos pass, data do not: the link is given up and trained again. */
static void data_blackhole(struct kunit *test)
{
	struct cable *c = test->priv;
	struct sk_buff *skb, *next;
	unsigned int t;
	u64 rto;

	bring_up(test);
	send_one(&c->a);
	for (t = 0; t < 5000 && !c->a.downs; t++) {
		skb_queue_walk_safe(&c->a.wire, skb, next) {
			if (is_ack_or_data(skb)) {
				__skb_unlink(skb, &c->a.wire);
				kfree_skb(skb);
			}
		}
		sib_link_timer(&c->a.link, ++c->now);
		skb_queue_walk_safe(&c->a.wire, skb, next) {
			if (is_ack_or_data(skb)) {
				__skb_unlink(skb, &c->a.wire);
				kfree_skb(skb);
			}
		}
		sib_link_timer(&c->b.link, c->now);
		carry(&c->a);
		carry(&c->b);
	}
	KUNIT_EXPECT_EQ(test, c->a.link.stats.stall, 1ULL);
	/* 40, 80, 160, 320, 640 ms: the pauses grow, and 4 x 400 ms are not exceeded */
	rto = c->a.link.stats.rto;
	KUNIT_EXPECT_GE(test, rto, 3ULL);
	KUNIT_EXPECT_LE(test, rto, 7ULL);
	run_ms(c, 1000);
	KUNIT_EXPECT_TRUE(test, both_up(c));
}

static struct sk_buff *oldest_frame(struct sib_link *link)
{
	return link->tx_ring[link->tx_una & RING_MASK];
}

static void frames_are_used_again(struct kunit *test)
{
	struct cable *c = test->priv;
	struct sib_link *link = &c->a.link;
	unsigned int truesize, room;
	struct sk_buff *skb;

	bring_up(test);
	KUNIT_ASSERT_TRUE(test, send_one(&c->a));
	skb = oldest_frame(link);
	truesize = skb->truesize;
	room = skb_headroom(skb);
	run_ms(c, 100);
	KUNIT_ASSERT_EQ(test, link->tx_una, link->tx_next);
	KUNIT_EXPECT_EQ(test, link->spares, 1U);
	KUNIT_ASSERT_TRUE(test, send_one(&c->a));
	KUNIT_ASSERT_PTR_EQ(test, oldest_frame(link), skb);
	KUNIT_EXPECT_EQ(test, link->spares, 0U);
	KUNIT_EXPECT_EQ(test, skb->len, (unsigned int)(SIB_LINK_HLEN + sizeof(__be32)));
	KUNIT_EXPECT_EQ(test, skb->truesize, truesize);
	KUNIT_EXPECT_EQ(test, skb_headroom(skb), room);
	run_ms(c, 100);
	KUNIT_EXPECT_EQ(test, c->b.got, 2U);
	KUNIT_EXPECT_EQ(test, c->b.wrong, 0U);
	sib_link_stop(link);
	KUNIT_EXPECT_EQ(test, link->spares, 0U);
}

/* A lower device may free what it has sent long after the peer has answered. */
static void no_frame_that_somebody_has(struct kunit *test)
{
	struct cable *c = test->priv;
	struct sib_link *link = &c->a.link;
	struct sk_buff *skb, *copy;

	bring_up(test);
	KUNIT_ASSERT_TRUE(test, send_one(&c->a));
	skb = oldest_frame(link);
	copy = skb_clone(skb, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, copy);
	run_ms(c, 100);
	KUNIT_ASSERT_EQ(test, link->tx_una, link->tx_next);
	KUNIT_ASSERT_TRUE(test, send_one(&c->a));
	KUNIT_EXPECT_PTR_NE(test, oldest_frame(link), skb);
	KUNIT_EXPECT_EQ(test, copy->len, (unsigned int)(SIB_LINK_HLEN + sizeof(__be32)));
	KUNIT_EXPECT_EQ(test, skb_shinfo(copy)->nr_frags, 1);
	kfree_skb(copy);
	run_ms(c, 100);
	KUNIT_ASSERT_TRUE(test, send_one(&c->a));
	KUNIT_EXPECT_PTR_EQ(test, oldest_frame(link), skb);
	run_ms(c, 100);
	KUNIT_EXPECT_EQ(test, c->b.got, 3U);
	KUNIT_EXPECT_EQ(test, c->b.wrong, 0U);
}

/* Frames that nobody gives back do not keep those out that come after them. */
static void spares_are_few(struct kunit *test)
{
	struct cable *c = test->priv;
	struct sib_link *link = &c->a.link;
	struct sk_buff *copy[SIB_LINK_SPARES] = {};
	struct sk_buff *skb;
	int i;

	bring_up(test);
	for (i = 0; i < SIB_LINK_SPARES; i++) {
		KUNIT_ASSERT_TRUE(test, send_one(&c->a));
		copy[i] = skb_clone(oldest_frame(link), GFP_KERNEL);
		run_ms(c, 100);
	}
	KUNIT_EXPECT_EQ(test, link->spares, (unsigned int)SIB_LINK_SPARES);
	for (i = 0; i < SIB_LINK_SPARES; i++) {
		KUNIT_ASSERT_TRUE(test, send_one(&c->a));
		run_ms(c, 100);
		KUNIT_EXPECT_EQ(test, link->spares, (unsigned int)SIB_LINK_SPARES);
	}
	skb = link->spare[link->spare_first];
	KUNIT_ASSERT_TRUE(test, send_one(&c->a));
	KUNIT_EXPECT_PTR_EQ(test, oldest_frame(link), skb);
	for (i = 0; i < SIB_LINK_SPARES; i++)
		kfree_skb(copy[i]);
}

/* What would be copied into one piece on its way out is built in one. */
static void a_linear_cable(struct kunit *test)
{
	struct cable *c = test->priv;
	struct sib_link *link = &c->a.link;
	struct sk_buff *skb;
	u32 most;

	bring_up(test);
	most = sib_link_max_frame(link) - SIB_LINK_HLEN;
	KUNIT_ASSERT_TRUE(test, send_one(&c->a));
	run_ms(c, 100);
	KUNIT_ASSERT_EQ(test, link->spares, 1U);
	link->cfg.linear = true;
	skb = sib_link_frame_new(link);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, link->spares, 0U);
	KUNIT_EXPECT_GE(test, (u32)skb_tailroom(skb), most);
	KUNIT_EXPECT_TRUE(test, sib_link_frame_takes(link, skb, most));
	KUNIT_EXPECT_FALSE(test, sib_link_frame_takes(link, skb, most + 4));
	skb_put_zero(skb, 1000);
	KUNIT_EXPECT_TRUE(test, sib_link_frame_takes(link, skb, most - 1000));
	skb_put_zero(skb, skb_tailroom(skb) - 4);
	KUNIT_EXPECT_FALSE(test, sib_link_frame_takes(link, skb, 8));
	sib_link_frame_done(link, skb);
	KUNIT_EXPECT_EQ(test, link->spares, 1U);
	KUNIT_EXPECT_PTR_EQ(test, sib_link_frame_new(link), skb);
	KUNIT_EXPECT_EQ(test, skb->len, 0U);
	KUNIT_EXPECT_GE(test, (u32)skb_tailroom(skb), most);
	kfree_skb(skb);
}

/* Each allocation of a transfer fails once; the link makes up for it. */
static void allocation_failures(struct kunit *test)
{
	struct cable *c = test->priv;
	int n, left = 0;

	if (!IS_ENABLED(CONFIG_FAILSLAB))
		kunit_skip(test, "kernel without failslab");
	bring_up(test);
	for (n = 1; n < 400; n++) {
		u32 want = c->b.got + 3;
		unsigned int t = 0;

		WRITE_ONCE(current->fail_nth, n);
		while (c->b.got < want && t++ < 3000) {
			if (c->a.sent < want)
				send_one(&c->a);
			tick(c);
		}
		left = READ_ONCE(current->fail_nth);
		WRITE_ONCE(current->fail_nth, 0);
		KUNIT_ASSERT_EQ_MSG(test, c->b.got, want, "allocation %d", n);
		KUNIT_ASSERT_EQ(test, c->b.wrong, 0U);
		if (left)	/* it needed fewer than n */
			break;
	}
	KUNIT_EXPECT_NE(test, left, 0);
	KUNIT_EXPECT_GE(test, n, 4);
	KUNIT_EXPECT_TRUE(test, both_up(c));
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(in_order_and_whole, weathers_gen_params),
	KUNIT_CASE(numbers_wrap),
	KUNIT_CASE(window_closes_and_opens),
	KUNIT_CASE(only_the_gap_is_repeated),
	KUNIT_CASE_PARAM(header_changed_while_held, headers_gen_params),
	KUNIT_CASE(hole_never_filled),
	KUNIT_CASE(tail_loss),
	KUNIT_CASE(data_blackhole),
	KUNIT_CASE(frames_are_used_again),
	KUNIT_CASE(no_frame_that_somebody_has),
	KUNIT_CASE(spares_are_few),
	KUNIT_CASE(a_linear_cable),
	KUNIT_CASE(allocation_failures),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_link_data",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: link protocol, data");
