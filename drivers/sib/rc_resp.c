// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The responder: requests of the peer are executed in the order of their PSNs
 * and answered (IBA vol. 1, 9.7.4 and 9.7.5.1).
 *
 * SENDs and WRITEs are answered by an ACK, one for all that have arrived when it
 * is sent. READ and atomic requests are put into slots, whose answers are sent in
 * order before any later ACK or NAK. A slot stays after it has been answered, so
 * that a request that comes again can be answered again; then all slots after it
 * are, too.
 */
#include "sib.h"

#define OP(opcode)	((opcode) & ~SIB_OP_SERVICE(0xFF))

/**
 * sib_rc_start_resp - the QP may receive
 * @rc: the QP, its attributes set; nothing has been received yet
 * @rq_psn: PSN of the first request
 */
void sib_rc_start_resp(struct sib_rc *rc, u32 rq_psn)
{
	memset(&rc->resp, 0, sizeof(rc->resp));
	rc->resp.on = true;
	rc->resp.epsn = rq_psn & SIB_PSN_MASK;
}

static bool is_write(u8 op)
{
	return op >= SIB_OP_WRITE_FIRST && op <= SIB_OP_WRITE_ONLY_IMM;
}

static bool is_atomic(u8 op)
{
	return op == SIB_OP_CMP_SWAP || op == SIB_OP_FETCH_ADD;
}

static bool is_send(u8 op)
{
	return op <= SIB_OP_SEND_ONLY_IMM || op == SIB_OP_SEND_LAST_INV ||
	       op == SIB_OP_SEND_ONLY_INV;
}

/*
 * A request that ends the connection: the NAK is sent, then the QP is in error. A
 * receive request that was in use says why; if there is none, an event does. With
 * UC, what the peer did wrong loses the message, and no more: the receive request
 * serves the next.
 */
static void refuse(struct sib_rc *rc, u8 nak, enum ib_wc_status status, int event)
{
	struct sib_rc_resp *resp = &rc->resp;
	const struct sib_rwqe *rwqe = resp->rwqe;
	struct ib_wc wc = { .status = status, .opcode = IB_WC_RECV };

	rc->stats->rx_refused++;
	resp->message = SIB_RC_NO_MESSAGE;
	if (rc->cfg.uc)
		return;
	resp->rwqe = NULL;
	resp->closing = true;
	resp->close_event = rwqe ? -1 : event;
	resp->nak = SIB_AETH_NAK | nak;
	resp->nak_psn = resp->epsn;
	resp->nak_due = true;
	if (rwqe)
		rc->ops->received(rc, rwqe, &wc, true);
	rc->ops->kick(rc);
}

static void invalid(struct sib_rc *rc)
{
	refuse(rc, SIB_NAK_INV_REQ, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR);
}

/*
 * The memory of the receive request cannot be written: its consumer's error, and so
 * the end of the QP with UC as well (IBA vol. 1, 9.9.3).
 */
static void cannot_place(struct sib_rc *rc)
{
	struct ib_wc wc = { .status = IB_WC_LOC_PROT_ERR, .opcode = IB_WC_RECV };
	const struct sib_rwqe *rwqe = rc->resp.rwqe;

	if (!rc->cfg.uc) {
		refuse(rc, SIB_NAK_REM_OP, IB_WC_LOC_PROT_ERR, -1);
		return;
	}
	rc->stats->rx_refused++;
	rc->resp.rwqe = NULL;
	rc->ops->received(rc, rwqe, &wc, true);
	rc->ops->fatal(rc, -1);
}

/**
 * sib_rc_refuse_access - a request names memory that is not open to the peer
 * @rc: the QP; the NAK that ends the connection is due
 */
