// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The completer: responses complete requests, oldest first, bring credits, or
 * say that something has to be sent again (IBA vol. 1, 9.7.5.2 and 9.7.6.1).
 *
 * Responses arrive in the order of the requests, so one for a later request
 * acknowledges all SENDs and WRITEs before it; if a READ or atomic is before it
 * whose result has not arrived, that one was lost: an implied NAK.
 */
#include "sib.h"

/* Whether a request sends nothing, and was executed before going back */
static bool was_executed(const struct sib_swqe *wqe)
{
	return wqe->rc.flags == SIB_RC_STARTED && wqe->rc.psn == wqe->rc.end;
}

/**
 * sib_rc_reap - complete what is acknowledged
 * @rc: the QP; if its next request can only fail, it is in error when this
 *	returns
 */
void sib_rc_reap(struct sib_rc *rc)
{
	struct sib_rc_req *req = &rc->req;
	struct sib_swqe *wqe;

	while (req->on && (wqe = rc->ops->wqe(rc, 0)) && (req->cur || was_executed(wqe)) &&
	       sib_psn_diff(req->una, wqe->rc.end) >= 0) {
		if (req->cur)
			req->cur--;
		rc->ops->complete(rc, wqe, IB_WC_SUCCESS);
	}
	if (req->on && !req->cur) {
		wqe = rc->ops->wqe(rc, 0);
		if (wqe && wqe->rc.flags & SIB_RC_FAILED)
			sib_rc_fail(rc, wqe->rc.status);
	}
}

/* The oldest request, if it was begun, and the QP is not in error; else NULL */
static struct sib_swqe *oldest(struct sib_rc *rc)
{
	struct sib_swqe *wqe = rc->req.on ? rc->ops->wqe(rc, 0) : NULL;

	return wqe && wqe->rc.flags & SIB_RC_STARTED ? wqe : NULL;
}

/* Everything before @psn has arrived. */
static void progress(struct sib_rc *rc, u32 psn, ktime_t now)
{
	struct sib_rc_req *req = &rc->req;
	struct sib_swqe *wqe;

	if (psn == req->una)
		return;
	req->una = psn;
	req->retry = rc->cfg.retry_cnt;
	req->rnr = rc->cfg.rnr_retry;
	req->implied = false;
	/* after going back: what need not be sent again after all */
	while (sib_psn_diff(psn, req->psn) > 0) {
		wqe = rc->ops->wqe(rc, req->cur);
		if (!wqe || sib_psn_diff(psn, wqe->rc.end) < 0) {
			req->psn = psn;
			break;
		}
		req->psn = wqe->rc.end;
		req->cur++;
	}
	sib_rc_arm(rc, now);
	rc->ops->kick(rc);
}

/*
 * Take everything before @psn as acknowledged, up to the first READ or atomic that
 * waits for its result. Returns whether @psn was reached.
 */
static bool advance(struct sib_rc *rc, u32 psn, ktime_t now)
{
	struct sib_swqe *wqe;
	u32 to = psn, i;

	for (i = 0; (wqe = rc->ops->wqe(rc, i)); i++) {
		if (!(wqe->rc.flags & SIB_RC_STARTED) || sib_psn_diff(wqe->rc.psn, psn) >= 0)
			break;
		if (sib_rc_has_result(wqe->opcode)) {
			/* nothing to do if it is the oldest, and partly there */
			to = i ? wqe->rc.psn : rc->req.una;
			break;
		}
	}
	progress(rc, to, now);
	return to == psn;
}

/* A response was missed: those of READs and atomics are sent but once. */
static void implied_nak(struct sib_rc *rc)
{
	if (rc->req.implied)
		return;
	rc->req.implied = true;
	sib_rc_retry(rc);
}

static void credits(struct sib_rc *rc, const struct sib_pkt *pkt)
{
	struct sib_rc_req *req = &rc->req;
	u8 code = SIB_AETH_VALUE(pkt->syndrome);
	u32 lsn;

	if (code == SIB_CREDIT_UNLIMITED) {
		req->unlimited = true;
		return;
	}
	lsn = sib_psn_add(pkt->msn, sib_rc_code_value(code));
	if (req->unlimited || sib_psn_diff(lsn, req->lsn) > 0) {
		req->lsn = lsn;
		req->unlimited = false;
		rc->ops->kick(rc);
	}
}

static enum ib_wc_status nak_status(u8 nak)
{
	switch (nak) {
	case SIB_NAK_INV_REQ:
		return IB_WC_REM_INV_REQ_ERR;
	case SIB_NAK_REM_ACCESS:
		return IB_WC_REM_ACCESS_ERR;
	case SIB_NAK_REM_OP:
		return IB_WC_REM_OP_ERR;
	default:
		return IB_WC_BAD_RESP_ERR;
	}
}

