// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The responder: what SENDs and WRITEs do and how they are answered, in order, too
 * early, too late, without a receive request, and malformed.
 */
#include "sib_rc_resp_world.h"

static void sends(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt;

	post_recv(e, 0, 600);
	post_recv(e, 1000, 10);
	post_recv(e, 2000, 300);
	take(e, SIB_OP_SEND_FIRST, at(0), 256);
	take(e, SIB_OP_SEND_MIDDLE, at(1), 256);
	expect_nothing(e);
	KUNIT_EXPECT_EQ(test, e->receives, 0U);
	take(e, SIB_OP_SEND_LAST, at(2), 88);
	KUNIT_EXPECT_EQ(test, e->receives, 1U);
	KUNIT_EXPECT_EQ(test, e->wc.byte_len, 600U);
	KUNIT_EXPECT_EQ(test, (int)e->wc.opcode, (int)IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, e->wc.slid, 9);
	KUNIT_EXPECT_EQ(test, e->wc.wc_flags, 0);
	KUNIT_EXPECT_FALSE(test, e->solicited);
	mem_is(e, 0, 256, (u8)at(0));
	mem_is(e, 256, 256, (u8)at(1));
	mem_is(e, 512, 88, (u8)at(2));
	mem_is(e, 600, 400, 0);
	expect_aeth(e, at(2), UNLIMITED, 1);

	pkt = request(SIB_OP_SEND_ONLY_IMM, at(3), 0);
	pkt.imm = cpu_to_be32(77);
	pkt.solicited = true;
	give(e, &pkt);
	KUNIT_EXPECT_EQ(test, e->wc.wc_flags, (int)IB_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(e->wc.ex.imm_data), 77U);
	KUNIT_EXPECT_EQ(test, e->wc.byte_len, 0U);
	KUNIT_EXPECT_TRUE(test, e->solicited);
	run(e);
	expect_aeth(e, at(3), UNLIMITED, 2);

	take(e, SIB_OP_SEND_FIRST, at(4), 256);
	pkt = request(SIB_OP_SEND_LAST_INV, at(5), 1);
	pkt.inv_rkey = 0x77;
	give(e, &pkt);
	run(e);
	KUNIT_EXPECT_EQ(test, e->invalidated, 0x77U);
	KUNIT_EXPECT_EQ(test, e->wc.wc_flags, (int)IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, e->wc.ex.invalidate_rkey, 0x77U);
	KUNIT_EXPECT_EQ(test, e->receives, 3U);
	expect_aeth(e, at(5), UNLIMITED, 3);
}

