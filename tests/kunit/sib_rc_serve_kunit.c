// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The responder: READ and atomic requests, served, served again, and refused.
 */
#include "sib_rc_resp_world.h"

static void reads(struct kunit *test)
{
	struct end *e = start_end(test);

	fill_mem(e);
	post_recv(e, 0, 16);
	ask_read(e, at(0), 0, 700);
	take(e, SIB_OP_SEND_ONLY, at(3), 3);
	read_is(e, at(0), 0, 700);
	/* the answer to what came later follows */
	expect_aeth(e, at(3), UNLIMITED, 2);
	/* nothing, an MTU, a byte more */
	ask_read(e, at(4), 0, 0);
	ask_read(e, at(5), 0, 256);
	ask_read(e, at(6), 0, 257);
	run(e);
	expect(e, SIB_OP_READ_ONLY, at(4));
	read_is(e, at(5), 0, 256);
	read_is(e, at(6), 0, 257);
	expect_nothing(e);
}

/* A READ again: as a whole, from each of its packets on, and nothing but that */
static void read_duplicates(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt;
	u32 i;

	fill_mem(e);
	ask_read(e, at(0), 0, 700);
	run(e);
	read_is(e, at(0), 0, 700);
	for (i = 0; i < 3; i++) {
		ask_read(e, at(i), i * 256, 700);
		run(e);
		read_is(e, at(i), i * 256, 700);
		expect_nothing(e);
	}
	/* beyond the original range, before it, another key, another length */
	ask_read(e, at(0), 0, 701);
	ask_read(e, at(0), 0, 699);
	ask_read(e, at(1), 0, 444);
	ask_read(e, at(1), 256, 800);
	ask_read(e, sib_psn_add(at(0), SIB_PSN_MASK), 0, 700);
	pkt = request(SIB_OP_READ_REQUEST, at(0), 0);
	pkt.rlen = 700;
	pkt.rkey = RKEY + 1;
	give(e, &pkt);
	pkt = request(SIB_OP_FETCH_ADD, at(0), 0);
	give(e, &pkt);
	expect_nothing(e);
	KUNIT_EXPECT_EQ(test, e->atomics, 0U);
	KUNIT_EXPECT_FALSE(test, e->dead);
	/* changed memory: it is read, not remembered */
	e->mem[1024] ^= 0xFF;
	ask_read(e, at(0), 0, 700);
	run(e);
	read_is(e, at(0), 0, 700);
	expect_nothing(e);
}

/* A duplicate while its answer is under way goes back there, no more. */
static void read_duplicate_in_progress(struct kunit *test)
{
	struct end *e = start_end(test);

	fill_mem(e);
	ask_read(e, at(0), 0, 1000);
	ask_read(e, at(4), 0, 256);
	KUNIT_EXPECT_EQ(test, sib_rc_run(&e->rc, 2, false, e->now), 2);
	expect(e, SIB_OP_READ_FIRST, at(0));
	expect(e, SIB_OP_READ_MIDDLE, at(1));
	ask_read(e, at(4), 0, 256);	/* will be answered anyway */
	ask_read(e, at(1), 256, 1000);
	run(e);
	expect(e, SIB_OP_READ_MIDDLE, at(1));
	expect(e, SIB_OP_READ_MIDDLE, at(2));
	expect(e, SIB_OP_READ_LAST, at(3));
	read_is(e, at(4), 0, 256);
	expect_nothing(e);
}

static void ask_atomic(struct end *e, u8 opcode, u32 psn, u64 swap_add, u64 compare)
{
	struct sib_pkt pkt = request(opcode, psn, 0);

	pkt.swap_add = swap_add;
	pkt.compare = compare;
	give(e, &pkt);
	run(e);
}

static void expect_atomic(struct end *e, u32 psn, u64 orig)
{
	struct sib_pkt pkt = expect(e, SIB_OP_ATOMIC_ACK, psn);

	KUNIT_EXPECT_EQ(e->test, pkt.orig, orig);
}

