/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_CM_TX_H
#define IPOIB_CM_TX_H

#include "cm.h"

/**
 * enum ipoib_cm_tx_event - bits of the item of a link, behind IPOIB_CM_COMMANDED
 * @IPOIB_CM_TX_REP: the peer has agreed; ipoib_cm_tx.peer is valid
 * @IPOIB_CM_TX_STALE: the peer took the request for an old one
 * @IPOIB_CM_TX_REFUSED: the peer has refused or not answered
 * @IPOIB_CM_TX_BROKEN: a send has failed
 * @IPOIB_CM_TX_HANGUP: the peer has disconnected
 * @IPOIB_CM_TX_DRAINED: an ending link may have completed its last send
 */
enum ipoib_cm_tx_event {
	IPOIB_CM_TX_REP = IPOIB_CM_COMMANDED + 1,
	IPOIB_CM_TX_STALE,
	IPOIB_CM_TX_REFUSED,
	IPOIB_CM_TX_BROKEN,
	IPOIB_CM_TX_HANGUP,
	IPOIB_CM_TX_DRAINED,
};

/**
 * enum ipoib_cm_tx_state - how a link ends
 * @IPOIB_CM_TX_OPEN: it has a conn
 * @IPOIB_CM_TX_CLOSING: it completes what it has
 * @IPOIB_CM_TX_ERROR: its queue pair goes to ERROR and flushes
 * @IPOIB_CM_TX_GONE: its queue pair and CM ID are destroyed
 */
enum ipoib_cm_tx_state {
	IPOIB_CM_TX_OPEN,
	IPOIB_CM_TX_CLOSING,
	IPOIB_CM_TX_ERROR,
	IPOIB_CM_TX_GONE,
};

/**
 * struct ipoib_cm_tx - a link: queue pair, CM ID and ring of an outgoing connection
 * @item: events
 * @cm: owner; constant
 * @list: link in ipoib_cm.links; control
 * @conn: whose it is, or NULL when it ends; control
 * @state: control, read by NAPI
 * @deadline: jiffies by which the state has to change; control
 * @seen_tail: @tail at the last tick; control
 * @stalls: ticks in a row at which it was the same with sends on their way; control
 * @remote_qpn: of the peer's UD queue pair; constant
 * @path: to the peer's port; constant
 * @pkey_index: of the queue pair; constant
 * @id: of the CM; of commands, and constant once the first has ended, but for the last
 * @qp: queue pair; as @id
 * @peer: what the peer says of itself; handed over by @IPOIB_CM_TX_REP
 * @frame_max: longest message to send, header included; written by control before
 *	packets go through the link
 * @partial: checksums may be left to the peer; as @frame_max
 * @broken: takes no more packets
 * @lock: guards @slots, @head, @posted and the two after it among senders of several
 *	transmit queues; inside their locks
 * @slots: ring of IPOIB_CM_TX_RING entries
 * @head: positions filled
 * @posted: positions handed to the HCA
 * @awaited: of those, positions that a completion will come for
 * @refused: whether the HCA takes them
 * @tail: positions completed; written by the NAPI of the first transmit queue
 * @rcu: for freeing behind NAPI
 */
struct ipoib_cm_tx {
	struct ipoib_cm_item item;
	struct ipoib_cm *cm;
	struct list_head list;
	struct ipoib_conn *conn;
	enum ipoib_cm_tx_state state;
	unsigned long deadline;
	u32 seen_tail;
	unsigned int stalls;
	u32 remote_qpn;
	struct sa_path_rec path;
	u16 pkey_index;
	struct ib_cm_id *id;
	struct ib_qp *qp;
	struct ipoib_cm_peer peer;
	u32 frame_max;
	bool partial;
	bool broken;
	spinlock_t lock; /* guards what says so above */
	struct ipoib_tx_slot *slots;
	u32 head;
	u32 posted;
	u32 awaited;
	struct ipoib_refused refused;
	u32 tail ____cacheline_aligned_in_smp;
	struct rcu_head rcu;
};

/**
 * ipoib_cm_tx_awaited - how many sends of a link have yet to complete
 * @link: link
 *
 * As ipoib_tx_awaited().
 */
static inline u32 ipoib_cm_tx_awaited(const struct ipoib_cm_tx *link)
{
	s32 left = READ_ONCE(link->awaited) - READ_ONCE(link->tail);

	return max(left, 0);
}

#endif /* IPOIB_CM_TX_H */
