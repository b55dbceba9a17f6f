/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * sib, a software InfiniBand HCA: one ib_device with one port per lower
 * Ethernet-like net device.
 *
 * All packets of a port, in and out, pass through one context, the port context,
 * which is who holds port->lock. Mostly that is the port's tasklet (port.c): it
 * takes frames from the receive queue to the link, IB packets from the link to the
 * QPs, work requests from the send queues to the link, and then calls the
 * completion handlers. Verbs only put work on rings and schedule it, but for
 * requests of a process, which are sent in its own call if the lock is free. A frame
 * that finds the lock free, and none before it, goes to the QPs as it comes; the
 * tasklet then sends what is to be answered.
 *
 * Locks, outermost first:
 *   rtnl                      coming and going of the lower device
 *   sib_entries_lock (mutex)  list of devices, main.c
 *   cq->resize (mutex)        resizing of the queue of a process
 *   limit.lock (mutex)        processes that have opened the device
 *   port->lock                the port context: link, QP table, multicast
 *                             table, consumer side of all rings; held for a
 *                             whole run, taken _bh by verbs
 *   sma.lock                  management attributes
 *   qp->sq.lock, qp->rq.lock  producer side of the rings; irqsave, because
 *   srq->ring.lock            ib_mad posts with interrupts off
 *   port->tx_lock             lists of QPs with something to send; irqsave
 *   cq->lock                  completion ring; irqsave
 *   vector->lock              CQs whose handler is due; irqsave
 *   dma->maps (xarray's lock) mappings, and what is copied by them; irqsave
 */
#ifndef SIB_H
#define SIB_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include "choice.h"
#include "fault.h"
#include "limit.h"
#include "link.h"
#include "loss.h"
#include "mem.h"
#include "offload.h"
#include "pma.h"
#include "port.h"
#include "profile.h"
#include "queue.h"
#include "rc.h"
#include "sma.h"
#include "vector.h"
#include "wire.h"

#define SIB_HW_REV		1
#define SIB_MAX_SGE		32
#define SIB_MAX_WR		16384
#define SIB_MAX_CQE		262144
#define SIB_MAX_INLINE		512
#define SIB_ACK_DELAY		12	/* 4.096 us * 2^12: a softirq may be late */
#define SIB_MAX_MSG		0x80000000U
#define SIB_QPN_FIRST		2
#define SIB_QPN_LAST		0xFFFFF

/**
 * struct sib_cq - completion queue
 * @ibcq: ib_core's part
 * @share: of the process that it is of, NULL for kernel consumers
 * @resize: one at a time
 * @lock: guards all below
 * @ring: @size entries
 * @head: next entry to write
 * @tail: next entry to poll
 * @size: entries in @ring, one of them always free
 * @map: memory of the queue of a process; NULL for kernel consumers, who have @ring
 * @user: that queue
 * @notify: what was asked for by req_notify_cq, 0 if nothing
 * @overflow: a completion was lost
 * @asked: how often req_notify_cq has been called
 * @polls: how often poll_cq has been called
 * @added: completions that nobody has asked to be told of
 * @vector: which of dev->vectors calls its handler
 * @handlers: calls of its handler under way; guarded by sib_vector.lock
 * @event: link in sib_vector.due while the handler is due; guarded by sib_vector.lock
 */
struct sib_cq {
	struct ib_cq ibcq;
	struct sib_share *share;
	struct mutex resize;	/* see above */
	spinlock_t lock;	/* see above */
	struct ib_wc *ring;
	u32 head;
	u32 tail;
	u32 size;
	struct sib_umap *map;
	struct sib_ucq user;
	enum ib_cq_notify_flags notify;
	bool overflow;
	u32 asked;
	u32 polls;
	u32 added;
	u8 vector;
	unsigned int handlers;
	struct list_head event;
};

/**
 * struct sib_av - what an address handle says, ready for a packet
 * @dlid: destination LID
 * @sl: service level
 * @path_bits: source path bits (LMC)
 * @grh: @ghdr is to be sent
 * @sgid_index: source GID
 * @ghdr: traffic class, flow label, hop limit and destination GID
 */
struct sib_av {
	u16 dlid;
	u8 sl;
	u8 path_bits;
	bool grh;
	u8 sgid_index;
	struct ib_grh ghdr;
};

struct sib_ah {
	struct ib_ah ibah;
	struct sib_share *share;
	struct rdma_ah_attr attr;
	struct sib_av av;
};

struct sib_pd {
	struct ib_pd ibpd;
	struct sib_share *share;
};

/*
 * struct sib_swqe - a send work request, copied when posted. With
 * IB_SEND_INLINE, its @length bytes of data are in place of @sge. IB_WR_REG_MR
 * has the address and length of the region in @remote_addr and @compare_add.
 * IB_WR_LSO has @hlen bytes of headers after the list, sib_swqe_header(); @lso_off
 * bytes of its data have been sent, guarded by port->lock.
 */
struct sib_swqe {
	u64 wr_id;
	enum ib_wr_opcode opcode;
	int send_flags;
	u32 length;
	u32 num_sge;
	union {
		__be32 imm;
		u32 inv_rkey;
	};
	union {
		struct {		/* datagrams */
			u32 dqpn;
			u32 qkey;
			u16 pkey_index;
			u16 hlen;
			u32 mss;
			u32 lso_off;
			struct sib_av av;
		};
		struct {		/* connected services */
			u64 remote_addr;
			u64 compare_add;
			u64 swap;
			u32 rkey;
			int access;	/* IB_WR_REG_MR */
			struct sib_rc_wqe rc;
		};
	};
	struct ib_sge sge[];
};

struct sib_rc_qp;

/**
 * struct sib_srq - shared receive queue
 * @ibsrq: ib_core's part
 * @share: of the process that it is of, NULL for kernel consumers
 * @mem: whose memory its requests name
 * @rq: the requests
 * @told: its process has spoilt it, and knows; guarded by port->lock
 * @posts: calls of post_srq_recv, as far as its profile refuses some; guarded by @rq.ring.lock
 * @cap: as created; of @cap.srq_limit, the limit event is due when fewer
 *	requests are left, 0 if it is not wanted; guarded by port->lock
 */
struct sib_srq {
	struct ib_srq ibsrq;
	struct sib_share *share;
	struct sib_mem_ctx mem;
	struct sib_rq rq;
	bool told;
	u32 posts;
	struct ib_srq_attr cap;
};

/**
 * struct sib_qp - queue pair
 * @ibqp: ib_core's part
 * @share: of the process that it is of, NULL for kernel consumers
 * @mem: whose memory its requests name
 * @sq: send queue
 * @rq: receive queue
 * @srq: shared receive queue to use instead of @rq, or NULL
 * @held: receive request whose message is arriving, NULL if none: the oldest of
 *	@rq, or @copy; guarded by port->lock
 * @copy: a request taken from @srq or from the queue of a process; guarded by
 *	port->lock
 * @attr: current attributes; written under port->lock, sq.lock and rq.lock, so
 *	that any of the three is enough to read
 * @av: path of a connected QP; guarded as @attr
 * @cap: as created
 * @lso: takes IB_WR_LSO
 * @block_own: its own packets to groups do not come to it
 * @sig_all: every send completes with a CQE
 * @last_wqe: in error, and that no more will be taken from @srq has been told;
 *	guarded by port->lock
 * @refuses: its profile may have it refuse requests: a kernel consumer's UD or RC queue pair,
 *	neither ib_mad's nor of sib's netdev
 * @send_posts: calls of post_send, if it does; guarded by sq.lock
 * @recv_posts: calls of post_recv, likewise; guarded by @rq.ring.lock
 * @hung: sends stand still because loss.h says so; guarded by port->lock
 * @psn: datagrams: next packet sequence number; guarded by port->lock
 * @rc: connected QPs: the engine, see rc.h; guarded by port->lock
 * @tx: link in port->tx_list while work may be in @sq, or in port->loop_wait; guarded by
 *	port->tx_lock
 * @late: link in port->late while it waits in error for requests of a process;
 *	guarded by port->lock
 * @mcast: number of attached groups; guarded by port->lock
 */
struct sib_qp {
	struct ib_qp ibqp;
	struct sib_share *share;
	struct sib_mem_ctx mem;
	struct sib_ring sq;
	struct sib_rq rq;
	struct sib_srq *srq;
	const struct sib_rwqe *held;
	struct sib_rwqe *copy;
	struct ib_qp_attr attr;
	struct sib_av av;
	struct ib_qp_cap cap;
	bool lso;
	bool block_own;
	bool sig_all;
	bool last_wqe;
	bool refuses;
	bool hung;
	u32 send_posts;
	u32 recv_posts;
	u32 psn;
	struct sib_rc_qp *rc;
	struct list_head tx;
	struct list_head late;
	u32 mcast;
};

/**
 * struct sib_mcast - one QP attached to one multicast group
 * @node: link in port->mcast, guarded by port->lock
 * @mgid: group
 * @mlid: its LID
 * @qp: member
 */
struct sib_mcast {
	struct hlist_node node;
	union ib_gid mgid;
	u16 mlid;
	struct sib_qp *qp;
};

struct sib_entry;

/**
 * struct sib_dev - a device
 * @ibdev: ib_core's part
 * @entry: its place in the list of devices; survives ib_core's part
 * @port: its only port
 * @mem: its memory regions
 * @limit: its objects
 * @profile: the HCA that it is like
 * @netdev_queues: queues each way of the netdev that it offers drivers of IPoIB, if it does
 * @chooser: what it chooses where that leaves it open
 * @last_wqes: how often the end of a shared queue's use was told; guarded by port->lock
 * @fault: what is wrong with it
 * @vectors: completion vectors, of which it has @profile->vectors
 */
struct sib_dev {
	struct ib_device ibdev;
	struct sib_entry *entry;
	struct sib_port port;
	struct sib_mem mem;
	struct sib_limit limit;
	const struct sib_profile *profile;
	u16 netdev_queues;
	struct sib_chooser chooser;
	u32 last_wqes;
	struct sib_fault fault;
	struct sib_vector vectors[SIB_VECTORS_MAX];
};

static inline struct sib_dev *to_sib(struct ib_device *ibdev)
{
	return container_of(ibdev, struct sib_dev, ibdev);
}

static inline struct sib_dev *port_to_dev(struct sib_port *port)
{
	return container_of(port, struct sib_dev, port);
}

static inline struct sib_qp *to_sqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct sib_qp, ibqp);
}

