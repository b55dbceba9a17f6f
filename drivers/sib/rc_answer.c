// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the responder sends: answers of READ and atomic requests in their order, and
 * then the ACK or NAK that is due (IBA vol. 1, 9.7.5.1).
 */
#include "sib.h"

/* Credits for as many receive requests as are posted, rounded down */
static u8 ack_syndrome(struct sib_rc *rc)
{
	u32 room = rc->ops->room(rc);
	u8 code;

	if (room == U32_MAX)
		return SIB_AETH_ACK | SIB_CREDIT_UNLIMITED;
	/* two codes for each power of two: more than room, but not much */
	code = min(2 * fls(room) + 1, SIB_CREDIT_UNLIMITED);
	do
		code--;
	while (sib_rc_code_value(code) > room);
	return SIB_AETH_ACK | code;
}

static int send_aeth(struct sib_rc *rc, u32 psn, u8 syndrome)
{
	struct sib_pkt pkt = {
		.opcode = SIB_OP_ACK,
		.psn = psn,
		.syndrome = syndrome,
		.msn = rc->resp.msn,
	};

	return rc->ops->send(rc, &pkt, NULL);
}

/* The next packet of the answer to the oldest slot that has none */
static int send_reply(struct sib_rc *rc)
{
	struct sib_rc_resp *resp = &rc->resp;
	const struct sib_rc_slot *slot = sib_rc_slot_of_age(resp, resp->todo);
	u32 off = ((resp->reply - slot->psn) & SIB_PSN_MASK) * rc->cfg.pmtu;
	struct sib_rc_mem mem = { .rkey = slot->rkey, .va = slot->va + off };
	struct sib_pkt pkt = {
		.psn = resp->reply,
		.syndrome = ack_syndrome(rc),
		.msn = resp->msn,
		.orig = slot->orig,
	};
	bool first = !off, last;
	int err;

	if (slot->op != SIB_OP_READ_REQUEST) {
		pkt.opcode = SIB_OP_ATOMIC_ACK;
		last = true;
	} else {
		pkt.plen = min_t(u32, slot->len - off, rc->cfg.pmtu);
		last = off + pkt.plen == slot->len;
		pkt.opcode = last ? (first ? SIB_OP_READ_ONLY : SIB_OP_READ_LAST) :
				    (first ? SIB_OP_READ_FIRST : SIB_OP_READ_MIDDLE);
	}
	err = rc->ops->send(rc, &pkt, pkt.plen ? &mem : NULL);
	if (err == -EACCES) {	/* the region has gone meanwhile */
		resp->todo = 0;
		sib_rc_refuse_access(rc);
		resp->nak_psn = pkt.psn;
		return 0;
	}
	if (err)
		return err;
	resp->reply = sib_psn_add(resp->reply, 1);
	if (!last)
		return 0;
	resp->todo--;
	if (resp->todo)
		resp->reply = sib_rc_slot_of_age(resp, resp->todo)->psn;
	return 0;
}

/* The NAK that is due, or none if what was missing has come: then an ACK is due. */
static int put_nak(struct sib_rc *rc)
{
	struct sib_rc_resp *resp = &rc->resp;
	bool sequence = resp->nak == (SIB_AETH_NAK | SIB_NAK_SEQUENCE);
	int err;

	if (sequence && sib_psn_diff(resp->epsn, resp->gap) > 0) {
		/* what came too early has come again before we could complain */
		resp->nak_due = false;
		resp->ack_due = true;
		return 0;
	}
	err = send_aeth(rc, sequence ? resp->epsn : resp->nak_psn, resp->nak);
	if (err)
		return err;
	if (sequence)
		rc->stats->tx_nak++;
	else if (SIB_AETH_KIND(resp->nak) == SIB_AETH_RNR)
		rc->stats->tx_rnr++;
	resp->nak_due = false;
	resp->ack_due = false;
	return 0;
}

static int send_nak(struct sib_rc *rc)
{
	struct sib_rc_resp *resp = &rc->resp;
	int err = put_nak(rc);

	if (!err && resp->closing)
		rc->ops->fatal(rc, resp->close_event);
	return err;
}

static int send_ack(struct sib_rc *rc)
{
	int err = send_aeth(rc, sib_psn_add(rc->resp.epsn, SIB_PSN_MASK), ack_syndrome(rc));

	if (err)
		return err;
	rc->stats->tx_ack++;
	rc->resp.ack_due = false;
	return 0;
}

/**
 * sib_rc_resp_end - acknowledge or refuse what has completed, while the QP is still there
 * @rc: a QP that may send, about to lose its state
 *
 * The consumer may have seen a request complete, and take the QP away, before it was the QP's
 * turn to answer the request; the peer would send it again until its retries are used up.
 * What cannot be sent at once is lost, as a packet may be.
 */
void sib_rc_resp_end(struct sib_rc *rc)
{
	struct sib_rc_resp *resp = &rc->resp;

	/* An ACK would also stand for answers that have not been sent (IBA vol. 1, 9.7.5.1). */
	if (!resp->on || resp->todo)
		return;
	if (resp->nak_due)
		put_nak(rc);
	if (!resp->nak_due && resp->ack_due)
		send_ack(rc);
}

/**
 * sib_rc_resp_run - send what the responder has to say
 * @rc: the QP
 * @budget: packets at most
 *
 * Return: packets sent, or the errno of &sib_rc_ops.send.
 */
int sib_rc_resp_run(struct sib_rc *rc, int budget)
{
	struct sib_rc_resp *resp = &rc->resp;
	int n, err;

	for (n = 0; n < budget; n++) {
		if (resp->todo)
			err = send_reply(rc);
		else if (resp->nak_due)
			err = send_nak(rc);
		else if (resp->ack_due)
			err = send_ack(rc);
		else
			break;
		if (err)
			return err;
	}
	return n;
}
