// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Connected queue pairs: what joins the engine of rc.h to the queues, the memory,
 * the port and the clock.
 *
 * All of it runs in the port context. A QP with a deadline is in a queue of the port
 * (rc_timer.c), at that time or before.
 */
#include <linux/slab.h>

#include "sib.h"

/* Packets a QP may send before it is another one's turn */
#define RUN_BUDGET	32

/**
 * struct sib_rc_qp - engine of a queue pair
 * @rc: the engine
 * @qp: the queue pair
 * @timed: in port->rc_timed while the engine has a deadline
 * @frame: number of the frame that took the last packet which went to the cable
 * @session: of the link at that time, 0 if none did
 * @established: the consumer was told that the peer sends
 *
 * All guarded by port->lock.
 */
struct sib_rc_qp {
	struct sib_rc rc;
	struct sib_qp *qp;
	struct timerqueue_node timed;
	u32 frame;
	u32 session;
	bool established;
};

/* A payload that arrived, or memory to gather one from */
struct payload {
	struct sk_buff *skb;
	unsigned int off;
};

struct source {
	struct sib_qp *qp;
	const struct sib_rc_mem *mem;
};

static struct sib_rc_qp *to_rqp(struct sib_rc *rc)
{
	return container_of(rc, struct sib_rc_qp, rc);
}

static struct sib_qp *rc_to_qp(struct sib_rc *rc)
{
	return to_rqp(rc)->qp;
}

static struct sib_port *qp_to_port(struct sib_qp *qp)
{
	return &to_sib(qp->ibqp.device)->port;
}

static int gather(const void *src, void *to, u32 len, __wsum *sum)
{
	const struct source *s = src;
	const struct sib_rc_mem *mem = s->mem;

	if (mem->swqe)
		return sib_swqe_gather(s->qp, mem->swqe, mem->skip, to, len, sum);
	return sib_mem_read(&s->qp->mem, mem->rkey, mem->va, to, len, sum);
}

static int rc_send(struct sib_rc *rc, struct sib_pkt *pkt, const struct sib_rc_mem *mem)
{
	struct sib_rc_qp *r = to_rqp(rc);
	struct sib_qp *qp = r->qp;
	struct sib_port *port = qp_to_port(qp);
	struct source src = { .qp = qp, .mem = mem };
	int ret;

	pkt->pkey = READ_ONCE(port->sma.pkeys[qp->attr.pkey_index]);
	pkt->dqpn = qp->attr.dest_qp_num;
	if (!(pkt->pkey & 0x7FFF)) {
		sib_xmit_discard(port);
		return 0;
	}
	sib_xmit_path(port, &qp->av, pkt);
	ret = sib_xmit(port, pkt, gather, &src, jiffies);
	if (ret < 0)
		return ret;
	if (ret) {
		r->frame = port->link.tx_next;
		r->session = port->link.session;
	}
	return 0;
}

static int rc_place(struct sib_rc *rc, const struct sib_rc_mem *mem, const void *payload,
		    u32 len)
{
	struct sib_qp *qp = rc_to_qp(rc);
	const struct payload *p = payload;

	if (mem->swqe)
		return sib_swqe_scatter(qp, mem->swqe, mem->skip, p->skb, p->off, len);
	if (mem->rwqe)
		return sib_rwqe_scatter(qp, mem->rwqe, mem->skip, p->skb, p->off, len, NULL);
	return sib_mem_write(&qp->mem, mem->rkey, mem->va, p->skb, p->off, len);
}

static int rc_check(struct sib_rc *rc, u32 rkey, u64 va, u32 len, int access)
{
	return sib_mem_check(&rc_to_qp(rc)->mem, rkey, va, len, access);
}

static int rc_atomic(struct sib_rc *rc, const struct sib_pkt *pkt, u64 *orig)
{
	return sib_mem_atomic(&rc_to_qp(rc)->mem, pkt->rkey, pkt->va,
			      pkt->opcode == SIB_OP_CMP_SWAP, pkt->swap_add, pkt->compare, orig);
}

static int rc_store(struct sib_rc *rc, const struct sib_swqe *wqe, u64 orig)
{
	return sib_swqe_write(rc_to_qp(rc), wqe, &orig, sizeof(orig));
}