/* The HCA that a QP's device is like */
static inline const struct sib_profile *sib_qp_profile(const struct sib_qp *qp)
{
	return to_sib(qp->ibqp.device)->profile;
}

static inline struct sib_cq *to_scq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct sib_cq, ibcq);
}

static inline struct sib_srq *to_ssrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct sib_srq, ibsrq);
}

static inline struct sib_pd *to_spd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct sib_pd, ibpd);
}

static inline struct sib_ah *to_sah(struct ib_ah *ibah)
{
	return container_of(ibah, struct sib_ah, ibah);
}

/* device.c */
extern const struct ib_device_ops sib_device_ops;
void sib_device_init(struct sib_dev *dev, const char *name, __be64 guid);
void sib_device_cleanup(struct sib_dev *dev);

/* main.c */
void sib_entry_gone(struct sib_entry *entry);

/* late.c */
void sib_late_watch(struct sib_port *port, struct sib_qp *qp);
void sib_late_run(struct sib_port *port, unsigned long now);
unsigned long sib_late_deadline(const struct sib_port *port, unsigned long until);

/* rx.c */
void sib_rx_packets(struct sib_port *port, struct sk_buff *skb, unsigned int off,
		    unsigned int len, unsigned int count);
void sib_rx_packet(struct sib_port *port, struct sk_buff *skb, unsigned int off,
		   unsigned int len);

