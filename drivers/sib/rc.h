/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The connected transport services, RC and UC (IBA vol. 1, 9.7 and 9.8.2), as
 * a state machine in three parts: the requester (rc_req.c) sends the requests of
 * a send queue, the completer (rc_comp.c) takes the responses to them, and the
 * responder executes the requests of the peer (rc_resp.c) and answers (rc_answer.c).
 *
 * It knows neither devices nor timers nor where memory is: packets leave, and
 * memory is read and written, through &struct sib_rc_ops, time comes in as @now
 * (of CLOCK_MONOTONIC), and the owner calls sib_rc_timer() when @deadline has come. All
 * functions on one &struct sib_rc must be serialised by its owner; none sleeps.
 */
#ifndef SIB_RC_H
#define SIB_RC_H

#include <linux/ktime.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "wire.h"

/* READ and atomic requests in progress, either way */
#define SIB_MAX_RD_ATOMIC	16
/* Longest message (IBA vol. 1, 9.7.8) */
#define SIB_RC_MAX_MSG		0x80000000U
/* SEND and WRITE packets sent ahead of their acknowledgment */
#define SIB_RC_WINDOW		256
/* Packets after which one asks for an acknowledgment */
#define SIB_RC_ASK		32
/* Responses asked for by one READ request; longer ones are asked for in parts */
#define SIB_RC_READ_MAX		0x400000U

struct sib_rc;
struct sib_swqe;
struct sib_rwqe;

/**
 * struct sib_rc_wqe - what the requester knows of a send request
 * @psn: of its first packet, valid with SIB_RC_STARTED
 * @end: the PSN after its last; READ: after its last response
 * @flags: SIB_RC_*; the poster of the request sets it to 0
 * @status: enum ib_wc_status, valid with SIB_RC_FAILED
 *
 * Written by the requester and the completer only.
 */
struct sib_rc_wqe {
	u32 psn;
	u32 end;
	u8 flags;
	u8 status;
};

#define SIB_RC_STARTED	0x01	/* has its PSNs */
#define SIB_RC_ASKED	0x02	/* READ and atomic: counts in &sib_rc_req.rd_out */
#define SIB_RC_FAILED	0x04	/* completes in error once it is the oldest */

/**
 * struct sib_rc_mem - where the payload of a packet comes from or goes to
 * @swqe: the list of a send request, or NULL
 * @rwqe: the list of a receive request, or NULL
 * @skip: offset in either list
 * @rkey: if both are NULL, the key of remotely accessible memory
 * @va: and the address
 */
struct sib_rc_mem {
	const struct sib_swqe *swqe;
	const struct sib_rwqe *rwqe;
	u32 skip;
	u32 rkey;
	u64 va;
};

/**
 * struct sib_rc_ops - what the engine needs from its owner
 * @send: send a packet with @pkt->plen bytes of payload out of @mem, which is
 *	NULL if there is none. The engine has set all fields of @pkt from the BTH
 *	on but P_Key and destination QP. Returns 0; -EAGAIN, -EBUSY or -ENOMEM if it
 *	must wait; -EACCES if @mem may not be read
 * @place: write @len bytes of @payload to @mem; 0 or -EACCES
 * @check: whether the peer may do @access (one of IB_ACCESS_REMOTE_*) to that
 *	memory; 0 or -EACCES
 * @atomic: execute the atomic request @pkt, and say what was there before;
 *	0 or -EACCES
 * @store: write the result of the atomic request @wqe; 0 or -EACCES
 * @invalidate: invalidate an R_Key for the peer; 0 or -EACCES
 * @local: execute a request that sends nothing (register, invalidate)
 * @wqe: the send request that comes @ahead after the oldest, or NULL
 * @complete: complete the oldest send request
 * @take: the next receive request, or NULL; valid until @received
 * @received: complete it. @wc says all but WR ID and QP
 * @room: receive requests posted; U32_MAX if that says nothing (SRQ)
 * @fatal: the QP goes to the error state, and everything posted is flushed, some of it
 *	later; @event
 *	is the asynchronous event, or -1 if a completion said it already. Calls
 *	sib_rc_reset()
 * @kick: have sib_rc_run() called soon
 *
 * All are called within a call of a function of the engine, from its context.
 */
struct sib_rc_ops {
	int (*send)(struct sib_rc *rc, struct sib_pkt *pkt, const struct sib_rc_mem *mem);
	int (*place)(struct sib_rc *rc, const struct sib_rc_mem *mem, const void *payload,
		     u32 len);
	int (*check)(struct sib_rc *rc, u32 rkey, u64 va, u32 len, int access);
	int (*atomic)(struct sib_rc *rc, const struct sib_pkt *pkt, u64 *orig);
	int (*store)(struct sib_rc *rc, const struct sib_swqe *wqe, u64 orig);
	int (*invalidate)(struct sib_rc *rc, u32 rkey);
	enum ib_wc_status (*local)(struct sib_rc *rc, const struct sib_swqe *wqe);
	struct sib_swqe *(*wqe)(struct sib_rc *rc, u32 ahead);
	void (*complete)(struct sib_rc *rc, struct sib_swqe *wqe, enum ib_wc_status status);
	const struct sib_rwqe *(*take)(struct sib_rc *rc);
	void (*received)(struct sib_rc *rc, const struct sib_rwqe *rwqe, struct ib_wc *wc,
			 bool solicited);
	u32 (*room)(struct sib_rc *rc);
	void (*fatal)(struct sib_rc *rc, int event);
	void (*kick)(struct sib_rc *rc);
};

