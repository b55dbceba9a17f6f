// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Queues that a process has mapped: order and wrap as its provider sees them, and
 * everything a process may write there that is nonsense. The memory is as long as
 * the queue, so that KASAN sees an index too high.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include "ucq.c"
#include "urq.c"

#define ENTRIES	3
#define SIZE	(ENTRIES + 1)
#define MAX_SGE	2
#define SEED	4711
#define ROUNDS	100000

static const u32 nonsense[] = { SIZE, SIZE + 1, 0x7FFFFFFF, 0x80000000, U32_MAX };

struct world {
	struct ib_qp qp;
	struct sib_ucq ucq;
	struct sib_urq urq;
	struct sib_rwqe *to;
};

static int world_init(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	void *mem;

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->qp.qp_num = 0x1234;
	mem = kunit_kzalloc(test, sib_ucq_bytes(ENTRIES), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mem);
	sib_ucq_init(&w->ucq, mem, ENTRIES);
	mem = kunit_kzalloc(test, sib_urq_bytes(ENTRIES, MAX_SGE), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mem);
	sib_urq_init(&w->urq, mem, ENTRIES, MAX_SGE);
	w->to = kunit_kzalloc(test, struct_size(w->to, sge, MAX_SGE), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w->to);
	test->priv = w;
	return 0;
}

static int add(struct world *w, u64 wr_id)
{
	struct ib_wc wc = { .wr_id = wr_id, .qp = &w->qp };

	return sib_ucq_add(&w->ucq, &wc);
}

/* As the provider polls: false if there is nothing. */
static bool poll(struct world *w, u64 *wr_id)
{
	struct rvt_cq_wc *q = w->ucq.q;
	u32 tail = q->tail.val;

	if (tail == q->head.val)
		return false;
	*wr_id = q->uqueue[tail].wr_id;
	q->tail.val = tail == w->ucq.size - 1 ? 0 : tail + 1;
	return true;
}

static struct rvt_rwqe *request(struct world *w, u32 i)
{
	return (void *)(w->urq.q + 1) +
	       (sizeof(struct rvt_rwqe) + MAX_SGE * sizeof(struct rvt_wqe_sge)) * i;
}

/* As the provider posts: false if there is no room. */
static bool post(struct world *w, u64 wr_id, u32 num_sge)
{
	struct sib_urq_mem *q = w->urq.q;
	u32 head = q->head, next = head + 1 == SIZE ? 0 : head + 1, i;
	struct rvt_rwqe *wqe = request(w, head);

	if (next == q->tail)
		return false;
	wqe->wr_id = wr_id;
	wqe->num_sge = num_sge;
	for (i = 0; i < min_t(u32, num_sge, MAX_SGE); i++)
		wqe->sg_list[i] = (struct rvt_wqe_sge) { wr_id + i, 100 + i, 7 + i };
	q->head = next;
	return true;
}

/* To other memory, as a CQ is resized */
static int move(struct sib_ucq *ucq, void *mem, u32 cqe)
{
	struct sib_ucq_move m;
	int err = sib_ucq_move_begin(ucq, &m, mem, cqe);

	if (!err)
		err = sib_ucq_move_copy(ucq, &m, sib_ucq_move_left(ucq, &m));
	if (!err)
		sib_ucq_move_end(ucq, &m);
	return err;
}

static void completions_wrap(struct kunit *test)
{
	struct world *w = test->priv;
	u64 wr_id, added = 0, polled = 0;
	int round, n;

	for (round = 0; round < 3 * SIZE; round++) {
		for (n = 0; n < 1 + round % ENTRIES; n++)
			KUNIT_ASSERT_EQ(test, add(w, added++), 0);
		while (poll(w, &wr_id))
			KUNIT_ASSERT_EQ(test, wr_id, polled++);
		KUNIT_ASSERT_EQ(test, polled, added);
	}
}

static void completions_fill(struct kunit *test)
{
	struct world *w = test->priv;
	u64 wr_id;
	int n;

	for (n = 0; n < ENTRIES; n++)
		KUNIT_ASSERT_EQ(test, add(w, n), 0);
	KUNIT_EXPECT_EQ(test, add(w, n), -ENOSPC);
	KUNIT_ASSERT_TRUE(test, poll(w, &wr_id));
	KUNIT_EXPECT_EQ(test, wr_id, 0ULL);
	KUNIT_EXPECT_EQ(test, add(w, n), 0);
}