/*
 * xmit.c; a sib_gather_fn writes @len bytes of payload to @to and adds their
 * unfolded checksum to @sum, or returns an errno
 */
typedef int (*sib_gather_fn)(const void *src, void *to, u32 len, __wsum *sum);
void sib_xmit_discard(struct sib_port *port);
void sib_xmit_path(struct sib_port *port, const struct sib_av *av, struct sib_pkt *pkt);
int sib_xmit(struct sib_port *port, struct sib_pkt *pkt, sib_gather_fn gather,
	     const void *src, unsigned long now);

/* ud.c */
int sib_ud_send(struct sib_port *port, struct sib_qp *qp, struct sib_swqe *wqe,
		unsigned long now);
bool sib_ud_recv(struct sib_port *port, struct sib_qp *qp, const struct sib_pkt *pkt,
		 struct sk_buff *skb, unsigned int off);

/* rc_qp.c */
int sib_rc_create(struct sib_qp *qp);
void sib_rc_destroy(struct sib_qp *qp);
void sib_rc_modified(struct sib_port *port, struct sib_qp *qp, enum ib_qp_state old);
void sib_rc_query(struct sib_qp *qp, struct ib_qp_attr *attr);
void sib_rc_recv(struct sib_port *port, struct sib_qp *qp, const struct sib_pkt *pkt,
		 struct sk_buff *skb, unsigned int off);
int sib_rc_send(struct sib_port *port, struct sib_qp *qp, bool *more);
bool sib_rc_is_drained(struct sib_qp *qp);
void sib_rc_timers(struct sib_port *port);

/* rc_timer.c */
void sib_rc_timer_init(struct sib_port *port);
void sib_rc_timer_cleanup(struct sib_port *port);
void sib_rc_timer_set(struct sib_port *port, struct timerqueue_node *node, ktime_t at);
void sib_rc_timer_stop(struct sib_port *port, struct timerqueue_node *node);
struct timerqueue_node *sib_rc_timer_take(struct sib_port *port, ktime_t now);
void sib_rc_timer_follow(struct sib_port *port);

