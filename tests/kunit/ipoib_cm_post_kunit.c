// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Requests to receive, of connections: that none is lost when the HCA refuses some, at any
 * place of a list, and what a connection, or all of them, are given up for. The HCA is a fake.
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
#include "refused.c"

#define SLOTS	(3 * IPOIB_POLL_BATCH + 5)
#define PARTS	2

/* A connection with buffers of its own */
struct part {
	struct ib_qp qp;
	struct ipoib_cm_rx_bufs bufs;
	u32 posted[SLOTS];	/* how often the HCA has each of them */
	u32 held;		/* by the connection's count */
	u32 ran_dry;		/* how often it has counted none */
	u32 failed;
	bool ends;
};

static struct {
	struct ipoib_cm cm;
	struct ipoib_cm_rx_slot slots[1 + PARTS][SLOTS];
	struct part parts[PARTS];
	u32 posted[SLOTS];	/* of the shared buffers */
	u32 takes;		/* requests that it takes of a list */
	u32 lists;		/* that it has been given */
	int error;
	bool names_none;	/* it does not say which one it has refused */
} hca;

static int take(u32 *posted, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	u32 left = hca.takes;

	hca.lists++;
	for (; wr; wr = wr->next, left--) {
		if (!left) {
			*bad = hca.names_none ? NULL : wr;
			return hca.error;
		}
		posted[wr->wr_id]++;
	}
	return 0;
}

static int fake_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
			      const struct ib_recv_wr **bad)
{
	return take(hca.posted, wr, bad);
}

static int fake_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	return take(container_of(qp, struct part, qp)->posted, wr, bad);
}

void ipoib_cm_doorbell(struct ipoib_txq *txq)
{
}

void ipoib_cm_port_lost(struct ipoib_intf *intf)
{
}

void ipoib_tx_post_refused(struct ipoib_txq *txq)
{
}

void ipoib_rx_post_refused(struct ipoib_rxq *rxq)
{
}

void ipoib_cm_post_again(struct ipoib_intf *intf)
{
}

/* What the connection is to cm_post.c is the part here. */
static struct part *part_of(const struct ipoib_cm_rx *rx)
{
	return (struct part *)rx;
}

bool ipoib_cm_rx_receives(const struct ipoib_cm_rx *rx)
{
	return !part_of(rx)->ends;
}

void ipoib_cm_rx_returned(struct ipoib_cm_rx *rx)
{
	part_of(rx)->ran_dry += !--part_of(rx)->held;
}

void ipoib_cm_rx_failed(struct ipoib_cm_rx *rx)
{
	part_of(rx)->failed++;
}

static void bufs_init(struct ipoib_cm_rx_bufs *bufs, u32 number, struct ib_qp *qp)
{
	bufs->slots = hca.slots[number];
	bufs->size = SLOTS;
	bufs->waiting = IPOIB_NO_SLOT;
	bufs->qp = qp;
}

static int setup(struct kunit *test)
{
	struct ipoib_cm_rxq *rxq = &hca.cm.rxq;
	int err = world_create(test);
	u32 i;

	if (err)
		return err;
	memset(&hca, 0, sizeof(hca));
	ipoib_refused_init(world->intf);
	hca.cm.intf = world->intf;
	hca.takes = SLOTS;
	hca.error = -ENOMEM;
	rxq->cm = &hca.cm;
	rxq->shared = true;
	rxq->sges = IPOIB_CM_RX_SGE;
	init_llist_head(&rxq->waiting);
	bufs_init(&rxq->bufs, PARTS, NULL);
	rxq->bufs.refused.keeps = true;
	for (i = 0; i < PARTS; i++) {
		hca.parts[i].qp.qp_context = &hca.parts[i];
		bufs_init(&hca.parts[i].bufs, i, &hca.parts[i].qp);
		hca.parts[i].held = SLOTS;
	}
	ipoib_cm_post_init(rxq);
	return 0;
}