static void completion_is_whole(struct kunit *test)
{
	struct world *w = test->priv;
	struct ib_wc wc = {
		.wr_id = 1, .status = IB_WC_RNR_RETRY_EXC_ERR, .opcode = IB_WC_RECV,
		.vendor_err = 2, .byte_len = 3, .ex.imm_data = cpu_to_be32(4), .qp = &w->qp,
		.src_qp = 5, .wc_flags = IB_WC_GRH | IB_WC_WITH_IMM, .pkey_index = 6,
		.slid = 7, .sl = 8, .dlid_path_bits = 9, .port_num = 10,
	};
	const struct ib_uverbs_wc *seen = &w->ucq.q->uqueue[0];

	memset(w->ucq.q->uqueue, 0xFF, sizeof(*w->ucq.q->uqueue));
	KUNIT_ASSERT_EQ(test, sib_ucq_add(&w->ucq, &wc), 0);
	KUNIT_EXPECT_EQ(test, seen->wr_id, 1ULL);
	KUNIT_EXPECT_EQ(test, seen->status, (u32)IB_WC_RNR_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, seen->opcode, (u32)IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, seen->vendor_err, 2U);
	KUNIT_EXPECT_EQ(test, seen->byte_len, 3U);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(seen->ex.imm_data), 4U);
	KUNIT_EXPECT_EQ(test, seen->qp_num, 0x1234U);
	KUNIT_EXPECT_EQ(test, seen->src_qp, 5U);
	KUNIT_EXPECT_EQ(test, seen->wc_flags, (u32)(IB_WC_GRH | IB_WC_WITH_IMM));
	KUNIT_EXPECT_EQ(test, seen->pkey_index, 6);
	KUNIT_EXPECT_EQ(test, seen->slid, 7);
	KUNIT_EXPECT_EQ(test, seen->sl, 8);
	KUNIT_EXPECT_EQ(test, seen->dlid_path_bits, 9);
	KUNIT_EXPECT_EQ(test, seen->port_num, 10);
	KUNIT_EXPECT_EQ(test, seen->reserved, 0);
}

static void bad_tail_is_full(struct kunit *test)
{
	struct world *w = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(nonsense); i++) {
		w->ucq.q->tail.val = nonsense[i];
		KUNIT_EXPECT_EQ(test, add(w, i), -EINVAL);
		KUNIT_EXPECT_EQ(test, w->ucq.q->head.val, 0U);
	}
	w->ucq.q->tail.val = 0;
	KUNIT_EXPECT_EQ(test, add(w, i), 0);
}

/* What the process writes there is overwritten, and never used. */
static void head_is_the_kernels(struct kunit *test)
{
	struct world *w = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(nonsense); i++) {
		w->ucq.q->head.val = nonsense[i];
		KUNIT_EXPECT_EQ(test, add(w, i), 0);
		KUNIT_EXPECT_EQ(test, w->ucq.q->head.val, (u32)(i + 1) % SIZE);
		w->ucq.q->tail.val = w->ucq.q->head.val;
	}
}

static void resize(struct kunit *test)
{
	struct world *w = test->priv;
	void *larger = kunit_kzalloc(test, sib_ucq_bytes(ENTRIES + 2), GFP_KERNEL);
	void *smaller = kunit_kzalloc(test, sib_ucq_bytes(1), GFP_KERNEL);
	void *before = w->ucq.q;
	u64 wr_id;
	int n;

	KUNIT_ASSERT_NOT_NULL(test, larger);
	KUNIT_ASSERT_NOT_NULL(test, smaller);
	w->ucq.head = ENTRIES - 1;	/* so that they wrap */
	w->ucq.q->tail.val = ENTRIES - 1;
	for (n = 0; n < ENTRIES; n++)
		KUNIT_ASSERT_EQ(test, add(w, n), 0);
	KUNIT_EXPECT_EQ(test, move(&w->ucq, smaller, 1), -EINVAL);
	for (n = 0; n < ARRAY_SIZE(nonsense); n++) {
		w->ucq.q->tail.val = nonsense[n];
		KUNIT_EXPECT_EQ(test, move(&w->ucq, larger, ENTRIES + 2), -EINVAL);
	}
	KUNIT_EXPECT_PTR_EQ(test, (void *)w->ucq.q, before);
	w->ucq.q->tail.val = ENTRIES - 1;
	KUNIT_ASSERT_EQ(test, move(&w->ucq, larger, ENTRIES + 2), 0);
	KUNIT_ASSERT_EQ(test, add(w, ENTRIES), 0);
	KUNIT_ASSERT_EQ(test, add(w, ENTRIES + 1), 0);
	KUNIT_EXPECT_EQ(test, add(w, ENTRIES + 2), -ENOSPC);
	for (n = 0; n < ENTRIES + 2; n++) {
		KUNIT_ASSERT_TRUE(test, poll(w, &wr_id));
		KUNIT_EXPECT_EQ(test, wr_id, (u64)n);
	}
	KUNIT_EXPECT_FALSE(test, poll(w, &wr_id));
}

