/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Connected mode (RFC 4755): packets to a peer's interface go through a reliable
 * connection to it. A connection carries packets one way; the peer makes its own
 * for the other. docs/connected-mode.md tells the story.
 *
 * Objects:
 *  - ipoib_conn: a peer's interface (GID and QPN) as a destination, with what
 *    waits for it and the state of cm_conn.h. In a table by hardware address.
 *  - ipoib_cm_tx: a link, the queue pair and CM ID of an outgoing connection with
 *    its ring of sends. A conn has at most one; one that is ending has no conn.
 *  - ipoib_cm_rx: the same of an incoming connection. All share the receive
 *    buffers of ipoib_cm_rxq; without shared receive queues, each has its part.
 *
 * All three change on the control queue alone. Callbacks of the CM, of the HCA
 * and NAPI note an event in the object's ipoib_cm_item and wake the control queue. What
 * it asks the HCA for, commands do (cm_item.c).
 */
#ifndef IPOIB_CM_H
#define IPOIB_CM_H

#include <linux/llist.h>
#include <rdma/ib_cm.h>

#include "cm_conn.h"
#include "cm_wire.h"
#include "ipoib.h"
#include "path.h"

/* Sends in flight through all links of an interface. */
#define IPOIB_CM_TX_RING	128
/* Bytes in flight with which a queue in connected mode is never stopped */
#define IPOIB_CM_BYTES_MIN	SZ_1M

#define IPOIB_CM_TICK		HZ

/*
 * Connections of an interface, each way: more than most subnets have nodes. What is beyond goes
 * as datagrams; requests are refused. And those with one port, which may have many interfaces.
 */
#define IPOIB_CONNS_MAX		8192
#define IPOIB_CONNS_PORT_MAX	2048

struct ipoib_cm;

/**
 * struct ipoib_cm_item - an object that events happen to
 * @cm: connected mode; constant
 * @ready: link in ipoib_cm.ready while there are any, and it is not busy; guarded by
 *	ipoib_cm.ready_lock
 * @dead: no more are taken; guarded by ipoib_cm.ready_lock
 * @busy: a command runs, and events wait; written by control under ipoib_cm.ready_lock
 * @events: bits, what they mean is the object's business, but for @IPOIB_CM_COMMANDED of one
 *	that has commands; guarded by ipoib_cm.ready_lock
 * @handle: does what they ask for; control
 * @work: runs @command
 * @command: the newest one; control, while it is not busy
 * @error: what that has returned; of the command while it runs, then control
 */
struct ipoib_cm_item {
	struct ipoib_cm *cm;
	struct list_head ready;
	bool dead;
	bool busy;
	unsigned long events;
	void (*handle)(struct ipoib_cm_item *item, unsigned long events);
	struct work_struct work;
	int (*command)(struct ipoib_cm_item *item);
	int error;
};

/* Event: the command that was given for the object has ended. */
#define IPOIB_CM_COMMANDED	0

/**
 * struct ipoib_conn_key - a peer's interface, as in its hardware address
 * @qpn: of its UD queue pair, the first octet zero
 * @gid: of its port
 */
struct ipoib_conn_key {
	__be32 qpn;
	union ib_gid gid;
} __packed __aligned(4);
static_assert(sizeof(struct ipoib_conn_key) == INFINIBAND_ALEN);

/**
 * struct ipoib_conn - a peer's interface as a destination
 * @item: events from senders
 * @node: link in ipoib_cm.conns (RCU)
 * @key: whom it leads to; constant
 * @cm: owner; constant
 * @all: link in ipoib_cm.conn_list; guarded by ipoib_cm.conn_lock
 * @path: to the peer's port, or NULL before it is asked for; control
 * @on_path: link in ipoib_path.conns; control
 * @turn: link in ipoib_cm.turns or retries while it waits for its own; control
 * @state: written by control under the transmit locks, read under one of them
 * @link: valid in the states with a link; written by control
 * @hold: what waits
 * @backlog: link in ipoib_cm.backlog while packets wait for room; written under all
 *	transmit locks, read under one of them
 * @used: jiffies of the newest packet; written by whoever sends
 * @ask_at: jiffies before which the peer is not asked again; control
 * @up_since: jiffies when it came up; control
 * @down_since: jiffies when it was up last; written by control
 * @was_up: it has been up; written by control
 * @failures: attempts failed in a row; control
 * @stales: of those, how often the peer held the request for an old one; control
 * @hangups: how often in a row the peer has ended it early; control
 * @told_mtu: a packet too long for the peer has been logged; written by whoever sends
 * @cut_at: jiffies of the newest segments of TCP that fit into datagrams; written by whoever
 *	sends, without a lock
 * @long_at: jiffies of the newest packet that does not; likewise
 * @rcu: for freeing behind readers of the table
 */