static void writes(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt = request(SIB_OP_WRITE_FIRST, at(0), 256);

	pkt.rlen = 600;
	give(e, &pkt);
	take(e, SIB_OP_WRITE_MIDDLE, at(1), 256);
	take(e, SIB_OP_WRITE_LAST, at(2), 88);
	expect_aeth(e, at(2), UNLIMITED, 1);
	mem_is(e, 1024, 256, (u8)at(0));
	mem_is(e, 1280, 256, (u8)at(1));
	mem_is(e, 1536, 88, (u8)at(2));
	mem_is(e, 1624, 100, 0);
	KUNIT_EXPECT_EQ(test, e->receives, 0U);
	/* one that writes nothing needs no key */
	pkt = request(SIB_OP_WRITE_ONLY, at(3), 0);
	pkt.rkey = 1;
	give(e, &pkt);
	run(e);
	expect_aeth(e, at(3), UNLIMITED, 2);
	/* immediate data take a receive request */
	post_recv(e, 0, 0);
	take(e, SIB_OP_WRITE_ONLY_IMM, at(4), 12);
	KUNIT_EXPECT_EQ(test, e->receives, 1U);
	KUNIT_EXPECT_EQ(test, (int)e->wc.opcode, (int)IB_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_EQ(test, e->wc.byte_len, 12U);
	mem_is(e, 1024, 12, (u8)at(4));
	expect_aeth(e, at(4), UNLIMITED, 3);
}

/* Without a receive request nothing is written, and all is well with the next try. */
static void rnr(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt;

	take(e, SIB_OP_SEND_ONLY, at(0), 3);
	expect_aeth(e, at(0), SIB_AETH_RNR | 12, 0);
	/* what was sent behind it is dropped without a word */
	take(e, SIB_OP_SEND_ONLY, at(1), 3);
	take(e, SIB_OP_SEND_ONLY, at(2), 3);
	expect_nothing(e);
	take(e, SIB_OP_SEND_ONLY, at(0), 3);
	expect_aeth(e, at(0), SIB_AETH_RNR | 12, 0);
	post_recv(e, 0, 10);
	take(e, SIB_OP_SEND_ONLY, at(0), 3);
	expect_aeth(e, at(0), UNLIMITED, 1);

	pkt = request(SIB_OP_WRITE_FIRST, at(1), 256);
	pkt.rlen = 260;
	give(e, &pkt);
	take(e, SIB_OP_WRITE_LAST_IMM, at(2), 4);
	expect_aeth(e, at(2), SIB_AETH_RNR | 12, 1);
	mem_is(e, 1280, 4, 0);
	post_recv(e, 0, 10);
	take(e, SIB_OP_WRITE_LAST_IMM, at(2), 4);
	expect_aeth(e, at(2), UNLIMITED, 2);
	mem_is(e, 1280, 4, (u8)at(2));
	KUNIT_EXPECT_EQ(test, e->wc.byte_len, 260U);
	KUNIT_EXPECT_EQ(test, e->stats.tx_rnr, 3ULL);

	take(e, SIB_OP_WRITE_ONLY_IMM, at(3), 4);
	expect_aeth(e, at(3), SIB_AETH_RNR | 12, 2);
	mem_is(e, 1024, 4, (u8)at(1));
	post_recv(e, 0, 10);
	take(e, SIB_OP_WRITE_ONLY_IMM, at(3), 4);
	expect_aeth(e, at(3), UNLIMITED, 3);
}

static void credit_codes(struct kunit *test)
{
	static const struct {
		u32 posted;
		u8 code;
	} want[] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 4, 4 }, { 5, 4 }, { 6, 5 }, { 7, 5 },
		     { 8, 6 }, { 12, 7 }, { 31, 9 }, { 32, 10 }, { 48, 11 }, { 60, 11 } };
	struct end *e = start_end(test);
	u32 i, psn = PSN;

	e->srq = false;
	for (i = 0; i < ARRAY_SIZE(want); i++, psn = sib_psn_add(psn, 1)) {
		while (e->rq_head - e->rq_tail < want[i].posted + 1)
			post_recv(e, 0, 16);
		while (e->rq_head - e->rq_tail > want[i].posted + 1)
			e->rq_head--;
		take(e, SIB_OP_SEND_ONLY, psn, 3);
		expect_aeth(e, psn, want[i].code, i + 1);
	}
	/* table 45 at its far end */
	KUNIT_EXPECT_EQ(test, sib_rc_code_value(14), 128U);
	KUNIT_EXPECT_EQ(test, sib_rc_code_value(29), 24576U);
	KUNIT_EXPECT_EQ(test, sib_rc_code_value(30), 32768U);
	/* and RNR timers: 491.52 ms */
	KUNIT_EXPECT_EQ(test, sib_rc_code_value(31), 49152U);
}

/* One NAK per gap, and what follows the gap is dropped until it is filled. */
static void gaps(struct kunit *test)
{
	struct end *e = start_end(test);
	int i;

	for (i = 0; i < 6; i++)
		post_recv(e, 0, 16);
	take(e, SIB_OP_SEND_ONLY, at(0), 3);
	expect_aeth(e, at(0), UNLIMITED, 1);
	take(e, SIB_OP_SEND_ONLY, at(2), 3);
	expect_aeth(e, at(1), SIB_AETH_NAK | SIB_NAK_SEQUENCE, 1);
	take(e, SIB_OP_SEND_ONLY, at(3), 3);
	take(e, SIB_OP_SEND_ONLY, at(4), 3);
	expect_nothing(e);
	KUNIT_EXPECT_EQ(test, e->receives, 1U);
	take(e, SIB_OP_SEND_ONLY, at(1), 3);
	expect_aeth(e, at(1), UNLIMITED, 2);
	/* another gap, another NAK */
	take(e, SIB_OP_SEND_ONLY, at(4), 3);
	expect_aeth(e, at(2), SIB_AETH_NAK | SIB_NAK_SEQUENCE, 2);
	KUNIT_EXPECT_EQ(test, e->stats.tx_nak, 2ULL);
	KUNIT_EXPECT_EQ(test, e->stats.rx_gap, 4ULL);
}