/**
 * struct sib_rc_cfg - attributes of the connection
 * @uc: unreliable connected
 * @pmtu: path MTU, bytes
 * @timeout: how long [ns] to wait for an acknowledgment, 0 for ever
 * @retry_cnt: times to try again without progress
 * @rnr_retry: times to try again for want of a receive request, 7 for ever
 * @rnr_timer: code the peer is told in RNR NAKs
 * @max_rd: READ and atomic requests to have in progress
 * @max_dest_rd: and to serve, at most SIB_MAX_RD_ATOMIC. It limits what is taken on;
 *	what was taken before it became smaller is still answered
 * @access: IB_ACCESS_REMOTE_* granted to the peer
 */
struct sib_rc_cfg {
	bool uc;
	u16 pmtu;
	u64 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 rnr_timer;
	u8 max_rd;
	u8 max_dest_rd;
	int access;
};

/**
 * struct sib_rc_req - the requester's and completer's state
 * @on: the QP sends
 * @una: oldest PSN not acknowledged
 * @psn: next PSN to send
 * @max: first PSN never sent (READ: never asked for)
 * @next: first PSN no request has
 * @cur: request to be sent next, counted from the oldest
 * @ssn: send sequence number of the newest request that was started
 * @lsn: newest SEND the peer has a receive request for, 24 bits
 * @unlimited: the peer does not say
 * @rd_out: READ and atomic requests that wait for responses
 * @unasked: packets since the last that asked for an acknowledgment
 * @retry: tries left
 * @rnr: tries left for want of a receive request
 * @rnr_wait: nothing may be sent until the deadline
 * @implied: a response was missed, and the requests from there on will be sent
 *	again; until there is progress, no other response says anything new
 */
struct sib_rc_req {
	bool on;
	u32 una;
	u32 psn;
	u32 max;
	u32 next;
	u32 cur;
	u32 ssn;
	u32 lsn;
	bool unlimited;
	u8 rd_out;
	u8 unasked;
	u8 retry;
	u8 rnr;
	bool rnr_wait;
	bool implied;
};

/**
 * struct sib_rc_slot - a READ or atomic request of the peer, kept for duplicates
 * @op: enum sib_op
 * @psn: of the request
 * @end: the PSN after its last response
 * @rkey: READ: R_Key
 * @len: READ: bytes
 * @va: READ: address
 * @orig: atomic: the result
 */
struct sib_rc_slot {
	u8 op;
	u32 psn;
	u32 end;
	u32 rkey;
	u32 len;
	u64 va;
	u64 orig;
};

enum sib_rc_message {
	SIB_RC_NO_MESSAGE,	/* between two messages */
	SIB_RC_SEND,		/* within a SEND */
	SIB_RC_WRITE,		/* within a WRITE */
};

/**
 * struct sib_rc_resp - the responder's state
 * @on: the QP receives
 * @epsn: PSN expected next
 * @msn: messages completed, 24 bits
 * @message: what the next packet has to belong to
 * @rwqe: receive request of the message, NULL if none
 * @got: bytes of the message that have arrived
 * @left: WRITE: bytes to come
 * @rkey: WRITE: R_Key
 * @va: WRITE: where the next byte goes
 * @ack_due: everything before @epsn is to be acknowledged
 * @nak_due: @nak is to be sent
 * @nak_sent: and was; no other until @epsn arrives
 * @nak: AETH syndrome
 * @nak_psn: PSN to go with it
 * @gap: last PSN that was dropped because it came too early
 * @closing: the NAK is the last thing the QP does; then comes @close_event
 * @close_event: asynchronous event, or -1
 * @slots: requests of the peer that are answered by more than an ACK: a ring of all
 *	places, however few of them may be in use
 * @head: next slot to use
 * @held: slots in use
 * @todo: of these, the newest that are still to be answered
 * @reply: PSN of the next response to the first of these
 */
struct sib_rc_resp {
	bool on;
	u32 epsn;
	u32 msn;
	enum sib_rc_message message;
	const struct sib_rwqe *rwqe;
	u32 got;
	u32 left;
	u32 rkey;
	u64 va;
	bool ack_due;
	bool nak_due;
	bool nak_sent;
	u8 nak;
	u32 nak_psn;
	u32 gap;
	bool closing;
	int close_event;
	struct sib_rc_slot slots[SIB_MAX_RD_ATOMIC];
	u8 head;
	u8 held;
	u8 todo;
	u32 reply;
};

