// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Requests to receive, of connections: that none is lost when the HCA refuses some, at any
 * place of a list. The HCA is a fake.
 */
#define CONFIG_OPENIPOIB_CM 1
#include "ipoib_world.h"

static int fake_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
			      const struct ib_recv_wr **bad);
static int fake_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad);

#define ib_post_srq_recv fake_post_srq_recv
#define ib_post_recv fake_post_recv
#include "dest.c"
#include "cm_post.c"

#define SLOTS	(3 * IPOIB_POLL_BATCH + 5)

static struct {
	struct ipoib_cm cm;
	struct ipoib_cm_rx_slot slots[SLOTS];
	u32 posted[SLOTS];		/* how often the HCA has each buffer */
	u32 takes;			/* requests that it takes of a list */
	u32 held;			/* by the connection's count */
	u32 sends;			/* refused, of which there are none */
	u32 ran_dry;			/* how often it has counted none */
} hca;

static int take(const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	u32 left = hca.takes;

	for (; wr; wr = wr->next, left--) {
		if (!left) {
			*bad = wr;
			return -ENOMEM;
		}
		hca.posted[wr->wr_id]++;
	}
	return 0;
}

static int fake_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
			      const struct ib_recv_wr **bad)
{
	return take(wr, bad);
}

static int fake_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	return take(wr, bad);
}

void ipoib_cm_doorbell(struct ipoib_txq *txq)
{
}

void ipoib_cm_port_lost(struct ipoib_intf *intf)
{
}

void ipoib_cm_rx_returned(struct ipoib_cm_rx *rx)
{
	hca.held--;
	hca.ran_dry += !hca.held;
}

void ipoib_cm_rx_given(struct ipoib_cm_rx *rx)
{
	hca.held++;
}

struct ipoib_cm_rx_bufs *ipoib_cm_rx_bufs(struct ipoib_cm_rx *rx)
{
	return &hca.cm.rxq.bufs;
}

bool ipoib_refused(struct ipoib_intf *intf, struct ipoib_refused *refused, bool send, int err,
		   bool some)
{
	hca.sends += send;
	return true;
}

static int setup(struct kunit *test)
{
	struct ipoib_cm_rxq *rxq = &hca.cm.rxq;
	int err = world_create(test);

	if (err)
		return err;
	memset(&hca, 0, sizeof(hca));
	hca.cm.intf = world->intf;
	hca.takes = SLOTS;
	rxq->cm = &hca.cm;
	rxq->shared = true;
	rxq->sges = IPOIB_CM_RX_SGE;
	rxq->bufs.refused = IPOIB_NO_SLOT;
	rxq->bufs.slots = hca.slots;
	rxq->bufs.size = SLOTS;
	ipoib_cm_post_init(rxq);
	return 0;
}

static void teardown(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, hca.sends, 0U);
	world_destroy(test);
}

static void post_all(struct ib_qp *qp)
{
	struct ipoib_cm_rxq *rxq = &hca.cm.rxq;
	u32 i;

	for (i = 0; i < SLOTS; i++)
		ipoib_cm_post(rxq, &rxq->bufs, i, qp);
	ipoib_cm_post_batch(rxq);
}

static u32 have_once(void)
{
	u32 i, n = 0;

	for (i = 0; i < SLOTS; i++)
		n += hca.posted[i] == 1;
	return n;
}

static void none_is_refused(struct kunit *test)
{
	post_all(NULL);
	KUNIT_EXPECT_EQ(test, have_once(), (u32)SLOTS);
	KUNIT_EXPECT_EQ(test, hca.cm.rxq.bufs.refused, IPOIB_NO_SLOT);
}

/* At each place of a list in turn; what is refused again waits again. */
static void what_is_refused_is_posted_again(struct kunit *test)
{
	struct ipoib_cm_rxq *rxq = &hca.cm.rxq;
	u32 takes, polls;

	for (takes = 0; takes < IPOIB_POLL_BATCH; takes++) {
		memset(hca.posted, 0, sizeof(hca.posted));
		hca.takes = takes;
		post_all(NULL);
		KUNIT_EXPECT_LT(test, have_once(), (u32)SLOTS);
		KUNIT_EXPECT_NE(test, rxq->bufs.refused, IPOIB_NO_SLOT);
		ipoib_cm_post_refused(rxq, &rxq->bufs, NULL);
		hca.takes = SLOTS;
		for (polls = 0; polls < SLOTS && rxq->bufs.refused != IPOIB_NO_SLOT; polls++)
			ipoib_cm_post_refused(rxq, &rxq->bufs, NULL);
		KUNIT_EXPECT_EQ_MSG(test, have_once(), (u32)SLOTS, "%u taken of a list", takes);
	}
}

/*
 * Those of a queue pair of its own have come back to the connection, and are given to it again:
 * it counts none only if the HCA has none.
 */
static void what_has_come_back_is_posted_again(struct kunit *test)
{
	struct ipoib_cm_rxq *rxq = &hca.cm.rxq;
	struct ib_qp qp = { .qp_context = &hca };
	u32 takes;

	rxq->shared = false;
	for (takes = 0; takes < IPOIB_POLL_BATCH; takes++) {
		memset(hca.posted, 0, sizeof(hca.posted));
		hca.held = SLOTS;
		hca.ran_dry = 0;
		hca.takes = takes;
		post_all(&qp);
		KUNIT_EXPECT_EQ(test, have_once(), hca.held);
		KUNIT_EXPECT_LT(test, hca.held, (u32)SLOTS);
		KUNIT_EXPECT_EQ(test, hca.ran_dry, (u32)!takes);
		ipoib_cm_post_refused(rxq, &rxq->bufs, &qp);
		KUNIT_EXPECT_EQ(test, have_once(), hca.held);
		KUNIT_EXPECT_EQ(test, hca.ran_dry, 2U * !takes);
		hca.takes = SLOTS;
		ipoib_cm_post_refused(rxq, &rxq->bufs, &qp);
		KUNIT_EXPECT_EQ_MSG(test, have_once(), (u32)SLOTS, "%u taken of a list", takes);
		KUNIT_EXPECT_EQ(test, hca.held, (u32)SLOTS);
		KUNIT_EXPECT_EQ(test, rxq->bufs.refused, IPOIB_NO_SLOT);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(none_is_refused),
	KUNIT_CASE(what_is_refused_is_posted_again),
	KUNIT_CASE(what_has_come_back_is_posted_again),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_cm_post",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: receive requests of connections");