/* Two packets swapped, both there before an answer could be sent */
static void reordered_in_a_batch(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt first = request(SIB_OP_SEND_ONLY, at(0), 3);
	struct sib_pkt second = request(SIB_OP_SEND_ONLY, at(1), 3);

	post_recv(e, 0, 16);
	post_recv(e, 0, 16);
	give(e, &second);
	give(e, &first);
	run(e);
	expect_aeth(e, at(1), SIB_AETH_NAK | SIB_NAK_SEQUENCE, 1);
	/* and with a second copy of the early one nothing is missing */
	e = start_end(test);
	post_recv(e, 0, 16);
	post_recv(e, 0, 16);
	give(e, &second);
	give(e, &first);
	give(e, &second);
	run(e);
	expect_aeth(e, at(1), UNLIMITED, 2);
	KUNIT_EXPECT_EQ(test, e->receives, 2U);
}

static void one_ack_for_many(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt;
	int i;

	for (i = 0; i < 20; i++) {
		post_recv(e, 0, 16);
		pkt = request(SIB_OP_SEND_ONLY, at(i), 3);
		give(e, &pkt);
	}
	run(e);
	expect_aeth(e, at(19), UNLIMITED, 20);
}

/* The QP goes before it was its turn to acknowledge what its consumer has seen complete. */
static void acknowledged_at_the_end(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt = request(SIB_OP_SEND_ONLY, at(0), 3);

	post_recv(e, 0, 16);
	give(e, &pkt);
	KUNIT_EXPECT_EQ(test, e->receives, 1U);
	sib_rc_resp_end(&e->rc);
	expect_aeth(e, at(0), UNLIMITED, 1);
	/* once, and not in the place of another answer */
	sib_rc_resp_end(&e->rc);
	expect_nothing(e);
	post_recv(e, 0, 16);
	ask_read(e, at(1), 0, 16);
	pkt.psn = at(2);
	give(e, &pkt);
	KUNIT_EXPECT_EQ(test, e->receives, 2U);
	sib_rc_resp_end(&e->rc);
	KUNIT_EXPECT_TRUE(test, list_empty(&e->out));
	sib_rc_reset(&e->rc);
	sib_rc_resp_end(&e->rc);
	expect_nothing(e);
}

static void fails(struct end *e, const struct sib_rwqe *rwqe)
{
	fake_fatal(&e->rc, -1);
}

/* The consumer is told of an error, and nobody of success. */
static void not_acknowledged_in_error(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt = request(SIB_OP_SEND_ONLY, at(0), 3);

	post_recv(e, 0, 16);
	e->on_receive = fails;
	give(e, &pkt);
	KUNIT_EXPECT_TRUE(test, e->dead);
	sib_rc_resp_end(&e->rc);
	KUNIT_EXPECT_TRUE(test, list_empty(&e->out));
	KUNIT_EXPECT_FALSE(test, e->rc.resp.ack_due);
}

/* A NAK that is due stands for the ACK as well, or is told in its place. */
static void refused_at_the_end(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt first = request(SIB_OP_SEND_ONLY, at(0), 3);
	struct sib_pkt next = request(SIB_OP_SEND_ONLY, at(1), 3);
	struct sib_pkt last = request(SIB_OP_SEND_ONLY, at(2), 3);
	int i;

	post_recv(e, 0, 16);
	give(e, &first);
	give(e, &next);		/* there is no receive request */
	sib_rc_resp_end(&e->rc);
	expect_aeth(e, at(1), SIB_AETH_RNR | 12, 1);
	post_recv(e, 0, 2);
	give(e, &next);		/* too long for it */
	sib_rc_resp_end(&e->rc);
	KUNIT_EXPECT_EQ(test, expect(e, SIB_OP_ACK, at(1)).syndrome,
			SIB_AETH_NAK | SIB_NAK_INV_REQ);
	KUNIT_EXPECT_FALSE(test, e->dead);

	e = start_end(test);
	for (i = 0; i < 3; i++)
		post_recv(e, 0, 16);
	give(e, &first);
	give(e, &last);		/* one is missing */
	give(e, &next);
	give(e, &last);		/* both have come */
	sib_rc_resp_end(&e->rc);
	expect_aeth(e, at(2), UNLIMITED, 3);
}