static int rc_invalidate(struct sib_rc *rc, u32 rkey)
{
	return sib_mem_invalidate(&rc_to_qp(rc)->mem, rkey);
}

static enum ib_wc_status rc_local(struct sib_rc *rc, const struct sib_swqe *wqe)
{
	return sib_swqe_local(rc_to_qp(rc), wqe);
}

static struct sib_swqe *rc_wqe(struct sib_rc *rc, u32 ahead)
{
	return sib_ring_at(&rc_to_qp(rc)->sq, ahead);
}

static void rc_fatal(struct sib_rc *rc, int event)
{
	struct sib_qp *qp = rc_to_qp(rc);

	sib_rc_reset(rc);
	sib_qp_error(qp_to_port(qp), qp, event);
}

static void rc_complete(struct sib_rc *rc, struct sib_swqe *wqe, enum ib_wc_status status)
{
	struct sib_qp *qp = rc_to_qp(rc);
	enum ib_wc_status fault = sib_fault_status(&to_sib(qp->ibqp.device)->fault.sends,
						   qp->ibqp.qp_num, status);

	sib_qp_complete_send(qp, wqe, fault);
	if (unlikely(fault != status))
		rc_fatal(rc, -1);
}

static const struct sib_rwqe *rc_take(struct sib_rc *rc)
{
	return sib_qp_recv_take(rc_to_qp(rc));
}

static void rc_received(struct sib_rc *rc, const struct sib_rwqe *rwqe, struct ib_wc *wc,
			bool solicited)
{
	struct sib_qp *qp = rc_to_qp(rc);
	enum ib_wc_status status;

	wc->src_qp = qp->attr.dest_qp_num;
	wc->pkey_index = qp->attr.pkey_index;
	wc->port_num = 1;
	status = wc->status;
	wc->status = sib_fault_status(&to_sib(qp->ibqp.device)->fault.recvs, qp->ibqp.qp_num,
				      status);
	sib_qp_recv_done(qp, wc, solicited);
	if (unlikely(wc->status != status))
		rc_fatal(rc, -1);
}

static u32 rc_room(struct sib_rc *rc)
{
	return sib_qp_recv_count(rc_to_qp(rc));
}

static void rc_kick(struct sib_rc *rc)
{
	sib_tx_note(rc_to_qp(rc));
}

static const struct sib_rc_ops rc_ops = {
	.send = rc_send,
	.place = rc_place,
	.check = rc_check,
	.atomic = rc_atomic,
	.store = rc_store,
	.invalidate = rc_invalidate,
	.local = rc_local,
	.wqe = rc_wqe,
	.complete = rc_complete,
	.take = rc_take,
	.received = rc_received,
	.room = rc_room,
	.fatal = rc_fatal,
	.kick = rc_kick,
};

/* After anything the engine did: keep its deadline in view. */
static void settle(struct sib_port *port, struct sib_rc_qp *r)
{
	lockdep_assert_held(&port->lock);
	if (r->rc.armed)
		sib_rc_timer_set(port, &r->timed, r->rc.deadline);
	else
		sib_rc_timer_stop(port, &r->timed);
}

/**
 * sib_rc_create - give a QP of a connected service its engine
 * @qp: the QP
 *
 * Context: process. Return: 0 or -ENOMEM.
 */
int sib_rc_create(struct sib_qp *qp)
{
	struct sib_rc_qp *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return -ENOMEM;
	r->rc.ops = &rc_ops;
	r->rc.stats = &qp_to_port(qp)->rc_stats;
	r->rc.cfg.uc = qp->ibqp.qp_type == IB_QPT_UC;
	r->qp = qp;
	timerqueue_init(&r->timed);
	qp->rc = r;
	return 0;
}

/* Whether a QP in this state answers (IBA vol. 1, 9.6) */
static bool answers(enum ib_qp_state state)
{
	return state == IB_QPS_RTR || state == IB_QPS_RTS || state == IB_QPS_SQD ||
	       state == IB_QPS_SQE;
}