struct ipoib_conn {
	struct ipoib_cm_item item;
	struct rhash_head node;
	struct ipoib_conn_key key;
	struct ipoib_cm *cm;
	struct list_head all;
	struct ipoib_path *path;
	struct list_head on_path;
	struct list_head turn;
	enum ipoib_conn_state state;
	struct ipoib_cm_tx *link;
	struct ipoib_hold hold;
	struct list_head backlog;
	unsigned long used;
	unsigned long ask_at;
	unsigned long up_since;
	unsigned long down_since;
	bool was_up;
	unsigned int failures;
	unsigned int stales;
	unsigned int hangups;
	bool told_mtu;
	unsigned long cut_at;
	unsigned long long_at;
	struct rcu_head rcu;
};

/**
 * struct ipoib_cm_rx_slot - one receive buffer
 * @pages: from the page pool
 * @dma: where the HCA finds each of them
 * @next: number of the next one that the HCA has refused; as ipoib_cm_rx_bufs.waiting
 */
struct ipoib_cm_rx_slot {
	struct page *pages[DIV_ROUND_UP(IPOIB_CM_FRAME_MAX, PAGE_SIZE)];
	u64 dma[DIV_ROUND_UP(IPOIB_CM_FRAME_MAX, PAGE_SIZE)];
	u32 next;
};

/* Pieces of a receive request. */
#define IPOIB_CM_RX_SGE \
	((int)ARRAY_SIZE(((struct ipoib_cm_rx_slot *)0)->pages))

/**
 * struct ipoib_cm_rx_bufs - receive buffers, of all connections or of one
 * @pool: their pages, or NULL while there are none
 * @slots: @size buffers; lives with @pool
 * @size: how many
 * @waiting: number of the first that the HCA has refused, or IPOIB_NO_SLOT; owned by whoever
 *	posts them: receive NAPI, or a command before the queue pair receives
 * @wait: link in ipoib_cm_rxq.waiting, from when NAPI posts them, while there are any
 * @refused: whether the HCA takes them; as @waiting
 * @qp: queue pair whose own they are, or NULL if they are shared; valid while it receives
 */
struct ipoib_cm_rx_bufs {
	struct page_pool *pool;
	struct ipoib_cm_rx_slot *slots;
	u32 size;
	u32 waiting;
	struct llist_node wait;
	struct ipoib_refused refused;
	struct ib_qp *qp;
};

/**
 * struct ipoib_cm_rxq - how all incoming connections receive
 * @cm: owner; constant
 * @cq: receive completions; constant while the netdev is registered
 * @napi: polls @cq
 * @shared: the HCA has shared receive queues; constant
 * @fill_lock: guards the making of @srq and @bufs
 * @srq: shared receive queue, while there are incoming connections; made under @fill_lock
 *	with @napi off, destroyed by control when there is no connection
 * @bufs: its buffers
 * @size: number of buffers of all connections; constant
 * @sges: pages a buffer has; constant
 * @parts: without shared receive queues, connections that have buffers of their
 *	own; control
 * @parts_max: the most there may be; constant
 * @count: counters; written by @napi
 * @adapt: moderation of @cq that adapts to what comes
 * @wr: work requests of one refill; owned by @napi
 * @sge: their pieces
 * @refill: number of entries of @wr in use
 * @refill_bufs: whose buffers they are
 * @waiting: ipoib_cm_rx_bufs of which the HCA has refused some, for @napi to post again; added by
 *	@napi, and by commands
 * @wc: completions being handled; owned by @napi
 */