static void duplicates(struct kunit *test)
{
	struct end *e = start_end(test);

	post_recv(e, 0, 600);
	post_recv(e, 1000, 600);
	take(e, SIB_OP_SEND_FIRST, at(0), 256);
	take(e, SIB_OP_SEND_LAST, at(1), 3);
	expect_aeth(e, at(1), UNLIMITED, 1);
	/* acknowledged again, not executed again */
	take(e, SIB_OP_SEND_FIRST, at(0), 256);
	expect_aeth(e, at(1), UNLIMITED, 1);
	take(e, SIB_OP_SEND_LAST, at(1), 3);
	expect_aeth(e, at(1), UNLIMITED, 1);
	KUNIT_EXPECT_EQ(test, e->receives, 1U);
	mem_is(e, 1000, 256, 0);
	/* in the middle of a message, too */
	take(e, SIB_OP_SEND_FIRST, at(2), 256);
	take(e, SIB_OP_SEND_LAST, at(1), 3);
	expect_aeth(e, at(2), UNLIMITED, 1);
	take(e, SIB_OP_SEND_LAST, at(3), 9);
	expect_aeth(e, at(3), UNLIMITED, 2);
	KUNIT_EXPECT_EQ(test, e->wc.byte_len, 265U);
	KUNIT_EXPECT_EQ(test, e->stats.rx_dup, 3ULL);
}

struct wrong {
	const char *name;
	u8 before;	/* opcode of a packet before it, 0xFF for none */
	u8 opcode;
	u32 len;
	u8 nak;
	int event;
};

#define NONE 0xFF
static const struct wrong wrongs[] = {
	{ "SEND middle first", NONE, SIB_OP_SEND_MIDDLE, 256, SIB_NAK_INV_REQ },
	{ "SEND last first", NONE, SIB_OP_SEND_LAST, 5, SIB_NAK_INV_REQ },
	{ "WRITE middle first", NONE, SIB_OP_WRITE_MIDDLE, 256, SIB_NAK_INV_REQ },
	{ "WRITE last first", NONE, SIB_OP_WRITE_LAST_IMM, 5, SIB_NAK_INV_REQ },
	{ "SEND in SEND", SIB_OP_SEND_FIRST, SIB_OP_SEND_ONLY, 5, SIB_NAK_INV_REQ },
	{ "first twice", SIB_OP_SEND_FIRST, SIB_OP_SEND_FIRST, 256, SIB_NAK_INV_REQ },
	{ "WRITE in SEND", SIB_OP_SEND_FIRST, SIB_OP_WRITE_LAST, 5, SIB_NAK_INV_REQ },
	{ "SEND in WRITE", SIB_OP_WRITE_FIRST, SIB_OP_SEND_LAST, 5, SIB_NAK_INV_REQ },
	{ "invalidate in WRITE", SIB_OP_WRITE_FIRST, SIB_OP_SEND_LAST_INV, 5, SIB_NAK_INV_REQ },
	{ "READ in SEND", SIB_OP_SEND_FIRST, SIB_OP_READ_REQUEST, 0, SIB_NAK_INV_REQ },
	{ "atomic in WRITE", SIB_OP_WRITE_FIRST, SIB_OP_FETCH_ADD, 0, SIB_NAK_INV_REQ },
	{ "short first", NONE, SIB_OP_SEND_FIRST, 255, SIB_NAK_INV_REQ },
	{ "empty first", NONE, SIB_OP_SEND_FIRST, 0, SIB_NAK_INV_REQ },
	{ "long first", NONE, SIB_OP_SEND_FIRST, 512, SIB_NAK_INV_REQ },
	{ "long only", NONE, SIB_OP_SEND_ONLY, 257, SIB_NAK_INV_REQ },
	{ "short middle", SIB_OP_SEND_FIRST, SIB_OP_SEND_MIDDLE, 8, SIB_NAK_INV_REQ },
	{ "empty last", SIB_OP_SEND_FIRST, SIB_OP_SEND_LAST, 0, SIB_NAK_INV_REQ },
	{ "WRITE too long", SIB_OP_WRITE_FIRST, SIB_OP_WRITE_LAST, 6, SIB_NAK_INV_REQ },
	{ "WRITE too short", SIB_OP_WRITE_FIRST, SIB_OP_WRITE_LAST, 4, SIB_NAK_INV_REQ },
	{ "WRITE middle too long", SIB_OP_WRITE_FIRST, SIB_OP_WRITE_MIDDLE, 256,
	  SIB_NAK_INV_REQ },
};

