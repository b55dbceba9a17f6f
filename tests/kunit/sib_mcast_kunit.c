// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Copies of a packet to a group: all that are attached get one, the kernel's queue pairs in
 * any case, those of processes as far as the port may copy, none of them more than half.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "limit.c"
#include "mcast.c"
#include "profile.c"

#define MLID	0xC001
#define LEN	2048
#define MEMBERS	4

/* struct member - a QP of the group */
struct member {
	struct sib_qp qp;
	bool takes;		/* it has a receive request */
	unsigned int copies;
};

struct world {
	struct sib_dev dev;
	struct sib_share one;
	struct sib_share other;
	struct member members[MEMBERS];
	struct sib_pkt pkt;
};

bool sib_ud_recv(struct sib_port *port, struct sib_qp *qp, const struct sib_pkt *pkt,
		 struct sk_buff *skb, unsigned int off)
{
	struct member *member = container_of(qp, struct member, qp);

	member->copies += member->takes;
	return member->takes;
}

static int world_init(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	spin_lock_init(&w->dev.port.lock);
	w->dev.profile = sib_profile_find("sib");
	sib_limit_init(&w->dev.limit, w->dev.profile->max_srq, w->dev.profile->max_mcast);
	w->pkt.ghdr.dgid.global.subnet_prefix = cpu_to_be64(0xFF12401BFFFF0000ULL);
	w->pkt.dlid = MLID;
	w->pkt.len = LEN;
	test->priv = w;
	return 0;
}

static struct member *join(struct kunit *test, int number, struct sib_share *share)
{
	struct world *w = test->priv;
	struct member *member = &w->members[number];

	member->takes = true;
	member->qp.share = share;
	member->qp.ibqp.device = &w->dev.ibdev;
	KUNIT_ASSERT_EQ(test, sib_attach_mcast(&member->qp.ibqp, &w->pkt.ghdr.dgid, MLID), 0);
	return member;
}

static void leave(struct world *w)
{
	int i;

	for (i = 0; i < MEMBERS; i++)
		if (w->members[i].qp.mcast)
			sib_detach_mcast(&w->members[i].qp.ibqp, &w->pkt.ghdr.dgid, MLID);
}

static void world_exit(struct kunit *test)
{
	if (test->priv)
		leave(test->priv);
}

/* One turn of the port, with so many packets */
static void turn(struct kunit *test, unsigned int packets)
{
	struct world *w = test->priv;
	struct sib_port *port = &w->dev.port;

	spin_lock_bh(&port->lock);
	port->copies_left = SIB_COPY_BUDGET;
	port->copies_turn++;
	while (packets--)
		KUNIT_EXPECT_TRUE(test, sib_mcast_recv(port, &w->pkt, NULL, 0));
	spin_unlock_bh(&port->lock);
}

/* Who has posted no receive request costs nothing, and keeps no copy from the others. */
static void only_copies_count(struct kunit *test)
{
	unsigned int packets = SIB_COPY_BUDGET / LEN / 2;
	struct world *w = test->priv;
	struct member *taker = join(test, 0, &w->one);
	int i;

	for (i = 1; i < MEMBERS; i++)
		join(test, i, i % 2 ? &w->one : &w->other)->takes = false;
	turn(test, packets);
	KUNIT_EXPECT_EQ(test, taker->copies, packets);
	KUNIT_EXPECT_EQ(test, w->dev.port.stats.rx_mcast_limit, 0ULL);
	KUNIT_EXPECT_EQ(test, w->dev.port.copies_left, (s32)(SIB_COPY_BUDGET - packets * LEN));
}