/**
 * sib_rc_destroy - take it away again
 * @qp: QP of any service that the port context does not find any more; port->lock
 *	is held; what that sends leaves when the port context runs
 */
void sib_rc_destroy(struct sib_qp *qp)
{
	struct sib_rc_qp *r;

	if (!qp->rc)
		return;
	r = qp->rc;
	if (answers(qp->attr.qp_state))
		sib_rc_resp_end(&r->rc);
	sib_rc_timer_stop(qp_to_port(qp), &r->timed);
	qp->rc = NULL;
	kfree(r);
}

static void configure(struct sib_qp *qp)
{
	struct sib_rc_cfg *cfg = &qp->rc->rc.cfg;
	const struct sib_profile *profile = to_sib(qp->ibqp.device)->profile;
	const struct ib_qp_attr *attr = &qp->attr;

	cfg->pmtu = ib_mtu_enum_to_int(attr->path_mtu);
	cfg->timeout = sib_rc_ack_wait(attr->timeout, profile->ack_min_ms);
	cfg->retry_cnt = attr->retry_cnt;
	cfg->rnr_retry = attr->rnr_retry;
	cfg->rnr_timer = attr->min_rnr_timer & 0x1F;
	cfg->max_rd = min_t(u8, attr->max_rd_atomic, SIB_MAX_RD_ATOMIC);
	cfg->max_dest_rd = min_t(u8, attr->max_dest_rd_atomic, SIB_MAX_RD_ATOMIC);
	cfg->access = attr->qp_access_flags;
}

/**
 * sib_rc_modified - the attributes of a QP have changed
 * @port: its port, locked
 * @qp: QP of a connected service
 * @old: its state before
 */
void sib_rc_modified(struct sib_port *port, struct sib_qp *qp, enum ib_qp_state old)
{
	enum ib_qp_state state = qp->attr.qp_state;
	struct sib_rc_qp *r = qp->rc;

	lockdep_assert_held(&port->lock);
	if (state == IB_QPS_RESET || state == IB_QPS_INIT || state == IB_QPS_ERR) {
		if (answers(old))
			sib_rc_resp_end(&r->rc);
		sib_rc_reset(&r->rc);
	} else {
		configure(qp);
		if (old == IB_QPS_INIT && state == IB_QPS_RTR) {
			r->established = false;
			sib_rc_start_resp(&r->rc, qp->attr.rq_psn);
		} else if (old == IB_QPS_RTR && state == IB_QPS_RTS) {
			sib_rc_start_req(&r->rc, qp->attr.sq_psn);
		}
	}
	settle(port, r);
}

/**
 * sib_rc_query - what the engine knows better
 * @qp: QP of a connected service, port locked
 * @attr: sq_psn and rq_psn are filled in
 */
void sib_rc_query(struct sib_qp *qp, struct ib_qp_attr *attr)
{
	const struct sib_rc *rc = &qp->rc->rc;

	if (rc->req.on)
		attr->sq_psn = rc->req.next;
	if (rc->resp.on)
		attr->rq_psn = rc->resp.epsn;
}

static bool path_ok(struct sib_port *port, const struct sib_qp *qp, const struct sib_pkt *pkt)
{
	const struct sib_av *av = &qp->av;

	if (pkt->slid != av->dlid) {
		port->stats.rx_lid++;
		return false;
	}
	if (pkt->grh != av->grh ||
	    (av->grh && memcmp(&pkt->ghdr.sgid, &av->ghdr.dgid, sizeof(union ib_gid)))) {
		port->stats.rx_gid++;
		return false;
	}
	return true;
}

/* IBA vol. 1, 9.6: whether a packet is one of this connection */
static bool admit(struct sib_port *port, struct sib_qp *qp, const struct sib_pkt *pkt)
{
	if (SIB_OP_SERVICE(pkt->opcode) !=
	    (qp->ibqp.qp_type == IB_QPT_UC ? SIB_OP_UC : SIB_OP_RC)) {
		port->stats.rx_opcode++;
		return false;
	}
	if (pkt->vl == SIB_VL15) {
		port->stats.rx_vl++;
		return false;
	}
	if (!answers(qp->attr.qp_state)) {
		port->stats.rx_no_qp++;
		return false;
	}
	if (sib_sma_pkey_find(&port->sma, pkt->pkey, qp->attr.pkey_index) < 0) {
		port->stats.rx_pkey++;
		sib_sma_violation(&port->sma, false, pkt->pkey, pkt->sl, qp->attr.dest_qp_num,
				  qp->ibqp.qp_num, pkt->slid, pkt->dlid, jiffies);
		sib_pma_inc(&port->pma, SIB_PC_RCV_CONSTRAINT);
		return false;
	}
	return path_ok(port, qp, pkt);
}

