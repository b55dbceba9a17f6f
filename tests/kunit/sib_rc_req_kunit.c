// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The requester: what leaves for which requests, in which order, how often, and
 * what has to wait.
 */
#include "sib_rc_req_world.h"

struct shape {
	const char *name;
	enum ib_wr_opcode opcode;
	u32 len;
	u8 count;
	u8 ops[4];
};

static const struct shape shapes[] = {
	{ "SEND of nothing", IB_WR_SEND, 0, 1, { SIB_OP_SEND_ONLY } },
	{ "SEND of a byte", IB_WR_SEND, 1, 1, { SIB_OP_SEND_ONLY } },
	{ "SEND of an MTU", IB_WR_SEND, 256, 1, { SIB_OP_SEND_ONLY } },
	{ "SEND of two packets", IB_WR_SEND, 257, 2, { SIB_OP_SEND_FIRST, SIB_OP_SEND_LAST } },
	{ "SEND of three packets", IB_WR_SEND, 768, 3,
	  { SIB_OP_SEND_FIRST, SIB_OP_SEND_MIDDLE, SIB_OP_SEND_LAST } },
	{ "immediate", IB_WR_SEND_WITH_IMM, 9, 1, { SIB_OP_SEND_ONLY_IMM } },
	{ "immediate, two packets", IB_WR_SEND_WITH_IMM, 300, 2,
	  { SIB_OP_SEND_FIRST, SIB_OP_SEND_LAST_IMM } },
	{ "invalidate", IB_WR_SEND_WITH_INV, 9, 1, { SIB_OP_SEND_ONLY_INV } },
	{ "invalidate, two packets", IB_WR_SEND_WITH_INV, 300, 2,
	  { SIB_OP_SEND_FIRST, SIB_OP_SEND_LAST_INV } },
	{ "WRITE of nothing", IB_WR_RDMA_WRITE, 0, 1, { SIB_OP_WRITE_ONLY } },
	{ "WRITE", IB_WR_RDMA_WRITE, 256, 1, { SIB_OP_WRITE_ONLY } },
	{ "WRITE of four packets", IB_WR_RDMA_WRITE, 769, 4,
	  { SIB_OP_WRITE_FIRST, SIB_OP_WRITE_MIDDLE, SIB_OP_WRITE_MIDDLE, SIB_OP_WRITE_LAST } },
	{ "WRITE, immediate", IB_WR_RDMA_WRITE_WITH_IMM, 2, 1, { SIB_OP_WRITE_ONLY_IMM } },
	{ "WRITE, immediate, two packets", IB_WR_RDMA_WRITE_WITH_IMM, 512, 2,
	  { SIB_OP_WRITE_FIRST, SIB_OP_WRITE_LAST_IMM } },
};