/* qp.c */
int sib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int sib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int sib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int sib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
void sib_qp_event(struct sib_qp *qp, enum ib_event_type type);
int sib_qp_flush(struct sib_port *port, struct sib_qp *qp);
void sib_qp_fatal(struct sib_port *port, struct sib_qp *qp, int event);
void sib_qp_send_error(struct sib_port *port, struct sib_qp *qp);
void sib_qp_error(struct sib_port *port, struct sib_qp *qp, int event);

/* qp_attr.c */
int sib_qp_attr_check(enum ib_qp_type type, const struct ib_qp_attr *cur,
		      const struct ib_qp_attr *attr, int mask, enum ib_mtu mtu);
void sib_qp_attr_copy(struct ib_qp_attr *cur, const struct ib_qp_attr *attr, int mask);

/* post.c */
int sib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad);
int sib_swqe_gather(const struct sib_qp *qp, const struct sib_swqe *wqe, u32 skip, void *to,
		    u32 len, __wsum *sum);
int sib_swqe_scatter(const struct sib_qp *qp, const struct sib_swqe *wqe, u32 skip,
		     struct sk_buff *skb, unsigned int off, u32 len);
int sib_swqe_write(const struct sib_qp *qp, const struct sib_swqe *wqe, const void *from,
		   u32 len);
enum ib_wc_status sib_swqe_local(const struct sib_qp *qp, const struct sib_swqe *wqe);
void sib_qp_complete_send(struct sib_qp *qp, const struct sib_swqe *wqe,
			  enum ib_wc_status status);

/* recv.c */
int sib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad);
int sib_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);
const struct sib_rwqe *sib_qp_recv_peek(struct sib_qp *qp);
const struct sib_rwqe *sib_qp_recv_hold(struct sib_qp *qp, const struct sib_rwqe *wqe);
const struct sib_rwqe *sib_qp_recv_take(struct sib_qp *qp);
void sib_qp_recv_done(struct sib_qp *qp, struct ib_wc *wc, bool solicited);
u32 sib_qp_recv_count(const struct sib_qp *qp);
bool sib_qp_recv_is_spoilt(struct sib_qp *qp);
int sib_rwqe_scatter(const struct sib_qp *qp, const struct sib_rwqe *rwqe, u32 skip,
		     struct sk_buff *skb, unsigned int off, u32 len, __wsum *sum);
int sib_rwqe_write(const struct sib_qp *qp, const struct sib_rwqe *rwqe, u32 skip,
		   const void *from, u32 len);

/* srq.c */
int sib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int sib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata);
int sib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int sib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
void sib_srq_taken(struct sib_srq *srq);
void sib_srq_spoilt(struct sib_srq *srq);

/* Headers of a request to send a long TCP segment */
static inline u8 *sib_swqe_header(const struct sib_qp *qp, struct sib_swqe *wqe)
{
	return (u8 *)&wqe->sge[qp->sq.max_sge];
}

/* cq.c */
int sib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int sib_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata);
int sib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int sib_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int sib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
void sib_cq_error(struct sib_cq *cq);
void sib_cq_add(struct sib_cq *cq, const struct ib_wc *wc, bool solicited);
void sib_cq_forget(struct sib_cq *cq, const struct sib_qp *qp);
u32 sib_cq_count(struct sib_cq *cq, const struct sib_qp *qp);

/* ah.c */
int sib_av_fill(struct sib_av *av, const struct rdma_ah_attr *attr);
int sib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int sib_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int sib_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int sib_destroy_ah(struct ib_ah *ibah, u32 flags);

/* mr.c */
struct ib_mr *sib_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *sib_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			      struct ib_dmah *dmah, struct ib_udata *udata);
struct ib_mr *sib_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				int access, struct ib_pd *ibpd, struct ib_udata *udata);
int sib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
struct ib_mr *sib_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_pages);
int sib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		  unsigned int *sg_offset);

/* mcast.c */
int sib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int sib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
bool sib_mcast_any(struct sib_port *port, const union ib_gid *gid, u16 lid);
bool sib_mcast_recv(struct sib_port *port, const struct sib_pkt *pkt, struct sk_buff *skb,
		    unsigned int off);

/* mad.c */
int sib_process_mad(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *wc,
		    const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index);
extern const struct sib_sma_ops sib_mad_sma_ops;
extern struct ib_client sib_mad_client;

/* netdev.c */
void sib_netdev_offer(struct sib_dev *dev);

/* stats.c */
void sib_stats_init(void);
struct rdma_hw_stats *sib_alloc_hw_port_stats(struct ib_device *ibdev, u32 port_num);
int sib_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port_num,
		     int index);

#endif /* SIB_H */
