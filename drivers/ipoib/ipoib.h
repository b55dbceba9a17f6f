/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The IPoIB interface: one netdev on one P_Key of one InfiniBand port.
 *
 * Who runs what (docs/locking.md has the whole picture):
 *  - control: everything that changes the queue pair, the multicast
 *    memberships or the paths runs on ipoib_intf.wq, an ordered queue. Its
 *    items never take rtnl, so that ndo_open and ndo_stop may wait for them.
 *  - data: ndo_start_xmit under its transmit queue's lock, completions in NAPI.
 *  - rtnl_work and announce_work run on a queue of the module, take rtnl, and hold
 *    a reference to the netdev; nobody waits for them.
 */
#ifndef IPOIB_H
#define IPOIB_H

#include <linux/netdevice.h>
#include <linux/sizes.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "adapt.h"
#include "counters.h"
#include "data.h"
#include "dest.h"
#include "hca.h"
#include "join.h"
#include "proto.h"
#include "refused.h"
#include "rxq.h"
#include "tx_lock.h"

struct ipoib_accel;
struct ipoib_cm;
struct ipoib_cm_tx;
struct ipoib_path;
struct seq_file;

#define IPOIB_TX_RING_DEFAULT	512
#define IPOIB_RX_RING_DEFAULT	1024
#define IPOIB_RING_MIN		64
#define IPOIB_RING_MAX		8192

/* Packets waiting for an address: per destination, per interface [bytes]. */
#define IPOIB_DEST_PENDING_MAX	SZ_1M
#define IPOIB_INTF_PENDING_MAX	SZ_16M

/* Datagrams up to this many octets are copied out of the receive buffer. */
#define IPOIB_RX_COPYBREAK	1536

#define IPOIB_TXQ_MAX		8
#define IPOIB_TX_SGE_MAX	(MAX_SKB_FRAGS + 1)

/**
 * struct ipoib_tx_slot - one entry of the transmit ring
 * @skb: packet, or NULL; what the HCA cuts, without the headers, which are in front
 * @wr: work request; wr_id is the ring position
 * @sge: mapped pieces of @skb
 */
struct ipoib_tx_slot {
	struct sk_buff *skb;
	struct ib_ud_wr wr;
	struct ib_sge sge[IPOIB_TX_SGE_MAX];
};

/**
 * struct ipoib_txq - a transmit queue
 * @intf: owner; constant
 * @index: its number, that of the netdev's queue; constant
 * @running: @qp accepts work; written by control under the transmit locks
 * @qp: UD queue pair that sends, of the first queue the one that receives as well;
 *	exchanged by control while it does not run
 * @qpn: its number, or 0; read anywhere
 * @cq: send completions; as the queue pair
 * @napi: polls @cq
 * @slots: ring of @size entries; as the queue pair
 * @size: power of two; as the queue pair, read with rtnl
 * @head: positions filled; written under the queue's lock
 * @posted: positions handed to the HCA, or, while the queue does not run, all that are filled;
 *	guarded by the queue's lock
 * @awaited: of those, positions that a completion will come for: the last one behind which it
 *	was asked for; written under the queue's lock, read anywhere
 * @refused: whether the HCA takes them; guarded by the queue's lock
 * @unposted: link of a connection with sends that the HCA has not heard of; guarded
 *	by the queue's lock
 * @drops: packets refused before they reached the ring; guarded by the lock
 * @too_long: packets that did not fit where they should go; written under the lock
 * @lso: packets that the HCA was given to cut; written under the lock
 * @partial: packets sent with the checksum left to the peer; written under the lock
 * @tail: positions completed; written by @napi
 * @done_lock: guards @done and the completing half of the netdev queue's byte limit;
 *	connections complete in the NAPI of the first queue
 * @done: counters of completed sends
 * @stalls: how often the timeout of the stack has fired; rtnl-free statistic
 * @wc: completions being handled; owned by @napi
 */
