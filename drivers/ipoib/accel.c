// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Interfaces whose datagrams the HCA sends and receives by itself (struct rdma_netdev).
 * Destinations, groups, carrier and all that the stack sees are those of any interface;
 * the queues and what belongs to them are the HCA's.
 *
 * The netdev is the HCA's as well: we take its operations aside, put ours in their place
 * and call them from there. Its private part begins with struct rdma_netdev, by which the
 * HCA is given packets and told of groups; it knows neither start nor stop.
 *
 * A HCA opens and closes its netdev under rtnl; and if it asks for that, newer kernels have
 * the netdev's own lock held around all operations. Control must take neither. So the netdev
 * is open from ndo_open to ndo_stop, and only the groups come and go with the rest. The HCA
 * takes the P_Key index as it opens: if there was none, or it has changed, or a queue stalls,
 * control takes the index away and leaves it to open_work to close and open the netdev.
 * Whether there is an index is whose turn it is.
 *
 * Nothing here knows whether the HCA's queues have room, but the netdev's queues. So
 * packets that have waited for an address go through the stack again; others may overtake
 * them.
 *
 * Lifetime: struct ipoib_accel is as old as struct ipoib_intf. What the HCA's netdev has
 * is freed with the netdev, and the HCA waits for that as it goes.
 */
#include <linux/rtnetlink.h>

#include "accel.h"
#include "drop.h"
#include "ipoib.h"
#include "mcast.h"
#include "netdev_lock.h"
#include "netdev_ops.h"
#include "path.h"

#define ACCEL_NO_INDEX	(-1)

static struct rdma_netdev *accel_rn(const struct ipoib_intf *intf)
{
	return netdev_priv(intf->dev);
}

/*
 * Some HCAs only add to the operations that they find, and want a queue pair made by
 * them: they are not for us.
 */
static int accel_nothing(struct net_device *dev)
{
	return -EOPNOTSUPP;
}

static const struct net_device_ops accel_nothing_ops = {
	.ndo_init = accel_nothing,
};

/*
 * A child's packets come by its parent's queues, as with mlx5: without them it hears nothing,
 * and must not look as if it did.
 */
static void accel_set_open(struct ipoib_intf *intf, bool open)
{
	struct ipoib_intf *child;

	ASSERT_RTNL();
	WRITE_ONCE(intf->accel->open, open);
	list_for_each_entry(child, &intf->hca->intfs, list) {
		if (child->parent != intf || !child->accel)
			continue;
		if (!open)
			netif_carrier_off(child->dev);
		ipoib_flush(child, IPOIB_FLUSH_LIGHT);
	}
}

/**
 * ipoib_accel_is_deaf - does the HCA receive nothing for an interface until its parent is open
 * @intf: interface
 *
 * Context: any.
 */
bool ipoib_accel_is_deaf(const struct ipoib_intf *intf)
{
	return intf->accel && intf->parent && !READ_ONCE(intf->parent->accel->open);
}

static int accel_open_hca(struct ipoib_intf *intf)
{
	struct rdma_netdev *rn = accel_rn(intf);
	struct ipoib_accel *accel = intf->accel;
	u16 index;
	int err;

	ASSERT_RTNL();
	netdev_assert_locked_ops(intf->dev);
	/* Control asks again when the P_Key is there. */
	if (ib_find_pkey(intf->ca, intf->port, intf->pkey, &index))
		return 0;
	if (rn->set_id)
		rn->set_id(intf->dev, index);
	err = accel->ops->ndo_open(intf->dev);
	if (err) {
		netdev_err(intf->dev, "the HCA does not open its netdev: error %d; with own_queues=%s/%u, interfaces have queue pairs of this driver\n",
			   err, dev_name(&intf->ca->dev), intf->port);
		return err;
	}
	accel_set_open(intf, true);
	WRITE_ONCE(accel->index, index);
	return 0;
}

static void accel_close_hca(struct ipoib_intf *intf)
{
	struct ipoib_accel *accel = intf->accel;

	ASSERT_RTNL();
	netdev_assert_locked_ops(intf->dev);
	WRITE_ONCE(accel->index, ACCEL_NO_INDEX);
	if (!accel->open)
		return;
	accel_set_open(intf, false);
	accel->ops->ndo_stop(intf->dev);
}