/* Completions are added, and the process moves its tail, between two copies. */
static void completions_added_while_moving(struct kunit *test)
{
	struct world *w = test->priv;
	void *mem = kunit_kzalloc(test, sib_ucq_bytes(ENTRIES), GFP_KERNEL);
	struct sib_ucq_move m;
	u64 wr_id;
	int n;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	w->ucq.head = ENTRIES;	/* the next is at the beginning */
	w->ucq.q->tail.val = ENTRIES;
	KUNIT_ASSERT_EQ(test, add(w, 0), 0);
	KUNIT_ASSERT_EQ(test, sib_ucq_move_begin(&w->ucq, &m, mem, ENTRIES), 0);
	KUNIT_EXPECT_EQ(test, sib_ucq_move_left(&w->ucq, &m), 1U);
	KUNIT_ASSERT_EQ(test, sib_ucq_move_copy(&w->ucq, &m, 1), 0);
	KUNIT_ASSERT_EQ(test, add(w, 1), 0);
	KUNIT_ASSERT_EQ(test, add(w, 2), 0);
	KUNIT_EXPECT_EQ(test, sib_ucq_move_left(&w->ucq, &m), 2U);
	KUNIT_ASSERT_EQ(test, sib_ucq_move_copy(&w->ucq, &m, 2), 0);
	/* as if all had been polled: there is room, but not in the other memory */
	w->ucq.q->tail.val = w->ucq.head;
	KUNIT_ASSERT_EQ(test, add(w, 3), 0);
	KUNIT_EXPECT_EQ(test, sib_ucq_move_copy(&w->ucq, &m, 1), -EINVAL);
	sib_ucq_move_end(&w->ucq, &m);
	for (n = 0; n < ENTRIES; n++) {
		KUNIT_ASSERT_TRUE(test, poll(w, &wr_id));
		KUNIT_EXPECT_EQ(test, wr_id, (u64)n);
	}
	KUNIT_EXPECT_FALSE(test, poll(w, &wr_id));
}

static void requests_wrap(struct kunit *test)
{
	struct world *w = test->priv;
	u64 posted = 0, taken = 0;
	int round;

	for (round = 0; round < 3 * SIZE; round++) {
		while (post(w, posted, posted % (MAX_SGE + 1)))
			posted++;
		KUNIT_ASSERT_EQ(test, sib_urq_count(&w->urq), (u32)(posted - taken));
		do {
			KUNIT_ASSERT_TRUE(test, sib_urq_peek(&w->urq, w->to));
			KUNIT_ASSERT_EQ(test, w->to->wr_id, taken);
			KUNIT_ASSERT_EQ(test, w->to->num_sge, (u32)(taken % (MAX_SGE + 1)));
			sib_urq_pop(&w->urq);
			taken++;
		} while (posted - taken > round % ENTRIES);
	}
}

static void request_is_copied(struct kunit *test)
{
	struct world *w = test->priv;

	KUNIT_ASSERT_TRUE(test, post(w, 1000, 2));
	KUNIT_ASSERT_TRUE(test, sib_urq_peek(&w->urq, w->to));
	memset(request(w, 0), 0xFF, sizeof(struct rvt_rwqe));
	KUNIT_EXPECT_EQ(test, w->to->wr_id, 1000ULL);
	KUNIT_EXPECT_EQ(test, w->to->num_sge, 2U);
	KUNIT_EXPECT_EQ(test, w->to->length, 201U);
	KUNIT_EXPECT_EQ(test, w->to->sge[1].addr, 1001ULL);
	KUNIT_EXPECT_EQ(test, w->to->sge[1].length, 101U);
	KUNIT_EXPECT_EQ(test, w->to->sge[1].lkey, 8U);
}

static void length_does_not_wrap(struct kunit *test)
{
	struct world *w = test->priv;

	KUNIT_ASSERT_TRUE(test, post(w, 0, 2));
	request(w, 0)->sg_list[0].length = U32_MAX;
	request(w, 0)->sg_list[1].length = U32_MAX;
	KUNIT_ASSERT_TRUE(test, sib_urq_peek(&w->urq, w->to));
	KUNIT_EXPECT_EQ(test, w->to->length, U32_MAX);
}