struct ipoib_txq {
	struct ipoib_intf *intf;
	u16 index;
	bool running;
	struct ib_qp *qp;
	u32 qpn;
	struct ib_cq *cq;
	struct napi_struct napi;
	struct ipoib_tx_slot *slots;
	u32 size;
	u32 head;
	u32 posted;
	u32 awaited;
	struct ipoib_refused refused;
	struct ipoib_cm_tx *unposted;
	struct ipoib_counters drops;
	u64 too_long;
	u64 lso;
	u64 partial;
	u32 tail ____cacheline_aligned_in_smp;
	spinlock_t done_lock; /* guards what says so above */
	struct ipoib_counters done;
	u64 stalls;
	struct ib_wc wc[IPOIB_POLL_BATCH];
};

/**
 * struct ipoib_queue_settings - what ethtool has set
 * @tx_size: transmit ring [packets, a power of two], 0 for send_queue_size
 * @rx_size: receive ring, likewise, 0 for recv_queue_size
 * @tx_queues: transmit queues, 0 for what suits processors and HCA
 * @tx_usecs: completions of sends are told of at the latest after this time [us]
 * @tx_frames: or when there are so many; 0 and 0 for at once
 * @rx_usecs: the same of receives
 * @rx_frames: the same of receives
 * @rx_adaptive: and not that, but what suits the traffic
 */
struct ipoib_queue_settings {
	u32 tx_size;
	u32 rx_size;
	u32 tx_queues;
	u16 tx_usecs;
	u16 tx_frames;
	u16 rx_usecs;
	u16 rx_frames;
	bool rx_adaptive;
};

/**
 * enum ipoib_flush - what an asynchronous event makes us forget
 * @IPOIB_FLUSH_LIGHT: paths are asked for again while they stay in use
 * @IPOIB_FLUSH_NORMAL: paths are dropped, memberships are renewed
 * @IPOIB_FLUSH_HEAVY: P_Key and GID are looked up again; what the lower ones do follows if
 *	they have changed
 * @IPOIB_FLUSH_RESTART: and the queue pair starts afresh
 *
 * Bits of ipoib_intf.flush. The second includes the first, the last all others.
 */
enum ipoib_flush {
	IPOIB_FLUSH_LIGHT,
	IPOIB_FLUSH_NORMAL,
	IPOIB_FLUSH_HEAVY,
	IPOIB_FLUSH_RESTART,
};