/* Runs with rtnl and the netdev's lock, as ndo_open does; nobody waits for it. */
static void accel_open_work(struct work_struct *work)
{
	struct ipoib_accel *accel = container_of(work, struct ipoib_accel,
						 open_work);
	struct ipoib_intf *intf = accel->intf;
	struct net_device *dev = intf->dev;

	rtnl_lock();
	netdev_lock_ops(dev);
	if (dev->reg_state == NETREG_REGISTERED && netif_running(dev) &&
	    READ_ONCE(accel->index) < 0) {
		netif_tx_disable(dev);
		accel_close_hca(intf);
		accel_open_hca(intf);
		if (accel->index >= 0)
			ipoib_flush(intf, IPOIB_FLUSH_HEAVY);
		netif_tx_wake_all_queues(dev);
	}
	netdev_unlock_ops(dev);
	rtnl_unlock();
	dev_put(dev);
}

/* Through the queueing discipline: only that knows of room in the HCA's queues. */
static void accel_again_work(struct work_struct *work)
{
	struct ipoib_accel *accel = container_of(work, struct ipoib_accel,
						 again_work);
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&accel->again)))
		dev_queue_xmit(skb);
}

/**
 * ipoib_accel_init - have the HCA make a netdev its own
 * @intf: interface with a netdev of ipoib_accel_alloc_netdev(), not registered
 *
 * The netdev has the HCA's operations of ethtool afterwards, if it brings some.
 *
 * Context: process, rtnl.
 * Return: 0 or what the HCA says.
 */
int ipoib_accel_init(struct ipoib_intf *intf)
{
	struct ipoib_accel *accel = kzalloc(sizeof(*accel), GFP_KERNEL);
	struct net_device *dev = intf->dev;
	void (*destructor)(struct net_device *dev) = dev->priv_destructor;
	const struct net_device_ops *ops = dev->netdev_ops;
	int err;

	if (!accel)
		return -ENOMEM;
	accel->intf = intf;
	accel->index = ACCEL_NO_INDEX;
	INIT_WORK(&accel->open_work, accel_open_work);
	skb_queue_head_init(&accel->again);
	INIT_WORK(&accel->again_work, accel_again_work);
	dev->netdev_ops = &accel_nothing_ops;
	dev->priv_destructor = NULL;
	/* What can be offloaded is the HCA's to say. */
	dev->features &= ~NETIF_F_SG;
	dev->hw_features &= ~NETIF_F_SG;
	err = rdma_init_netdev(intf->ca, intf->port, RDMA_NETDEV_IPOIB,
			       dev->name, dev->name_assign_type,
			       ipoib_intf_setup, dev);
	accel->ops = dev->netdev_ops;
	accel->destructor = dev->priv_destructor;
	dev->netdev_ops = ops;
	dev->priv_destructor = destructor;
	if (err) {
		kfree(accel);
		return err;
	}
	intf->accel = accel;
	intf->data = &ipoib_data_hca;
	refcount_inc(&intf->hca->users);
	return 0;
}

/**
 * ipoib_accel_exit - the reverse
 * @intf: interface whose netdev nobody uses any more
 *
 * Context: process.
 */
void ipoib_accel_exit(struct ipoib_intf *intf)
{
	struct ipoib_accel *accel = intf->accel;

	if (!accel)
		return;
	if (accel->destructor)
		accel->destructor(intf->dev);
	kfree(accel);
	intf->accel = NULL;
	if (refcount_dec_and_test(&intf->hca->users))
		complete(&intf->hca->unused);
}

