/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * One end of a connection as the RC suites see it: queues of requests, memory
 * of its own, and a list of the packets that left. Addresses of gather lists are
 * offsets in that memory; the peer reaches all of it with RKEY from VA on.
 */
#ifndef SIB_RC_WORLD_H
#define SIB_RC_WORLD_H

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "wire.c"
#include "rc_req.c"
#include "rc_comp.c"
#include "rc_resp.c"
#include "rc_answer.c"

#define MEM_LEN		(256 * 1024)
#define SQ_LEN		64
#define RQ_LEN		64
#define LKEY		0x111
#define RKEY		0x222
#define VA		0x7F0000000000ULL
#define START		(3600 * NSEC_PER_SEC)

struct packet {
	struct list_head list;
	struct sib_pkt pkt;
	u8 payload[256];
};

struct end {
	struct kunit *test;
	struct sib_rc rc;
	struct sib_rc_stats stats;
	ktime_t now;
	u8 *mem;
	struct sib_swqe *sq[SQ_LEN];
	u32 sq_head;
	u32 sq_tail;
	struct sib_rwqe *rq[RQ_LEN];
	u32 rq_head;
	u32 rq_tail;
	bool taken;
	bool srq;
	struct list_head out;	/* packets that left */
	u32 sent;
	u32 completions;	/* of send requests, in order of wr_id or we fail */
	enum ib_wc_status status;	/* of the last */
	u32 receives;
	struct ib_wc wc;	/* the last */
	bool solicited;
	bool dead;
	int event;
	bool kicked;
	int send_error;
	u32 invalidated;
	u32 locals;
	enum ib_wc_status local_status;
	u32 atomics;
	bool deny;		/* memory access fails */
	bool flush_later;	/* requests stay when the QP goes to error */
	void (*on_complete)(struct end *e, const struct sib_swqe *wqe);
	void (*on_receive)(struct end *e, const struct sib_rwqe *rwqe);
};

static struct end *end_of(struct sib_rc *rc)
{
	return container_of(rc, struct end, rc);
}

/* Copy between a list, from @skip on, and @buf. */
static int list_copy(struct end *e, const struct ib_sge *sge, u32 num, u32 skip, void *buf,
		     u32 len, bool in)
{
	u32 i, n;

	for (i = 0; i < num && len; i++) {
		if (skip >= sge[i].length) {
			skip -= sge[i].length;
			continue;
		}
		if (sge[i].lkey != LKEY || sge[i].addr + sge[i].length > MEM_LEN || e->deny)
			return -EACCES;
		n = min(sge[i].length - skip, len);
		if (in)
			memcpy(e->mem + sge[i].addr + skip, buf, n);
		else
			memcpy(buf, e->mem + sge[i].addr + skip, n);
		buf += n;
		len -= n;
		skip = 0;
	}
	return len ? -EACCES : 0;
}

static int fake_check(struct sib_rc *rc, u32 rkey, u64 va, u32 len, int access)
{
	if (rkey != RKEY || va < VA || va - VA > MEM_LEN || len > MEM_LEN - (va - VA))
		return -EACCES;
	return end_of(rc)->deny ? -EACCES : 0;
}

static int mem_copy(struct end *e, const struct sib_rc_mem *mem, void *buf, u32 len, bool in)
{
	if (mem->swqe)
		return list_copy(e, mem->swqe->sge, mem->swqe->num_sge, mem->skip, buf, len, in);
	if (mem->rwqe)
		return list_copy(e, mem->rwqe->sge, mem->rwqe->num_sge, mem->skip, buf, len, in);
	if (fake_check(&e->rc, mem->rkey, mem->va, len, 0))
		return -EACCES;
	if (in)
		memcpy(e->mem + (mem->va - VA), buf, len);
	else
		memcpy(buf, e->mem + (mem->va - VA), len);
	return 0;
}

static int fake_send(struct sib_rc *rc, struct sib_pkt *pkt, const struct sib_rc_mem *mem)
{
	struct end *e = end_of(rc);
	struct packet *p;
	int err;

	if (e->send_error)
		return e->send_error;
	KUNIT_EXPECT_EQ(e->test, !pkt->plen, !mem);
	KUNIT_EXPECT_LE(e->test, pkt->plen, (u32)rc->cfg.pmtu);
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	p->pkt = *pkt;
	err = mem ? mem_copy(e, mem, p->payload, pkt->plen, false) : 0;
	if (err) {
		kfree(p);
		return err;
	}
	e->sent++;
	list_add_tail(&p->list, &e->out);
	return 0;
}