void sib_rc_refuse_access(struct sib_rc *rc)
{
	refuse(rc, SIB_NAK_REM_ACCESS, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
}

/* Have a receive request at hand; without one, the peer has to wait. */
static bool have_rwqe(struct sib_rc *rc)
{
	struct sib_rc_resp *resp = &rc->resp;

	if (!resp->rwqe)
		resp->rwqe = rc->ops->take(rc);
	if (resp->rwqe)
		return true;
	if (rc->cfg.uc) {
		resp->message = SIB_RC_NO_MESSAGE;
		return false;
	}
	resp->nak = SIB_AETH_RNR | rc->cfg.rnr_timer;
	resp->nak_psn = resp->epsn;
	resp->nak_due = true;
	resp->nak_sent = true;
	rc->ops->kick(rc);
	return false;
}

/* Complete the receive request of the message that ends with this packet. */
static void deliver(struct sib_rc *rc, const struct sib_pkt *pkt, enum ib_wc_opcode opcode)
{
	u32 parts = sib_op_parts(pkt->opcode);
	const struct sib_rwqe *rwqe = rc->resp.rwqe;
	struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = opcode,
		.byte_len = rc->resp.got,
		.slid = pkt->slid,
		.sl = pkt->sl,
	};

	if (parts & SIB_PART_IMM) {
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = pkt->imm;
	} else if (parts & SIB_PART_IETH) {
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = pkt->inv_rkey;
	}
	rc->resp.rwqe = NULL;
	rc->ops->received(rc, rwqe, &wc, pkt->solicited);
}

/* A packet was executed: 0, or the request must not be acknowledged. */
static int do_send(struct sib_rc *rc, const struct sib_pkt *pkt, u32 parts, const void *payload)
{
	struct sib_rc_resp *resp = &rc->resp;
	struct sib_rc_mem mem = {};

	if (parts & SIB_PART_FIRST) {
		if (!have_rwqe(rc))
			return -EBUSY;
		resp->message = SIB_RC_SEND;
		resp->got = 0;
	}
	if (pkt->plen > resp->rwqe->length - resp->got) {
		refuse(rc, SIB_NAK_INV_REQ, IB_WC_LOC_LEN_ERR, -1);
		return -EINVAL;
	}
	mem.rwqe = resp->rwqe;
	mem.skip = resp->got;
	if (pkt->plen && rc->ops->place(rc, &mem, payload, pkt->plen)) {
		cannot_place(rc);
		return -EACCES;
	}
	resp->got += pkt->plen;
	if (!(parts & SIB_PART_LAST))
		return 0;
	if (parts & SIB_PART_IETH && rc->ops->invalidate(rc, pkt->inv_rkey)) {
		sib_rc_refuse_access(rc);
		return -EACCES;
	}
	deliver(rc, pkt, IB_WC_RECV);
	return 0;
}

/* The first packet of a WRITE says where to and how much. */
static int open_write(struct sib_rc *rc, const struct sib_pkt *pkt)
{
	struct sib_rc_resp *resp = &rc->resp;

	if (pkt->rlen > SIB_RC_MAX_MSG) {
		invalid(rc);
		return -EINVAL;
	}
	if (!(rc->cfg.access & IB_ACCESS_REMOTE_WRITE) ||
	    (pkt->rlen && rc->ops->check(rc, pkt->rkey, pkt->va, pkt->rlen,
					 IB_ACCESS_REMOTE_WRITE))) {
		sib_rc_refuse_access(rc);
		return -EACCES;
	}
	resp->message = SIB_RC_WRITE;
	resp->got = 0;
	resp->left = pkt->rlen;
	resp->rkey = pkt->rkey;
	resp->va = pkt->va;
	return 0;
}

static int do_write(struct sib_rc *rc, const struct sib_pkt *pkt, u32 parts, const void *payload)
{
	struct sib_rc_resp *resp = &rc->resp;
	struct sib_rc_mem mem = {};
	int err;

	/* before anything is written: it will be tried again */
	if (parts & SIB_PART_IMM && !have_rwqe(rc))
		return -EBUSY;
	if (parts & SIB_PART_FIRST) {
		err = open_write(rc, pkt);
		if (err)
			return err;
	}
	if (parts & SIB_PART_LAST ? pkt->plen != resp->left : pkt->plen > resp->left) {
		invalid(rc);
		return -EINVAL;
	}
	mem.rkey = resp->rkey;
	mem.va = resp->va;
	if (pkt->plen && rc->ops->place(rc, &mem, payload, pkt->plen)) {
		sib_rc_refuse_access(rc);
		return -EACCES;
	}
	resp->va += pkt->plen;
	resp->left -= pkt->plen;
	resp->got += pkt->plen;
	if (parts & SIB_PART_IMM)
		deliver(rc, pkt, IB_WC_RECV_RDMA_WITH_IMM);
	return 0;
}