static void established(struct sib_rc_qp *r)
{
	struct ib_qp *ibqp = &r->qp->ibqp;
	struct ib_event event = {
		.device = ibqp->device,
		.event = IB_EVENT_COMM_EST,
		.element.qp = ibqp,
	};

	r->established = true;
	if (ibqp->event_handler)
		ibqp->event_handler(&event, ibqp->qp_context);
}

/**
 * sib_rc_recv - give a packet to a QP
 * @port: the port, locked
 * @qp: QP of a connected service
 * @pkt: headers
 * @skb: where the payload is
 * @off: at which offset
 */
void sib_rc_recv(struct sib_port *port, struct sib_qp *qp, const struct sib_pkt *pkt,
		 struct sk_buff *skb, unsigned int off)
{
	struct payload payload = { .skb = skb, .off = off };
	struct sib_rc_qp *r = qp->rc;

	lockdep_assert_held(&port->lock);
	if (!admit(port, qp, pkt))
		return;
	if (sib_rc_is_response(pkt->opcode)) {
		sib_rc_response(&r->rc, pkt, &payload, ktime_get());
	} else {
		if (qp->attr.qp_state == IB_QPS_RTR && !r->established)
			established(r);
		sib_rc_request(&r->rc, pkt, &payload);
	}
	settle(port, r);
}

/**
 * sib_rc_send - send what a QP has, responses first
 * @port: the port, locked
 * @qp: QP of a connected service that is not in error
 * @more: set if it may have more to send
 *
 * Return: packets sent, or -EAGAIN, -EBUSY or -ENOMEM as sib_xmit().
 */
int sib_rc_send(struct sib_port *port, struct sib_qp *qp, bool *more)
{
	struct sib_rc_qp *r = qp->rc;
	int n;

	lockdep_assert_held(&port->lock);
	n = sib_rc_run(&r->rc, RUN_BUDGET, qp->attr.qp_state == IB_QPS_SQD, ktime_get());
	*more = n == RUN_BUDGET;
	settle(port, r);
	return n;
}

/**
 * sib_rc_is_drained - whether no request is under way
 * @qp: QP of a connected service, port locked
 */
bool sib_rc_is_drained(struct sib_qp *qp)
{
	return sib_rc_drained(&qp->rc->rc);
}

/*
 * Whether a packet or its answer may still be with the link, which loses nothing:
 * then it is no use to send it again, and wrong to give up.
 */
static bool under_way(const struct sib_port *port, const struct sib_rc_qp *r)
{
	const struct sib_link *link = &port->link;

	if (link->state != SIB_LINK_UP || r->session != link->session)
		return false;
	return link->rx_held || !sib_seq_before(r->frame, link->tx_una);
}

static void expired(struct sib_port *port, struct sib_rc_qp *r, ktime_t now)
{
	if (!r->rc.req.rnr_wait && under_way(port, r))
		sib_rc_arm(&r->rc, now);
	else
		sib_rc_timer(&r->rc, now);
}

/**
 * sib_rc_timers - do what is due
 * @port: the port, locked
 *
 * Context: the port's tasklet.
 */
void sib_rc_timers(struct sib_port *port)
{
	struct timerqueue_node *node;
	struct sib_rc_qp *r;
	ktime_t now;

	lockdep_assert_held(&port->lock);
	if (!timerqueue_getnext(&port->rc_timed))
		return;
	now = ktime_get();
	while ((node = sib_rc_timer_take(port, now))) {
		r = container_of(node, struct sib_rc_qp, timed);
		if (!ktime_before(now, r->rc.deadline))
			expired(port, r, now);
		settle(port, r);
	}
}
