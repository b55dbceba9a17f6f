/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_CM_RX_H
#define IPOIB_CM_RX_H

#include "cm.h"

/**
 * enum ipoib_cm_rx_state - how far an incoming connection has come
 * @IPOIB_CM_RX_NEW: not answered
 * @IPOIB_CM_RX_LIVE: accepted
 * @IPOIB_CM_RX_FLUSHING: its queue pair is in ERROR
 * @IPOIB_CM_RX_WAITING: it waits for its turn to drain
 * @IPOIB_CM_RX_DRAINING: its last completion is awaited
 */
enum ipoib_cm_rx_state {
	IPOIB_CM_RX_NEW,
	IPOIB_CM_RX_LIVE,
	IPOIB_CM_RX_FLUSHING,
	IPOIB_CM_RX_WAITING,
	IPOIB_CM_RX_DRAINING,
};

/**
 * struct ipoib_cm_rx - an incoming connection
 * @item: events
 * @cm: owner; constant
 * @list: link in ipoib_cm.rx_links; guarded by ipoib_cm.rx_lock
 * @state: control; read anywhere
 * @id: of the CM; constant
 * @qp: queue pair; control
 * @from: interface of the peer; constant
 * @old: the peer has made another one since; control
 * @psn: the first it receives; control
 * @partial: the peer may leave checksums to us; constant
 * @bufs: its own receive buffers, where they are not shared; control
 * @held: of those, with the HCA; set by control before the queue pair receives,
 *	then receive NAPI
 * @used: jiffies of the newest message; control, then receive NAPI; read anywhere
 * @deadline: jiffies by which the state has to change; control
 * @rcu: for freeing behind NAPI
 */
struct ipoib_cm_rx {
	struct ipoib_cm_item item;
	struct ipoib_cm *cm;
	struct list_head list;
	enum ipoib_cm_rx_state state;
	struct ib_cm_id *id;
	struct ib_qp *qp;
	struct ipoib_conn_key from;
	bool old;
	u32 psn;
	bool partial;
	struct ipoib_cm_rx_bufs bufs;
	u32 held;
	unsigned long used;
	unsigned long deadline;
	struct rcu_head rcu;
};

#endif /* IPOIB_CM_RX_H */
