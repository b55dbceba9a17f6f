/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The port of a device: what the port context works on (port.c), and what it sends
 * (tx.c). Its locks and their order are in sib.h.
 */
#ifndef SIB_PORT_H
#define SIB_PORT_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/timerqueue.h>
#include <linux/xarray.h>

#include "link.h"
#include "loss.h"
#include "pma.h"
#include "rc.h"
#include "sma.h"

struct sib_qp;

#define SIB_MCAST_HASH		1024
#define SIB_TX_PAGES		4
/*
 * Octets copied to processes for groups in a run, of what comes from the cable and once more
 * of what this port has sent: a packet has as many copies as there are QPs, 256 at most, and
 * a frame as many packets. An HCA that cannot keep up with
 * copying drops, as multicast is unreliable; the kernel's QPs always get theirs.
 */
#define SIB_COPY_BUDGET		SZ_2M

/* struct sib_stats - drops and errors above the link, written in port context */
struct sib_stats {
	u64 rx_malformed;	/* headers or lengths make no sense */
	u64 rx_opcode;		/* transport or opcode not supported */
	u64 rx_lid;		/* not our LID, or LID not allowed */
	u64 rx_gid;		/* DGID is not ours */
	u64 rx_state;		/* data packet while the port is not ACTIVE */
	u64 rx_vl;		/* no such lane; VL15 to a QP other than 0, or the reverse */
	u64 rx_no_qp;		/* QP unknown or not in a receiving state */
	u64 rx_no_mcast;	/* multicast group nobody is attached to */
	u64 rx_mcast_limit;	/* copies for processes, of too many in one run */
	u64 rx_pkey;		/* P_Key violations */
	u64 rx_qkey;		/* Q_Key violations */
	u64 rx_no_wqe;		/* no receive work request posted */
	u64 rx_too_long;	/* longer than the receive buffer */
	u64 rx_mtu;		/* payload longer than the port's MTU */
	u64 rx_queue_full;	/* frames dropped before the link (see rx_overrun) */
	u64 rx_lost;		/* dropped because we were told to, loss.h */
	u64 tx_discard;		/* sent while the port could not send */
	u64 tx_loop;		/* packets looped back */
	u64 tx_loop_full;	/* times a QP had to wait for room for these */
	u64 cq_overflow;	/* completions lost: the consumer armed too small a CQ */
	u64 cq_stale;		/* completions left in CQs by QPs that are no more, or reset */
	u64 alloc_fail;		/* sending put off for want of memory */
};

/**
 * struct sib_port - the port of a device; see the head of sib.h
 * @lock: the port context
 * @task: the port context's softirq
 * @run: whether @task runs, and has to run again; atomic
 * @timer: schedules @task when link.c wants it; armed by @task
 * @link: link to the peer; guarded by @lock
 * @carrier: last carrier state the link was told; guarded by @lock
 * @enabled: the SM has not disabled the port; guarded by @lock
 * @retrain: the link must be trained again: set by anyone, taken by @task
 * @phys_next: what the SM wants of the link, SIB_PHYS_NOP if nothing; guarded
 *	by @lock
 * @phys_at: jiffies when it is done; guarded by @lock
 * @lower: the cable; written under rtnl and @lock
 * @lower_tracker: reference on @lower
 * @pt: receive hook on @lower
 * @rx_left: packets and frames still to be taken from the cable until the next run;
 *	guarded by @lock
 * @copies_left: octets of packets to groups that may still be copied to processes now;
 *	guarded by @lock
 * @copies_turn: counts how often @copies_left was renewed; guarded by @lock
 * @rxq: frames received, not yet seen by the link; own lock, taken with softirqs off
 * @loopq: IB packets to this port itself; limited by tx.c, guarded by @lock
 * @frame: frame under construction, NULL if none; guarded by @lock
 * @frame_count: IB packets in @frame; guarded by @lock
 * @frame_sum: unfolded checksum of @frame; guarded by @lock
 * @pages: what packets are built in; guarded by @lock
 * @pages_next: the one in use; guarded by @lock
 * @pages_room: bytes still to be taken from it; guarded by @lock
 * @tx_lock: guards @tx_list and @loop_wait
 * @tx_list: QPs with something to send, QP0 first
 * @loop_wait: QPs that wait for room in @loopq; guarded by @tx_lock
 * @tx_starved: an allocation failed, try again with the next tick; guarded by @lock
 * @rc_timed: connected QPs with a deadline, by that time or one before; guarded by @lock
 * @rc_timer: schedules @task at the first of these, or before; started with @lock held
 * @late: QPs in error to which a process may still post; guarded by @lock
 * @late_at: jiffies when they are looked at; valid if there are any; guarded by
 *	@lock
 * @qps: QPs by number; guarded by @lock for lookup, own lock for changes
 * @qp_next: where the search for a free QP number starts
 * @mcast: attached groups, hashed by MGID and MLID; guarded by @lock
 * @mcast_seed: of that hash; constant
 * @mcast_groups: how many different ones; guarded by @lock
 * @sma: management attributes; own lock
 * @pma: counters; written under @lock
 * @stats: drops; written under @lock
 * @loss: packets to lose
 * @mad_stopped: requests to QP0 and QP1 are not answered any more; no lock
 * @rc_stats: events of connected QPs; written under @lock
 * @rx_overrun: frames dropped because @rxq was full
 */