static int accel_create(struct ipoib_intf *intf, u32 *qpn)
{
	struct net_device *dev = intf->dev;
	int err;

	/* Address handles need one; that of the queues is the HCA's. */
	intf->pd = ib_alloc_pd(intf->ca, 0);
	if (IS_ERR(intf->pd))
		return PTR_ERR(intf->pd);
	err = intf->accel->ops->ndo_init(dev);
	if (err) {
		ib_dealloc_pd(intf->pd);
		return err;
	}
	/* It has put the number there. */
	*qpn = ipoib_hwaddr_qpn(dev->dev_addr);
	dev->features |= dev->hw_features;
	accel_rn(intf)->mtu = intf->group_mtu;
	/* None of this is set here, whatever was set before the HCA had gone. */
	memset(&intf->queues, 0, sizeof(intf->queues));
	/* The HCA's buffers take whatever MTU the group has. */
	intf->rxq.buf_len = U32_MAX;
	intf->txq[0].intf = intf;
	u64_stats_init(&intf->txq[0].drops.sync);
	return 0;
}

static void accel_destroy(struct ipoib_intf *intf)
{
	skb_queue_purge(&intf->accel->again);
	intf->accel->ops->ndo_uninit(intf->dev);
	ipoib_ah_reap(intf, true);
	ib_dealloc_pd(intf->pd);
}

static void accel_set_running(struct ipoib_intf *intf, bool running)
{
	ipoib_tx_lock_all(intf->dev);
	WRITE_ONCE(intf->running, running);
	ipoib_tx_unlock_all(intf->dev);
}

static void accel_ask(struct ipoib_intf *intf)
{
	dev_hold(intf->dev);
	if (!queue_work(ipoib_rtnl_wq, &intf->accel->open_work))
		dev_put(intf->dev);
}

/* May leave it to open_work, which has control come back here. */
static int accel_start(struct ipoib_intf *intf)
{
	struct ipoib_accel *accel = intf->accel;
	int index = READ_ONCE(accel->index);

	if (index == intf->pkey_index) {
		accel_set_running(intf, true);
		return 0;
	}
	if (index >= 0)
		WRITE_ONCE(accel->index, ACCEL_NO_INDEX);
	accel_ask(intf);
	return 0;
}

static void accel_stop(struct ipoib_intf *intf)
{
	if (!intf->running)
		return;
	accel_set_running(intf, false);
	ipoib_mcast_detach_all(intf);
	WRITE_ONCE(intf->accel->index, ACCEL_NO_INDEX);
	/* Its P_Key index may be another partition's by now. */
	if (intf->up)
		accel_ask(intf);
	ipoib_ah_reap(intf, true);
}

/* The HCA is told as the broadcast group is attached. */
static int accel_set_qkey(struct ipoib_intf *intf, u32 qkey)
{
	WRITE_ONCE(accel_rn(intf)->mtu, intf->group_mtu);
	if (qkey != intf->qkey)
		ipoib_mcast_detach(intf->broadcast);
	intf->qkey = qkey;
	return 0;
}

static void accel_send_held(struct ipoib_intf *intf, struct ipoib_dest *dest)
{
	struct ipoib_accel *accel = intf->accel;
	struct sk_buff *skb;

	while ((skb = ipoib_hold_take(intf, &dest->hold)))
		skb_queue_tail(&accel->again, skb);
	if (!skb_queue_empty(&accel->again))
		queue_work(intf->wq, &accel->again_work);
}

static int accel_attach_mcast(struct ipoib_intf *intf, union ib_gid *mgid, u16 mlid)
{
	bool broadcast = !memcmp(intf->dev->broadcast + IPOIB_HWADDR_GID, mgid,
				 sizeof(*mgid));

	return accel_rn(intf)->attach_mcast(intf->dev, intf->ca, mgid, mlid,
					    broadcast, intf->qkey);
}

static int accel_detach_mcast(struct ipoib_intf *intf, union ib_gid *mgid, u16 mlid)
{
	return accel_rn(intf)->detach_mcast(intf->dev, intf->ca, mgid, mlid);
}

const struct ipoib_data_ops ipoib_data_hca = {
	.create = accel_create,
	.destroy = accel_destroy,
	.start = accel_start,
	.stop = accel_stop,
	.set_qkey = accel_set_qkey,
	.send_held = accel_send_held,
	.attach_mcast = accel_attach_mcast,
	.detach_mcast = accel_detach_mcast,
};

