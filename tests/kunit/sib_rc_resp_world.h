/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The responder's peer, as a suite plays it: PSNs that wrap with the third packet,
 * requests, and what is expected back.
 */
#ifndef SIB_RC_RESP_WORLD_H
#define SIB_RC_RESP_WORLD_H

#include "sib_rc_world.h"

#define PSN	0xFFFFFE	/* wraps with the third packet */
#define UNLIMITED (SIB_AETH_ACK | SIB_CREDIT_UNLIMITED)

static u32 __maybe_unused at(u32 n)
{
	return sib_psn_add(PSN, n);
}

static struct end __maybe_unused *start_end(struct kunit *test)
{
	struct end *e = new_end(test, 0, PSN);

	e->srq = true;
	return e;
}

/* A request, its payload all bytes PSN */
static struct sib_pkt __maybe_unused request(u8 opcode, u32 psn, u32 len)
{
	return (struct sib_pkt) {
		.opcode = opcode,
		.psn = psn,
		.plen = len,
		.rlen = len,
		.rkey = RKEY,
		.va = VA + 1024,
		.ackreq = sib_op_parts(opcode) & SIB_PART_LAST,
		.slid = 9,
	};
}

static void __maybe_unused give(struct end *e, const struct sib_pkt *pkt)
{
	u8 payload[1024];

	memset(payload, pkt->psn, sizeof(payload));
	sib_rc_request(&e->rc, pkt, payload);
}

/* Everything else as in request() */
static void __maybe_unused take(struct end *e, u8 opcode, u32 psn, u32 len)
{
	struct sib_pkt pkt = request(opcode, psn, len);

	give(e, &pkt);
	run(e);
}

static void __maybe_unused expect_aeth(struct end *e, u32 psn, u8 syndrome, u32 msn)
{
	struct sib_pkt pkt = expect(e, SIB_OP_ACK, psn);

	KUNIT_EXPECT_EQ(e->test, pkt.syndrome, syndrome);
	KUNIT_EXPECT_EQ(e->test, pkt.msn, msn);
	expect_nothing(e);
}

/* The request was refused for good. */
static void __maybe_unused expect_closed(struct end *e, u32 psn, u8 nak, int event)
{
	struct sib_pkt pkt = expect(e, SIB_OP_ACK, psn);

	KUNIT_EXPECT_EQ(e->test, pkt.syndrome, SIB_AETH_NAK | nak);
	KUNIT_EXPECT_TRUE(e->test, e->dead);
	KUNIT_EXPECT_EQ(e->test, e->event, event);
	take(e, SIB_OP_SEND_ONLY, psn, 3);
	expect_nothing(e);
}

static void __maybe_unused mem_is(struct end *e, u32 from, u32 len, u8 value)
{
	u32 i;

	for (i = 0; i < len; i++)
		KUNIT_ASSERT_EQ_MSG(e->test, e->mem[from + i], value, "at %u", from + i);
}

static void __maybe_unused read_is(struct end *e, u32 psn, u32 from, u32 len)
{
	u32 off = from;
	struct packet *p;

	for (;; psn = sib_psn_add(psn, 1)) {
		bool last = off + 256 >= len, first = off == from;

		p = next_packet(e);
		KUNIT_ASSERT_NOT_NULL(e->test, p);
		KUNIT_EXPECT_EQ(e->test, p->pkt.psn, psn);
		KUNIT_EXPECT_EQ(e->test, p->pkt.plen, min(len - off, 256U));
		/* a part of an answer sent again may begin in its middle */
		if (!from)
			KUNIT_EXPECT_EQ(e->test, p->pkt.opcode,
					last ? (first ? SIB_OP_READ_ONLY : SIB_OP_READ_LAST) :
					       (first ? SIB_OP_READ_FIRST : SIB_OP_READ_MIDDLE));
		KUNIT_EXPECT_EQ(e->test, memcmp(p->payload, e->mem + 1024 + off, p->pkt.plen), 0);
		off += p->pkt.plen;
		kfree(p);
		if (last)
			return;
	}
}

static void __maybe_unused ask_read(struct end *e, u32 psn, u32 from, u32 len)
{
	struct sib_pkt pkt = request(SIB_OP_READ_REQUEST, psn, 0);

	pkt.va += from;
	pkt.rlen = len - from;
	give(e, &pkt);
}

static void __maybe_unused fill_mem(struct end *e)
{
	u32 i;

	for (i = 0; i < 8192; i++)
		e->mem[i] = i * 7 + (i >> 8);
}

#endif