static void shape_desc(const struct shape *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(shapes, shapes, shape_desc);

/* Each packet lost once at each position, the rest arrives after that */
static void segmentation_and_loss(struct kunit *test)
{
	const struct shape *s = test->param_value;
	u32 lost, i, len = 0;

	for (lost = 0; lost <= s->count; lost++) {
		struct end *e = start_end(test);
		struct sib_swqe *wqe = post(e, s->opcode, 1000, s->len);
		struct sib_pkt pkt;

		wqe->send_flags = IB_SEND_SOLICITED;
		wqe->imm = cpu_to_be32(0xABCD);
		run(e);
		for (i = 0, len = 0; i < s->count; i++) {
			pkt = expect(e, s->ops[i], at(i));
			len += pkt.plen;
			KUNIT_EXPECT_EQ(test, pkt.ackreq, i + 1 == s->count);
			KUNIT_EXPECT_EQ(test, pkt.solicited,
					i + 1 == s->count && s->opcode != IB_WR_RDMA_WRITE);
		}
		KUNIT_EXPECT_EQ(test, len, s->len);
		expect_nothing(e);
		if (lost < s->count) {
			nak(e, at(lost), SIB_NAK_SEQUENCE);
			for (i = lost; i < s->count; i++)
				expect(e, s->ops[i], at(i));
			expect_nothing(e);
		}
		done(e, 0, IB_WC_SUCCESS);
		ack(e, at(s->count - 1));
		done(e, 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_FALSE(test, e->rc.armed);
	}
}

static void write_carries_reth(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_pkt pkt;

	post(e, IB_WR_RDMA_WRITE, 4096, 600);
	run(e);
	pkt = expect(e, SIB_OP_WRITE_FIRST, at(0));
	KUNIT_EXPECT_EQ(test, pkt.va, VA + 4096);
	KUNIT_EXPECT_EQ(test, pkt.rkey, (u32)RKEY);
	KUNIT_EXPECT_EQ(test, pkt.rlen, 600U);
	flush(e);
}

/* One acknowledgment completes all before it, in order. */
static void coalesced(struct kunit *test)
{
	struct end *e = start_end(test);
	int i;

	for (i = 0; i < 5; i++)
		post(e, IB_WR_SEND, 0, 300);
	run(e);
	flush(e);
	ack(e, at(2));		/* first of the second message */
	done(e, 1, IB_WC_SUCCESS);
	ack(e, at(7));
	done(e, 4, IB_WC_SUCCESS);
	ack(e, at(3));		/* old */
	ack(e, at(50));		/* never sent */
	done(e, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, e->stats.rx_ghost, 1ULL);
	ack(e, at(9));
	done(e, 5, IB_WC_SUCCESS);
	expect_nothing(e);
}

static void timeout_and_retry_count(struct kunit *test)
{
	struct end *e = start_end(test);
	int i;

	post(e, IB_WR_SEND, 0, 300);
	run(e);
	for (i = 0; i < 3; i++) {
		expect(e, SIB_OP_SEND_FIRST, at(0));
		expect(e, SIB_OP_SEND_LAST, at(1));
		later(e, 9);
		expect_nothing(e);
		later(e, 1);
	}
	KUNIT_EXPECT_EQ(test, e->stats.timeout, 3ULL);
	expect(e, SIB_OP_SEND_FIRST, at(0));
	expect(e, SIB_OP_SEND_LAST, at(1));
	done(e, 0, IB_WC_SUCCESS);
	later(e, 10);
	done(e, 1, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, e->event, -1);
	expect_nothing(e);
}

/* Any progress makes all tries available again. */
static void progress_restores_retries(struct kunit *test)
{
	struct end *e = start_end(test);
	int i;

	post(e, IB_WR_SEND, 0, 256 * 20);
	run(e);
	for (i = 0; i < 19; i++) {
		flush(e);
		ack(e, at(i));
		later(e, 10);
		expect(e, i < 18 ? SIB_OP_SEND_MIDDLE : SIB_OP_SEND_LAST, at(i + 1));
	}
	flush(e);
	ack(e, at(19));
	done(e, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, e->stats.timeout, 19ULL);
}

/* What a queue pair asks for (IBA vol. 1, 9.7.6.1.3), and HCAs that wait longer */
static void ack_times(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(0, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(0, 500), 0ULL);
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(1, 0), 16384ULL);
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(14, 0), 134217728ULL);
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(31, 0), 17592186044416ULL);
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(1, 30), 30000000ULL);
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(14, 30), 134217728ULL);
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(14, 500), 500000000ULL);
	KUNIT_EXPECT_EQ(test, sib_rc_ack_wait(31, 500), 17592186044416ULL);
}

static void no_timeout(struct kunit *test)
{
	struct end *e = start_end(test);

	e->rc.cfg.timeout = 0;
	post(e, IB_WR_SEND, 0, 3);
	run(e);
	flush(e);
	KUNIT_EXPECT_FALSE(test, e->rc.armed);
	later(e, 1000000);
	expect_nothing(e);
}