/* A slot for a READ or atomic request; the peer has fewer than it may have */
static struct sib_rc_slot *new_slot(struct sib_rc *rc, const struct sib_pkt *pkt, u32 n)
{
	struct sib_rc_resp *resp = &rc->resp;
	struct sib_rc_slot *slot = &resp->slots[resp->head];

	if (!resp->todo)
		resp->reply = pkt->psn;
	resp->todo++;
	resp->held = min(resp->held + 1, (int)rc->cfg.max_dest_rd);
	resp->head = (resp->head + 1) % SIB_MAX_RD_ATOMIC;
	slot->op = OP(pkt->opcode);
	slot->psn = pkt->psn;
	slot->end = sib_psn_add(pkt->psn, n);
	slot->va = pkt->va;
	slot->rkey = pkt->rkey;
	slot->len = 0;
	resp->epsn = slot->end;
	resp->msn = sib_psn_add(resp->msn, 1);
	/* the answer to this one acknowledges all before it */
	resp->ack_due = false;
	rc->ops->kick(rc);
	return slot;
}

static void do_read(struct sib_rc *rc, const struct sib_pkt *pkt)
{
	if (rc->resp.todo >= rc->cfg.max_dest_rd || pkt->rlen > SIB_RC_MAX_MSG) {
		invalid(rc);
		return;
	}
	if (!(rc->cfg.access & IB_ACCESS_REMOTE_READ) ||
	    (pkt->rlen && rc->ops->check(rc, pkt->rkey, pkt->va, pkt->rlen,
					 IB_ACCESS_REMOTE_READ))) {
		sib_rc_refuse_access(rc);
		return;
	}
	new_slot(rc, pkt, sib_rc_packets(rc, pkt->rlen))->len = pkt->rlen;
}

static void do_atomic(struct sib_rc *rc, const struct sib_pkt *pkt)
{
	u64 orig;

	if (rc->resp.todo >= rc->cfg.max_dest_rd || pkt->va & (sizeof(u64) - 1)) {
		invalid(rc);
		return;
	}
	if (!(rc->cfg.access & IB_ACCESS_REMOTE_ATOMIC) ||
	    rc->ops->check(rc, pkt->rkey, pkt->va, sizeof(u64), IB_ACCESS_REMOTE_ATOMIC) ||
	    rc->ops->atomic(rc, pkt, &orig)) {
		sib_rc_refuse_access(rc);
		return;
	}
	new_slot(rc, pkt, 1)->orig = orig;
}

/* Whether a packet has the length its place in the message wants */
static bool length_ok(const struct sib_rc *rc, const struct sib_pkt *pkt, u32 parts)
{
	if (!(parts & SIB_PART_LAST))
		return pkt->plen == rc->cfg.pmtu;
	return pkt->plen <= rc->cfg.pmtu && (pkt->plen || parts & SIB_PART_FIRST ||
					     !(parts & SIB_PART_PAYLOAD));
}

/* Whether a packet continues the message that was begun, or begins one */
static bool sequence_ok(const struct sib_rc *rc, u8 op, u32 parts)
{
	bool first = parts & SIB_PART_FIRST;

	switch (rc->resp.message) {
	case SIB_RC_SEND:
		return !first && is_send(op);
	case SIB_RC_WRITE:
		return !first && is_write(op);
	default:
		return first;
	}
}

/* The request that was expected */
static void execute(struct sib_rc *rc, const struct sib_pkt *pkt, const void *payload)
{
	struct sib_rc_resp *resp = &rc->resp;
	u32 parts = sib_op_parts(pkt->opcode);
	u8 op = OP(pkt->opcode);
	int err;

	if (!sequence_ok(rc, op, parts) || !length_ok(rc, pkt, parts)) {
		invalid(rc);
		return;
	}
	if (op == SIB_OP_READ_REQUEST) {
		do_read(rc, pkt);
		return;
	}
	if (is_atomic(op)) {
		do_atomic(rc, pkt);
		return;
	}
	err = is_write(op) ? do_write(rc, pkt, parts, payload) :
			     do_send(rc, pkt, parts, payload);
	/* The consumer may have been told of an error, and the QP with it be in ERR. */
	if (err || !resp->on)
		return;
	if (parts & SIB_PART_LAST) {
		resp->message = SIB_RC_NO_MESSAGE;
		resp->msn = sib_psn_add(resp->msn, 1);
	}
	resp->epsn = sib_psn_add(resp->epsn, 1);
	if (pkt->ackreq && !rc->cfg.uc) {
		resp->ack_due = true;
		rc->ops->kick(rc);
	}
}