/* Executed once, whatever happens; duplicates get the result of that time. */
static void atomics(struct kunit *test)
{
	struct end *e = start_end(test);
	u64 *at_va = (u64 *)(e->mem + 1024);
	int i;

	*at_va = 100;
	ask_atomic(e, SIB_OP_FETCH_ADD, at(0), 5, 0);
	expect_atomic(e, at(0), 100);
	ask_atomic(e, SIB_OP_CMP_SWAP, at(1), 1, 105);
	expect_atomic(e, at(1), 105);
	ask_atomic(e, SIB_OP_CMP_SWAP, at(2), 9, 105);
	expect_atomic(e, at(2), 1);
	KUNIT_EXPECT_EQ(test, *at_va, 1ULL);
	*at_va = 7;
	ask_atomic(e, SIB_OP_CMP_SWAP, at(1), 1, 105);
	expect_atomic(e, at(1), 105);
	expect_atomic(e, at(2), 1);	/* and all after it */
	expect_nothing(e);
	KUNIT_EXPECT_EQ(test, *at_va, 7ULL);
	KUNIT_EXPECT_EQ(test, e->atomics, 3U);
	/* four slots: the fifth oldest is forgotten */
	for (i = 3; i < 8; i++) {
		ask_atomic(e, SIB_OP_FETCH_ADD, at(i), 1, 0);
		expect_atomic(e, at(i), 7 + i - 3);
	}
	ask_atomic(e, SIB_OP_FETCH_ADD, at(3), 1, 0);
	expect_nothing(e);
	ask_atomic(e, SIB_OP_FETCH_ADD, at(4), 1, 0);
	for (i = 4; i < 8; i++)
		expect_atomic(e, at(i), 7 + i - 3);
	expect_nothing(e);
	KUNIT_EXPECT_EQ(test, *at_va, 12ULL);
}

struct access {
	const char *name;
	u8 opcode;
	u32 rkey;
	s64 va;
	u32 len;
	int access;	/* taken from the QP */
	u8 nak;
};

static const struct access accesses[] = {
	{ "WRITE, key", SIB_OP_WRITE_ONLY, RKEY + 1, 0, 9, 0, SIB_NAK_REM_ACCESS },
	{ "WRITE, below", SIB_OP_WRITE_ONLY, RKEY, -1, 9, 0, SIB_NAK_REM_ACCESS },
	{ "WRITE, across the end", SIB_OP_WRITE_ONLY, RKEY, MEM_LEN - 8, 9, 0,
	  SIB_NAK_REM_ACCESS },
	{ "WRITE, not allowed", SIB_OP_WRITE_ONLY, RKEY, 0, 9, IB_ACCESS_REMOTE_WRITE,
	  SIB_NAK_REM_ACCESS },
	{ "READ, key", SIB_OP_READ_REQUEST, RKEY + 1, 0, 9, 0, SIB_NAK_REM_ACCESS },
	{ "READ, across the end", SIB_OP_READ_REQUEST, RKEY, 1, MEM_LEN, 0, SIB_NAK_REM_ACCESS },
	{ "READ, wraps", SIB_OP_READ_REQUEST, RKEY, -VA - 8, 100, 0, SIB_NAK_REM_ACCESS },
	{ "READ, not allowed", SIB_OP_READ_REQUEST, RKEY, 0, 9, IB_ACCESS_REMOTE_READ,
	  SIB_NAK_REM_ACCESS },
	{ "READ, longer than any", SIB_OP_READ_REQUEST, RKEY, 0, 0x80000001, 0, SIB_NAK_INV_REQ },
	{ "atomic, key", SIB_OP_FETCH_ADD, RKEY + 1, 0, 0, 0, SIB_NAK_REM_ACCESS },
	{ "atomic, end", SIB_OP_FETCH_ADD, RKEY, MEM_LEN, 0, 0, SIB_NAK_REM_ACCESS },
	{ "atomic, not aligned", SIB_OP_CMP_SWAP, RKEY, 4, 0, 0, SIB_NAK_INV_REQ },
	{ "atomic, not allowed", SIB_OP_CMP_SWAP, RKEY, 0, 0, IB_ACCESS_REMOTE_ATOMIC,
	  SIB_NAK_REM_ACCESS },
};