/**
 * ipoib_accel_open - ndo_open
 * @dev: interface
 *
 * Context: rtnl, and the netdev's lock if the HCA asks for it.
 * Return: 0 or a negative error.
 */
int ipoib_accel_open(struct net_device *dev)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	int err;

	if (ipoib_accel_is_deaf(intf))
		netdev_info(dev, "no carrier before the HCA has opened %s, by whose queues it receives for both\n",
			    intf->parent->dev->name);
	err = accel_open_hca(intf);
	if (err)
		return err;
	err = ipoib_intf_open(dev);
	if (err)
		accel_close_hca(intf);
	return err;
}

/**
 * ipoib_accel_stop - ndo_stop
 * @dev: interface
 *
 * Context: rtnl, and the netdev's lock if the HCA asks for it.
 * Return: 0.
 */
int ipoib_accel_stop(struct net_device *dev)
{
	ipoib_intf_stop(dev);
	accel_close_hca(ipoib_priv(dev));
	return 0;
}

/* Any of the netdev's queues may be the packet's: they are not counted apart. */
static void accel_drop(struct net_device *dev, struct sk_buff *skb,
		       enum skb_drop_reason reason)
{
	dev_core_stats_tx_dropped_inc(dev);
	dev_kfree_skb_any_reason(skb, reason);
}

static netdev_tx_t accel_no_xmit(struct sk_buff *skb, struct net_device *dev)
{
	return NETDEV_TX_OK;
}

static const struct net_device_ops accel_no_more_ops = {
	.ndo_start_xmit = accel_no_xmit,
};

/*
 * The HCA is told of each packet at once. What it is told to expect more after, it may leave
 * until more has come (netdev_xmit_more()), and of the next packet of the stack nobody knows
 * yet whether it is one for the HCA: it may have to wait for its address, or be too long.
 */
static void accel_no_more(struct sk_buff *skb, struct net_device *dev)
{
	__netdev_start_xmit(&accel_no_more_ops, skb, dev, false);
}

/* The HCA copies the address; it consumes the packet whatever it returns. */
static void accel_send(struct ipoib_intf *intf, struct ipoib_dest *dest,
		       struct sk_buff *skb)
{
	u32 qpn = ipoib_dest_is_mcast(dest) ? IB_MULTICAST_QPN :
					      ipoib_hwaddr_qpn(skb->data);

	skb_pull(skb, INFINIBAND_ALEN);
	if (unlikely(!skb_is_gso(skb) &&
		     skb->len > READ_ONCE(intf->group_mtu) + IPOIB_ENCAP_LEN)) {
		accel_drop(intf->dev, skb, SKB_DROP_REASON_PKT_TOO_BIG);
		return;
	}
	ipoib_note_use(&dest->used);
	accel_no_more(skb, intf->dev);
	accel_rn(intf)->send(intf->dev, skb, dest->ah->ah, qpn);
}

static void accel_datagram(struct ipoib_intf *intf, struct sk_buff *skb)
{
	union ib_gid gid = ipoib_tx_gid(intf, skb->data);
	struct ipoib_dest *dest = ipoib_dest_find(intf, &gid);
	enum skb_drop_reason reason;

	if (unlikely(!dest))
		dest = ipoib_tx_new_destination(intf, &gid, skb);
	if (unlikely(!dest)) {
		accel_drop(intf->dev, skb, SKB_DROP_REASON_NOMEM);
		return;
	}
	if (likely(dest->ah)) {
		accel_send(intf, dest, skb);
	} else {
		reason = ipoib_hold_add(intf, &dest->hold, skb);
		if (unlikely(reason))
			accel_drop(intf->dev, skb, reason);
	}
	ipoib_path_follow_up(dest);
}

/**
 * ipoib_accel_start_xmit - ndo_start_xmit
 * @skb: packet; the 20-octet hardware address and the encapsulation header in front
 * @dev: interface
 *
 * Context: transmit queue lock.
 * Return: NETDEV_TX_OK: the HCA stops the queue when it is full.
 */
