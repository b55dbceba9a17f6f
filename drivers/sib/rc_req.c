// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The requester: requests of the send queue become packets, in order, as far
 * ahead of their acknowledgment as the peer's credits, READ and atomic
 * resources and fences allow. What was lost is sent again from the oldest
 * packet that is not acknowledged (IBA vol. 1, 9.7.5.1 and 9.7.7).
 *
 * A request keeps its PSNs from the time it is started to its completion, so
 * that going back means no more than to set &sib_rc_req.psn and .cur.
 */
#include "sib.h"

/* PSNs that may be outstanding */
#define PSN_SPACE	0x800000U

/**
 * sib_rc_arm - (re)start the acknowledgment timer, or stop it
 * @rc: the QP
 * @now: the time
 */
void sib_rc_arm(struct sib_rc *rc, ktime_t now)
{
	if (rc->req.rnr_wait)
		return;
	rc->armed = rc->req.una != rc->req.max && rc->cfg.timeout;
	rc->deadline = ktime_add_ns(now, rc->cfg.timeout);
}

/**
 * sib_rc_reset - forget everything; what was posted is the owner's to complete
 * @rc: the QP
 */
void sib_rc_reset(struct sib_rc *rc)
{
	memset(&rc->req, 0, sizeof(rc->req));
	memset(&rc->resp, 0, sizeof(rc->resp));
	rc->armed = false;
}

/**
 * sib_rc_start_req - the QP may send
 * @rc: the QP, its attributes set; nothing has been sent yet
 * @sq_psn: PSN of the first packet
 */
void sib_rc_start_req(struct sib_rc *rc, u32 sq_psn)
{
	struct sib_rc_req *req = &rc->req;

	memset(req, 0, sizeof(*req));
	req->on = true;
	req->una = sq_psn & SIB_PSN_MASK;
	req->psn = req->una;
	req->max = req->una;
	req->next = req->una;
	req->retry = rc->cfg.retry_cnt;
	req->rnr = rc->cfg.rnr_retry;
	rc->armed = false;
}

/**
 * sib_rc_fail - the oldest request ends in error, and the connection with it
 * @rc: the QP; in error when this returns, and what it still has of requests is flushed
 * @status: how it ended
 */
void sib_rc_fail(struct sib_rc *rc, enum ib_wc_status status)
{
	struct sib_swqe *wqe = rc->ops->wqe(rc, 0);

	if (wqe)
		rc->ops->complete(rc, wqe, status);
	rc->ops->fatal(rc, wqe ? -1 : IB_EVENT_QP_FATAL);
}

/* A request that cannot be sent: those before it come first. */
static void fail_later(struct sib_rc *rc, struct sib_swqe *wqe, enum ib_wc_status status)
{
	wqe->rc.flags |= SIB_RC_FAILED;
	wqe->rc.status = status;
	if (!rc->req.cur)
		sib_rc_fail(rc, status);
}

static void go_back(struct sib_rc *rc)
{
	struct sib_rc_req *req = &rc->req;
	struct sib_swqe *wqe;
	u32 i;

	for (i = 0; i <= req->cur && (wqe = rc->ops->wqe(rc, i)); i++)
		wqe->rc.flags &= ~SIB_RC_ASKED;
	req->cur = 0;
	req->psn = req->una;
	req->rd_out = 0;
	req->unasked = 0;
	rc->armed = false;
	rc->stats->retry++;
	rc->ops->kick(rc);
}

/**
 * sib_rc_retry - a packet or its response was lost: send again, or give up
 * @rc: the QP
 */
void sib_rc_retry(struct sib_rc *rc)
{
	if (!rc->req.retry) {
		sib_rc_fail(rc, IB_WC_RETRY_EXC_ERR);
		return;
	}
	rc->req.retry--;
	go_back(rc);
}

/**
 * sib_rc_rnr - the peer has no receive request: wait as long as it says
 * @rc: the QP; everything before the packet concerned is acknowledged
 * @code: timer code
 * @now: the time
 */