/**
 * struct ipoib_intf - an interface
 * @dev: the netdev; constant
 * @hca: what it belongs to; constant, valid until ndo_uninit
 * @ca: HCA; constant
 * @data: how datagrams are sent and received; constant
 * @accel: what it has of the HCA's netdev, or NULL if its queues are its own; constant
 * @port: port number, from 1; constant
 * @parent: interface that this one is a child of, or NULL; constant, and
 *	unregistered no earlier than this one
 * @list: link in ipoib_hca.intfs
 * @pkey: P_Key of the partition; rtnl, and hca->lock to change it, which happens only while
 *	the interface is stopped
 * @pkey_first: what that of a port's own interface is to be, 0 if not known; control
 * @pkey_index: in the port's table; control
 * @path: paths that the SA is asked for
 * @guid: chosen by hand, network byte order, or 0; written with rtnl, read anywhere
 * @own_guid: it was chosen for this interface, not for its parent; rtnl
 * @local_gid: of the port; written by control under the transmit locks; others than
 *	control use ipoib_gid_now()
 * @lid: of the port; control, read anywhere
 * @port_state: enum ib_port_state; control, read anywhere
 * @pd: protection domain; constant while the netdev is registered
 * @qp: UD queue pair that receives, that of the first transmit queue; there while the
 *	netdev is registered, exchanged by control while it does not run
 * @qkey: of the broadcast group; written by control under the transmit locks
 * @tx_sge: pieces a send may have; constant
 * @running: the queue pairs accept work; written by control under the transmit
 *	locks
 * @up: between ndo_open and ndo_stop; control
 * @group_mtu: largest datagram of the broadcast group [octets]; control,
 *	read anywhere
 * @ud_mtu_max: largest datagram of the port; constant
 * @admin_mtu: MTU the administrator wants, 0 for that of the group; guarded by rtnl
 * @queues: rings, their number and moderation set by hand; guarded by rtnl
 * @announcements: how often peers have still to be told of a new hardware address when
 *	there is a carrier; guarded by rtnl
 * @umcast: groups that user space has joined itself are left to it; written with
 *	rtnl, read anywhere
 * @connected: unicast goes through connections where the peer can; written with
 *	rtnl under the transmit locks
 * @cm: connected mode, or NULL if the HCA cannot; constant while the netdev is
 *	registered
 * @txq: the transmit queues
 * @tx_queues: how many of them there are; written under the transmit locks by control,
 *	for which somebody with rtnl waits
 * @first_woken: turn of the transmit queues in being woken; NAPI of the first one, or
 *	control while that is off
 * @rxq: the receive queue
 * @refused_work: posts again what the HCA has refused; control
 * @drained: woken by NAPI while the queue pair stops
 * @dests: paths and groups by GID (RCU)
 * @dest_lock: guards @dest_list; inside the transmit queue's lock
 * @dest_list: every entry of @dests
 * @backlog: destinations whose packets wait for room; written under all transmit
 *	locks
 * @pending_bytes: truesize of all packets that wait for an address
 * @pmtu_queue: packets too long, to be answered by ICMP; its own lock
 * @pmtu_work: answers them; control
 * @retired: replaced address handles; control
 * @reaping: of them, those that wait until the rings have passed @reap_at; control
 * @reap_at: ring positions behind every send with a handle of @reaping; control
 * @reap_work: destroys them; control
 * @broadcast: group of everything else; control
 * @mcast_work: joins and leaves; control
 * @mcast_dirty: the stack's list of addresses has changed
 * @joins: its part in the port's limit of joins; ipoib_port_joins.lock
 * @gc_work: forgets destinations long unused; control
 * @up_work: brings the queue pair up for ndo_open; control
 * @up_error: what came of it; control, read by ndo_open
 * @down_work: and down for ndo_stop; control
 * @flush: bits of enum ipoib_flush
 * @flush_work: does what they say; control
 * @rtnl_work: tells the stack of a new MTU, hardware address or partition
 * @announce_work: repeats announcements
 * @event_handler: of the HCA's asynchronous events
 * @wq: the control queue
 * @debugfs_mcg: file with the groups; guarded by rtnl
 * @debugfs_path: file with the paths; guarded by rtnl
 * @debugfs_neighbours: file with groups and paths; guarded by rtnl
 * @debugfs_connections: file with the connections; guarded by rtnl
 * @stat_path_queries: path records asked for; control
 * @stat_joins: joins asked for; control
 * @stat_paths_wrong: path records that the SA got wrong; control
 * @stat_paths_odd: path records that were used although something in them is odd; control
 * @stat_joins_wrong: memberships that the SA got wrong; control
 * @stat_joins_odd: memberships that were used although something in them is odd; control
 * @stat_flushes: by level; control
 * @stat_dests_refused: destinations not made; guarded by @dest_lock
 * @sends_refused: lists of sends that the HCA has not taken as a whole
 * @receives_refused: likewise of receives
 */
struct ipoib_intf {
	struct net_device *dev;
	struct ipoib_hca *hca;
	struct ib_device *ca;
	const struct ipoib_data_ops *data;
	struct ipoib_accel *accel;
	u32 port;
	struct ipoib_intf *parent;
	struct list_head list;

	u16 pkey;
	u16 pkey_first;
	u16 pkey_index;
	struct ipoib_path_turns path;
	__be64 guid;
	bool own_guid;
	union ib_gid local_gid;
	u16 lid;
	u8 port_state;
	struct ib_pd *pd;
	struct ib_qp *qp;
	u32 qkey;
	u32 tx_sge;
	bool running;
	bool up;
	int group_mtu;
	int ud_mtu_max;
	int admin_mtu;
	struct ipoib_queue_settings queues;
	unsigned int announcements;
	bool umcast;
	bool connected;
	struct ipoib_cm *cm;

