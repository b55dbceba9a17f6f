// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The netdev: how the stack sees an interface.
 *
 * Lifetime: created by the ib_client for each InfiniBand port, or by a user as a
 * child of that; unregistered with the HCA, a child also before. The control queue
 * and the queue pair live from ndo_init to ndo_uninit, the latter because its
 * number is part of the hardware address. struct ipoib_intf is allocated by the
 * registration, since the stack allocates netdevs before it knows their parents. The
 * stack frees it by the netdev's destructor and then the netdev, behind the last
 * reference.
 *
 * ndo_open and ndo_stop hand their work to the control queue and wait. That
 * cannot deadlock: nothing on the control queue takes rtnl.
 */
#include <linux/if_arp.h>
#include <linux/module.h>

#include "accel.h"
#include "gid.h"
#include "ipoib.h"
#include "ipoib_trace.h"
#include "mcast.h"
#include "netdev_lock.h"
#include "netdev_ops.h"
#include "vf.h"

struct workqueue_struct *ipoib_rtnl_wq;

static int intf_mtu(const struct ipoib_intf *intf, bool connected)
{
	return ipoib_pmtu_choose(intf->admin_mtu, READ_ONCE(intf->group_mtu),
				 connected ? ipoib_cm_mtu_max(intf) : 0,
				 ipoib_cm_mtu_default(intf));
}

static int intf_init(struct net_device *dev)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	u8 hwaddr[INFINIBAND_ALEN];
	u32 qpn;
	int err;

	err = ipoib_gid_query(intf, &intf->local_gid);
	if (err)
		return err;
	intf->wq = alloc_ordered_workqueue("ipoib_%s_%u_%04x", WQ_MEM_RECLAIM,
					   dev_name(&intf->ca->dev), intf->port,
					   intf->pkey);
	if (!intf->wq)
		return -ENOMEM;
	err = ipoib_dest_table_init(intf);
	if (err)
		goto err_destroy_wq;
	ipoib_keep_recall(intf);
	err = intf->data->create(intf, &qpn);
	if (err)
		goto err_destroy_table;
	err = intf->accel ? 0 : ipoib_cm_create(intf);
	if (err)
		goto err_destroy_data;
	ipoib_hwaddr_set(hwaddr, intf->cm ? IPOIB_HWADDR_RC : 0, qpn,
			 &intf->local_gid);
	dev->max_mtu = max_t(int, dev->max_mtu, ipoib_cm_mtu_max(intf));
	if (!intf->cm)
		intf->connected = false;
	ipoib_moderate_new(intf);
	dev->mtu = intf_mtu(intf, intf->connected);
	__dev_addr_set(dev, hwaddr, sizeof(hwaddr));
	ipoib_broadcast_hwaddr(hwaddr, IPOIB_SCOPE_LINK_LOCAL, intf->pkey);
	memcpy(dev->broadcast, hwaddr, sizeof(hwaddr));
	if (!intf->accel &&
	    intf->ca->attrs.device_cap_flags & IB_DEVICE_UD_IP_CSUM) {
		dev->hw_features |= NETIF_F_IP_CSUM | NETIF_F_RXCSUM;
		if (intf->ca->attrs.kernel_cap_flags & IBK_UD_TSO)
			dev->hw_features |= NETIF_F_TSO;
		dev->features |= dev->hw_features;
	}
	return 0;

err_destroy_data:
	intf->data->destroy(intf);
err_destroy_table:
	ipoib_keep_settings(intf);
	ipoib_dest_table_destroy(intf);
err_destroy_wq:
	destroy_workqueue(intf->wq);
	return err;
}

/* From here on the interface hears of events and is found by RDMA CM. */
static void intf_attach(struct ipoib_intf *intf)
{
	struct ipoib_hca *hca = intf->hca;

	ASSERT_RTNL();
	mutex_lock(&hca->lock);
	list_add_tail(&intf->list, &hca->intfs);
	mutex_unlock(&hca->lock);
	ipoib_debugfs_add(intf);
	ib_register_event_handler(&intf->event_handler);
	/* Events before the registration have gone unseen. */
	ipoib_flush(intf, IPOIB_FLUSH_LIGHT);
}

static void intf_detach(struct ipoib_intf *intf)
{
	struct ipoib_hca *hca = intf->hca;

	ib_unregister_event_handler(&intf->event_handler);
	ipoib_debugfs_remove(intf);
	mutex_lock(&hca->lock);
	list_del_init(&intf->list);
	mutex_unlock(&hca->lock);
}