static void teardown(struct kunit *test)
{
	ipoib_refused_stop(world->intf);
	KUNIT_EXPECT_EQ(test, atomic64_read(&world->intf->sends_refused), 0LL);
	world_destroy(test);
}

static void post_all(struct ipoib_cm_rx_bufs *bufs)
{
	u32 i;

	for (i = 0; i < SLOTS; i++)
		ipoib_cm_post(&hca.cm.rxq, bufs, i);
	ipoib_cm_post_batch(&hca.cm.rxq);
}

static u32 have_once(const u32 *posted)
{
	u32 i, n = 0;

	for (i = 0; i < SLOTS; i++)
		n += posted[i] == 1;
	return n;
}

/* As NAPI does, so often; a HCA that refuses has done so for a while. */
static void post_waiting(struct ipoib_cm_rx_bufs *bufs, u32 times, unsigned long ago)
{
	while (times-- && !llist_empty(&hca.cm.rxq.waiting)) {
		bufs->refused.since = jiffies - ago;
		bufs->refused.last = bufs->refused.since;
		ipoib_cm_post_waiting(&hca.cm.rxq);
	}
}

static void none_is_refused(struct kunit *test)
{
	post_all(&hca.cm.rxq.bufs);
	KUNIT_EXPECT_EQ(test, have_once(hca.posted), (u32)SLOTS);
	KUNIT_EXPECT_EQ(test, hca.cm.rxq.bufs.waiting, IPOIB_NO_SLOT);
	KUNIT_EXPECT_TRUE(test, llist_empty(&hca.cm.rxq.waiting));
}

/* At each place of a list in turn; what is refused again waits again. */
static void what_is_refused_is_posted_again(struct kunit *test)
{
	struct ipoib_cm_rx_bufs *bufs = &hca.cm.rxq.bufs;
	u32 takes;

	for (takes = 0; takes < IPOIB_POLL_BATCH; takes++) {
		memset(hca.posted, 0, sizeof(hca.posted));
		hca.takes = takes;
		post_all(bufs);
		KUNIT_EXPECT_LT(test, have_once(hca.posted), (u32)SLOTS);
		KUNIT_EXPECT_NE(test, bufs->waiting, IPOIB_NO_SLOT);
		KUNIT_EXPECT_GE(test, world_due(&world->intf->refused_work), 0);
		post_waiting(bufs, 1, 0);
		hca.takes = SLOTS;
		post_waiting(bufs, 1, 0);
		KUNIT_EXPECT_EQ_MSG(test, have_once(hca.posted), (u32)SLOTS, "%u taken of a list",
				    takes);
		KUNIT_EXPECT_EQ(test, bufs->waiting, IPOIB_NO_SLOT);
		KUNIT_EXPECT_TRUE(test, llist_empty(&hca.cm.rxq.waiting));
	}
}

/* A HCA that has no room is asked once in a pass, not for each list that waits. */
static void a_pass_ends_where_one_is_refused(struct kunit *test)
{
	struct ipoib_cm_rx_bufs *bufs = &hca.cm.rxq.bufs;

	hca.takes = 0;
	post_all(bufs);
	hca.lists = 0;
	post_waiting(bufs, 1, 0);
	KUNIT_EXPECT_EQ(test, hca.lists, 1U);
	hca.takes = 1;
	post_waiting(bufs, 1, 0);
	KUNIT_EXPECT_EQ(test, hca.lists, 2U);
	KUNIT_EXPECT_EQ(test, have_once(hca.posted), 1U);
	hca.takes = SLOTS;
	post_waiting(bufs, 1, 0);
	KUNIT_EXPECT_EQ(test, have_once(hca.posted), (u32)SLOTS);
}