	struct ipoib_txq txq[IPOIB_TXQ_MAX];
	u32 tx_queues;
	u32 first_woken;
	struct ipoib_rxq rxq;
	struct delayed_work refused_work;
	wait_queue_head_t drained;

	struct rhashtable dests;
	spinlock_t dest_lock; /* guards what says so above */
	struct list_head dest_list;
	struct list_head backlog;
	atomic_t pending_bytes;
	struct sk_buff_head pmtu_queue;
	struct work_struct pmtu_work;
	struct list_head retired;
	struct list_head reaping;
	u32 reap_at[IPOIB_TXQ_MAX];
	struct work_struct reap_work;

	struct ipoib_mcast *broadcast;
	struct delayed_work mcast_work;
	bool mcast_dirty;
	struct ipoib_intf_joins joins;
	struct delayed_work gc_work;

	struct work_struct up_work;
	int up_error;
	struct work_struct down_work;
	unsigned long flush;
	struct work_struct flush_work;
	struct work_struct rtnl_work;
	struct delayed_work announce_work;
	struct ib_event_handler event_handler;
	struct workqueue_struct *wq;
	struct dentry *debugfs_mcg;
	struct dentry *debugfs_path;
	struct dentry *debugfs_neighbours;
	struct dentry *debugfs_connections;

	u64 stat_path_queries;
	u64 stat_joins;
	u64 stat_paths_wrong;
	u64 stat_paths_odd;
	u64 stat_joins_wrong;
	u64 stat_joins_odd;
	u64 stat_flushes[IPOIB_FLUSH_RESTART + 1];
	u64 stat_dests_refused;
	atomic64_t sends_refused;
	atomic64_t receives_refused;
};

/**
 * ipoib_priv - the interface that a netdev of this driver is
 * @dev: registered netdev
 *
 * What the netdev itself has room for is the HCA's and the same for all drivers of
 * this kind.
 */
static inline struct ipoib_intf *ipoib_priv(const struct net_device *dev)
{
	const struct rdma_netdev *rn = netdev_priv(dev);

	return rn->clnt_priv;
}

extern struct ib_sa_client ipoib_sa_client;
extern unsigned int ipoib_send_queue_size;
extern unsigned int ipoib_recv_queue_size;
extern unsigned int ipoib_nonsrq_connections;

/* main.c */
int ipoib_intf_create(struct ipoib_hca *hca, u32 port, u16 pkey,
		      struct ipoib_intf *parent, const char *name);

/* Of a new hardware address: MAX_NEIGHBOR_ADVERTISEMENT, RFC 4861 section 10 */
#define IPOIB_ANNOUNCEMENTS	3

/* announce.c */
void ipoib_announce_init(struct ipoib_intf *intf);
void ipoib_announce(struct ipoib_intf *intf);
void ipoib_announce_stop(struct ipoib_intf *intf);

/* netdev.c */
extern struct workqueue_struct *ipoib_rtnl_wq;
extern struct notifier_block ipoib_netdev_notifier;
void ipoib_intf_setup(struct net_device *dev);
int ipoib_intf_register(struct net_device *dev, struct ipoib_hca *hca,
			u32 port, u16 pkey, struct ipoib_intf *parent,
			bool accelerated);
int ipoib_intf_open(struct net_device *dev);
int ipoib_intf_stop(struct net_device *dev);
int ipoib_intf_change_mtu(struct net_device *dev, int mtu);
struct ipoib_intf *ipoib_intf_of(struct net_device *dev);
void ipoib_intf_notify_stack(struct ipoib_intf *intf);
void ipoib_intf_update_mtu(struct ipoib_intf *intf, bool connected);

/* qp.c */
u32 ipoib_qp_ring_max(const struct ib_device *ca);
struct ib_qp *ipoib_qp_make(struct ipoib_intf *intf,
			    const struct ipoib_txq *txq,
			    const struct ipoib_rxq *rxq);
int ipoib_qp_more_queues(struct ipoib_intf *intf, u32 count);
void ipoib_qp_fewer_queues(struct ipoib_intf *intf, u32 count);

/* channels.c */
int ipoib_set_tx_queues(struct ipoib_intf *intf, u32 count);