static void access_desc(const struct access *a, char *desc)
{
	strscpy(desc, a->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(accesses, accesses, access_desc);

/* Refused, after all before it has been answered */
static void remote_access(struct kunit *test)
{
	const struct access *a = test->param_value;
	struct end *e = start_end(test);
	struct sib_pkt pkt = request(a->opcode, at(3), a->opcode == SIB_OP_WRITE_ONLY ? a->len : 0);

	fill_mem(e);
	ask_read(e, at(0), 0, 700);
	e->rc.cfg.access &= ~a->access;
	pkt.rkey = a->rkey;
	pkt.va = VA + a->va;
	pkt.rlen = a->len;
	give(e, &pkt);
	run(e);
	if (a->access == IB_ACCESS_REMOTE_READ)
		e->rc.cfg.access |= a->access;
	read_is(e, at(0), 0, 700);
	expect_closed(e, at(3), a->nak,
		      a->nak == SIB_NAK_INV_REQ ? IB_EVENT_QP_REQ_ERR : IB_EVENT_QP_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, e->atomics, 0U);
}

static void too_many_reads(struct kunit *test)
{
	struct end *e = start_end(test);
	int i;

	for (i = 0; i < 5; i++)
		ask_read(e, at(i), 0, 8);
	run(e);
	for (i = 0; i < 4; i++)
		read_is(e, at(i), 0, 8);
	expect_closed(e, at(4), SIB_NAK_INV_REQ, IB_EVENT_QP_REQ_ERR);
	e = start_end(test);
	e->rc.cfg.max_dest_rd = 0;
	ask_read(e, at(0), 0, 8);
	run(e);
	expect_closed(e, at(0), SIB_NAK_INV_REQ, IB_EVENT_QP_REQ_ERR);
}

/*
 * A process may lower the limit while requests are held (SQD to SQD): they keep their
 * places, and what is taken on from then on is answered from its own.
 */
static void limit_lowered(struct kunit *test)
{
	struct end *e = start_end(test);
	u64 *at_va = (u64 *)(e->mem + 1024);
	int i;

	e->rc.cfg.max_dest_rd = SIB_MAX_RD_ATOMIC;
	for (i = 0; i < 3; i++) {
		ask_atomic(e, SIB_OP_FETCH_ADD, at(i), 1, 0);
		expect_atomic(e, at(i), i);
	}
	e->rc.cfg.max_dest_rd = 1;
	for (; i < 3 * SIB_MAX_RD_ATOMIC; i++) {
		ask_atomic(e, SIB_OP_FETCH_ADD, at(i), 1, 0);
		KUNIT_ASSERT_LT(test, (int)e->rc.resp.head, SIB_MAX_RD_ATOMIC);
		expect_atomic(e, at(i), i);
	}
	expect_nothing(e);
	KUNIT_EXPECT_EQ(test, *at_va, (u64)i);
	/* only the newest is kept */
	ask_atomic(e, SIB_OP_FETCH_ADD, at(i - 1), 1, 0);
	expect_atomic(e, at(i - 1), i - 1);
	ask_atomic(e, SIB_OP_FETCH_ADD, at(i - 2), 1, 0);
	expect_nothing(e);
}

/* Lowered to nothing, and raised, while answers are still to be sent */
static void limit_changed_in_mid_answer(struct kunit *test)
{
	struct end *e = start_end(test);
	int i;

	fill_mem(e);
	for (i = 0; i < 3; i++)
		ask_read(e, at(3 * i), 0, 700);
	sib_rc_run(&e->rc, 1, false, e->now);
	e->rc.cfg.max_dest_rd = 0;
	run(e);
	for (i = 0; i < 3; i++)
		read_is(e, at(3 * i), 0, 700);
	ask_read(e, at(3), 0, 700);	/* a duplicate, and all after it */
	e->rc.cfg.max_dest_rd = SIB_MAX_RD_ATOMIC;
	run(e);
	for (i = 1; i < 3; i++)
		read_is(e, at(3 * i), 0, 700);
	e->rc.cfg.max_dest_rd = 0;
	ask_read(e, at(9), 0, 700);
	run(e);
	expect_closed(e, at(9), SIB_NAK_INV_REQ, IB_EVENT_QP_REQ_ERR);
}

/* The region goes while it is being read. */
static void read_loses_its_memory(struct kunit *test)
{
	struct end *e = start_end(test);

	ask_read(e, at(0), 0, 700);
	sib_rc_run(&e->rc, 1, false, e->now);
	expect(e, SIB_OP_READ_FIRST, at(0));
	e->deny = true;
	run(e);
	expect_closed(e, at(1), SIB_NAK_REM_ACCESS, IB_EVENT_QP_ACCESS_ERR);
}

/* Answers wait while the owner cannot send, in their order. */
static void back_pressure(struct kunit *test)
{
	struct end *e = start_end(test);

	fill_mem(e);
	post_recv(e, 0, 16);
	e->send_error = -EAGAIN;
	ask_read(e, at(0), 0, 300);
	take(e, SIB_OP_SEND_ONLY, at(2), 3);
	take(e, SIB_OP_SEND_ONLY, at(3), 3);
	KUNIT_EXPECT_TRUE(test, list_empty(&e->out));
	e->send_error = 0;
	run(e);
	read_is(e, at(0), 0, 300);
	expect_aeth(e, at(3), SIB_AETH_RNR | 12, 2);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(reads),
	KUNIT_CASE(read_duplicates),
	KUNIT_CASE(read_duplicate_in_progress),
	KUNIT_CASE(atomics),
	KUNIT_CASE_PARAM(remote_access, accesses_gen_params),
	KUNIT_CASE(too_many_reads),
	KUNIT_CASE(limit_lowered),
	KUNIT_CASE(limit_changed_in_mid_answer),
	KUNIT_CASE(read_loses_its_memory),
	KUNIT_CASE(back_pressure),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_rc_serve",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: READ and atomic requests");