static void intf_uninit(struct net_device *dev)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	bool attached = !list_empty(&intf->list);

	if (attached)
		intf_detach(intf);
	ipoib_announce_stop(intf);
	flush_workqueue(intf->wq);
	skb_queue_purge(&intf->pmtu_queue);
	/* Who deletes a child wants nothing of it back. */
	if (intf->hca->going || !attached)
		ipoib_keep_settings(intf);
	ipoib_cm_destroy(intf);
	intf->data->destroy(intf);
	ipoib_dest_table_destroy(intf);
	destroy_workqueue(intf->wq);
}

/**
 * ipoib_intf_open - ndo_open
 * @dev: interface
 *
 * Return: 0 or a negative error.
 */
int ipoib_intf_open(struct net_device *dev)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	netif_carrier_off(dev);
	queue_work(intf->wq, &intf->up_work);
	flush_work(&intf->up_work);
	if (intf->up_error)
		return intf->up_error;
	netif_tx_start_all_queues(dev);
	return 0;
}

/**
 * ipoib_intf_stop - ndo_stop
 * @dev: interface
 *
 * Return: 0.
 */
int ipoib_intf_stop(struct net_device *dev)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	netif_tx_stop_all_queues(dev);
	queue_work(intf->wq, &intf->down_work);
	flush_work(&intf->down_work);
	return 0;
}

/* Control looks at the stack's list itself. Older kernels call this under netif_addr_lock. */
static int intf_set_rx_mode(struct net_device *dev, struct netdev_hw_addr_list *uc,
			    struct netdev_hw_addr_list *mc)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	WRITE_ONCE(intf->mcast_dirty, true);
	ipoib_mcast_kick(intf);
	return 0;
}

COMPAT_SET_RX_MODE(intf_set_rx_mode)

/**
 * ipoib_intf_change_mtu - ndo_change_mtu
 * @dev: interface
 * @mtu: wanted
 *
 * Return: 0, or -EINVAL if the mode does not allow it.
 */
int ipoib_intf_change_mtu(struct net_device *dev, int mtu)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	int fits;

	if (!intf->connected && mtu > intf->ud_mtu_max)
		return -EINVAL;
	intf->admin_mtu = mtu;
	fits = intf_mtu(intf, intf->connected);
	if (mtu > fits)
		netdev_info(dev, "MTU %d is more than the %s, using %d\n", mtu,
			    intf->connected ? "largest of connected mode" :
					      "broadcast group's", fits);
	if (intf->connected && fits > READ_ONCE(intf->group_mtu))
		ipoib_cm_warn_mtu(intf);
	WRITE_ONCE(dev->mtu, fits);
	return 0;
}

/**
 * ipoib_intf_update_mtu - have the stack use the MTU that fits
 * @intf: interface
 * @connected: for connected mode; what is set by hand is kept either way
 *
 * Context: rtnl, without the netdev's lock: the stack takes it.
 */
void ipoib_intf_update_mtu(struct ipoib_intf *intf, bool connected)
{
	struct net_device *dev = intf->dev;
	int mtu = intf_mtu(intf, connected);
	int admin_mtu = intf->admin_mtu;

	ASSERT_RTNL();
	if (mtu == dev->mtu)
		return;
	if (mtu < dev->mtu)
		netdev_info(dev, "MTU reduced from %u to %d\n", dev->mtu, mtu);
	dev_set_mtu(dev, mtu);
	intf->admin_mtu = admin_mtu;
}

static void intf_tx_timeout(struct net_device *dev, unsigned int queue)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	struct ipoib_txq *txq = &intf->txq[queue];

	ipoib_count(&txq->stalls, 1);
	trace_ipoib_tx_stall(txq);
	netdev_warn(dev, "transmit queue %u stalled: %u filled, %u posted, %u completed; restarting the queue pairs\n",
		    queue, txq->head, txq->posted, READ_ONCE(txq->tail));
	ipoib_flush(intf, IPOIB_FLUSH_RESTART);
}

/* Nothing cuts what goes through a connection: the stack does before. Datagrams the HCA may cut. */
static netdev_features_t intf_features_check(struct sk_buff *skb,
					     struct net_device *dev,
					     netdev_features_t features)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	return !READ_ONCE(intf->connected) || ipoib_cm_cut(intf, skb) ?
	       features : features & ~NETIF_F_GSO_MASK;
}

