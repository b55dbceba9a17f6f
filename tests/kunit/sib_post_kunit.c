// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Posting to queues that refuse: those before the request that is named have been taken, none
 * behind it, at any position of a list; and queue pairs that refuse nothing take all.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "choice.c"
#include "limit.c"
#include "profile.c"
#include "ring.c"
#include "post.c"
#define list_len recv_list_len
#include "recv.c"
#undef list_len

#define LIST	6U	/* requests of the longest list */
#define LISTS	600U

/* One device with one queue pair; the numbers of requests count up. */
struct world {
	struct sib_dev dev;
	struct sib_qp qp;
	struct sib_ah ah;
	u64 next;
	u32 refused[LIST + 1][LIST];	/* by length of the list and position */
};

/* What the sources call. */
void sib_tx_queue(struct sib_qp *qp)
{
}

void sib_tx_now(struct sib_qp *qp, bool idle)
{
}

void sib_tx_note(struct sib_qp *qp)
{
}

int sib_sge_gather(const struct sib_mem_ctx *ctx, const struct ib_sge *sge, u32 num_sge, u32 skip,
		   void *to, u32 len, __wsum *sum)
{
	return 0;
}

int sib_sge_scatter(const struct sib_mem_ctx *ctx, const struct ib_sge *sge, u32 num_sge, u32 skip,
		    struct sk_buff *skb, unsigned int off, u32 len, __wsum *sum)
{
	return 0;
}

int sib_sge_write(const struct sib_mem_ctx *ctx, const struct ib_sge *sge, u32 num_sge, u32 skip,
		  const void *from, u32 len)
{
	return 0;
}

int sib_mem_fast_reg(const struct sib_mem_ctx *ctx, u32 key, int access, u64 iova, u64 length)
{
	return 0;
}

int sib_mem_invalidate(const struct sib_mem_ctx *ctx, u32 key)
{
	return 0;
}

void sib_cq_add(struct sib_cq *cq, const struct ib_wc *wc, bool solicited)
{
}

bool sib_urq_peek(struct sib_urq *urq, struct sib_rwqe *to)
{
	return false;
}

void sib_urq_pop(struct sib_urq *urq)
{
}

u32 sib_rq_count(const struct sib_rq *rq)
{
	return 0;
}

void sib_srq_taken(struct sib_srq *srq)
{
}

void sib_srq_spoilt(struct sib_srq *srq)
{
}

/* A device like that, whose queue pair may refuse what one of such a kind may. */
static struct world *make_for(struct kunit *test, const char *profile, u32 value,
			      enum ib_qp_type type, bool user)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->dev.profile = sib_profile_find(profile);
	w->dev.chooser.profile = w->dev.profile;
	w->dev.chooser.seed = value;
	w->qp.ibqp.device = &w->dev.ibdev;
	w->qp.ibqp.qp_type = IB_QPT_UD;
	w->qp.mem.kernel = true;
	w->qp.refuses = sib_choice_refuses(w->dev.profile, type, user);
	w->qp.attr.qp_state = IB_QPS_RTS;
	w->ah.ibah.device = &w->dev.ibdev;
	KUNIT_ASSERT_EQ(test, sib_ring_init(&w->qp.sq, NULL, LIST, 1, 0,
					    sizeof(struct sib_swqe)), 0);
	KUNIT_ASSERT_EQ(test, sib_ring_init(&w->qp.rq.ring, NULL, LIST, 1, 0,
					    sizeof(struct sib_rwqe)), 0);
	return w;
}

static struct world *make(struct kunit *test, const char *profile, u32 value)
{
	return make_for(test, profile, value, IB_QPT_UD, false);
}

static void unmake(struct world *w)
{
	sib_ring_free(&w->qp.sq);
	sib_ring_free(&w->qp.rq.ring);
}

/* Return: how many of a list of sends were taken. */
static u32 post_sends(struct kunit *test, struct world *w, u32 len)
{
	const struct ib_send_wr *bad = NULL;
	struct ib_ud_wr wr[LIST] = {};
	u32 i;
	int err;

	for (i = 0; i < len; i++) {
		wr[i].wr.opcode = IB_WR_SEND;
		wr[i].wr.wr_id = w->next + i;
		wr[i].wr.next = i + 1 < len ? &wr[i + 1].wr : NULL;
		wr[i].ah = &w->ah.ibah;
	}
	err = sib_post_send(&w->qp.ibqp, &wr[0].wr, &bad);
	KUNIT_EXPECT_EQ(test, err, bad ? -ENOMEM : 0);
	return bad ? ud_wr(bad) - wr : len;
}

static u32 post_recvs(struct kunit *test, struct world *w, u32 len)
{
	const struct ib_recv_wr *bad = NULL;
	struct ib_recv_wr wr[LIST] = {};
	u32 i;
	int err;

	for (i = 0; i < len; i++) {
		wr[i].wr_id = w->next + i;
		wr[i].next = i + 1 < len ? &wr[i + 1] : NULL;
	}
	err = sib_post_recv(&w->qp.ibqp, wr, &bad);
	KUNIT_EXPECT_TRUE(test, err == 0 || err == -ENOMEM);
	return err ? bad - wr : len;
}

