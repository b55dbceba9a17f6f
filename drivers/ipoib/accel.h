/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_ACCEL_H
#define IPOIB_ACCEL_H

#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "data.h"

struct kernel_hwtstamp_config;
struct netlink_ext_ack;

/**
 * struct ipoib_accel - what an interface has of its HCA's netdev
 * @intf: owner; constant
 * @ops: operations of the HCA's netdev, called in our own; constant
 * @destructor: frees what the HCA's netdev has, or NULL; constant
 * @open: the HCA's ndo_open has been called, and its ndo_stop has not; guarded by rtnl,
 *	written with the netdev's lock where the HCA asks for it, read by children's control
 * @index: P_Key index that it is open with, or negative. Who holds rtnl gives it to
 *	control when there is none, control alone takes it back while the interface is up
 * @open_work: opens the HCA's netdev for control
 * @again: packets that have waited for an address, to go through the stack; its own lock
 * @again_work: gives them to it; control
 */
struct ipoib_accel {
	struct ipoib_intf *intf;
	const struct net_device_ops *ops;
	void (*destructor)(struct net_device *dev);
	bool open;
	int index;
	struct work_struct open_work;
	struct sk_buff_head again;
	struct work_struct again_work;
};

struct net_device *ipoib_accel_alloc_netdev(struct ib_device *ca, u32 port,
					    const char *name,
					    unsigned char name_assign_type);
struct ib_device *ipoib_accel_hca(const struct net_device *dev);
bool ipoib_accel_declined(struct ib_device *ca, u32 port, u16 pkey, int err);
void ipoib_accel_undo(struct net_device *dev);
int ipoib_accel_init(struct ipoib_intf *intf);
void ipoib_accel_exit(struct ipoib_intf *intf);

bool ipoib_accel_is_deaf(const struct ipoib_intf *intf);
int ipoib_accel_open(struct net_device *dev);
int ipoib_accel_stop(struct net_device *dev);
netdev_tx_t ipoib_accel_start_xmit(struct sk_buff *skb, struct net_device *dev);
int ipoib_accel_change_mtu(struct net_device *dev, int mtu);
void ipoib_accel_tx_timeout(struct net_device *dev, unsigned int queue);
void ipoib_accel_get_stats64(struct net_device *dev,
			     struct rtnl_link_stats64 *stats);
int ipoib_accel_hwtstamp_get(struct net_device *dev, struct kernel_hwtstamp_config *config);
int ipoib_accel_hwtstamp_set(struct net_device *dev, struct kernel_hwtstamp_config *config,
			     struct netlink_ext_ack *extack);

#endif /* IPOIB_ACCEL_H */
