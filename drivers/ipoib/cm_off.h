/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Connected mode left out (CONFIG_OPENIPOIB_CM=n): the hardware address does not
 * offer it, so peers send datagrams. Included by ipoib.h.
 */
#ifndef IPOIB_CM_OFF_H
#define IPOIB_CM_OFF_H

#include "ipoib.h"

static inline int ipoib_cm_create(struct ipoib_intf *intf)
{
	return 0;
}

static inline void ipoib_cm_destroy(struct ipoib_intf *intf)
{
}

static inline int ipoib_cm_start(struct ipoib_intf *intf)
{
	return 0;
}

static inline void ipoib_cm_stop(struct ipoib_intf *intf)
{
}

static inline void ipoib_cm_restart_rx(struct ipoib_intf *intf)
{
}

static inline void ipoib_cm_reset(struct ipoib_intf *intf)
{
}

static inline int ipoib_cm_set_mode(struct ipoib_intf *intf, bool connected)
{
	if (!connected)
		return 0;
	netdev_warn(intf->dev, "connected mode was left out of this build\n");
	return -EOPNOTSUPP;
}

static inline int ipoib_cm_mtu_max(const struct ipoib_intf *intf)
{
	return 0;
}

static inline int ipoib_cm_mtu_default(const struct ipoib_intf *intf)
{
	return 0;
}

static inline void ipoib_cm_warn_mtu(struct ipoib_intf *intf)
{
}

static inline bool ipoib_cm_get_stats(const struct ipoib_intf *intf,
				      struct ipoib_cm_stats *stats)
{
	return false;
}

static inline bool ipoib_cm_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	return false;
}

static inline bool ipoib_cm_cut(struct ipoib_intf *intf, const struct sk_buff *skb)
{
	return false;
}

static inline void ipoib_cm_port_lost(struct ipoib_intf *intf)
{
}

static inline void ipoib_cm_send_backlog(struct ipoib_intf *intf)
{
}

static inline bool ipoib_cm_has_backlog(const struct ipoib_intf *intf)
{
	return false;
}

static inline void ipoib_cm_path_known(struct ipoib_path *path, bool moved)
{
}

static inline void ipoib_cm_path_gone(struct ipoib_path *path)
{
}

static inline bool ipoib_cm_has_room(const struct ipoib_intf *intf)
{
	return true;
}

static inline void ipoib_cm_doorbell(struct ipoib_txq *txq)
{
}

static inline void ipoib_cm_post_again(struct ipoib_intf *intf)
{
}

static inline int ipoib_cm_poll_tx(struct ipoib_intf *intf, int budget)
{
	return 0;
}

static inline bool ipoib_cm_arm_tx(struct ipoib_intf *intf)
{
	return false;
}

static inline void ipoib_cm_quiesce(struct ipoib_intf *intf)
{
}

static inline bool ipoib_cm_drained(const struct ipoib_intf *intf)
{
	return true;
}

static inline void ipoib_cm_reclaim(struct ipoib_intf *intf)
{
}

static inline int ipoib_cm_moderate(struct ipoib_intf *intf,
				    const struct ipoib_queue_settings *wanted)
{
	return 0;
}

static inline void ipoib_cm_show(struct ipoib_intf *intf, struct seq_file *file)
{
}

#endif /* IPOIB_CM_OFF_H */