/* A process has half of what may be copied, whatever it attaches; the other has its half. */
static void half_each(struct kunit *test)
{
	unsigned int half = SIB_COPY_BUDGET / LEN / 2, packets = 2 * half;
	struct world *w = test->priv;
	struct member *other = join(test, 0, &w->other);
	unsigned int copies = 0;
	int i;

	for (i = 1; i < MEMBERS; i++)
		join(test, i, &w->one);
	turn(test, packets);
	for (i = 1; i < MEMBERS; i++)
		copies += w->members[i].copies;
	KUNIT_EXPECT_EQ(test, copies, half);
	KUNIT_EXPECT_EQ(test, other->copies, half);
	KUNIT_EXPECT_EQ(test, w->dev.port.stats.rx_mcast_limit,
			(u64)(MEMBERS * packets - 2 * half));
	turn(test, 1);
	KUNIT_EXPECT_EQ(test, other->copies, half + 1);
}

/* The kernel's QPs get all of them. */
static void kernel_first(struct kunit *test)
{
	unsigned int packets = SIB_COPY_BUDGET / LEN;
	struct world *w = test->priv;
	struct member *kernel = join(test, 0, NULL);

	join(test, 1, &w->one);
	join(test, 2, &w->other);
	turn(test, packets);
	KUNIT_EXPECT_EQ(test, kernel->copies, packets);
}

/* A QP that has asked for that does not get what it has sent itself. */
static void not_to_the_sender(struct kunit *test)
{
	struct world *w = test->priv;
	struct member *sender = join(test, 0, NULL), *other = join(test, 1, NULL);

	w->dev.port.sma.lid = 5;
	sender->qp.ibqp.qp_num = 7;
	sender->qp.block_own = true;
	other->qp.ibqp.qp_num = 8;
	other->qp.block_own = true;
	w->pkt.slid = 5;
	w->pkt.sqpn = 7;
	spin_lock_bh(&w->dev.port.lock);
	KUNIT_EXPECT_TRUE(test, sib_mcast_recv(&w->dev.port, &w->pkt, NULL, 0));
	w->pkt.slid = 6;	/* another port's of this number */
	KUNIT_EXPECT_TRUE(test, sib_mcast_recv(&w->dev.port, &w->pkt, NULL, 0));
	spin_unlock_bh(&w->dev.port.lock);
	KUNIT_EXPECT_EQ(test, sender->copies, 1U);
	KUNIT_EXPECT_EQ(test, other->copies, 2U);
	leave(w);
}

/* HCAs of rdmavt mind the queue pair's state, and which MLID a group has. */
static void strict(struct kunit *test)
{
	struct world *w = test->priv;
	union ib_gid *gid = &w->pkt.ghdr.dgid;
	struct ib_qp *first = &w->members[0].qp.ibqp, *second = &w->members[1].qp.ibqp;

	w->dev.profile = sib_profile_find("omnipath");
	first->device = &w->dev.ibdev;
	second->device = &w->dev.ibdev;
	KUNIT_EXPECT_EQ(test, sib_attach_mcast(first, gid, MLID), -EINVAL);
	w->members[0].qp.attr.qp_state = IB_QPS_INIT;
	w->members[1].qp.attr.qp_state = IB_QPS_INIT;
	KUNIT_EXPECT_EQ(test, sib_attach_mcast(first, gid, MLID), 0);
	KUNIT_EXPECT_EQ(test, sib_attach_mcast(second, gid, MLID + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, sib_attach_mcast(second, gid, MLID), 0);
	KUNIT_EXPECT_EQ(test, sib_detach_mcast(second, gid, MLID), 0);
	KUNIT_EXPECT_EQ(test, sib_detach_mcast(first, gid, MLID), 0);
	KUNIT_EXPECT_EQ(test, sib_attach_mcast(second, gid, MLID + 1), 0);
	KUNIT_EXPECT_EQ(test, sib_detach_mcast(second, gid, MLID + 1), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(not_to_the_sender),
	KUNIT_CASE(only_copies_count),
	KUNIT_CASE(half_each),
	KUNIT_CASE(kernel_first),
	KUNIT_CASE(strict),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_mcast",
	.init = world_init,
	.exit = world_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
MODULE_DESCRIPTION("KUnit suite of copies of packets to groups");
MODULE_LICENSE("Dual MIT/GPL");
