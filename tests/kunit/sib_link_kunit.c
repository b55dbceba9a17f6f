// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The link protocol: two ends, a cable that does to frames what the case wants,
 * and a clock that only moves when told to. A packet's payload is its number, so
 * that order, loss and duplication show at the receiver.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sched.h>

#include "link.c"
#include "link_data.c"

#define TIMEOUT_MS	400
#define START		(INITIAL_JIFFIES - 1000)	/* jiffies wrap meanwhile */

struct cable;

struct end {
	struct sib_link link;
	struct cable *cable;
	struct end *peer;
	u8 mac[ETH_ALEN];
	struct sk_buff_head wire;	/* frames on their way to @peer */
	u32 next_session;
	u32 sent;			/* packets handed to the link */
	u32 got;			/* next number expected from it */
	u32 wrong;			/* packets out of order */
	u32 ups;
	u32 downs;
	u32 frames;			/* frames that left */
};

struct cable {
	struct end a;
	struct end b;
	unsigned long now;
	struct rnd_state rnd;
	u8 loss;			/* percent */
	u8 dup;
	u8 swap;
	u8 corrupt;
	bool cut;
};

static struct end *end_of(struct sib_link *link)
{
	return container_of(link, struct end, link);
}

static bool chance(struct cable *c, u8 percent)
{
	return percent && prandom_u32_state(&c->rnd) % 100 < percent;
}

static void fake_xmit(struct sib_link *link, struct sk_buff *skb, const u8 *dest)
{
	struct end *e = end_of(link);
	struct cable *c = e->cable;
	struct sk_buff *copy;

	e->frames++;
	if (c->cut || chance(c, c->loss)) {
		kfree_skb(skb);
		return;
	}
	/* the receiver shares no memory with the sender's ring */
	copy = skb_copy(skb, GFP_ATOMIC);
	kfree_skb(skb);
	if (!copy)
		return;
	if (chance(c, c->corrupt))
		copy->data[prandom_u32_state(&c->rnd) % copy->len] ^=
			1 << prandom_u32_state(&c->rnd) % 8;
	if (chance(c, c->swap))
		__skb_queue_head(&e->wire, copy);
	else
		__skb_queue_tail(&e->wire, copy);
	if (chance(c, c->dup)) {
		copy = skb_copy(copy, GFP_ATOMIC);
		if (copy)
			__skb_queue_tail(&e->wire, copy);
	}
}

static void fake_deliver(struct sib_link *link, struct sk_buff *skb, unsigned int off,
			 unsigned int len, unsigned int count)
{
	struct end *e = end_of(link);
	__be32 number;

	if (len != sizeof(number) || count != 1 || skb_copy_bits(skb, off, &number, len) ||
	    be32_to_cpu(number) != e->got)
		e->wrong++;
	e->got++;
}

static void fake_change(struct sib_link *link, bool up)
{
	struct end *e = end_of(link);

	if (up)
		e->ups++;
	else
		e->downs++;
	/* numbers start anew with the session */
	e->got = 0;
	e->sent = 0;
}

static u32 fake_session(struct sib_link *link)
{
	return end_of(link)->next_session++;
}

static const struct sib_link_ops fake_ops = {
	.xmit = fake_xmit,
	.deliver = fake_deliver,
	.change = fake_change,
	.session = fake_session,
};

static void end_init(struct end *e, struct end *peer, struct cable *c, u8 id)
{
	struct sib_link_config cfg = {
		.timeout = TIMEOUT_MS,
		.max_frame = 9000,
		.guid = cpu_to_be64(id),
	};

	e->cable = c;
	e->peer = peer;
	e->mac[0] = 2;
	e->mac[5] = id;
	e->next_session = id * 1000;
	__skb_queue_head_init(&e->wire);
	sib_link_init(&e->link, &fake_ops, &cfg);
}

static int setup(struct kunit *test)
{
	struct cable *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	c->now = START;
	prandom_seed_state(&c->rnd, 4755);
	end_init(&c->a, &c->b, c, 1);
	end_init(&c->b, &c->a, c, 2);
	test->priv = c;
	return 0;
}

static void teardown(struct kunit *test)
{
	struct cable *c = test->priv;

	if (!c)
		return;
	sib_link_stop(&c->a.link);
	sib_link_stop(&c->b.link);
	__skb_queue_purge(&c->a.wire);
	__skb_queue_purge(&c->b.wire);
}