/* struct sib_rc_stats - events of one QP */
struct sib_rc_stats {
	u64 rx_dup;		/* requests received again */
	u64 rx_gap;		/* requests that came too early, dropped */
	u64 rx_ghost;		/* responses nobody waits for, dropped */
	u64 rx_refused;		/* requests answered by a NAK that ends the connection */
	u64 tx_ack;
	u64 tx_nak;		/* sequence errors */
	u64 tx_rnr;		/* RNR NAKs */
	u64 rx_nak;
	u64 rx_rnr;
	u64 timeout;		/* acknowledgment timers that expired */
	u64 retry;		/* times sending went back */
};

/**
 * struct sib_rc - one QP's engine
 * @ops: services of the owner
 * @cfg: attributes; may be changed by the owner between calls, but for @uc and @pmtu,
 *	which are set before anything is sent or received
 * @stats: event counts, the owner's memory
 * @req: requester and completer
 * @resp: responder
 * @armed: sib_rc_timer() is to be called at @deadline
 * @deadline: when
 *
 * Guarded by the owner's serialisation.
 */
struct sib_rc {
	const struct sib_rc_ops *ops;
	struct sib_rc_cfg cfg;
	struct sib_rc_stats *stats;
	struct sib_rc_req req;
	struct sib_rc_resp resp;
	bool armed;
	ktime_t deadline;
};

/* rc_req.c */
void sib_rc_reset(struct sib_rc *rc);
void sib_rc_start_resp(struct sib_rc *rc, u32 rq_psn);
void sib_rc_start_req(struct sib_rc *rc, u32 sq_psn);
int sib_rc_run(struct sib_rc *rc, int budget, bool drain, ktime_t now);
void sib_rc_timer(struct sib_rc *rc, ktime_t now);
bool sib_rc_drained(struct sib_rc *rc);

/* rc_comp.c */
void sib_rc_response(struct sib_rc *rc, const struct sib_pkt *pkt, const void *payload,
		     ktime_t now);

/* rc_resp.c */
void sib_rc_request(struct sib_rc *rc, const struct sib_pkt *pkt, const void *payload);

/* rc_answer.c */
void sib_rc_resp_end(struct sib_rc *rc);

/* Between the parts */
void sib_rc_refuse_access(struct sib_rc *rc);
int sib_rc_resp_run(struct sib_rc *rc, int budget);
void sib_rc_reap(struct sib_rc *rc);
void sib_rc_fail(struct sib_rc *rc, enum ib_wc_status status);
void sib_rc_retry(struct sib_rc *rc);
void sib_rc_rnr(struct sib_rc *rc, u8 code, ktime_t now);
void sib_rc_arm(struct sib_rc *rc, ktime_t now);

/* The slot that was taken @age slots ago, 1 for the newest */
static inline struct sib_rc_slot *sib_rc_slot_of_age(struct sib_rc_resp *resp, u8 age)
{
	return &resp->slots[(resp->head + SIB_MAX_RD_ATOMIC - age) % SIB_MAX_RD_ATOMIC];
}

static inline bool sib_rc_is_read(enum ib_wr_opcode op)
{
	return op == IB_WR_RDMA_READ;
}

static inline bool sib_rc_is_atomic(enum ib_wr_opcode op)
{
	return op == IB_WR_ATOMIC_CMP_AND_SWP || op == IB_WR_ATOMIC_FETCH_AND_ADD;
}

/* Requests the peer answers by more than an ACK */
static inline bool sib_rc_has_result(enum ib_wr_opcode op)
{
	return sib_rc_is_read(op) || sib_rc_is_atomic(op);
}

/* Opcodes of responses; all others are requests. */
static inline bool sib_rc_is_response(u8 op)
{
	return op >= SIB_OP_READ_FIRST && op <= SIB_OP_ATOMIC_ACK;
}

/* Packets of a message; one without payload has one, too. */
static inline u32 sib_rc_packets(const struct sib_rc *rc, u32 len)
{
	return len ? DIV_ROUND_UP(len, rc->cfg.pmtu) : 1;
}

/*
 * What a code of 5 bits means: in credits, receive requests; in RNR NAKs, units of
 * 10 microseconds, where 0 stands for 65536 (IBA vol. 1, tables 45 and 46).
 */
static inline u32 sib_rc_code_value(u8 code)
{
	return code < 2 ? code : (code & 1 ? 3U : 2U) << (code / 2 - 1);
}

/* How long [ns] to wait for a receive request of the peer, by the code in its RNR NAK */
static inline u64 sib_rc_rnr_wait(u8 code)
{
	return 10ULL * NSEC_PER_USEC * (code ? sib_rc_code_value(code) : 65536);
}

/*
 * How long [ns] to wait for an acknowledgment, by a code of 5 bits: for ever with 0, otherwise
 * 4.096 us times 2^code at least and four times that at most (IBA vol. 1, 9.7.6.1.3), of
 * which sib takes twice, since emulated machines are late; but at least @min_ms.
 */
static inline u64 sib_rc_ack_wait(u8 code, u32 min_ms)
{
	return code ? max(8192ULL << (code & 31), (u64)min_ms * NSEC_PER_MSEC) : 0;
}

#endif /* SIB_RC_H */