/* A READ longer than one request may be is asked for in parts. */
static void read_in_parts(struct kunit *test)
{
	struct end *e = start_end(test);
	struct sib_swqe *wqe = post(e, IB_WR_RDMA_READ, 0, 1000);
	struct sib_pkt pkt;
	u32 n;

	wqe->length = SIB_RC_MAX_MSG;
	run(e);
	for (n = 0; n < 2; n++) {
		pkt = expect(e, SIB_OP_READ_REQUEST, at(n * SIB_RC_READ_MAX));
		KUNIT_EXPECT_EQ(test, pkt.rlen, SIB_RC_READ_MAX * 256);
		KUNIT_EXPECT_EQ(test, pkt.va, VA + (u64)n * SIB_RC_READ_MAX * 256);
		expect_nothing(e);
		KUNIT_EXPECT_EQ(test, e->rc.req.rd_out, 1);
		/* all of that part is there */
		e->rc.req.una = at((n + 1) * SIB_RC_READ_MAX - 1);
		progress(&e->rc, at((n + 1) * SIB_RC_READ_MAX), e->now);
		sib_rc_reap(&e->rc);
		run(e);
	}
	done(e, 1, IB_WC_SUCCESS);
}

static void read_limit_and_fence(struct kunit *test)
{
	struct end *e = start_end(test);
	int i;

	e->rc.cfg.max_rd = 2;
	for (i = 0; i < 3; i++)
		post(e, IB_WR_RDMA_READ, 0, 8);
	post(e, IB_WR_SEND, 0, 3)->send_flags = IB_SEND_FENCE;
	run(e);
	expect(e, SIB_OP_READ_REQUEST, at(0));
	expect(e, SIB_OP_READ_REQUEST, at(1));
	expect_nothing(e);
	read_response(e, SIB_OP_READ_ONLY, at(0), 8);
	expect(e, SIB_OP_READ_REQUEST, at(2));
	expect_nothing(e);
	/* going back counts them again */
	later(e, 10);
	expect(e, SIB_OP_READ_REQUEST, at(1));
	expect(e, SIB_OP_READ_REQUEST, at(2));
	read_response(e, SIB_OP_READ_ONLY, at(1), 8);
	expect_nothing(e);
	read_response(e, SIB_OP_READ_ONLY, at(2), 8);
	expect(e, SIB_OP_SEND_ONLY, at(3));
	ack(e, at(3));
	done(e, 4, IB_WC_SUCCESS);
	e->rc.cfg.max_rd = 0;
	post(e, IB_WR_RDMA_READ, 0, 8);
	run(e);
	done(e, 5, IB_WC_LOC_QP_OP_ERR);
}

/* A request that cannot be sent fails in its turn, not before those ahead of it. */
static void local_error_waits(struct kunit *test)
{
	struct end *e = start_end(test);

	post(e, IB_WR_SEND, 0, 3);
	post(e, IB_WR_SEND, 0, 300)->sge[1].lkey = 5;
	post(e, IB_WR_SEND, 0, 3);
	run(e);
	expect(e, SIB_OP_SEND_ONLY, at(0));
	done(e, 0, IB_WC_SUCCESS);
	expect_nothing(e);
	ack(e, at(0));
	done(e, 2, IB_WC_LOC_PROT_ERR);
}