/* resize.c */
int ipoib_resize(struct ipoib_intf *intf, u32 tx_size, u32 rx_size);

/* moderation.c */
int ipoib_moderate(struct ipoib_intf *intf,
		   const struct ipoib_queue_settings *wanted);
void ipoib_moderate_new(struct ipoib_intf *intf);

/* txq.c */
u32 ipoib_txqs_default(const struct ib_device *ca);
int ipoib_txq_make(struct ipoib_intf *intf, struct ipoib_txq *txq,
		   const struct ipoib_rxq *rxq);
void ipoib_txq_unmake(struct ipoib_txq *txq);
void ipoib_txq_exchange(struct ipoib_txq *txq, struct ipoib_txq *other);
void ipoib_txq_set_running(struct ipoib_txq *txq, bool running);
int ipoib_txqs_create(struct ipoib_intf *intf);
void ipoib_txqs_destroy(struct ipoib_intf *intf);
struct ipoib_txq *ipoib_txq_of(struct ipoib_intf *intf, struct sk_buff *skb);

/* tx.c */
netdev_tx_t ipoib_start_xmit(struct sk_buff *skb, struct net_device *dev);
bool ipoib_tx_has_room(const struct ipoib_txq *txq);
void ipoib_tx_push(struct ipoib_txq *txq, struct ipoib_dest *dest,
		   struct sk_buff *skb);
void ipoib_tx_doorbell(struct ipoib_txq *txq);
u32 ipoib_tx_awaited(const struct ipoib_txq *txq);
void ipoib_tx_drop(struct ipoib_txq *txq, struct sk_buff *skb,
		   enum skb_drop_reason reason);
struct ipoib_dest *ipoib_tx_new_destination(struct ipoib_intf *intf,
					    const union ib_gid *gid, const struct sk_buff *skb);
void ipoib_tx_datagram(struct ipoib_txq *txq, struct sk_buff *skb);
void ipoib_tx_error(struct ipoib_txq *txq, struct sk_buff *skb,
		    enum skb_drop_reason reason);
void ipoib_tx_stop_if_full(struct ipoib_txq *txq);

/* tx_done.c */
void ipoib_txq_reclaim(struct ipoib_txq *txq);
int ipoib_tx_poll(struct napi_struct *napi, int budget);
void ipoib_tx_done(struct sk_buff *skb, bool ok, int budget);
void ipoib_tx_room_found(struct ipoib_intf *intf);
void ipoib_tx_count_done(struct ipoib_txq *txq, bool ok, unsigned int packets,
			 unsigned int bytes);
void ipoib_tx_comp_handler(struct ib_cq *cq, void *context);

/* tx_map.c */
int ipoib_tx_map(struct ib_device *ca, struct ipoib_tx_slot *slot);
void ipoib_tx_unmap(struct ib_device *ca, struct ipoib_tx_slot *slot);
bool ipoib_tx_fits_sges(const struct ipoib_intf *intf, struct sk_buff *skb, unsigned int hlen);

/* tx_lso.c */
unsigned int ipoib_tx_lso_frame_len(const struct sk_buff *skb);
bool ipoib_tx_lso_prepare(const struct ipoib_intf *intf, struct ipoib_tx_slot *slot,
			  struct sk_buff *skb);
unsigned int ipoib_tx_lso_packets(const struct ipoib_tx_slot *slot);

/* pmtu.c */
void ipoib_pmtu_init(struct ipoib_intf *intf);
void ipoib_pmtu_too_long(struct ipoib_txq *txq, struct sk_buff *skb, u32 mtu,
			 bool *told);
int ipoib_pmtu_choose(int wanted, int group, int connected, int preset);

/* child.c */
int ipoib_child_register(struct net_device *dev, struct ipoib_intf *parent,
			 u16 pkey, struct netlink_ext_ack *extack);
int ipoib_child_create(struct ipoib_intf *parent, u16 pkey);
int ipoib_child_delete(struct ipoib_intf *parent, u16 pkey);
void ipoib_children_follow(struct ipoib_intf *parent, bool up);