struct counters_sum {
	u64 packets;
	u64 bytes;
	u64 errors;
	u64 dropped;
	u64 multicast;
};

static void counters_add(const struct ipoib_counters *from,
			 struct counters_sum *sum)
{
	struct counters_sum now;
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&from->sync);
		now.packets = u64_stats_read(&from->packets);
		now.bytes = u64_stats_read(&from->bytes);
		now.errors = u64_stats_read(&from->errors);
		now.dropped = u64_stats_read(&from->dropped);
		now.multicast = u64_stats_read(&from->multicast);
	} while (u64_stats_fetch_retry(&from->sync, start));
	sum->packets += now.packets;
	sum->bytes += now.bytes;
	sum->errors += now.errors;
	sum->dropped += now.dropped;
	sum->multicast += now.multicast;
}

static void intf_get_stats64(struct net_device *dev,
			     struct rtnl_link_stats64 *stats)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	struct counters_sum rx = {}, tx = {};
	struct ipoib_cm_stats cm;
	int i;

	counters_add(&intf->rxq.count, &rx);
	for (i = 0; i < IPOIB_TXQ_MAX; i++) {
		counters_add(&intf->txq[i].done, &tx);
		counters_add(&intf->txq[i].drops, &tx);
	}
	if (ipoib_cm_get_stats(intf, &cm))
		counters_add(cm.rx, &rx);
	stats->rx_packets = rx.packets;
	stats->rx_bytes = rx.bytes;
	stats->rx_errors = rx.errors;
	stats->rx_dropped = rx.dropped;
	stats->multicast = rx.multicast;
	stats->tx_packets = tx.packets;
	stats->tx_bytes = tx.bytes;
	stats->tx_errors = tx.errors;
	stats->tx_dropped = tx.dropped;
}

static int intf_get_iflink(const struct net_device *dev)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);

	return intf->parent ? intf->parent->dev->ifindex : dev->ifindex;
}

static const struct net_device_ops intf_ops = {
	.ndo_init = intf_init,
	.ndo_uninit = intf_uninit,
	.ndo_open = ipoib_intf_open,
	.ndo_stop = ipoib_intf_stop,
	.ndo_start_xmit = ipoib_start_xmit,
	.ndo_features_check = intf_features_check,
	.ndo_set_rx_mode_async = compat_op(SET_RX_MODE_RETRY, intf_set_rx_mode),
	.ndo_change_mtu = ipoib_intf_change_mtu,
	.ndo_tx_timeout = intf_tx_timeout,
	.ndo_get_stats64 = intf_get_stats64,
	.ndo_get_iflink = intf_get_iflink,
	.ndo_set_mac_address = ipoib_gid_choose,
	.ndo_set_vf_link_state = ipoib_vf_set_link_state,
	.ndo_get_vf_config = ipoib_vf_get_config,
	.ndo_get_vf_stats = ipoib_vf_get_stats,
	.ndo_get_vf_guid = ipoib_vf_get_guid,
	.ndo_set_vf_guid = ipoib_vf_set_guid,
};

COMPAT_HWTSTAMP(ipoib_accel_hwtstamp_get, ipoib_accel_hwtstamp_set)

/* Those of an interface whose queues are the HCA's. */
static const struct net_device_ops accel_ops = {
	.ndo_init = intf_init,
	.ndo_uninit = intf_uninit,
	.ndo_open = ipoib_accel_open,
	.ndo_stop = ipoib_accel_stop,
	.ndo_start_xmit = ipoib_accel_start_xmit,
	.ndo_set_rx_mode_async = compat_op(SET_RX_MODE_RETRY, intf_set_rx_mode),
	.ndo_change_mtu = ipoib_accel_change_mtu,
	.ndo_tx_timeout = ipoib_accel_tx_timeout,
	.ndo_get_stats64 = ipoib_accel_get_stats64,
	.ndo_get_iflink = intf_get_iflink,
	compat_hwtstamp(ipoib_accel_hwtstamp_get, ipoib_accel_hwtstamp_set),
	.ndo_set_mac_address = ipoib_gid_choose,
	.ndo_set_vf_link_state = ipoib_vf_set_link_state,
	.ndo_get_vf_config = ipoib_vf_get_config,
	.ndo_get_vf_stats = ipoib_vf_get_stats,
	.ndo_get_vf_guid = ipoib_vf_get_guid,
	.ndo_set_vf_guid = ipoib_vf_set_guid,
};

