// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The completer: what every response does, expected or not, and what its want
 * does.
 */
#include "sib_rc_req_world.h"

/* A code, the time [ns] that it stands for (IBA vol. 1, table 45) */
struct wait {
	u8 code;
	u64 ns;
};

static const struct wait waits[] = {
	{ 1, 10 * NSEC_PER_USEC },
	{ 2, 20 * NSEC_PER_USEC },
	{ 3, 30 * NSEC_PER_USEC },
	{ 4, 40 * NSEC_PER_USEC },
	{ 5, 60 * NSEC_PER_USEC },
	{ 12, 640 * NSEC_PER_USEC },
	{ 13, 960 * NSEC_PER_USEC },
	{ 31, 491520 * NSEC_PER_USEC },
	{ 0, 655360 * NSEC_PER_USEC },	/* the longest */
};

static void wait_desc(const struct wait *w, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "code %u", w->code);
}

KUNIT_ARRAY_PARAM(waits, waits, wait_desc);

/* Nothing is sent before the time that the peer wants, and all at that time. */
static void rnr(struct kunit *test)
{
	const struct wait *w = test->param_value;
	struct end *e = start_end(test);
	int i;

	post(e, IB_WR_SEND, 0, 300);
	run(e);
	for (i = 0; i < 3; i++) {
		flush(e);
		aeth(e, SIB_OP_ACK, at(0), SIB_AETH_RNR | w->code, 0);
		KUNIT_EXPECT_EQ(test, (u64)(e->rc.deadline - e->now), w->ns);
		later(e, w->ns - 1);
		expect_nothing(e);
		later(e, 1);
		expect(e, SIB_OP_SEND_FIRST, at(0));
		expect(e, SIB_OP_SEND_LAST, at(1));
	}
	aeth(e, SIB_OP_ACK, at(0), SIB_AETH_RNR | w->code, 0);
	done(e, 1, IB_WC_RNR_RETRY_EXC_ERR);
}

static void rnr_for_ever(struct kunit *test)
{
	struct end *e = start_end(test);
	int i;

	e->rc.cfg.rnr_retry = 7;
	e->rc.req.rnr = 7;
	post(e, IB_WR_SEND, 0, 3);
	post(e, IB_WR_SEND, 0, 3);
	run(e);
	for (i = 0; i < 30; i++) {
		flush(e);
		aeth(e, SIB_OP_ACK, at(1), SIB_AETH_RNR | 1, 0);
		done(e, 1, IB_WC_SUCCESS);
		later(e, 10 * NSEC_PER_USEC);
		expect(e, SIB_OP_SEND_ONLY, at(1));
	}
	ack(e, at(1));
	done(e, 2, IB_WC_SUCCESS);
}

struct refusal {
	const char *name;
	u8 nak;
	enum ib_wc_status status;
};

static const struct refusal refusals[] = {
	{ "invalid request", SIB_NAK_INV_REQ, IB_WC_REM_INV_REQ_ERR },
	{ "remote access", SIB_NAK_REM_ACCESS, IB_WC_REM_ACCESS_ERR },
	{ "remote operation", SIB_NAK_REM_OP, IB_WC_REM_OP_ERR },
	{ "reserved", 9, IB_WC_BAD_RESP_ERR },
};