/* Deliver what was on the wire when called; what it causes waits. */
static bool carry(struct end *from)
{
	struct cable *c = from->cable;
	unsigned int n = skb_queue_len(&from->wire);
	bool any = n;

	while (n--)
		sib_link_rx(&from->peer->link, __skb_dequeue(&from->wire), from->mac, c->now);
	sib_link_flush(&from->peer->link, c->now);
	return any;
}

/* As many rounds as it takes until nothing more is on the wire */
static void settle(struct cable *c)
{
	int rounds = 200;

	while (carry(&c->a) | carry(&c->b))
		if (!rounds--)
			break;
}

static void tick(struct cable *c)
{
	c->now++;
	if (time_after_eq(c->now, sib_link_deadline(&c->a.link, c->now - 1)))
		sib_link_timer(&c->a.link, c->now);
	if (time_after_eq(c->now, sib_link_deadline(&c->b.link, c->now - 1)))
		sib_link_timer(&c->b.link, c->now);
	carry(&c->a);
	carry(&c->b);
}

static void run_ms(struct cable *c, unsigned int t)
{
	unsigned long end = c->now + msecs_to_jiffies(t);

	while (time_before(c->now, end))
		tick(c);
}

static void start(struct cable *c)
{
	sib_link_start(&c->a.link, c->now);
	sib_link_start(&c->b.link, c->now);
}

static bool both_up(struct cable *c)
{
	return c->a.link.state == SIB_LINK_UP && c->b.link.state == SIB_LINK_UP;
}

static void bring_up(struct kunit *test)
{
	struct cable *c = test->priv;

	start(c);
	run_ms(c, 300);
	KUNIT_ASSERT_TRUE(test, both_up(c));
}

static bool send_one(struct end *e)
{
	struct sk_buff *skb;
	__be32 number = cpu_to_be32(e->sent);

	if (!sib_link_can_send(&e->link))
		return false;
	skb = sib_link_ctl_skb(&e->link, sizeof(number));
	if (!skb)
		return false;
	skb_put_data(skb, &number, sizeof(number));
	e->sent++;
	sib_link_send(&e->link, skb, 1, csum_partial(&number, sizeof(number), 0),
		      e->cable->now);
	return true;
}

/* Move @n packets each way, or give up after @limit ms. */
static void transfer(struct kunit *test, u32 n, unsigned int limit)
{
	struct cable *c = test->priv;
	unsigned long end = c->now + msecs_to_jiffies(limit);
	u32 up = c->a.ups;

	while (time_before(c->now, end) && (c->a.got < n || c->b.got < n)) {
		while (c->a.sent < n && send_one(&c->a))
			;
		while (c->b.sent < n && send_one(&c->b))
			;
		tick(c);
	}
	KUNIT_EXPECT_EQ(test, c->a.got, n);
	KUNIT_EXPECT_EQ(test, c->b.got, n);
	KUNIT_EXPECT_EQ(test, c->a.wrong, 0U);
	KUNIT_EXPECT_EQ(test, c->b.wrong, 0U);
	KUNIT_EXPECT_EQ(test, c->a.ups, up);
}

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
	KUNIT_CASE(trains),
	KUNIT_CASE(alone_it_stays_down),
	KUNIT_CASE(trains_over_a_bad_cable),
	KUNIT_CASE(late_joiner),
	KUNIT_CASE(silence_takes_it_down),
	KUNIT_CASE(restart_of_the_peer),
	KUNIT_CASE(third_station),
	KUNIT_CASE(own_frame_comes_back),
	KUNIT_CASE_PARAM(in_order_and_whole, weathers_gen_params),
	KUNIT_CASE(numbers_wrap),
	KUNIT_CASE(window_closes_and_opens),
	KUNIT_CASE(only_the_gap_is_repeated),
	KUNIT_CASE(tail_loss),
	KUNIT_CASE(data_blackhole),
	KUNIT_CASE(stop_frees_everything),
	KUNIT_CASE(malformed_frames_are_counted),
	KUNIT_CASE(numbers_out_of_range),
	KUNIT_CASE(hostile_peer),
	KUNIT_CASE(allocation_failures),
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
MODULE_DESCRIPTION("KUnit: link protocol");