/* The destination's address travels in front of the encapsulation header. */
static int intf_create_header(struct sk_buff *skb, struct net_device *dev,
			      unsigned short type, const void *daddr,
			      const void *saddr, unsigned int len)
{
	struct ipoib_header *header;
	u8 *hwaddr;

	header = skb_push(skb, sizeof(*header));
	header->proto = htons(type);
	header->reserved = 0;
	hwaddr = skb_push(skb, INFINIBAND_ALEN);
	if (!daddr) {
		memset(hwaddr, 0, INFINIBAND_ALEN);
		return -IPOIB_HARD_LEN;
	}
	memcpy(hwaddr, daddr, INFINIBAND_ALEN);
	return IPOIB_HARD_LEN;
}

static const struct header_ops intf_header_ops = {
	.create = intf_create_header,
};

/* As a change of the hardware address by the stack, which holds the netdev's lock then. */
static void intf_show_gid(struct ipoib_intf *intf, const union ib_gid *gid)
{
	struct net_device *dev = intf->dev;

	netdev_lock_ops(dev);
	dev_addr_mod(dev, IPOIB_HWADDR_GID, gid, sizeof(*gid));
	call_netdevice_notifiers(NETDEV_CHANGEADDR, dev);
	netdev_unlock_ops(dev);
	intf->announcements = IPOIB_ANNOUNCEMENTS;
	ipoib_announce(intf);
}

/* Tell the stack what control has learnt. Runs with rtnl; nobody waits for it. */
static void intf_rtnl_work(struct work_struct *work)
{
	struct ipoib_intf *intf = container_of(work, struct ipoib_intf,
					       rtnl_work);
	struct net_device *dev = intf->dev;
	union ib_gid gid;

	rtnl_lock();
	if (dev->reg_state == NETREG_REGISTERED) {
		ipoib_pkey_adopt(intf);
		ipoib_intf_update_mtu(intf, intf->connected);
		gid = ipoib_gid_now(intf);
		if (memcmp(dev->dev_addr + IPOIB_HWADDR_GID, &gid, sizeof(gid)))
			intf_show_gid(intf, &gid);
	}
	rtnl_unlock();
	dev_put(dev);
}

/**
 * ipoib_intf_notify_stack - MTU, hardware address or partition may have changed
 * @intf: interface
 *
 * Context: control.
 */
void ipoib_intf_notify_stack(struct ipoib_intf *intf)
{
	dev_hold(intf->dev);
	if (!queue_work(ipoib_rtnl_wq, &intf->rtnl_work))
		dev_put(intf->dev);
}

static void intf_free(struct net_device *dev)
{
	struct rdma_netdev *rn = netdev_priv(dev);

	if (!rn->clnt_priv)
		return;
	ipoib_accel_exit(rn->clnt_priv);
	kvfree(rn->clnt_priv);
	rn->clnt_priv = NULL;
}

static struct ipoib_intf *intf_alloc(struct net_device *dev)
{
	struct rdma_netdev *rn = netdev_priv(dev);
	struct ipoib_intf *intf = kvzalloc(sizeof(*intf), GFP_KERNEL_ACCOUNT);

	if (!intf)
		return NULL;
	rn->clnt_priv = intf;
	intf->dev = dev;
	INIT_LIST_HEAD(&intf->list);
	dev->priv_destructor = intf_free;
	return intf;
}

/**
 * ipoib_intf_setup - what all interfaces have in common
 * @dev: netdev just allocated
 */
void ipoib_intf_setup(struct net_device *dev)
{
	dev->netdev_ops = &intf_ops;
	dev->header_ops = &intf_header_ops;
	dev->rtnl_link_ops = &ipoib_link_ops;
	dev->needs_free_netdev = true;
	ipoib_set_ethtool_ops(dev);
	dev->type = ARPHRD_INFINIBAND;
	dev->flags |= IFF_BROADCAST | IFF_MULTICAST;
	dev->addr_len = INFINIBAND_ALEN;
	dev->hard_header_len = IPOIB_HARD_LEN;
	dev->tx_queue_len = 2 * IPOIB_TX_RING_DEFAULT;
	dev->watchdog_timeo = 5 * HZ;
	dev->min_mtu = IPV4_MIN_MTU;
	dev->features = NETIF_F_VLAN_CHALLENGED | NETIF_F_HIGHDMA | NETIF_F_SG;
	dev->hw_features = NETIF_F_SG;
	netif_carrier_off(dev);
	/* A packet that is too long has to find its route again. */
	netif_keep_dst(dev);
}