void sib_rc_rnr(struct sib_rc *rc, u8 code, ktime_t now)
{
	struct sib_rc_req *req = &rc->req;

	if (!req->rnr) {
		sib_rc_fail(rc, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (rc->cfg.rnr_retry != 7)
		req->rnr--;
	go_back(rc);
	req->rnr_wait = true;
	rc->armed = true;
	rc->deadline = ktime_add_ns(now, sib_rc_rnr_wait(code));
}

/**
 * sib_rc_timer - the deadline has come
 * @rc: the QP
 * @now: the time
 */
void sib_rc_timer(struct sib_rc *rc, ktime_t now)
{
	if (!rc->armed || ktime_before(now, rc->deadline))
		return;
	rc->armed = false;
	if (rc->req.rnr_wait) {
		rc->req.rnr_wait = false;
		rc->ops->kick(rc);
		return;
	}
	rc->stats->timeout++;
	rc->req.implied = false;
	sib_rc_retry(rc);
}

/**
 * sib_rc_drained - whether no request is between its first packet and completion
 * @rc: the QP
 */
bool sib_rc_drained(struct sib_rc *rc)
{
	const struct sib_swqe *wqe = rc->ops->wqe(rc, 0);

	return !wqe || !(wqe->rc.flags & SIB_RC_STARTED);
}

/* Status of a request that cannot be executed at all, else IB_WC_SUCCESS */
static enum ib_wc_status judge(const struct sib_rc *rc, const struct sib_swqe *wqe)
{
	switch (wqe->opcode) {
	case IB_WR_SEND_WITH_INV:
		if (rc->cfg.uc)
			return IB_WC_LOC_QP_OP_ERR;
		fallthrough;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		break;
	case IB_WR_RDMA_READ:
		if (rc->cfg.uc || !rc->cfg.max_rd)
			return IB_WC_LOC_QP_OP_ERR;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		if (rc->cfg.uc || !rc->cfg.max_rd)
			return IB_WC_LOC_QP_OP_ERR;
		return wqe->length == sizeof(u64) ? IB_WC_SUCCESS : IB_WC_LOC_LEN_ERR;
	default:
		return IB_WC_LOC_QP_OP_ERR;
	}
	return wqe->length > SIB_RC_MAX_MSG ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;
}

static bool is_local(const struct sib_swqe *wqe)
{
	return wqe->opcode == IB_WR_REG_MR || wqe->opcode == IB_WR_LOCAL_INV;
}

/* Whether the peer is known to have no receive request for it */
static bool lacks_credit(const struct sib_rc *rc, const struct sib_swqe *wqe)
{
	if (rc->req.unlimited || rc->cfg.uc || wqe->opcode == IB_WR_RDMA_WRITE ||
	    sib_rc_has_result(wqe->opcode))
		return false;
	/* one more than that may always be tried */
	return sib_psn_diff(rc->req.ssn, rc->req.lsn) > 0;
}

static int start_local(struct sib_rc *rc, struct sib_swqe *wqe)
{
	struct sib_rc_req *req = &rc->req;
	enum ib_wc_status status;

	/* what is sent again must still be readable */
	if (wqe->opcode == IB_WR_LOCAL_INV && req->cur)
		return -EBUSY;
	wqe->rc.flags = SIB_RC_STARTED;
	wqe->rc.psn = req->next;
	wqe->rc.end = req->next;
	status = rc->ops->local(rc, wqe);
	if (status != IB_WC_SUCCESS) {
		fail_later(rc, wqe, status);
		return 0;
	}
	req->cur++;
	sib_rc_reap(rc);
	return 0;
}

/*
 * Give a request its PSNs. 0 if that went well or the request has failed, -EBUSY
 * if it has to wait for a response.
 */
static int start(struct sib_rc *rc, struct sib_swqe *wqe)
{
	struct sib_rc_req *req = &rc->req;
	enum ib_wc_status status;
	u32 n, out;

	if (wqe->send_flags & IB_SEND_FENCE && req->rd_out)
		return -EBUSY;
	if (is_local(wqe))
		return start_local(rc, wqe);
	status = judge(rc, wqe);
	if (status != IB_WC_SUCCESS) {
		fail_later(rc, wqe, status);
		return 0;
	}
	if (lacks_credit(rc, wqe))
		return -EBUSY;
	n = sib_rc_is_atomic(wqe->opcode) ? 1 : sib_rc_packets(rc, wqe->length);
	out = (req->next - req->una) & SIB_PSN_MASK;
	if (out && out + n > PSN_SPACE)
		return -EBUSY;
	wqe->rc.flags = SIB_RC_STARTED;
	wqe->rc.psn = req->next;
	wqe->rc.end = sib_psn_add(req->next, n);
	req->next = wqe->rc.end;
	req->ssn = sib_psn_add(req->ssn, 1);
	return 0;
}

static u8 send_op(const struct sib_swqe *wqe, bool first, bool last)
{
	bool write = wqe->opcode == IB_WR_RDMA_WRITE ||
		     wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
	bool imm = wqe->opcode == IB_WR_SEND_WITH_IMM ||
		   wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
	u8 op = (first ? SIB_OP_SEND_ONLY : SIB_OP_SEND_LAST) + imm;

	if (last && wqe->opcode == IB_WR_SEND_WITH_INV)
		return first ? SIB_OP_SEND_ONLY_INV : SIB_OP_SEND_LAST_INV;
	if (!last)
		op = first ? SIB_OP_SEND_FIRST : SIB_OP_SEND_MIDDLE;
	return op + (write ? SIB_OP_WRITE_FIRST - SIB_OP_SEND_FIRST : 0);
}

/* The next packet of a SEND or WRITE */
static void fill_send(struct sib_rc *rc, const struct sib_swqe *wqe, u32 off,
		      struct sib_pkt *pkt)
{
	u32 left = wqe->length - off;
	bool last = left <= rc->cfg.pmtu;

	pkt->opcode = send_op(wqe, !off, last);
	pkt->plen = min_t(u32, left, rc->cfg.pmtu);
	pkt->va = wqe->remote_addr;
	pkt->rkey = wqe->rkey;
	pkt->rlen = wqe->length;
	pkt->imm = wqe->imm;
	pkt->inv_rkey = wqe->inv_rkey;
	pkt->solicited = last && wqe->send_flags & IB_SEND_SOLICITED &&
			 wqe->opcode != IB_WR_RDMA_WRITE;
	pkt->ackreq = !rc->cfg.uc && (last || rc->req.unasked + 1 >= SIB_RC_ASK);
}

/* Fill in the next packet of a request, and say how many PSNs it takes. */
static u32 fill(struct sib_rc *rc, const struct sib_swqe *wqe, struct sib_pkt *pkt)
{
	u32 index = (rc->req.psn - wqe->rc.psn) & SIB_PSN_MASK;
	u32 off = index * rc->cfg.pmtu, n = 1;

	pkt->psn = rc->req.psn;
	if (sib_rc_is_atomic(wqe->opcode)) {
		bool swap = wqe->opcode == IB_WR_ATOMIC_CMP_AND_SWP;

		pkt->opcode = swap ? SIB_OP_CMP_SWAP : SIB_OP_FETCH_ADD;
		pkt->va = wqe->remote_addr;
		pkt->rkey = wqe->rkey;
		pkt->swap_add = swap ? wqe->swap : wqe->compare_add;
		pkt->compare = swap ? wqe->compare_add : 0;
		pkt->ackreq = true;
	} else if (sib_rc_is_read(wqe->opcode)) {
		n = min(sib_rc_packets(rc, wqe->length) - index, SIB_RC_READ_MAX);
		pkt->opcode = SIB_OP_READ_REQUEST;
		pkt->va = wqe->remote_addr + off;
		pkt->rkey = wqe->rkey;
		pkt->rlen = min_t(u64, wqe->length - off, (u64)n * rc->cfg.pmtu);
		pkt->ackreq = true;
	} else {
		fill_send(rc, wqe, off, pkt);
	}
	if (rc->cfg.uc)
		pkt->opcode |= SIB_OP_UC;
	return n;
}

/* Whether the next packet of a started request has to wait for responses */
static bool must_wait(struct sib_rc *rc, const struct sib_swqe *wqe)
{
	struct sib_rc_req *req = &rc->req;
	struct sib_swqe *first;

	if (sib_rc_has_result(wqe->opcode))
		/*
		 * A READ asked for in parts has one of them in progress. What was
		 * begun is finished even if the limit has become 0 since.
		 */
		return wqe->rc.flags & SIB_RC_ASKED ? req->psn != req->una :
						      req->rd_out >= max_t(u8, rc->cfg.max_rd, 1);
	if (((req->psn - req->una) & SIB_PSN_MASK) < SIB_RC_WINDOW)
		return false;
	first = rc->ops->wqe(rc, 0);
	return !sib_rc_has_result(first->opcode);
}

/* The packet is on its way. */
static void sent(struct sib_rc *rc, struct sib_swqe *wqe, const struct sib_pkt *pkt, u32 n,
		 ktime_t now)
{
	struct sib_rc_req *req = &rc->req;

	req->psn = sib_psn_add(req->psn, n);
	if (sib_psn_diff(req->psn, req->max) > 0)
		req->max = req->psn;
	req->unasked = pkt->ackreq ? 0 : req->unasked + 1;
	if (sib_rc_has_result(wqe->opcode) && !(wqe->rc.flags & SIB_RC_ASKED)) {
		wqe->rc.flags |= SIB_RC_ASKED;
		req->rd_out++;
	}
	if (req->psn == wqe->rc.end)
		req->cur++;
	if (rc->cfg.uc) {
		req->una = req->psn;
		sib_rc_reap(rc);
	} else if (!rc->armed) {
		sib_rc_arm(rc, now);
	}
}

/* Send the next packet of a started request. Returns 1, or the errno of @send. */
static int send_next(struct sib_rc *rc, struct sib_swqe *wqe, ktime_t now)
{
	struct sib_rc_req *req = &rc->req;
	struct sib_rc_mem mem = {
		.swqe = wqe,
		.skip = ((req->psn - wqe->rc.psn) & SIB_PSN_MASK) * rc->cfg.pmtu,
	};
	struct sib_pkt pkt = {};
	u32 n = fill(rc, wqe, &pkt);
	int err;

	err = rc->ops->send(rc, &pkt, pkt.plen ? &mem : NULL);
	if (err && err != -EACCES)
		return err;
	if (err)
		fail_later(rc, wqe, IB_WC_LOC_PROT_ERR);
	else
		sent(rc, wqe, &pkt, n, now);
	return 1;
}

/*
 * Do the next thing the send queue asks for: 1 if something was done, 0 if there
 * is nothing to do for now, or the errno of @send.
 */
static int step(struct sib_rc *rc, bool drain, ktime_t now)
{
	struct sib_rc_req *req = &rc->req;
	struct sib_swqe *wqe = req->on ? rc->ops->wqe(rc, req->cur) : NULL;

	if (!wqe || req->rnr_wait || wqe->rc.flags & SIB_RC_FAILED)
		return 0;
	if (!(wqe->rc.flags & SIB_RC_STARTED))
		return !drain && !start(rc, wqe);
	if (wqe->rc.psn == wqe->rc.end) {	/* executed before going back */
		req->cur++;
		/* all before it may have been acknowledged meanwhile */
		sib_rc_reap(rc);
		return 1;
	}
	return must_wait(rc, wqe) ? 0 : send_next(rc, wqe, now);
}

/**
 * sib_rc_run - send responses and requests
 * @rc: the QP
 * @budget: packets at most
 * @drain: begin no request that has not begun yet (SQD)
 * @now: the time
 *
 * Return: how much was done, @budget if there may be more to do, or the errno of
 * &sib_rc_ops.send with which it ended.
 */
int sib_rc_run(struct sib_rc *rc, int budget, bool drain, ktime_t now)
{
	int n = sib_rc_resp_run(rc, budget), ret;

	while (n >= 0 && n < budget) {
		ret = step(rc, drain, now);
		if (!ret)
			break;
		n = ret < 0 ? ret : n + ret;
	}
	return n;
}
