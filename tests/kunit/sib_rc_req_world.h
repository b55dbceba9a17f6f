/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The requester's peer, as a suite plays it: PSNs that wrap with the third packet,
 * and responses.
 */
#ifndef SIB_RC_REQ_WORLD_H
#define SIB_RC_REQ_WORLD_H

#include "sib_rc_world.h"

#define PSN	0xFFFFFE	/* wraps with the third packet */

static u32 __maybe_unused at(u32 n)
{
	return sib_psn_add(PSN, n);
}

static struct end __maybe_unused *start_end(struct kunit *test)
{
	struct end *e = new_end(test, PSN, 0);

	e->rc.req.unlimited = true;
	return e;
}

/* An AETH from the peer */
static void __maybe_unused aeth(struct end *e, u8 opcode, u32 psn, u8 syndrome, u32 msn)
{
	struct sib_pkt pkt = { .opcode = opcode, .psn = psn, .syndrome = syndrome, .msn = msn };

	sib_rc_response(&e->rc, &pkt, NULL, e->now);
	run(e);
}

static void __maybe_unused ack(struct end *e, u32 psn)
{
	aeth(e, SIB_OP_ACK, psn, SIB_AETH_ACK | SIB_CREDIT_UNLIMITED, 0);
}

static void __maybe_unused nak(struct end *e, u32 psn, u8 code)
{
	aeth(e, SIB_OP_ACK, psn, SIB_AETH_NAK | code, 0);
}

static void __maybe_unused read_response(struct end *e, u8 opcode, u32 psn, u32 len)
{
	struct sib_pkt pkt = {
		.opcode = opcode,
		.psn = psn,
		.plen = len,
		.syndrome = SIB_AETH_ACK | SIB_CREDIT_UNLIMITED,
	};
	u8 payload[256 + 4];

	memset(payload, 0x40 + (psn & 0x3F), sizeof(payload));
	sib_rc_response(&e->rc, &pkt, payload, e->now);
	run(e);
}

static void __maybe_unused later(struct end *e, u64 ns)
{
	e->now = ktime_add_ns(e->now, ns);
	sib_rc_timer(&e->rc, e->now);
	run(e);
}

static void __maybe_unused done(struct end *e, u32 completions, enum ib_wc_status status)
{
	KUNIT_EXPECT_EQ(e->test, e->completions, completions);
	if (completions)
		KUNIT_EXPECT_EQ(e->test, (int)e->status, (int)status);
	KUNIT_EXPECT_EQ(e->test, e->dead, status != IB_WC_SUCCESS);
}

#endif