/**
 * ipoib_intf_of - the interface that a netdev is
 * @dev: netdev
 *
 * Return: the interface, or NULL if it is not one of this driver.
 */
struct ipoib_intf *ipoib_intf_of(struct net_device *dev)
{
	return dev->netdev_ops == &intf_ops || dev->netdev_ops == &accel_ops ?
	       ipoib_priv(dev) : NULL;
}

static int intf_notify(struct notifier_block *self, unsigned long event,
		       void *info)
{
	struct ipoib_intf *intf;

	intf = ipoib_intf_of(netdev_notifier_info_to_dev(info));
	if (!intf || list_empty(&intf->list))
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
		ipoib_children_follow(intf, event == NETDEV_UP);
		break;
	case NETDEV_CHANGE:
		ipoib_announce(intf);
		break;
	case NETDEV_REGISTER: /* again, in another namespace */
	case NETDEV_CHANGENAME:
		ipoib_debugfs_remove(intf);
		ipoib_debugfs_add(intf);
		break;
	}
	return NOTIFY_DONE;
}

/* What the stack does to an interface that concerns more than itself. */
struct notifier_block ipoib_netdev_notifier = {
	.notifier_call = intf_notify,
};

/**
 * ipoib_intf_register - make a netdev an interface on a partition of a port
 * @dev: from ipoib_intf_setup(), all zero otherwise
 * @hca: HCA
 * @port: InfiniBand port of it, from 1
 * @pkey: P_Key of the partition, with the bit of full membership
 * @parent: interface that it is a child of, or NULL
 * @accelerated: @dev is from ipoib_accel_alloc_netdev()
 *
 * Context: process, rtnl.
 * Return: 0 or a negative error, -EOPNOTSUPP if the HCA does not accelerate after all;
 *	the caller frees @dev then.
 */
int ipoib_intf_register(struct net_device *dev, struct ipoib_hca *hca,
			u32 port, u16 pkey, struct ipoib_intf *parent,
			bool accelerated)
{
	struct ib_port_attr attr;
	struct ipoib_intf *intf;
	int err;

	err = ib_query_port(hca->ca, port, &attr);
	if (err)
		return err;
	intf = intf_alloc(dev);
	if (!intf)
		return -ENOMEM;
	intf->hca = hca;
	intf->ca = hca->ca;
	intf->data = &ipoib_data_own;
	intf->port = port;
	intf->pkey = pkey;
	intf->parent = parent;
	ipoib_intf_joins_init(intf, &hca->joins[port]);
	intf->guid = parent ? parent->guid : 0;
	intf->port_state = attr.state;
	intf->lid = attr.lid;
	intf->ud_mtu_max = IPOIB_UD_MTU(rdma_mtu_from_attr(hca->ca, port, &attr));
	if (accelerated) {
		err = ipoib_accel_init(intf);
		if (err)
			goto err_free;
		dev->netdev_ops = &accel_ops;
	}
	dev->max_mtu = intf->ud_mtu_max;
	/* Until the broadcast group says otherwise (RFC 4391 section 7). */
	intf->group_mtu = min_t(int, dev->max_mtu, IPOIB_UD_MTU(2048));
	dev->mtu = intf->group_mtu;
	dev->dev_port = port - 1;
	dev->dev_id = port - 1;
	dev->sysfs_groups[0] = ipoib_sysfs_groups[0];
	SET_NETDEV_DEV(dev, hca->ca->dev.parent);
	ipoib_events_init(intf);
	ipoib_pmtu_init(intf);
	INIT_WORK(&intf->rtnl_work, intf_rtnl_work);
	ipoib_announce_init(intf);
	err = register_netdevice(dev);
	if (err)
		goto err_free;
	intf_attach(intf);
	return 0;

err_free:
	/* The stack may have done so, or does when nobody refers to it. */
	if (dev->reg_state != NETREG_UNREGISTERING)
		intf_free(dev);
	return err;
}