/* Those that were taken are in the queue, in their order, and no others. */
static void expect_queued(struct kunit *test, struct world *w, bool sends, u32 taken)
{
	struct sib_ring *ring = sends ? &w->qp.sq : &w->qp.rq.ring;
	u32 i;

	for (i = 0; i < taken; i++) {
		void *wqe = sib_ring_peek(ring);

		KUNIT_ASSERT_NOT_NULL(test, wqe);
		KUNIT_EXPECT_EQ(test, w->next + i, sends ? ((struct sib_swqe *)wqe)->wr_id :
							   ((struct sib_rwqe *)wqe)->wr_id);
		sib_ring_pop(ring);
	}
	KUNIT_EXPECT_NULL(test, sib_ring_peek(ring));
}

static void post_lists(struct kunit *test, struct world *w, bool sends)
{
	u32 n, len, taken;

	for (n = 0; n < LISTS; n++) {
		len = 1 + n % LIST;
		taken = sends ? post_sends(test, w, len) : post_recvs(test, w, len);
		KUNIT_ASSERT_LE(test, taken, len);
		if (taken < len)
			w->refused[len][taken]++;
		expect_queued(test, w, sends, taken);
		w->next += len;
	}
}

static u32 refusals(const struct world *w)
{
	u32 len, at, n = 0;

	for (len = 1; len <= LIST; len++)
		for (at = 0; at < len; at++)
			n += w->refused[len][at];
	return n;
}

/* A list at each of its positions, the first one among them, and a request alone. */
static void at_any_position(struct kunit *test)
{
	struct world *w;
	u32 value, at, sends;

	for (sends = 0; sends < 2; sends++) {
		u32 seen[LIST] = {}, alone = 0;

		for (value = 1; value <= 20; value++) {
			w = make(test, "hostile", value);
			post_lists(test, w, sends);
			KUNIT_EXPECT_GT(test, refusals(w), 0U);
			KUNIT_EXPECT_LT(test, refusals(w), LISTS / 5);
			for (at = 0; at < LIST; at++)
				seen[at] += w->refused[LIST][at];
			alone += w->refused[1][0];
			unmake(w);
		}
		for (at = 0; at < LIST; at++)
			KUNIT_EXPECT_GT_MSG(test, seen[at], 0U, "position %u", at);
		KUNIT_EXPECT_GT(test, alone, 0U);
	}
}

/* Without a seed every 20th list, all but its first. */
static void by_count(struct kunit *test)
{
	struct world *w;
	u32 sends;

	for (sends = 0; sends < 2; sends++) {
		w = make(test, "hostile", 0);
		post_lists(test, w, sends);
		KUNIT_EXPECT_EQ(test, refusals(w), LISTS / 20);
		unmake(w);
	}
}

/* Other HCAs spare all; a hostile one ib_mad's queue pairs, and those of processes. */
static void who_is_spared(struct kunit *test)
{
	static const struct {
		const char *profile;
		enum ib_qp_type type;
		bool user;
		bool refused;
	} kinds[] = {
		{ "hostile", IB_QPT_UD, false, true },
		{ "hostile", IB_QPT_RC, false, true },
		{ "hostile", IB_QPT_UD, true, false },
		{ "hostile", IB_QPT_RC, true, false },
		{ "hostile", IB_QPT_SMI, false, false },
		{ "hostile", IB_QPT_GSI, false, false },
		{ "hostile", IB_QPT_UC, false, false },
		{ "mlx4", IB_QPT_UD, false, false },
		{ "sib", IB_QPT_RC, false, false },
	};
	struct world *w;
	u32 sends, i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (sends = 0; sends < 2; sends++) {
			w = make_for(test, kinds[i].profile, 7, kinds[i].type, kinds[i].user);
			post_lists(test, w, sends);
			KUNIT_EXPECT_EQ_MSG(test, refusals(w) > 0, kinds[i].refused,
					    "%s, kind %u", kinds[i].profile, i);
			unmake(w);
		}
	}
}

/* Nor is a queue pair that spares its consumer looked at: it takes all, and counts nothing. */
static void spared_by_itself(struct kunit *test)
{
	struct world *w = make(test, "hostile", 7);

	post_lists(test, w, true);
	KUNIT_EXPECT_GT(test, refusals(w), 0U);
	KUNIT_EXPECT_EQ(test, w->qp.send_posts, LISTS);
	memset(w->refused, 0, sizeof(w->refused));
	w->qp.refuses = false;		/* as that of sib's netdev */
	post_lists(test, w, true);
	post_lists(test, w, false);
	KUNIT_EXPECT_EQ(test, refusals(w), 0U);
	KUNIT_EXPECT_EQ(test, w->qp.send_posts, LISTS);
	KUNIT_EXPECT_EQ(test, w->qp.recv_posts, 0U);
	unmake(w);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(at_any_position),
	KUNIT_CASE(by_count),
	KUNIT_CASE(who_is_spared),
	KUNIT_CASE(spared_by_itself),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_post",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of posting to queues that refuse");
MODULE_LICENSE("Dual MIT/GPL");
