// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two engines and a channel that loses, duplicates and reorders packets: every
 * message arrives once, in order and unaltered, and every atomic happens once.
 *
 * Each end's memory has four quarters: sources of its requests (and where READ
 * results go), receive buffers, the target of the peer's WRITEs, and what the peer
 * READs, with a counter for its atomics at the end.
 */
#include "sib_rc_world.h"

#define QUARTER		(MEM_LEN / 4)
#define SLOT		1024
#define SLOTS		(QUARTER / SLOT)
#define COUNTER		(MEM_LEN - 8)
#define EXPECTED	256

struct channel {
	const char *name;
	u8 loss;	/* percent */
	u8 dup;
	u8 swap;
	u8 starve;	/* how often there is no receive request */
	u32 messages;
};

static const struct channel channels[] = {
	{ "perfect", 0, 0, 0, 0, 2000 },
	{ "short of receives", 0, 0, 0, 60, 1000 },
	{ "losing", 4, 0, 0, 0, 1500 },
	{ "duplicating", 0, 20, 0, 0, 1500 },
	{ "reordering", 0, 0, 10, 0, 1500 },
	{ "all of it", 3, 10, 5, 30, 1500 },
};

static void channel_desc(const struct channel *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(channels, channels, channel_desc);

/* A message the receiver has to see */
struct message {
	u32 wr;
	u32 len;
	bool imm;
};

struct side {
	struct end *e;
	struct side *peer;
	struct message queue[EXPECTED];	/* sent, to be received by the peer */
	u32 queue_head;
	u32 queue_tail;
	u64 counted;			/* atomics completed */
	u32 posted;
};

static struct {
	struct kunit *test;
	const struct channel *c;
	struct rnd_state rnd;
	struct side side[2];
} world;

static u32 rnd(u32 limit)
{
	return prandom_u32_state(&world.rnd) % limit;
}

static struct side *side_of(struct end *e)
{
	return &world.side[e == world.side[1].e];
}

static u32 slot_of(u32 wr)
{
	return wr % SLOTS * SLOT;
}

static void completed(struct end *e, const struct sib_swqe *wqe)
{
	struct side *s = side_of(e);
	u32 slot = slot_of(wqe->wr_id);
	u8 *mine = e->mem + slot, *theirs = s->peer->e->mem;
	u64 orig;

	KUNIT_ASSERT_EQ(e->test, (int)e->status, (int)IB_WC_SUCCESS);
	switch (wqe->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		KUNIT_ASSERT_EQ(e->test, memcmp(mine, theirs + 2 * QUARTER + slot, wqe->length), 0);
		break;
	case IB_WR_RDMA_READ:
		KUNIT_ASSERT_EQ(e->test, memcmp(mine, theirs + 3 * QUARTER + slot, wqe->length), 0);
		break;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		memcpy(&orig, mine, sizeof(orig));
		KUNIT_ASSERT_EQ(e->test, orig, s->counted);
		s->counted++;
		break;
	default:
		break;
	}
}

static void received(struct end *e, const struct sib_rwqe *rwqe)
{
	struct side *from = side_of(e)->peer;
	const struct message *m = &from->queue[from->queue_tail % EXPECTED];

	KUNIT_ASSERT_NE(e->test, from->queue_head, from->queue_tail);
	from->queue_tail++;
	KUNIT_ASSERT_EQ(e->test, e->wc.byte_len, m->len);
	KUNIT_ASSERT_EQ(e->test, be32_to_cpu(e->wc.ex.imm_data), m->wr);
	if (!m->imm)
		KUNIT_ASSERT_EQ(e->test, memcmp(e->mem + QUARTER + slot_of(rwqe->wr_id),
						from->e->mem + slot_of(m->wr), m->len), 0);
}

static void post_random(struct side *s)
{
	static const enum ib_wr_opcode ops[] = {
		IB_WR_SEND_WITH_IMM, IB_WR_RDMA_WRITE, IB_WR_RDMA_WRITE_WITH_IMM,
		IB_WR_RDMA_READ, IB_WR_ATOMIC_FETCH_AND_ADD,
	};
	enum ib_wr_opcode op = ops[rnd(ARRAY_SIZE(ops))];
	struct end *e = s->e;
	u32 len = op == IB_WR_ATOMIC_FETCH_AND_ADD ? 8 : rnd(SLOT - 8), wr = e->sq_head;
	struct sib_swqe *wqe = post(e, op, slot_of(wr), len);

	if (op != IB_WR_RDMA_READ)
		prandom_bytes_state(&world.rnd, e->mem + slot_of(wr), len);
	wqe->imm = cpu_to_be32(wr);
	wqe->compare_add = 1;
	if (!rnd(10))
		wqe->send_flags = IB_SEND_FENCE;
	if (op == IB_WR_ATOMIC_FETCH_AND_ADD)
		wqe->remote_addr = VA + COUNTER;
	else if (op == IB_WR_RDMA_READ)
		wqe->remote_addr = VA + 3 * QUARTER + slot_of(wr);
	else
		wqe->remote_addr = VA + 2 * QUARTER + slot_of(wr);
	if (op == IB_WR_SEND_WITH_IMM || op == IB_WR_RDMA_WRITE_WITH_IMM)
		s->queue[s->queue_head++ % EXPECTED] = (struct message) {
			.wr = wr, .len = len, .imm = op == IB_WR_RDMA_WRITE_WITH_IMM,
		};
	s->posted++;
}

static void refill(struct side *s)
{
	struct end *e = s->e;

	if (rnd(100) < world.c->starve)
		return;
	while (e->rq_head - e->rq_tail < (world.c->starve ? 3 : 16))
		post_recv(e, QUARTER + slot_of(e->rq_head), SLOT);
}

/* What left on one side arrives at the other, or does not. */
static void carry(struct side *from)
{
	const struct channel *c = world.c;
	struct end *to = from->peer->e;
	u32 n = 1 + rnd(8);
	struct packet *p, *q;

	while (n-- && (p = next_packet(from->e))) {
		q = list_first_entry_or_null(&from->e->out, struct packet, list);
		if (q && rnd(100) < c->swap) {
			list_add(&p->list, &q->list);
			continue;
		}
		if (rnd(100) >= c->loss) {
			if (sib_rc_is_response(p->pkt.opcode))
				sib_rc_response(&to->rc, &p->pkt, p->payload, to->now);
			else
				sib_rc_request(&to->rc, &p->pkt, p->payload);
		}
		if (rnd(100) < c->dup)
			list_add_tail(&p->list, &from->e->out);
		else
			kfree(p);
	}
}

static bool idle(struct end *e)
{
	return list_empty(&e->out) && !sib_rc_run(&e->rc, 1, false, e->now);
}

/* Nothing is under way: let the time pass until something is due. */
static void wait(void)
{
	struct end *a = world.side[0].e, *b = world.side[1].e;
	ktime_t at;

	KUNIT_ASSERT_TRUE(world.test, a->rc.armed || b->rc.armed);
	if (!b->rc.armed)
		at = a->rc.deadline;
	else if (!a->rc.armed || ktime_before(b->rc.deadline, a->rc.deadline))
		at = b->rc.deadline;
	else
		at = a->rc.deadline;
	a->now = at;
	b->now = at;
	sib_rc_timer(&a->rc, at);
	sib_rc_timer(&b->rc, at);
}

static bool finished(void)
{
	struct side *s;

	for (s = world.side; s < world.side + 2; s++)
		if (s->posted < world.c->messages || s->e->sq_head != s->e->sq_tail ||
		    !list_empty(&s->e->out))
			return false;
	return true;
}

static void setup_side(struct kunit *test, int i)
{
	struct side *s = &world.side[i];

	s->peer = &world.side[!i];
	s->e = new_end(test, i ? 5 : 0xFFFF00, i ? 0xFFFF00 : 5);
	s->e->on_complete = completed;
	s->e->on_receive = received;
	s->e->rc.cfg.retry_cnt = 7;
	s->e->rc.cfg.rnr_retry = 7;
	s->e->rc.cfg.rnr_timer = 1;
	s->e->rc.req.retry = 7;
	s->e->rc.req.rnr = 7;
	prandom_bytes_state(&world.rnd, s->e->mem + 3 * QUARTER, QUARTER - 8);
}

static void messages(struct kunit *test)
{
	struct end *a, *b;
	struct side *s;
	u32 steps;

	memset(&world, 0, sizeof(world));
	world.test = test;
	world.c = test->param_value;
	prandom_seed_state(&world.rnd, 9700);
	setup_side(test, 0);
	setup_side(test, 1);
	a = world.side[0].e;
	b = world.side[1].e;
	for (steps = 0; steps < 2000000 && !finished(); steps++) {
		for (s = world.side; s < world.side + 2; s++) {
			if (s->posted < world.c->messages && !rnd(2) &&
			    s->e->sq_head - s->e->sq_tail < 32)
				post_random(s);
			refill(s);
			sib_rc_run(&s->e->rc, 1 + rnd(20), false, s->e->now);
		}
		carry(&world.side[0]);
		carry(&world.side[1]);
		KUNIT_ASSERT_FALSE_MSG(test, a->dead || b->dead, "%d %d", a->status, b->status);
		if (idle(a) && idle(b) && (a->rc.armed || b->rc.armed))
			wait();
	}
	KUNIT_EXPECT_TRUE(test, finished());
	for (s = world.side; s < world.side + 2; s++) {
		KUNIT_EXPECT_EQ(test, s->e->completions, world.c->messages);
		KUNIT_EXPECT_EQ(test, s->queue_head, s->queue_tail);
		KUNIT_EXPECT_EQ(test, *(u64 *)(s->peer->e->mem + COUNTER), s->counted);
		KUNIT_EXPECT_GT(test, s->counted, (u64)world.c->messages / 10);
		KUNIT_EXPECT_EQ(test, s->e->rc.req.rd_out, 0);
		KUNIT_EXPECT_FALSE(test, s->e->rc.armed);
		kunit_info(test, "%u sent, retry %llu timeout %llu dup %llu gap %llu ghost %llu rnr %llu",
			   s->e->sent, s->e->stats.retry, s->e->stats.timeout,
			   s->e->stats.rx_dup, s->e->stats.rx_gap, s->e->stats.rx_ghost,
			   s->e->stats.rx_rnr);
		if (!world.c->loss && !world.c->swap && !world.c->starve)
			KUNIT_EXPECT_EQ(test, s->e->stats.retry, 0ULL);
		flush(s->e);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(messages, channels_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_rc_pair",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: two RC engines on a bad channel");