/* All connections depend on it, and none makes another one. */
static void the_shared_queue_is_never_given_up(struct kunit *test)
{
	struct ipoib_cm_rx_bufs *bufs = &hca.cm.rxq.bufs;
	static const int errors[] = { -ENOMEM, -EIO };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		memset(hca.posted, 0, sizeof(hca.posted));
		hca.takes = 0;
		hca.error = errors[i];
		post_all(bufs);
		post_waiting(bufs, 100, 2 * HZ);
		KUNIT_EXPECT_EQ(test, have_once(hca.posted), 0U);
		cancel_delayed_work_sync(&world->intf->refused_work);
		post_waiting(bufs, 1, 2 * HZ);
		KUNIT_EXPECT_GE(test, world_due(&world->intf->refused_work), 0);
		hca.takes = SLOTS;
		post_waiting(bufs, 1, 0);
		KUNIT_EXPECT_EQ(test, have_once(hca.posted), (u32)SLOTS);
	}
}

/*
 * Those of a connection's own are still its own while they wait: it lives, and has none left
 * only when the HCA has failed it. NAPI posts them again with nothing that comes.
 */
static void a_connection_outlives_refusals(struct kunit *test)
{
	struct part *one = &hca.parts[0], *other = &hca.parts[1];
	u32 takes;

	hca.cm.rxq.shared = false;
	for (takes = 0; takes < IPOIB_POLL_BATCH; takes++) {
		memset(one->posted, 0, sizeof(one->posted));
		memset(other->posted, 0, sizeof(other->posted));
		hca.takes = takes;
		post_all(&one->bufs);
		post_all(&other->bufs);
		KUNIT_EXPECT_LT(test, have_once(one->posted), (u32)SLOTS);
		post_waiting(&one->bufs, 3, 2 * HZ);
		hca.takes = SLOTS;
		post_waiting(&one->bufs, 1, 0);
		KUNIT_EXPECT_EQ_MSG(test, have_once(one->posted), (u32)SLOTS, "%u taken of a list",
				    takes);
		KUNIT_EXPECT_EQ(test, have_once(other->posted), (u32)SLOTS);
		KUNIT_EXPECT_EQ(test, one->held + other->held, 2U * SLOTS);
		KUNIT_EXPECT_EQ(test, one->failed + other->failed, 0U);
		KUNIT_EXPECT_TRUE(test, llist_empty(&hca.cm.rxq.waiting));
	}
}

/* For good, or for a second and often: with the buffers of that list, and no other connection. */
static void a_connection_is_given_up(struct kunit *test)
{
	struct part *one = &hca.parts[0], *other = &hca.parts[1];
	struct ipoib_cm_rxq *rxq = &hca.cm.rxq;

	rxq->shared = false;
	hca.takes = 0;
	ipoib_cm_post(rxq, &one->bufs, 0);
	ipoib_cm_post(rxq, &one->bufs, 1);
	ipoib_cm_post(rxq, &other->bufs, 0);
	ipoib_cm_post_batch(rxq);
	post_waiting(&one->bufs, 50, 0);
	KUNIT_EXPECT_EQ(test, one->failed, 0U);
	post_waiting(&one->bufs, 1, 2 * HZ);
	KUNIT_EXPECT_EQ(test, one->failed, 0U);
	post_waiting(&one->bufs, 50, 2 * HZ);
	KUNIT_EXPECT_EQ(test, one->failed, 1U);
	KUNIT_EXPECT_EQ(test, one->held, SLOTS - 2U);
	KUNIT_EXPECT_EQ(test, other->failed, 0U);
	KUNIT_EXPECT_EQ(test, other->held, (u32)SLOTS);
	hca.error = -EIO;
	post_waiting(&other->bufs, 1, 0);
	KUNIT_EXPECT_EQ(test, other->failed, 1U);
	KUNIT_EXPECT_EQ(test, other->held, SLOTS - 1U);
	KUNIT_EXPECT_TRUE(test, llist_empty(&rxq->waiting));
}