static void refusal_desc(const struct refusal *r, char *desc)
{
	strscpy(desc, r->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(refusals, refusals, refusal_desc);

/* What is before the refused request is complete, it fails, the rest is flushed. */
static void refused_request(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	struct end *e = start_end(test);

	post(e, IB_WR_SEND, 0, 3);
	post(e, IB_WR_RDMA_WRITE, 0, 300);
	post(e, IB_WR_SEND, 0, 3);
	run(e);
	flush(e);
	nak(e, at(2), r->nak);
	done(e, 2, r->status);
	expect_nothing(e);
}

/*
 * A response ends the QP, whose other requests are flushed later: it says nothing of
 * them.
 */
static void ended_with_requests_left(struct kunit *test)
{
	struct end *e = start_end(test);
	int i;

	e->flush_later = true;
	for (i = 0; i < 3; i++)
		post(e, IB_WR_SEND, 0, 3);
	run(e);
	flush(e);
	/* the second cannot be sent again */
	e->sq[1]->sge[0].lkey = LKEY + 1;
	nak(e, at(0), SIB_NAK_SEQUENCE);
	flush(e);
	done(e, 0, IB_WC_SUCCESS);
	aeth(e, SIB_OP_ACK, at(1), SIB_AETH_RNR | 5, 0);
	done(e, 2, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_FALSE(test, e->rc.armed);
	KUNIT_EXPECT_EQ(test, e->stats.rx_rnr, 0ULL);
	expect_nothing(e);
}

static void sequence_nak_exhausts(struct kunit *test)
{
	struct end *e = start_end(test);
	int i;

	post(e, IB_WR_SEND, 0, 3);
	run(e);
	for (i = 0; i < 3; i++) {
		expect(e, SIB_OP_SEND_ONLY, at(0));
		nak(e, at(0), SIB_NAK_SEQUENCE);
	}
	done(e, 0, IB_WC_SUCCESS);
	nak(e, at(0), SIB_NAK_SEQUENCE);
	done(e, 1, IB_WC_RETRY_EXC_ERR);
	flush(e);
}

static void credits_limit(struct kunit *test)
{
	struct end *e = new_end(test, PSN, 0);
	int i;

	for (i = 0; i < 10; i++)
		post(e, i == 2 ? IB_WR_RDMA_WRITE : IB_WR_SEND, 0, 3);
	run(e);
	/* nothing is known: one */
	expect(e, SIB_OP_SEND_ONLY, at(0));
	expect_nothing(e);
	/* two more; a WRITE needs none, and one may always be tried */
	aeth(e, SIB_OP_ACK, at(0), SIB_AETH_ACK | 2, 1);
	expect(e, SIB_OP_SEND_ONLY, at(1));
	expect(e, SIB_OP_WRITE_ONLY, at(2));
	KUNIT_EXPECT_TRUE(test, expect(e, SIB_OP_SEND_ONLY, at(3)).ackreq);
	expect_nothing(e);
	/* none left, but the last one can be tried */
	aeth(e, SIB_OP_ACK, at(3), SIB_AETH_ACK | 0, 4);
	expect(e, SIB_OP_SEND_ONLY, at(4));
	expect_nothing(e);
	/* the same acknowledgment again, with credits: receives were posted */
	aeth(e, SIB_OP_ACK, at(3), SIB_AETH_ACK | 3, 4);
	expect(e, SIB_OP_SEND_ONLY, at(5));
	expect(e, SIB_OP_SEND_ONLY, at(6));
	expect(e, SIB_OP_SEND_ONLY, at(7));
	expect_nothing(e);
	ack(e, at(7));
	expect(e, SIB_OP_SEND_ONLY, at(8));
	expect(e, SIB_OP_SEND_ONLY, at(9));
	ack(e, at(9));
	done(e, 10, IB_WC_SUCCESS);
}

/* READ responses bring credits as well, or a SEND after one waits for ever. */
static void credits_in_read(struct kunit *test)
{
	struct end *e = new_end(test, PSN, 0);
	struct sib_pkt pkt = {
		.opcode = SIB_OP_READ_ONLY, .psn = PSN, .plen = 8, .msn = 1,
		.syndrome = SIB_AETH_ACK | 2,
	};
	u8 payload[8] = {};

	post(e, IB_WR_RDMA_READ, 0, 8);
	post(e, IB_WR_SEND, 0, 3);
	post(e, IB_WR_SEND, 0, 3);
	post(e, IB_WR_SEND, 0, 3);
	run(e);
	expect(e, SIB_OP_READ_REQUEST, at(0));
	expect_nothing(e);
	sib_rc_response(&e->rc, &pkt, payload, e->now);
	run(e);
	expect(e, SIB_OP_SEND_ONLY, at(1));
	expect(e, SIB_OP_SEND_ONLY, at(2));
	expect(e, SIB_OP_SEND_ONLY, at(3));
	expect_nothing(e);
	done(e, 1, IB_WC_SUCCESS);
}

static void read_request(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt;
	int i;

	post(e, IB_WR_RDMA_READ, 512, 700);
	post(e, IB_WR_SEND, 0, 3);
	run(e);
	pkt = expect(e, SIB_OP_READ_REQUEST, at(0));
	KUNIT_EXPECT_EQ(test, pkt.va, VA + 512);
	KUNIT_EXPECT_EQ(test, pkt.rlen, 700U);
	expect(e, SIB_OP_SEND_ONLY, at(3));	/* three responses lie between */
	read_response(e, SIB_OP_READ_FIRST, at(0), 256);
	read_response(e, SIB_OP_READ_MIDDLE, at(1), 256);
	done(e, 0, IB_WC_SUCCESS);
	read_response(e, SIB_OP_READ_LAST, at(2), 188);
	done(e, 1, IB_WC_SUCCESS);
	for (i = 0; i < 700; i++)
		KUNIT_ASSERT_EQ(test, (u32)e->mem[512 + i], 0x40 + (at(i / 256) & 0x3F));
	KUNIT_EXPECT_EQ(test, e->mem[512 + 700], 0);
	ack(e, at(3));
	done(e, 2, IB_WC_SUCCESS);
}

/* A response lost at each place: the READ is resumed there. */
static void read_resumed(struct kunit *test)
{
	static const u8 ops[] = { SIB_OP_READ_FIRST, SIB_OP_READ_MIDDLE, SIB_OP_READ_LAST };
	static const u32 lens[] = { 256, 256, 100 };
	u32 lost, i;

	for (lost = 0; lost < 3; lost++) {
		struct end *e = start_end(test);
		struct sib_pkt pkt;

		post(e, IB_WR_RDMA_READ, 0, 612);
		post(e, IB_WR_SEND, 0, 3);
		run(e);
		flush(e);
		for (i = 0; i < 3; i++)
			if (i != lost)
				read_response(e, ops[i], at(i), lens[i]);
		if (lost == 2)	/* only the acknowledgment of the SEND shows it */
			ack(e, at(3));
		pkt = expect(e, SIB_OP_READ_REQUEST, at(lost));
		KUNIT_EXPECT_EQ(test, pkt.va, VA + 256 * lost);
		KUNIT_EXPECT_EQ(test, pkt.rlen, 612 - 256 * lost);
		expect(e, SIB_OP_SEND_ONLY, at(3));
		expect_nothing(e);
		/* what else was under way says nothing new */
		ack(e, at(3));
		expect_nothing(e);
		for (i = lost; i < 3; i++) {
			u8 op = i == lost ? SIB_OP_READ_FIRST : SIB_OP_READ_MIDDLE;

			if (i == 2)
				op = i == lost ? SIB_OP_READ_ONLY : SIB_OP_READ_LAST;
			read_response(e, op, at(i), lens[i]);
		}
		done(e, 1, IB_WC_SUCCESS);
		ack(e, at(3));
		done(e, 2, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, e->rc.req.rd_out, 0);
	}
}

struct bad {
	const char *name;
	u8 opcode;
	u32 len;
	u8 syndrome;
};

static const struct bad bads[] = {
	{ "short first", SIB_OP_READ_FIRST, 255, SIB_AETH_ACK },
	{ "empty first", SIB_OP_READ_FIRST, 0, SIB_AETH_ACK },
	{ "long first", SIB_OP_READ_FIRST, 257, SIB_AETH_ACK },
	{ "only, too short", SIB_OP_READ_ONLY, 4, SIB_AETH_ACK },
	{ "atomic", SIB_OP_ATOMIC_ACK, 0, SIB_AETH_ACK },
	{ "NAK in it", SIB_OP_READ_FIRST, 256, SIB_AETH_NAK },
};

static void bad_desc(const struct bad *b, char *desc)
{
	strscpy(desc, b->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bads, bads, bad_desc);

static void bad_read_response(struct kunit *test)
{
	const struct bad *b = test->param_value;
	struct sib_pkt pkt = { .opcode = b->opcode, .psn = PSN, .plen = b->len,
			       .syndrome = b->syndrome };
	struct end *e = start_end(test);
	u8 payload[512] = {};

	post(e, IB_WR_RDMA_READ, 0, 300);
	run(e);
	flush(e);
	sib_rc_response(&e->rc, &pkt, payload, e->now);
	done(e, 1, IB_WC_BAD_RESP_ERR);
}

static void response_to_a_send(struct kunit *test)
{
	struct end *e = start_end(test);

	post(e, IB_WR_SEND, 0, 3);
	run(e);
	flush(e);
	read_response(e, SIB_OP_READ_ONLY, PSN, 3);
	done(e, 1, IB_WC_BAD_RESP_ERR);
}

/* The last part of a READ has to say that it is the last. */
static void read_without_end(struct kunit *test)
{
	struct end *e = start_end(test);

	post(e, IB_WR_RDMA_READ, 0, 300);
	run(e);
	flush(e);
	read_response(e, SIB_OP_READ_FIRST, at(0), 256);
	read_response(e, SIB_OP_READ_MIDDLE, at(1), 44);
	done(e, 1, IB_WC_BAD_RESP_ERR);
}

static void atomics(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt = { .opcode = SIB_OP_ATOMIC_ACK, .psn = PSN,
			       .orig = 0x1122334455667788 };
	struct sib_swqe *wqe;

	wqe = post(e, IB_WR_ATOMIC_CMP_AND_SWP, 64, 8);
	wqe->compare_add = 5;
	wqe->swap = 6;
	wqe = post(e, IB_WR_ATOMIC_FETCH_AND_ADD, 72, 8);
	wqe->compare_add = 7;
	run(e);
	KUNIT_EXPECT_EQ(test, list_first_entry(&e->out, struct packet, list)->pkt.compare, 5ULL);
	KUNIT_EXPECT_EQ(test, expect(e, SIB_OP_CMP_SWAP, at(0)).swap_add, 6ULL);
	KUNIT_EXPECT_EQ(test, expect(e, SIB_OP_FETCH_ADD, at(1)).swap_add, 7ULL);
	sib_rc_response(&e->rc, &pkt, NULL, e->now);
	done(e, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, get_unaligned((u64 *)(e->mem + 64)), pkt.orig);
	sib_rc_response(&e->rc, &pkt, NULL, e->now);	/* again */
	done(e, 1, IB_WC_SUCCESS);
	/* the second one's is lost */
	later(e, 10);
	expect(e, SIB_OP_FETCH_ADD, at(1));
	pkt.psn = at(1);
	sib_rc_response(&e->rc, &pkt, NULL, e->now);
	done(e, 2, IB_WC_SUCCESS);
	post(e, IB_WR_ATOMIC_FETCH_AND_ADD, 0, 4);
	run(e);
	done(e, 3, IB_WC_LOC_LEN_ERR);
}

/* After going back, an acknowledgment of what was sent before is as good. */
static void late_ack(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt = { .opcode = SIB_OP_ACK, .syndrome = SIB_AETH_ACK | 31 };
	int i;

	for (i = 0; i < 4; i++)
		post(e, IB_WR_SEND, 0, 600);
	run(e);
	flush(e);
	e->now += 10;
	sib_rc_timer(&e->rc, e->now);	/* back at the first, nothing sent yet */
	pkt.psn = at(7);
	sib_rc_response(&e->rc, &pkt, NULL, e->now);
	done(e, 2, IB_WC_SUCCESS);
	run(e);
	expect(e, SIB_OP_SEND_LAST, at(8));
	expect(e, SIB_OP_SEND_FIRST, at(9));
	flush(e);
	e->now += 10;
	sib_rc_timer(&e->rc, e->now);
	pkt.psn = at(11);
	sib_rc_response(&e->rc, &pkt, NULL, e->now);
	done(e, 4, IB_WC_SUCCESS);
	expect_nothing(e);
}

/* Any response whatever leaves the requester in order. */
static void random_responses(struct kunit *test)
{
	static const u8 ops[] = { SIB_OP_READ_FIRST, SIB_OP_READ_MIDDLE, SIB_OP_READ_LAST,
				  SIB_OP_READ_ONLY, SIB_OP_ACK, SIB_OP_ATOMIC_ACK };
	static const enum ib_wr_opcode wrs[] = { IB_WR_SEND, IB_WR_RDMA_READ, IB_WR_RDMA_WRITE,
						 IB_WR_ATOMIC_FETCH_AND_ADD, IB_WR_REG_MR };
	struct rnd_state rnd;
	struct end *e = start_end(test);
	u8 payload[512] = {};
	u32 i, deaths = 0;

	prandom_seed_state(&rnd, 97);
	for (i = 0; i < 100000; i++) {
		u32 r = prandom_u32_state(&rnd);
		struct sib_pkt pkt = {
			.opcode = ops[r % ARRAY_SIZE(ops)],
			.psn = sib_psn_add(e->rc.req.una, (r >> 8 & 0xF) - 3),
			.plen = r >> 12 & 1 ? 256 : r >> 13 & 0x1FF,
			.syndrome = r & 0x800000 ? r >> 24 : SIB_AETH_ACK | 31,
			.msn = prandom_u32_state(&rnd) & SIB_PSN_MASK,
		};

		if (e->sq_head - e->sq_tail < 8) {
			enum ib_wr_opcode op = wrs[(r >> 16) % ARRAY_SIZE(wrs)];

			post(e, op, 0, sib_rc_is_atomic(op) ? 8 : r >> 20 & 0x3FF);
		}
		sib_rc_response(&e->rc, &pkt, payload, e->now);
		if (!(r & 0xF00))
			later(e, 10);
		run(e);
		flush(e);
		KUNIT_ASSERT_LE(test, e->rc.req.rd_out, e->rc.cfg.max_rd);
		KUNIT_ASSERT_LE(test, sib_psn_diff(e->rc.req.psn, e->rc.req.max), 0);
		KUNIT_ASSERT_GE(test, sib_psn_diff(e->rc.req.psn, e->rc.req.una), 0);
		if (e->dead) {
			deaths++;
			e->dead = false;
			e->completions = e->sq_head;
			sib_rc_start_req(&e->rc, r);
			e->rc.req.unlimited = true;
		}
	}
	KUNIT_EXPECT_GT(test, deaths, 100U);
	KUNIT_EXPECT_GT(test, e->completions, deaths);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(rnr, waits_gen_params),
	KUNIT_CASE(rnr_for_ever),
	KUNIT_CASE_PARAM(refused_request, refusals_gen_params),
	KUNIT_CASE(ended_with_requests_left),
	KUNIT_CASE(sequence_nak_exhausts),
	KUNIT_CASE(credits_limit),
	KUNIT_CASE(credits_in_read),
	KUNIT_CASE(read_request),
	KUNIT_CASE(read_resumed),
	KUNIT_CASE_PARAM(bad_read_response, bads_gen_params),
	KUNIT_CASE(response_to_a_send),
	KUNIT_CASE(read_without_end),
	KUNIT_CASE(atomics),
	KUNIT_CASE(late_ack),
	KUNIT_CASE(random_responses),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_rc_comp",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: RC completer");