struct ipoib_cm_rxq {
	struct ipoib_cm *cm;
	struct ib_cq *cq;
	struct napi_struct napi;
	bool shared;
	struct mutex fill_lock; /* guards what says so above */
	struct ib_srq *srq;
	struct ipoib_cm_rx_bufs bufs;
	u32 size;
	int sges;
	u32 parts;
	u32 parts_max;
	struct ipoib_counters count;
	struct ipoib_adapt adapt;
	struct ib_recv_wr wr[IPOIB_POLL_BATCH];
	struct ib_sge sge[IPOIB_POLL_BATCH][IPOIB_CM_RX_SGE];
	unsigned int refill;
	struct ipoib_cm_rx_bufs *refill_bufs;
	struct llist_head waiting;
	struct ib_wc wc[IPOIB_POLL_BATCH];
};

/**
 * struct ipoib_cm - connected mode of an interface
 * @intf: owner; constant
 * @work: handles the events of @ready, and @stopping; control
 * @ready_lock: guards @ready and what ipoib_cm_item says; taken with interrupts
 *	off
 * @ready: items with events
 * @commands: queue of commands to the HCA
 * @settling: they are waited for, and no request is accepted; written by control
 * @stopping: connected mode has been switched off
 * @tick: sees to what has to be done by a certain time; control
 * @conns: ipoib_conn by key (RCU)
 * @conn_lock: guards @conn_list; inside the transmit queue's lock
 * @conn_list: every entry of @conns
 * @backlog: conns whose packets wait for room; written under all transmit locks
 * @setups: conns that are being connected; control
 * @turns: those that are to be next, with packets that wait; control
 * @retries: those that are next after them; control
 * @links: every ipoib_cm_tx; control
 * @tx_cq: completions of outgoing links; constant while the netdev is registered
 * @in_flight: sends of all links that have not completed
 * @tx_wc: completions being handled; owned by the NAPI of the first transmit queue
 * @listen: service others connect to, while the interface is up; control
 * @rx_links: every ipoib_cm_rx; guarded by @rx_lock
 * @rx_count: their number; guarded by @rx_lock
 * @rx_lock: guards @rx_links, @rx_count and @rx_open
 * @rx_open: requests are taken
 * @rx_draining: the incoming connection whose last completion is awaited; control
 * @rxq: receive buffers
 * @told_mtu: the meaning of a large MTU has been logged; guarded by rtnl
 * @stat_connects: attempts made; control
 * @stat_accepts: requests accepted; control
 * @stat_refused: attempts that failed; control
 * @stat_lost: connections that broke; control
 * @stat_rejects: requests of peers refused; control
 * @stat_out_full: packets that went as datagrams, because there are too many connections;
 *	guarded by @conn_lock
 * @stat_in_full: requests of peers not taken, because there are too many; guarded by @rx_lock
 */
struct ipoib_cm {
	struct ipoib_intf *intf;
	struct work_struct work;
	spinlock_t ready_lock; /* guards what says so above */
	struct list_head ready;
	struct workqueue_struct *commands;
	bool settling;
	bool stopping;
	struct delayed_work tick;

	struct rhashtable conns;
	spinlock_t conn_lock; /* guards conn_list */
	struct list_head conn_list;
	struct list_head backlog;
	u32 setups;
	struct list_head turns;
	struct list_head retries;
	struct list_head links;
	struct ib_cq *tx_cq;
	atomic_t in_flight;
	struct ib_wc tx_wc[IPOIB_POLL_BATCH];

	struct ib_cm_id *listen;
	struct list_head rx_links;
	u32 rx_count;
	struct mutex rx_lock; /* guards what says so above */
	bool rx_open;
	struct ipoib_cm_rx *rx_draining;
	struct ipoib_cm_rxq rxq;

	bool told_mtu;
	u64 stat_connects;
	u64 stat_accepts;
	u64 stat_refused;
	u64 stat_lost;
	u64 stat_rejects;
	u64 stat_out_full;
	u64 stat_in_full;
};

/* cm.c */
u32 ipoib_cm_options(void);

/* cm_item.c */
int ipoib_cm_commands_create(struct ipoib_cm *cm);
void ipoib_cm_commands_settle(struct ipoib_cm *cm, bool accepts_end);
void ipoib_cm_item_init(struct ipoib_cm *cm, struct ipoib_cm_item *item,
			void (*handle)(struct ipoib_cm_item *item,
				       unsigned long events));