static int fake_place(struct sib_rc *rc, const struct sib_rc_mem *mem, const void *payload,
		      u32 len)
{
	return mem_copy(end_of(rc), mem, (void *)payload, len, true);
}

static int fake_atomic(struct sib_rc *rc, const struct sib_pkt *pkt, u64 *orig)
{
	struct end *e = end_of(rc);
	u64 *at = (u64 *)(e->mem + (pkt->va - VA));

	e->atomics++;
	*orig = *at;
	if (pkt->opcode == SIB_OP_FETCH_ADD)
		*at += pkt->swap_add;
	else if (*at == pkt->compare)
		*at = pkt->swap_add;
	return 0;
}

static int fake_store(struct sib_rc *rc, const struct sib_swqe *wqe, u64 orig)
{
	return list_copy(end_of(rc), wqe->sge, wqe->num_sge, 0, &orig, sizeof(orig), true);
}

static int fake_invalidate(struct sib_rc *rc, u32 rkey)
{
	end_of(rc)->invalidated = rkey;
	return rkey == 0xBAD ? -EACCES : 0;
}

static enum ib_wc_status fake_local(struct sib_rc *rc, const struct sib_swqe *wqe)
{
	end_of(rc)->locals++;
	return end_of(rc)->local_status;
}

static struct sib_swqe *fake_wqe(struct sib_rc *rc, u32 ahead)
{
	struct end *e = end_of(rc);

	return ahead < e->sq_head - e->sq_tail ? e->sq[(e->sq_tail + ahead) % SQ_LEN] : NULL;
}

static void fake_complete(struct sib_rc *rc, struct sib_swqe *wqe, enum ib_wc_status status)
{
	struct end *e = end_of(rc);

	KUNIT_EXPECT_PTR_EQ(e->test, wqe, fake_wqe(rc, 0));
	KUNIT_EXPECT_EQ(e->test, wqe->wr_id, (u64)e->completions);
	e->completions++;
	e->status = status;
	if (e->on_complete)
		e->on_complete(e, wqe);
	e->sq_tail++;
}

static const struct sib_rwqe *fake_take(struct sib_rc *rc)
{
	struct end *e = end_of(rc);

	KUNIT_EXPECT_FALSE(e->test, e->taken);
	if (e->rq_head == e->rq_tail)
		return NULL;
	e->taken = true;
	return e->rq[e->rq_tail % RQ_LEN];
}

static void fake_received(struct sib_rc *rc, const struct sib_rwqe *rwqe, struct ib_wc *wc,
			  bool solicited)
{
	struct end *e = end_of(rc);

	KUNIT_EXPECT_TRUE(e->test, e->taken);
	KUNIT_EXPECT_PTR_EQ(e->test, rwqe,
			    (const struct sib_rwqe *)e->rq[e->rq_tail % RQ_LEN]);
	e->taken = false;
	e->rq_tail++;
	e->receives++;
	e->wc = *wc;
	e->wc.wr_id = rwqe->wr_id;
	e->solicited = solicited;
	if (e->on_receive)
		e->on_receive(e, rwqe);
}

static u32 fake_room(struct sib_rc *rc)
{
	struct end *e = end_of(rc);

	return e->srq ? U32_MAX : e->rq_head - e->rq_tail - e->taken;
}

static void fake_fatal(struct sib_rc *rc, int event)
{
	struct end *e = end_of(rc);

	KUNIT_EXPECT_FALSE(e->test, e->dead);
	e->dead = true;
	e->event = event;
	if (!e->flush_later)
		e->sq_tail = e->sq_head;
	e->taken = false;
	sib_rc_reset(rc);
}

static void fake_kick(struct sib_rc *rc)
{
	end_of(rc)->kicked = true;
}

static const struct sib_rc_ops fake_ops = {
	.send = fake_send,
	.place = fake_place,
	.check = fake_check,
	.atomic = fake_atomic,
	.store = fake_store,
	.invalidate = fake_invalidate,
	.local = fake_local,
	.wqe = fake_wqe,
	.complete = fake_complete,
	.take = fake_take,
	.received = fake_received,
	.room = fake_room,
	.fatal = fake_fatal,
	.kick = fake_kick,
};