static void local_requests(struct kunit *test)
{
	struct end *e = start_end(test);

	post(e, IB_WR_REG_MR, 0, 0);
	post(e, IB_WR_SEND, 0, 3);
	post(e, IB_WR_REG_MR, 0, 0);
	post(e, IB_WR_SEND, 0, 3);
	post(e, IB_WR_LOCAL_INV, 0, 0);
	post(e, IB_WR_SEND, 0, 3);
	run(e);
	/* the first is complete at once, the second waits for its turn */
	done(e, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, e->locals, 2U);
	/* going back executes nothing again */
	nak(e, at(0), SIB_NAK_SEQUENCE);
	KUNIT_EXPECT_EQ(test, e->locals, 2U);
	flush(e);
	ack(e, at(0));
	done(e, 3, IB_WC_SUCCESS);
	/* what an invalidation might hurt is over when it is done */
	KUNIT_EXPECT_EQ(test, e->locals, 2U);
	ack(e, at(1));
	KUNIT_EXPECT_EQ(test, e->locals, 3U);
	done(e, 5, IB_WC_SUCCESS);
	expect(e, SIB_OP_SEND_ONLY, at(2));
	ack(e, at(2));
	e->local_status = IB_WC_MW_BIND_ERR;
	post(e, IB_WR_SEND, 0, 3);
	post(e, IB_WR_REG_MR, 0, 0);
	run(e);
	flush(e);
	done(e, 6, IB_WC_SUCCESS);
	ack(e, at(3));
	done(e, 8, IB_WC_MW_BIND_ERR);
}

/*
 * The acknowledgment comes after going back and before anything is sent again: the
 * registration behind it is complete, though no packet will say so.
 */
static void local_request_last_after_timeout(struct kunit *test)
{
	struct end *e = start_end(test);

	post(e, IB_WR_SEND, 0, 3);
	post(e, IB_WR_REG_MR, 0, 0);
	run(e);
	flush(e);
	done(e, 0, IB_WC_SUCCESS);
	e->now += e->rc.cfg.timeout;
	sib_rc_timer(&e->rc, e->now);
	ack(e, at(0));
	done(e, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, e->locals, 1U);
	expect_nothing(e);
}

/*
 * Likewise, with a READ behind it whose response arrives at once as well: it is not taken
 * for one to the registration.
 */
static void local_request_between_after_timeout(struct kunit *test)
{
	struct sib_pkt pkt = { .opcode = SIB_OP_ACK, .psn = at(0),
			       .syndrome = SIB_AETH_ACK | SIB_CREDIT_UNLIMITED };
	struct end *e = start_end(test);

	post(e, IB_WR_SEND, 0, 3);
	post(e, IB_WR_REG_MR, 0, 0);
	post(e, IB_WR_RDMA_READ, 0, 8);
	run(e);
	flush(e);
	e->now += e->rc.cfg.timeout;
	sib_rc_timer(&e->rc, e->now);
	/* both before anything is sent again */
	sib_rc_response(&e->rc, &pkt, NULL, e->now);
	read_response(e, SIB_OP_READ_ONLY, at(1), 8);
	done(e, 3, IB_WC_SUCCESS);
	expect_nothing(e);
}

/* The limit becomes 0 (SQD to SQD) when a READ has its PSNs: it is finished. */
static void read_limit_lowered(struct kunit *test)
{
	struct end *e = start_end(test);

	e->rc.cfg.max_rd = 1;
	post(e, IB_WR_RDMA_READ, 0, 8);
	post(e, IB_WR_RDMA_READ, 0, 8);
	run(e);
	expect(e, SIB_OP_READ_REQUEST, at(0));
	e->rc.cfg.max_rd = 0;
	read_response(e, SIB_OP_READ_ONLY, at(0), 8);
	expect(e, SIB_OP_READ_REQUEST, at(1));
	read_response(e, SIB_OP_READ_ONLY, at(1), 8);
	done(e, 2, IB_WC_SUCCESS);
	post(e, IB_WR_RDMA_READ, 0, 8);
	run(e);
	done(e, 3, IB_WC_LOC_QP_OP_ERR);
}

static void window(struct kunit *test)
{
	struct end *e = start_end(test);
	u32 i, asked = 0;

	post(e, IB_WR_SEND, 0, 100000);
	run(e);
	for (i = 0; i < SIB_RC_WINDOW; i++)
		asked += expect(e, i ? SIB_OP_SEND_MIDDLE : SIB_OP_SEND_FIRST, at(i)).ackreq;
	KUNIT_EXPECT_EQ(test, asked, (u32)SIB_RC_WINDOW / SIB_RC_ASK);
	expect_nothing(e);
	ack(e, at(31));
	for (i = 0; i < 32; i++)
		expect(e, SIB_OP_SEND_MIDDLE, at(SIB_RC_WINDOW + i));
	expect_nothing(e);
}