/* It has drained with the last one that waits, and nobody posts any of them. */
static void what_waits_is_returned_at_the_end(struct kunit *test)
{
	struct part *part = &hca.parts[0];

	hca.cm.rxq.shared = false;
	hca.takes = 0;
	post_all(&part->bufs);
	hca.takes = SLOTS;
	part->ends = true;
	post_waiting(&part->bufs, 1, 0);
	KUNIT_EXPECT_EQ(test, have_once(part->posted), 0U);
	KUNIT_EXPECT_EQ(test, part->held, 0U);
	KUNIT_EXPECT_EQ(test, part->ran_dry, 1U);
	KUNIT_EXPECT_TRUE(test, llist_empty(&hca.cm.rxq.waiting));
}

/* What a command has had refused is for NAPI once the queue pair receives. */
static void what_waits_from_the_beginning(struct kunit *test)
{
	struct part *part = &hca.parts[0];
	u32 i;

	hca.cm.rxq.shared = false;
	for (i = 0; i < SLOTS; i++)
		ipoib_cm_post_wait(&part->bufs, i);
	KUNIT_EXPECT_TRUE(test, llist_empty(&hca.cm.rxq.waiting));
	ipoib_cm_post_ready(&hca.cm.rxq, &part->bufs);
	KUNIT_EXPECT_GE(test, world_due(&world->intf->refused_work), 0);
	post_waiting(&part->bufs, 1, 0);
	KUNIT_EXPECT_EQ(test, have_once(part->posted), (u32)SLOTS);
}

/* One that is gone is not looked at, the others are; in the end none is. */
static void buffers_that_are_gone(struct kunit *test)
{
	struct part *one = &hca.parts[0], *other = &hca.parts[1];
	struct ipoib_cm_rxq *rxq = &hca.cm.rxq;

	rxq->shared = false;
	hca.takes = 0;
	post_all(&one->bufs);
	post_all(&other->bufs);
	ipoib_cm_post_forget(rxq, &one->bufs);
	memset(&one->bufs, 0xA5, sizeof(one->bufs));
	hca.takes = SLOTS;
	post_waiting(&other->bufs, 1, 0);
	KUNIT_EXPECT_EQ(test, have_once(one->posted), 0U);
	KUNIT_EXPECT_EQ(test, have_once(other->posted), (u32)SLOTS);
	hca.takes = 0;
	post_all(&other->bufs);
	rxq->bufs.refused.none = 1000;
	ipoib_cm_post_stop(rxq);
	KUNIT_EXPECT_TRUE(test, llist_empty(&rxq->waiting));
	KUNIT_EXPECT_EQ(test, rxq->bufs.refused.none, 0U);
	KUNIT_EXPECT_EQ(test, rxq->refill, 0U);
}

/* Some HCAs do not say which request they have refused: the first one then. */
static void refusals_that_name_no_request(struct kunit *test)
{
	struct ipoib_cm_rx_bufs *bufs = &hca.cm.rxq.bufs;

	hca.takes = 0;
	hca.names_none = true;
	post_all(bufs);
	KUNIT_EXPECT_EQ(test, have_once(hca.posted), 0U);
	hca.takes = SLOTS;
	post_waiting(bufs, 1, 0);
	KUNIT_EXPECT_EQ(test, have_once(hca.posted), (u32)SLOTS);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(none_is_refused),
	KUNIT_CASE(what_is_refused_is_posted_again),
	KUNIT_CASE(a_pass_ends_where_one_is_refused),
	KUNIT_CASE(the_shared_queue_is_never_given_up),
	KUNIT_CASE(a_connection_outlives_refusals),
	KUNIT_CASE(a_connection_is_given_up),
	KUNIT_CASE(what_waits_is_returned_at_the_end),
	KUNIT_CASE(what_waits_from_the_beginning),
	KUNIT_CASE(buffers_that_are_gone),
	KUNIT_CASE(refusals_that_name_no_request),
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