struct sib_port {
	spinlock_t lock;	/* see above */
	struct tasklet_struct task;
	unsigned long run;
	struct timer_list timer;
	struct sib_link link;
	bool carrier;
	bool enabled;
	unsigned long retrain;
	enum sib_phys_state phys_next;
	unsigned long phys_at;
	struct net_device __rcu *lower;
	netdevice_tracker lower_tracker;
	struct packet_type pt;
	int rx_left;
	s32 copies_left;
	u64 copies_turn;
	struct sk_buff_head rxq;
	struct sk_buff_head loopq;
	struct sk_buff *frame;
	unsigned int frame_count;
	__wsum frame_sum;
	struct page_frag_cache pages[SIB_TX_PAGES];
	unsigned int pages_next;
	unsigned int pages_room;
	spinlock_t tx_lock;	/* see above */
	struct list_head tx_list;
	struct list_head loop_wait;
	bool tx_starved;
	struct timerqueue_head rc_timed;
	struct hrtimer rc_timer;
	struct list_head late;
	unsigned long late_at;
	struct xarray qps;
	u32 qp_next;
	struct hlist_head mcast[SIB_MCAST_HASH];
	u32 mcast_seed;
	u32 mcast_groups;
	struct sib_sma sma;
	struct sib_pma pma;
	struct sib_stats stats;
	struct sib_loss loss;
	bool mad_stopped;
	struct sib_rc_stats rc_stats;
	atomic_long_t rx_overrun;
};

/* port.c */
void sib_port_init(struct sib_port *port, __be64 guid);
void sib_port_cleanup(struct sib_port *port);
void sib_port_attach(struct sib_port *port, struct net_device *lower);
void sib_port_detach(struct sib_port *port);
void sib_port_lower_changed(struct sib_port *port);
void sib_port_kick(struct sib_port *port);
void sib_port_send(struct sib_port *port, struct sib_qp *qp, bool wait);
void sib_port_barrier(struct sib_port *port);
void sib_port_set_phys(struct sib_port *port, enum sib_phys_state phys);
void sib_port_pma_refresh(struct sib_port *port);
u8 sib_port_mtu_cap(unsigned int lower_mtu);

/* tx.c */
bool sib_tx_loop_has_room(const struct sib_port *port);
void sib_tx_loop_wake(struct sib_port *port);
bool sib_tx_run(struct sib_port *port, struct sib_qp *poster, unsigned long now);
void sib_tx_reset(struct sib_port *port);
void sib_tx_queue(struct sib_qp *qp);
void sib_tx_now(struct sib_qp *qp, bool idle);
void sib_tx_note(struct sib_qp *qp);
void sib_tx_unqueue(struct sib_qp *qp);
void *sib_tx_room(struct sib_port *port, u32 len);
void *sib_tx_alloc(struct sib_port *port, u32 len);
void sib_tx_free(struct sib_port *port);
int sib_tx_reserve(struct sib_port *port, u32 len, unsigned long now);
void sib_tx_wire(struct sib_port *port, void *va, u32 len, __wsum sum);
void sib_tx_loop(struct sib_port *port, struct sk_buff *skb, void *va, u32 len);

#endif /* SIB_PORT_H */