static void wrong_desc(const struct wrong *w, char *desc)
{
	strscpy(desc, w->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(wrongs, wrongs, wrong_desc);

/* A first packet announces 261 bytes. */
static void wrong_sequence(struct kunit *test)
{
	const struct wrong *w = test->param_value;
	struct end *e = start_end(test);
	struct sib_pkt pkt;
	bool used = w->before == SIB_OP_SEND_FIRST;

	post_recv(e, 0, 2000);
	if (w->before != NONE) {
		pkt = request(w->before, at(0), 256);
		pkt.rlen = 261;
		give(e, &pkt);
	}
	take(e, w->opcode, at(w->before != NONE), w->len);
	KUNIT_EXPECT_EQ(test, e->receives, used ? 1U : 0U);
	if (used)
		KUNIT_EXPECT_EQ(test, (int)e->wc.status, (int)IB_WC_REM_INV_REQ_ERR);
	expect_closed(e, at(w->before != NONE), w->nak, used ? -1 : IB_EVENT_QP_REQ_ERR);
}

static void too_long_for_the_receive(struct kunit *test)
{
	struct end *e = start_end(test);

	post_recv(e, 0, 260);
	take(e, SIB_OP_SEND_FIRST, at(0), 256);
	take(e, SIB_OP_SEND_LAST, at(1), 5);
	KUNIT_EXPECT_EQ(test, (int)e->wc.status, (int)IB_WC_LOC_LEN_ERR);
	KUNIT_EXPECT_EQ(test, e->receives, 1U);
	mem_is(e, 256, 5, 0);
	expect_closed(e, at(1), SIB_NAK_INV_REQ, -1);
}

static void receive_without_memory(struct kunit *test)
{
	struct end *e = start_end(test);

	post_recv(e, MEM_LEN - 10, 100);
	take(e, SIB_OP_SEND_ONLY, at(0), 50);
	KUNIT_EXPECT_EQ(test, (int)e->wc.status, (int)IB_WC_LOC_PROT_ERR);
	expect_closed(e, at(0), SIB_NAK_REM_OP, -1);
}

static void invalidate_refused(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt = request(SIB_OP_SEND_ONLY_INV, at(0), 5);

	pkt.inv_rkey = 0xBAD;
	post_recv(e, 0, 100);
	give(e, &pkt);
	run(e);
	KUNIT_EXPECT_EQ(test, (int)e->wc.status, (int)IB_WC_REM_ACCESS_ERR);
	expect_closed(e, at(0), SIB_NAK_REM_ACCESS, -1);
}

static void unreliable_messages(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt;

	e->rc.cfg.uc = true;
	post_recv(e, 0, 600);
	post_recv(e, 1000, 600);
	take(e, SIB_OP_UC | SIB_OP_SEND_FIRST, at(0), 256);
	/* the middle is lost */
	take(e, SIB_OP_UC | SIB_OP_SEND_LAST, at(2), 9);
	KUNIT_EXPECT_EQ(test, e->receives, 0U);
	/* the receive request serves the next message */
	take(e, SIB_OP_UC | SIB_OP_SEND_FIRST, at(3), 256);
	take(e, SIB_OP_UC | SIB_OP_SEND_LAST_IMM, at(4), 9);
	KUNIT_EXPECT_EQ(test, e->receives, 1U);
	KUNIT_EXPECT_EQ(test, e->wc.byte_len, 265U);
	/* any PSN will do for a new message */
	pkt = request(SIB_OP_UC | SIB_OP_WRITE_ONLY_IMM, at(1000), 9);
	give(e, &pkt);
	KUNIT_EXPECT_EQ(test, e->receives, 2U);
	mem_is(e, 1024, 9, (u8)at(1000));
	/* no receive request, no permission, nonsense: dropped, no more */
	take(e, SIB_OP_UC | SIB_OP_SEND_ONLY, at(1001), 9);
	pkt.psn = at(1002);
	pkt.rkey = 4;
	give(e, &pkt);
	take(e, SIB_OP_UC | SIB_OP_SEND_ONLY, at(1003), 900);
	take(e, SIB_OP_UC | SIB_OP_WRITE_MIDDLE, at(1004), 256);
	expect_nothing(e);
	KUNIT_EXPECT_FALSE(test, e->dead);
	KUNIT_EXPECT_EQ(test, e->receives, 2U);
	post_recv(e, 0, 100);
	take(e, SIB_OP_UC | SIB_OP_SEND_ONLY, at(1005), 9);
	KUNIT_EXPECT_EQ(test, e->receives, 3U);
}

/* What the receiver itself has got wrong ends the QP as it does with RC. */
static void unreliable_local_error(struct kunit *test)
{
	struct end *e = start_end(test);

	e->rc.cfg.uc = true;
	post_recv(e, 0, 600);
	take(e, SIB_OP_UC | SIB_OP_SEND_FIRST, at(0), 256);
	e->deny = true;
	take(e, SIB_OP_UC | SIB_OP_SEND_LAST, at(1), 9);
	KUNIT_EXPECT_EQ(test, e->receives, 1U);
	KUNIT_EXPECT_EQ(test, (int)e->wc.status, (int)IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_TRUE(test, e->dead);
	KUNIT_EXPECT_EQ(test, e->event, -1);
	expect_nothing(e);
	take(e, SIB_OP_UC | SIB_OP_SEND_ONLY, at(2), 9);
	KUNIT_EXPECT_EQ(test, e->receives, 1U);
}

static void not_before_rtr(struct kunit *test)
{
	struct end *e = start_end(test);

	sib_rc_reset(&e->rc);
	post_recv(e, 0, 100);
	take(e, SIB_OP_SEND_ONLY, 0, 9);
	expect_nothing(e);
	KUNIT_EXPECT_EQ(test, e->receives, 0U);
}

/* 100,000 packets that are close to something sensible */
static void random_requests(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, 8, 255, 256, 256, 256, 257 };
	struct end *e = start_end(test);
	u32 i, deaths = 0, good = 0;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 4);
	e->rc.cfg.uc = false;
	for (i = 0; i < 100000; i++) {
		u32 r = prandom_u32_state(&rnd), q = prandom_u32_state(&rnd);
		u8 op = r % (SIB_OP_SEND_ONLY_INV + 1);
		struct sib_pkt pkt;

		if (!sib_op_parts(op) || sib_rc_is_response(op))
			continue;
		pkt = request(op, sib_psn_add(e->rc.resp.epsn, q & 3 ? 0 : (q >> 2 & 15) - 8),
			      sib_op_parts(op) & SIB_PART_PAYLOAD ?
			      lens[r >> 8 & 7] : 0);
		pkt.rlen = r & 0x8000 ? pkt.plen : r >> 16 & 0x7FF;
		if (!(q & 0xFF00))
			pkt.rkey = q;
		if (!(q & 0xFF0000))
			pkt.va += q << 4;
		pkt.ackreq = q & 0x1000;
		if (e->rq_head - e->rq_tail < 8 && q & 0x6000000)
			post_recv(e, 0, 64 << (q >> 28 & 7));
		give(e, &pkt);
		if (!(q & 0xE0000000))
			e->send_error = e->send_error ? 0 : -EAGAIN;
		run(e);
		flush(e);
		KUNIT_ASSERT_LE(test, e->rc.resp.todo, e->rc.resp.held);
		KUNIT_ASSERT_LE(test, e->rc.resp.held, e->rc.cfg.max_dest_rd);
		if (e->dead) {
			deaths++;
			good += e->receives;
			e->dead = false;
			e->receives = 0;
			sib_rc_start_resp(&e->rc, q);
		}
	}
	KUNIT_EXPECT_GT(test, deaths, 1000U);
	KUNIT_EXPECT_GT(test, good, 1000U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(sends),
	KUNIT_CASE(writes),
	KUNIT_CASE(rnr),
	KUNIT_CASE(credit_codes),
	KUNIT_CASE(gaps),
	KUNIT_CASE(reordered_in_a_batch),
	KUNIT_CASE(one_ack_for_many),
	KUNIT_CASE(acknowledged_at_the_end),
	KUNIT_CASE(not_acknowledged_in_error),
	KUNIT_CASE(refused_at_the_end),
	KUNIT_CASE(duplicates),
	KUNIT_CASE_PARAM(wrong_sequence, wrongs_gen_params),
	KUNIT_CASE(too_long_for_the_receive),
	KUNIT_CASE(receive_without_memory),
	KUNIT_CASE(invalidate_refused),
	KUNIT_CASE(unreliable_messages),
	KUNIT_CASE(unreliable_local_error),
	KUNIT_CASE(not_before_rtr),
	KUNIT_CASE(random_requests),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_rc_resp",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: RC and UC responder");