/* A READ or atomic request that came before: answer it again. */
static void again(struct sib_rc *rc, const struct sib_pkt *pkt)
{
	struct sib_rc_resp *resp = &rc->resp;
	u8 op = OP(pkt->opcode), age;
	const struct sib_rc_slot *slot = NULL;
	u32 off;

	for (age = 1; age <= resp->held; age++) {
		slot = sib_rc_slot_of_age(resp, age);
		if (sib_psn_diff(pkt->psn, slot->psn) >= 0 &&
		    sib_psn_diff(pkt->psn, slot->end) < 0)
			break;
	}
	if (age > resp->held || op != slot->op || pkt->rkey != slot->rkey)
		return;
	off = ((pkt->psn - slot->psn) & SIB_PSN_MASK) * rc->cfg.pmtu;
	if (pkt->va != slot->va + off)
		return;
	if (op == SIB_OP_READ_REQUEST && pkt->rlen != slot->len - off)
		return;
	if (age > resp->todo) {
		resp->todo = age;
		resp->reply = pkt->psn;
	} else if (age == resp->todo && sib_psn_diff(pkt->psn, resp->reply) < 0) {
		resp->reply = pkt->psn;
	}
	rc->ops->kick(rc);
}

static void duplicate(struct sib_rc *rc, const struct sib_pkt *pkt)
{
	u8 op = OP(pkt->opcode);

	rc->stats->rx_dup++;
	if (op == SIB_OP_READ_REQUEST || is_atomic(op)) {
		again(rc, pkt);
		return;
	}
	/* sent again because the ACK was lost */
	rc->resp.ack_due = true;
	rc->ops->kick(rc);
}

/* One NAK for each gap, with what comes after it dropped until it is filled */
static void too_early(struct sib_rc *rc, const struct sib_pkt *pkt)
{
	struct sib_rc_resp *resp = &rc->resp;

	rc->stats->rx_gap++;
	if (!resp->nak_due || sib_psn_diff(pkt->psn, resp->gap) > 0)
		resp->gap = pkt->psn;
	if (resp->nak_sent)
		return;
	resp->nak = SIB_AETH_NAK | SIB_NAK_SEQUENCE;
	resp->nak_due = true;
	resp->nak_sent = true;
	rc->ops->kick(rc);
}

/* UC: what is missing is missing, and with it the rest of its message. */
static void unreliable(struct sib_rc *rc, const struct sib_pkt *pkt, const void *payload)
{
	struct sib_rc_resp *resp = &rc->resp;

	if (pkt->psn != resp->epsn || sib_op_parts(pkt->opcode) & SIB_PART_FIRST)
		resp->message = SIB_RC_NO_MESSAGE;
	if (pkt->psn != resp->epsn)
		rc->stats->rx_gap++;
	resp->epsn = pkt->psn;
	if (resp->message == SIB_RC_NO_MESSAGE &&
	    !(sib_op_parts(pkt->opcode) & SIB_PART_FIRST)) {
		resp->epsn = sib_psn_add(pkt->psn, 1);
		return;
	}
	execute(rc, pkt, payload);
	if (resp->on)
		resp->epsn = sib_psn_add(pkt->psn, 1);
}

/**
 * sib_rc_request - a request arrived
 * @rc: QP that may receive
 * @pkt: its headers, the opcode one of a request of the QP's service
 * @payload: for &sib_rc_ops.place
 *
 * What does not fit is dropped or refused; the answer is sent by sib_rc_run(). The QP
 * may be in error when this returns.
 */
void sib_rc_request(struct sib_rc *rc, const struct sib_pkt *pkt, const void *payload)
{
	struct sib_rc_resp *resp = &rc->resp;
	s32 diff = sib_psn_diff(pkt->psn, resp->epsn);

	if (!resp->on || resp->closing)
		return;
	if (rc->cfg.uc) {
		unreliable(rc, pkt, payload);
	} else if (diff > 0) {
		too_early(rc, pkt);
	} else if (diff < 0) {
		duplicate(rc, pkt);
	} else {
		/* the gap is closed, or the wait is over */
		resp->nak_sent = false;
		if (SIB_AETH_KIND(resp->nak) == SIB_AETH_RNR)
			resp->nak_due = false;
		execute(rc, pkt, payload);
	}
}