void ipoib_cm_note(struct ipoib_cm_item *item, unsigned int event);
void ipoib_cm_command(struct ipoib_cm_item *item, int (*command)(struct ipoib_cm_item *item));
void ipoib_cm_item_end(struct ipoib_cm_item *item);
struct ipoib_cm_item *ipoib_cm_next_ready(struct ipoib_cm *cm, unsigned long *events);

/* cm_cut.c */
void ipoib_cm_cut_init(struct ipoib_conn *conn);
bool ipoib_cm_prefers_datagram(struct ipoib_conn *conn, const struct sk_buff *skb);

/* cm_dest.c */
int ipoib_conns_init(struct ipoib_cm *cm);
struct ipoib_conn *ipoib_conn_find(struct ipoib_cm *cm, const struct sk_buff *skb);
void ipoib_conns_destroy(struct ipoib_cm *cm);
void ipoib_conn_event(struct ipoib_conn *conn, enum ipoib_conn_event event);
void ipoib_conns_event(struct ipoib_cm *cm, enum ipoib_conn_event event);
void ipoib_conns_tick(struct ipoib_cm *cm);

static inline u32 ipoib_conn_count(const struct ipoib_cm *cm)
{
	return atomic_read(&cm->conns.nelems);
}

/* cm_turn.c */
void ipoib_conn_take_turn(struct ipoib_conn *conn);
void ipoib_conn_turns(struct ipoib_conn *conn, enum ipoib_conn_state next);

/* cm_tx.c */
struct ipoib_cm_tx *ipoib_cm_tx_create(struct ipoib_conn *conn);
void ipoib_cm_tx_end(struct ipoib_cm_tx *link, bool graceful);
void ipoib_cm_tx_tick(struct ipoib_cm *cm);

/* cm_ring.c */
bool ipoib_cm_tx_usable(const struct ipoib_cm_tx *link);
void ipoib_cm_push(struct ipoib_txq *txq, struct ipoib_conn *conn,
		   struct sk_buff *skb);
void ipoib_cm_tx_reclaim(struct ipoib_cm_tx *link);

/* cm_rx.c */
int ipoib_cm_rx_start(struct ipoib_cm *cm);
void ipoib_cm_rx_stop(struct ipoib_cm *cm);
void ipoib_cm_rx_tick(struct ipoib_cm *cm);
void ipoib_cm_rx_used(struct ipoib_cm_rx *rx);
bool ipoib_cm_rx_partial(const struct ipoib_cm_rx *rx);
void ipoib_cm_rx_drained(struct ipoib_cm_rx *rx);
struct ipoib_cm_rx_bufs *ipoib_cm_rx_bufs(struct ipoib_cm_rx *rx);
bool ipoib_cm_rx_receives(const struct ipoib_cm_rx *rx);
void ipoib_cm_rx_returned(struct ipoib_cm_rx *rx);
void ipoib_cm_rx_failed(struct ipoib_cm_rx *rx);

/* cm_rxq.c */
#define IPOIB_CM_RX_DRAIN	U64_MAX

/**
 * ipoib_cm_shared - has a HCA shared receive queues
 * @attrs: of the HCA
 */
static inline bool ipoib_cm_shared(const struct ib_device_attr *attrs)
{
	return attrs->max_srq > 0 && attrs->max_srq_sge > 0;
}

int ipoib_cm_rxq_create(struct ipoib_cm *cm);
void ipoib_cm_rxq_destroy(struct ipoib_cm *cm);
int ipoib_cm_rxq_fill(struct ipoib_cm_rxq *rxq);
void ipoib_cm_rxq_empty(struct ipoib_cm_rxq *rxq);
int ipoib_cm_rxq_part(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs);
int ipoib_cm_rxq_post_part(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs,
			   struct ib_qp *qp);
void ipoib_cm_rxq_skip_gone(struct ipoib_cm_rxq *rxq, const struct ib_qp *gone);
void ipoib_cm_rxq_unpart(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs);
u32 ipoib_cm_rxq_frame_max(const struct ipoib_cm_rxq *rxq);

/* cm_post.c */
void ipoib_cm_post_tick(struct ipoib_cm_rxq *rxq);
void ipoib_cm_post_ready(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs);
void ipoib_cm_post_forget(struct ipoib_cm_rxq *rxq, const struct ipoib_cm_rx_bufs *bufs);
void ipoib_cm_post_stop(struct ipoib_cm_rxq *rxq);

#endif /* IPOIB_CM_H */