/* rtnl.c */
extern struct rtnl_link_ops ipoib_link_ops;

/* debugfs.c */
void ipoib_debugfs_init(void);
void ipoib_debugfs_exit(void);
void ipoib_debugfs_add(struct ipoib_intf *intf);
void ipoib_debugfs_remove(struct ipoib_intf *intf);
void ipoib_debugfs_gid(struct seq_file *file, const union ib_gid *gid);

/* keep.c */
void ipoib_keep_settings(const struct ipoib_intf *intf);
void ipoib_keep_recall(struct ipoib_intf *intf);
void ipoib_keep_free(void);

/* events.c */
int ipoib_up(struct ipoib_intf *intf);
void ipoib_down(struct ipoib_intf *intf);
void ipoib_events_init(struct ipoib_intf *intf);
void ipoib_flush(struct ipoib_intf *intf, enum ipoib_flush level);
void ipoib_start_later(struct ipoib_intf *intf);
void ipoib_carrier_update(struct ipoib_intf *intf);

/* pkey.c */
void ipoib_pkey_follow(struct ipoib_intf *intf);
void ipoib_pkey_adopt(struct ipoib_intf *intf);

/* params.c */
bool ipoib_match_partition(const struct ipoib_intf *intf, u16 pkey,
			   const union ib_gid *gid);
struct net_device *ipoib_match_address(struct ipoib_intf *intf,
				       const struct sockaddr *addr);
struct net_device *ipoib_match_master(struct ipoib_intf *intf);

#ifdef CONFIG_OPENIPOIB_CM
/* cm.c, cm_dest.c, cm_ring.c, cm_show.c, cm_tx.c */
int ipoib_cm_create(struct ipoib_intf *intf);
void ipoib_cm_destroy(struct ipoib_intf *intf);
int ipoib_cm_start(struct ipoib_intf *intf);
void ipoib_cm_stop(struct ipoib_intf *intf);
void ipoib_cm_restart_rx(struct ipoib_intf *intf);
void ipoib_cm_reset(struct ipoib_intf *intf);
int ipoib_cm_set_mode(struct ipoib_intf *intf, bool connected);
int ipoib_cm_mtu_max(const struct ipoib_intf *intf);
int ipoib_cm_mtu_default(const struct ipoib_intf *intf);
void ipoib_cm_warn_mtu(struct ipoib_intf *intf);
bool ipoib_cm_get_stats(const struct ipoib_intf *intf,
			struct ipoib_cm_stats *stats);
bool ipoib_cm_xmit(struct ipoib_txq *txq, struct sk_buff *skb);
bool ipoib_cm_cut(struct ipoib_intf *intf, const struct sk_buff *skb);
void ipoib_cm_port_lost(struct ipoib_intf *intf);
void ipoib_cm_send_backlog(struct ipoib_intf *intf);
bool ipoib_cm_has_backlog(const struct ipoib_intf *intf);
void ipoib_cm_path_known(struct ipoib_path *path, bool moved);
void ipoib_cm_path_gone(struct ipoib_path *path);
bool ipoib_cm_has_room(const struct ipoib_intf *intf);
void ipoib_cm_doorbell(struct ipoib_txq *txq);
void ipoib_cm_post_again(struct ipoib_intf *intf);
int ipoib_cm_poll_tx(struct ipoib_intf *intf, int budget);
bool ipoib_cm_arm_tx(struct ipoib_intf *intf);
void ipoib_cm_quiesce(struct ipoib_intf *intf);
bool ipoib_cm_drained(const struct ipoib_intf *intf);
void ipoib_cm_reclaim(struct ipoib_intf *intf);
int ipoib_cm_moderate(struct ipoib_intf *intf,
		      const struct ipoib_queue_settings *wanted);
void ipoib_cm_show(struct ipoib_intf *intf, struct seq_file *file);
#else
#include "cm_off.h"
#endif

/* ethtool.c, sysfs.c */
void ipoib_set_ethtool_ops(struct net_device *dev);
extern const struct attribute_group *ipoib_sysfs_groups[];

#endif /* IPOIB_H */
