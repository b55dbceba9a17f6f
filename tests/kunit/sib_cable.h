/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Two ends of a link, a cable that does to frames what the case wants, and a
 * clock that only moves when told to. A packet's payload is its number, so that
 * order, loss and duplication show at the receiver. For suites of the link
 * protocol, whose sources it includes.
 */
#ifndef SIB_CABLE_H
#define SIB_CABLE_H

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sched.h>

#include "link.c"
#include "link_data.c"
#include "link_frame.c"

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

static inline struct end *end_of(struct sib_link *link)
{
	return container_of(link, struct end, link);
}

static inline bool chance(struct cable *c, u8 percent)
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
	/* numbers start again with the session */
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

static inline void end_init(struct end *e, struct end *peer, struct cable *c, u8 id)
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
static inline bool carry(struct end *from)
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
static inline void settle(struct cable *c)
{
	int rounds = 200;

	while (carry(&c->a) | carry(&c->b))
		if (!rounds--)
			break;
}

static inline void tick(struct cable *c)
{
	c->now++;
	if (time_after_eq(c->now, sib_link_deadline(&c->a.link, c->now - 1)))
		sib_link_timer(&c->a.link, c->now);
	if (time_after_eq(c->now, sib_link_deadline(&c->b.link, c->now - 1)))
		sib_link_timer(&c->b.link, c->now);
	carry(&c->a);
	carry(&c->b);
}

static inline void run_ms(struct cable *c, unsigned int t)
{
	unsigned long end = c->now + msecs_to_jiffies(t);

	while (time_before(c->now, end))
		tick(c);
}

static inline void start(struct cable *c)
{
	sib_link_start(&c->a.link, c->now);
	sib_link_start(&c->b.link, c->now);
}

static inline bool both_up(struct cable *c)
{
	return c->a.link.state == SIB_LINK_UP && c->b.link.state == SIB_LINK_UP;
}

static inline void bring_up(struct kunit *test)
{
	struct cable *c = test->priv;

	start(c);
	run_ms(c, 300);
	KUNIT_ASSERT_TRUE(test, both_up(c));
}

static inline bool send_one(struct end *e)
{
	__be32 number = cpu_to_be32(e->sent);
	struct sk_buff *skb;
	struct page *page;

	if (!sib_link_can_send(&e->link))
		return false;
	page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
	if (!page)
		return false;
	skb = sib_link_frame_new(&e->link);
	if (!skb) {
		__free_page(page);
		return false;
	}
	memcpy(page_address(page), &number, sizeof(number));
	skb_add_rx_frag(skb, 0, page, 0, sizeof(number), PAGE_SIZE);
	e->sent++;
	sib_link_send(&e->link, skb, 1, csum_partial(&number, sizeof(number), 0),
		      e->cable->now);
	return true;
}

/* Move @n packets each way, or give up after @limit ms. */
static inline void transfer(struct kunit *test, u32 n, unsigned int limit)
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
		/* KASAN gives freed memory back only where an allocation may sleep */
		kfree(kmalloc(1, GFP_KERNEL));
	}
	KUNIT_EXPECT_EQ(test, c->a.got, n);
	KUNIT_EXPECT_EQ(test, c->b.got, n);
	KUNIT_EXPECT_EQ(test, c->a.wrong, 0U);
	KUNIT_EXPECT_EQ(test, c->b.wrong, 0U);
	KUNIT_EXPECT_EQ(test, c->a.ups, up);
}

#endif /* SIB_CABLE_H */