/* The peer refuses the request with this PSN. */
static void refused(struct sib_rc *rc, const struct sib_pkt *pkt, ktime_t now)
{
	u8 kind = SIB_AETH_KIND(pkt->syndrome), value = SIB_AETH_VALUE(pkt->syndrome);

	if (!advance(rc, pkt->psn, now)) {
		sib_rc_reap(rc);
		implied_nak(rc);
		return;
	}
	sib_rc_reap(rc);
	if (!oldest(rc)) {
		rc->stats->rx_ghost++;
	} else if (kind == SIB_AETH_RNR) {
		rc->stats->rx_rnr++;
		if (!rc->req.rnr_wait)
			sib_rc_rnr(rc, value, now);
	} else if (value == SIB_NAK_SEQUENCE) {
		rc->stats->rx_nak++;
		/* unless that is being done already */
		if (rc->req.psn != rc->req.una && !rc->req.rnr_wait)
			sib_rc_retry(rc);
	} else {
		rc->stats->rx_nak++;
		sib_rc_fail(rc, nak_status(value));
	}
}

static void take_ack(struct sib_rc *rc, const struct sib_pkt *pkt, s32 diff, ktime_t now)
{
	bool complete;

	switch (SIB_AETH_KIND(pkt->syndrome)) {
	case SIB_AETH_ACK:
		/* of what was acknowledged last, it may bring credits */
		if (diff >= -1)
			credits(rc, pkt);
		if (diff < 0)
			return;
		complete = advance(rc, sib_psn_add(pkt->psn, 1), now);
		sib_rc_reap(rc);
		if (!complete && oldest(rc))
			implied_nak(rc);
		return;
	case SIB_AETH_RNR:
	case SIB_AETH_NAK:
		if (diff >= 0)
			refused(rc, pkt, now);
		return;
	default:		/* reserved */
		rc->stats->rx_ghost++;
	}
}

static void take_read(struct sib_rc *rc, struct sib_swqe *wqe, const struct sib_pkt *pkt,
		      const void *payload, ktime_t now)
{
	u32 off = ((rc->req.una - wqe->rc.psn) & SIB_PSN_MASK) * rc->cfg.pmtu;
	struct sib_rc_mem mem = { .swqe = wqe, .skip = off };
	u32 left = wqe->length - off;
	bool end = left <= rc->cfg.pmtu;

	/*
	 * Where a response begins depends on where the request was repeated last,
	 * and an older response is as good; where it ends does not.
	 */
	if (!sib_rc_is_read(wqe->opcode) || pkt->plen != min_t(u32, left, rc->cfg.pmtu) ||
	    (end && !(sib_op_parts(pkt->opcode) & SIB_PART_LAST))) {
		sib_rc_fail(rc, IB_WC_BAD_RESP_ERR);
		return;
	}
	if (pkt->plen && rc->ops->place(rc, &mem, payload, pkt->plen)) {
		sib_rc_fail(rc, IB_WC_LOC_PROT_ERR);
		return;
	}
	if (end && wqe->rc.flags & SIB_RC_ASKED)
		rc->req.rd_out--;
	progress(rc, sib_psn_add(pkt->psn, 1), now);
	sib_rc_reap(rc);
}

static void take_atomic(struct sib_rc *rc, struct sib_swqe *wqe, const struct sib_pkt *pkt,
			ktime_t now)
{
	if (!sib_rc_is_atomic(wqe->opcode)) {
		sib_rc_fail(rc, IB_WC_BAD_RESP_ERR);
		return;
	}
	if (rc->ops->store(rc, wqe, pkt->orig)) {
		sib_rc_fail(rc, IB_WC_LOC_PROT_ERR);
		return;
	}
	if (wqe->rc.flags & SIB_RC_ASKED)
		rc->req.rd_out--;
	progress(rc, sib_psn_add(pkt->psn, 1), now);
	sib_rc_reap(rc);
}

/* The result of the READ or atomic request with this PSN */
static void take_result(struct sib_rc *rc, const struct sib_pkt *pkt, const void *payload,
			s32 diff, ktime_t now)
{
	struct sib_swqe *wqe;
	bool complete;

	if (diff < 0) {
		rc->stats->rx_ghost++;
		return;
	}
	if (diff > 0) {
		complete = advance(rc, pkt->psn, now);
		sib_rc_reap(rc);
		if (!oldest(rc))
			return;
		if (!complete) {
			implied_nak(rc);
			return;
		}
	}
	wqe = oldest(rc);
	if (pkt->opcode != SIB_OP_READ_MIDDLE) {
		if (SIB_AETH_KIND(pkt->syndrome) != SIB_AETH_ACK) {
			sib_rc_fail(rc, IB_WC_BAD_RESP_ERR);
			return;
		}
		credits(rc, pkt);
	}
	if (pkt->opcode == SIB_OP_ATOMIC_ACK)
		take_atomic(rc, wqe, pkt, now);
	else
		take_read(rc, wqe, pkt, payload, now);
}

/**
 * sib_rc_response - a response arrived
 * @rc: RC QP
 * @pkt: its headers, the opcode one of a response
 * @payload: for &sib_rc_ops.place
 * @now: the time
 *
 * What nobody waits for is dropped, as is all before the QP may send. The QP may
 * be in error when this returns.
 */
void sib_rc_response(struct sib_rc *rc, const struct sib_pkt *pkt, const void *payload,
		     ktime_t now)
{
	struct sib_rc_req *req = &rc->req;
	s32 diff = sib_psn_diff(pkt->psn, req->una);

	if (!req->on || sib_psn_diff(pkt->psn, req->max) >= 0) {
		rc->stats->rx_ghost++;
		return;
	}
	if (pkt->opcode == SIB_OP_ACK)
		take_ack(rc, pkt, diff, now);
	else
		take_result(rc, pkt, payload, diff, now);
}