static void bad_head_spoils(struct kunit *test)
{
	struct world *w = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(nonsense); i++) {
		w->urq.q->head = nonsense[i];
		KUNIT_EXPECT_EQ(test, sib_urq_count(&w->urq), 0U);
		KUNIT_EXPECT_FALSE(test, w->urq.spoilt);
		KUNIT_EXPECT_FALSE(test, sib_urq_peek(&w->urq, w->to));
		KUNIT_EXPECT_TRUE(test, w->urq.spoilt);
		w->urq.q->head = 1;
		KUNIT_EXPECT_FALSE(test, sib_urq_peek(&w->urq, w->to));
		KUNIT_EXPECT_EQ(test, sib_urq_count(&w->urq), 0U);
		sib_urq_reset(&w->urq);
		KUNIT_EXPECT_FALSE(test, sib_urq_peek(&w->urq, w->to));
		KUNIT_EXPECT_FALSE(test, w->urq.spoilt);
	}
	KUNIT_ASSERT_TRUE(test, post(w, 1, 1));
	KUNIT_EXPECT_TRUE(test, sib_urq_peek(&w->urq, w->to));
}

static void too_many_sge_spoil(struct kunit *test)
{
	struct world *w = test->priv;

	KUNIT_ASSERT_TRUE(test, post(w, 1, MAX_SGE + 1));
	KUNIT_EXPECT_FALSE(test, sib_urq_peek(&w->urq, w->to));
	KUNIT_EXPECT_TRUE(test, w->urq.spoilt);
	sib_urq_reset(&w->urq);
	KUNIT_ASSERT_TRUE(test, post(w, 1, U8_MAX));
	KUNIT_EXPECT_FALSE(test, sib_urq_peek(&w->urq, w->to));
	KUNIT_EXPECT_TRUE(test, w->urq.spoilt);
}

static void tail_is_the_kernels(struct kunit *test)
{
	struct world *w = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(nonsense); i++) {
		KUNIT_ASSERT_TRUE(test, post(w, i, 1));
		w->urq.q->tail = nonsense[i];
		KUNIT_ASSERT_TRUE(test, sib_urq_peek(&w->urq, w->to));
		KUNIT_EXPECT_EQ(test, w->to->wr_id, (u64)i);
		sib_urq_pop(&w->urq);
		KUNIT_EXPECT_EQ(test, w->urq.q->tail, (u32)(i + 1) % SIZE);
	}
}

static void scribble(struct rnd_state *rnd, void *mem, size_t bytes)
{
	u32 r = prandom_u32_state(rnd);

	/* mostly the indices, and mostly values that could be */
	*(u32 *)(mem + 4 * (r & 1 ? r >> 8 & 1 : (r >> 8) % (bytes / 4))) =
		r & 2 ? prandom_u32_state(rnd) % (SIZE + 1) : prandom_u32_state(rnd);
}

static void whatever_is_written(struct kunit *test)
{
	struct world *w = test->priv;
	struct rnd_state rnd;
	u32 i, n, taken = 0;

	prandom_seed_state(&rnd, SEED);
	for (i = 0; i < ROUNDS; i++) {
		scribble(&rnd, w->ucq.q, sib_ucq_bytes(ENTRIES));
		scribble(&rnd, w->urq.q, sib_urq_bytes(ENTRIES, MAX_SGE));
		add(w, i);
		KUNIT_ASSERT_LT(test, w->ucq.head, (u32)SIZE);
		KUNIT_ASSERT_LT(test, sib_urq_count(&w->urq), (u32)SIZE);
		/* nobody else writes meanwhile, so it is empty soon */
		for (n = 0; sib_urq_peek(&w->urq, w->to); n++) {
			KUNIT_ASSERT_LE(test, w->to->num_sge, (u32)MAX_SGE);
			KUNIT_ASSERT_LT(test, n, (u32)ENTRIES);
			sib_urq_pop(&w->urq);
			taken++;
		}
		KUNIT_ASSERT_LT(test, w->urq.tail, (u32)SIZE);
		if (w->urq.spoilt)
			sib_urq_reset(&w->urq);
	}
	KUNIT_EXPECT_GT(test, taken, 0U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(completions_wrap),
	KUNIT_CASE(completions_fill),
	KUNIT_CASE(completion_is_whole),
	KUNIT_CASE(bad_tail_is_full),
	KUNIT_CASE(head_is_the_kernels),
	KUNIT_CASE(resize),
	KUNIT_CASE(completions_added_while_moving),
	KUNIT_CASE(requests_wrap),
	KUNIT_CASE(request_is_copied),
	KUNIT_CASE(length_does_not_wrap),
	KUNIT_CASE(bad_head_spoils),
	KUNIT_CASE(too_many_sge_spoil),
	KUNIT_CASE(tail_is_the_kernels),
	KUNIT_CASE(whatever_is_written),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_uqueue",
	.init = world_init,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of queues that a process has mapped");
MODULE_LICENSE("Dual MIT/GPL");