/* The owner cannot send: nothing is lost, nothing is sent twice. */
static void back_pressure(struct kunit *test)
{
	struct end *e = start_end(test);

	post(e, IB_WR_SEND, 0, 300);
	e->send_error = -EAGAIN;
	KUNIT_EXPECT_EQ(test, sib_rc_run(&e->rc, 100, false, e->now), -EAGAIN);
	e->send_error = 0;
	KUNIT_EXPECT_EQ(test, sib_rc_run(&e->rc, 1, false, e->now), 1);
	e->send_error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, sib_rc_run(&e->rc, 100, false, e->now), -ENOMEM);
	e->send_error = 0;
	run(e);
	expect(e, SIB_OP_SEND_FIRST, at(0));
	expect(e, SIB_OP_SEND_LAST, at(1));
	expect_nothing(e);
}

/* SQD: what was begun is finished, nothing else is begun. */
static void drain(struct kunit *test)
{
	struct end *e = start_end(test);

	post(e, IB_WR_SEND, 0, 600);
	post(e, IB_WR_SEND, 0, 3);
	sib_rc_run(&e->rc, 2, false, e->now);	/* begun, and the first packet */
	KUNIT_EXPECT_FALSE(test, sib_rc_drained(&e->rc));
	sib_rc_run(&e->rc, 100, true, e->now);
	expect(e, SIB_OP_SEND_FIRST, at(0));
	expect(e, SIB_OP_SEND_MIDDLE, at(1));
	KUNIT_EXPECT_TRUE(test, expect(e, SIB_OP_SEND_LAST, at(2)).ackreq);
	KUNIT_EXPECT_TRUE(test, list_empty(&e->out));
	KUNIT_EXPECT_FALSE(test, sib_rc_drained(&e->rc));
	aeth(e, SIB_OP_ACK, at(1), SIB_AETH_ACK | 31, 0);
	flush(e);
}

static void unreliable_completes_when_sent(struct kunit *test)
{
	struct end *e = start_end(test);

	e->rc.cfg.uc = true;
	post(e, IB_WR_SEND, 0, 300);
	post(e, IB_WR_RDMA_WRITE_WITH_IMM, 0, 3);
	run(e);
	KUNIT_EXPECT_FALSE(test, expect(e, SIB_OP_UC | SIB_OP_SEND_FIRST, at(0)).ackreq);
	KUNIT_EXPECT_FALSE(test, expect(e, SIB_OP_UC | SIB_OP_SEND_LAST, at(1)).ackreq);
	expect(e, SIB_OP_UC | SIB_OP_WRITE_ONLY_IMM, at(2));
	done(e, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, e->rc.armed);
	post(e, IB_WR_RDMA_READ, 0, 3);
	run(e);
	done(e, 3, IB_WC_LOC_QP_OP_ERR);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(segmentation_and_loss, shapes_gen_params),
	KUNIT_CASE(write_carries_reth),
	KUNIT_CASE(coalesced),
	KUNIT_CASE(timeout_and_retry_count),
	KUNIT_CASE(progress_restores_retries),
	KUNIT_CASE(ack_times),
	KUNIT_CASE(no_timeout),
	KUNIT_CASE(read_in_parts),
	KUNIT_CASE(read_limit_and_fence),
	KUNIT_CASE(local_error_waits),
	KUNIT_CASE(local_requests),
	KUNIT_CASE(local_request_last_after_timeout),
	KUNIT_CASE(local_request_between_after_timeout),
	KUNIT_CASE(read_limit_lowered),
	KUNIT_CASE(window),
	KUNIT_CASE(back_pressure),
	KUNIT_CASE(drain),
	KUNIT_CASE(unreliable_completes_when_sent),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_rc_req",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: RC requester and completer");