netdev_tx_t ipoib_accel_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	rcu_read_lock();
	if (unlikely(!intf->running))
		accel_drop(dev, skb, SKB_DROP_REASON_DEV_READY);
	else if (unlikely(!pskb_may_pull(skb, IPOIB_HARD_LEN)))
		accel_drop(dev, skb, SKB_DROP_REASON_HDR_TRUNC);
	else
		accel_datagram(intf, skb);
	rcu_read_unlock();
	return NETDEV_TX_OK;
}

/**
 * ipoib_accel_change_mtu - ndo_change_mtu
 * @dev: interface
 * @mtu: wanted
 *
 * Context: rtnl, and the netdev's lock if the HCA asks for it.
 * Return: 0, -EINVAL, or what the HCA says; nothing has changed then.
 */
int ipoib_accel_change_mtu(struct net_device *dev, int mtu)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	const struct net_device_ops *ops = intf->accel->ops;
	int admin_mtu = intf->admin_mtu, old = dev->mtu;
	int err;

	netdev_assert_locked_ops(dev);
	err = ipoib_intf_change_mtu(dev, mtu);
	if (err || !ops->ndo_change_mtu)
		return err;
	err = ops->ndo_change_mtu(dev, dev->mtu);
	if (err) {
		intf->admin_mtu = admin_mtu;
		WRITE_ONCE(dev->mtu, old);
	}
	return err;
}

/**
 * ipoib_accel_tx_timeout - ndo_tx_timeout
 * @dev: interface
 * @queue: that does not move
 *
 * A HCA that does nothing about it has its netdev closed and opened.
 */
void ipoib_accel_tx_timeout(struct net_device *dev, unsigned int queue)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	struct rdma_netdev *rn = accel_rn(intf);

	ipoib_count(&intf->txq[0].stalls, 1);
	netdev_warn(dev, "the HCA's transmit queue %u stalled\n", queue);
	if (rn->tx_timeout)
		rn->tx_timeout(dev, queue);
	else
		ipoib_flush(intf, IPOIB_FLUSH_RESTART);
}

/**
 * ipoib_accel_get_stats64 - ndo_get_stats64
 * @dev: interface
 * @stats: result
 *
 * What the HCA has sent and received, and what never came to it.
 */
void ipoib_accel_get_stats64(struct net_device *dev,
			     struct rtnl_link_stats64 *stats)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	const struct ipoib_counters *drops = &intf->txq[0].drops;
	unsigned int start;
	u64 dropped;

	if (intf->accel->ops->ndo_get_stats64)
		intf->accel->ops->ndo_get_stats64(dev, stats);
	else
		netdev_stats_to_stats64(stats, &dev->stats);
	do {
		start = u64_stats_fetch_begin(&drops->sync);
		dropped = u64_stats_read(&drops->dropped);
	} while (u64_stats_fetch_retry(&drops->sync, start));
	stats->tx_dropped += dropped;
}

/**
 * ipoib_accel_hwtstamp_get - ndo_hwtstamp_get
 * @dev: interface
 * @config: result: which packets the HCA stamps with its time
 *
 * Context: rtnl, and the netdev's lock if the HCA asks for it.
 * Return: what the HCA says, or -EOPNOTSUPP.
 */
int ipoib_accel_hwtstamp_get(struct net_device *dev, struct kernel_hwtstamp_config *config)
{
	netdev_assert_locked_ops(dev);
	return compat_hwtstamp_get(ipoib_priv(dev)->accel->ops, dev, config);
}

/**
 * ipoib_accel_hwtstamp_set - ndo_hwtstamp_set
 * @dev: interface
 * @config: which packets the HCA is to stamp; and result: which it does
 * @extack: why not
 *
 * Context: rtnl, and the netdev's lock if the HCA asks for it.
 * Return: what the HCA says, or -EOPNOTSUPP.
 */
int ipoib_accel_hwtstamp_set(struct net_device *dev, struct kernel_hwtstamp_config *config,
			     struct netlink_ext_ack *extack)
{
	netdev_assert_locked_ops(dev);
	return compat_hwtstamp_set(ipoib_priv(dev)->accel->ops, dev, config, extack);
}