/* An end that is RTS, with SQ PSN and RQ PSN as given */
static struct end *new_end(struct kunit *test, u32 sq_psn, u32 rq_psn)
{
	struct end *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, e);
	e->test = test;
	e->now = START;
	e->rc.ops = &fake_ops;
	e->rc.stats = &e->stats;
	e->rc.cfg = (struct sib_rc_cfg) {
		.pmtu = 256,
		.timeout = 10,
		.retry_cnt = 3,
		.rnr_retry = 3,
		.rnr_timer = 12,
		.max_rd = 4,
		.max_dest_rd = 4,
		.access = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_REMOTE_ATOMIC,
	};
	INIT_LIST_HEAD(&e->out);
	e->mem = kunit_kzalloc(test, MEM_LEN, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e->mem);
	for (i = 0; i < SQ_LEN; i++) {
		e->sq[i] = kunit_kzalloc(test, sizeof(*e->sq[i]) + 2 * sizeof(struct ib_sge),
					 GFP_KERNEL);
		e->rq[i] = kunit_kzalloc(test, sizeof(*e->rq[i]) + 2 * sizeof(struct ib_sge),
					 GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, e->sq[i]);
		KUNIT_ASSERT_NOT_NULL(test, e->rq[i]);
	}
	sib_rc_start_resp(&e->rc, rq_psn);
	sib_rc_start_req(&e->rc, sq_psn);
	return e;
}

static void split(struct ib_sge *sge, u64 addr, u32 len)
{
	sge[0] = (struct ib_sge) { .addr = addr, .length = len / 3, .lkey = LKEY };
	sge[1] = (struct ib_sge) { .addr = addr + len / 3, .length = len - len / 3,
				   .lkey = LKEY };
}

/* Post a request for @len bytes of memory from @addr on. */
static struct sib_swqe __maybe_unused *post(struct end *e, enum ib_wr_opcode opcode, u64 addr,
					    u32 len)
{
	struct sib_swqe *wqe = e->sq[e->sq_head % SQ_LEN];

	KUNIT_ASSERT_LT(e->test, e->sq_head - e->sq_tail, (u32)SQ_LEN);
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = e->sq_head++;
	wqe->opcode = opcode;
	wqe->length = len;
	wqe->num_sge = 2;
	wqe->remote_addr = VA + addr;
	wqe->rkey = RKEY;
	split(wqe->sge, addr, len);
	return wqe;
}

static void __maybe_unused post_recv(struct end *e, u64 addr, u32 len)
{
	struct sib_rwqe *rwqe = e->rq[e->rq_head % RQ_LEN];

	KUNIT_ASSERT_LT(e->test, e->rq_head - e->rq_tail, (u32)RQ_LEN);
	rwqe->wr_id = e->rq_head++;
	rwqe->length = len;
	rwqe->num_sge = 2;
	split(rwqe->sge, addr, len);
}

/* Next packet that left; NULL if none. To be freed. */
static struct packet *next_packet(struct end *e)
{
	struct packet *p = list_first_entry_or_null(&e->out, struct packet, list);

	if (p)
		list_del(&p->list);
	return p;
}

static void flush(struct end *e)
{
	struct packet *p;

	while ((p = next_packet(e)))
		kfree(p);
}

static void run(struct end *e)
{
	int budget = 1000;

	do
		e->kicked = false;
	while (sib_rc_run(&e->rc, 100, false, e->now) > 0 && --budget);
	KUNIT_EXPECT_GT(e->test, budget, 0);
}

/* The next packet that left is this one; its fields. */
static struct sib_pkt __maybe_unused expect(struct end *e, u8 opcode, u32 psn)
{
	struct packet *p = next_packet(e);
	struct sib_pkt pkt = {};

	KUNIT_EXPECT_NOT_NULL(e->test, p);
	if (!p)
		return pkt;
	pkt = p->pkt;
	KUNIT_EXPECT_EQ(e->test, pkt.opcode, opcode);
	KUNIT_EXPECT_EQ(e->test, pkt.psn, psn);
	kfree(p);
	return pkt;
}

static void __maybe_unused expect_nothing(struct end *e)
{
	run(e);
	KUNIT_EXPECT_TRUE(e->test, list_empty(&e->out));
	flush(e);
}

#endif /* SIB_RC_WORLD_H */
