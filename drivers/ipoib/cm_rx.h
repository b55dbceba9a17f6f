/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_CM_RX_H
#define IPOIB_CM_RX_H

#include "cm.h"

/**
 * enum ipoib_cm_rx_event - bits of the item of an incoming connection, behind
 *	IPOIB_CM_COMMANDED
 * @IPOIB_CM_RX_ASKED: a request to be answered
 * @IPOIB_CM_RX_ENDED: the peer has disconnected, or the queue pair has failed
 * @IPOIB_CM_RX_LAST: the queue pair in ERROR has taken its last buffer
 * @IPOIB_CM_RX_DRAINED: its last completion has been handled
 */
enum ipoib_cm_rx_event {
	IPOIB_CM_RX_ASKED = IPOIB_CM_COMMANDED + 1,
	IPOIB_CM_RX_ENDED,
	IPOIB_CM_RX_LAST,
	IPOIB_CM_RX_DRAINED,
};

/**
 * enum ipoib_cm_rx_state - how far an incoming connection has come
 * @IPOIB_CM_RX_NEW: not answered
 * @IPOIB_CM_RX_LIVE: accepted
 * @IPOIB_CM_RX_FLUSHING: its queue pair goes to ERROR
 * @IPOIB_CM_RX_WAITING: it waits for its turn to drain
 * @IPOIB_CM_RX_DRAINING: its last completion is awaited
 * @IPOIB_CM_RX_GONE: its queue pair and CM ID are destroyed
 */
enum ipoib_cm_rx_state {
	IPOIB_CM_RX_NEW,
	IPOIB_CM_RX_LIVE,
	IPOIB_CM_RX_FLUSHING,
	IPOIB_CM_RX_WAITING,
	IPOIB_CM_RX_DRAINING,
	IPOIB_CM_RX_GONE,
};

/**
 * struct ipoib_cm_rx - an incoming connection
 * @item: events
 * @cm: owner; constant
 * @list: link in ipoib_cm.rx_links; guarded by ipoib_cm.rx_lock
 * @state: control; read anywhere
 * @id: of the CM; constant
 * @qp: queue pair; of commands, control in between
 * @pkey_index: of the queue pair; set by control before it is made
 * @from: interface of the peer; constant
 * @old: the peer has made another one since; control
 * @psn: the first it receives; as @pkey_index
 * @partial: the peer may leave checksums to us; constant
 * @bufs: its own receive buffers, where they are not shared; control
 * @held: of those, with the HCA, or waiting for it to take them; set by a command before the
 *	queue pair receives, then receive NAPI
 * @used: jiffies of the newest message; control, then receive NAPI; read anywhere
 * @deadline: jiffies by which the state has to change; control
 * @refused: the HCA has refused the send that comes back last; @deadline counts from then; control
 * @rcu: for freeing behind NAPI
 */
struct ipoib_cm_rx {
	struct ipoib_cm_item item;
	struct ipoib_cm *cm;
	struct list_head list;
	enum ipoib_cm_rx_state state;
	struct ib_cm_id *id;
	struct ib_qp *qp;
	u16 pkey_index;
	struct ipoib_conn_key from;
	bool old;
	u32 psn;
	bool partial;
	struct ipoib_cm_rx_bufs bufs;
	u32 held;
	unsigned long used;
	unsigned long deadline;
	bool refused;
	struct rcu_head rcu;
};

static inline struct ipoib_cm_rx *ipoib_cm_rx_of(struct ipoib_cm_item *item)
{
	return container_of(item, struct ipoib_cm_rx, item);
}

/* cm_rx_qp.c */
void ipoib_cm_rx_napi_off(struct ipoib_cm *cm);
void ipoib_cm_rx_napi_on(struct ipoib_cm *cm);
int ipoib_cm_rx_accept(struct ipoib_cm_item *item);
int ipoib_cm_rx_to_error(struct ipoib_cm_item *item);
int ipoib_cm_rx_destroy(struct ipoib_cm_item *item);
void ipoib_cm_rx_drop_qp(struct ipoib_cm_rx *rx);

#endif /* IPOIB_CM_RX_H */
