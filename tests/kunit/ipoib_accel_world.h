/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * An interface whose queues are the HCA's, for suites about accel.c. The HCA notes its
 * calls; memberships and destinations are real, control is played by the suite.
 */
#ifndef IPOIB_ACCEL_WORLD_H
#define IPOIB_ACCEL_WORLD_H

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>

#include "ipoib_mcast_world.h"
#include "netdev_lock.h"

static int fake_find_pkey(struct ib_device *ca, u32 port, u16 pkey, u16 *index);
static int fake_queue_xmit(struct sk_buff *skb);
static void fake_lock_ops(void);
static void fake_unlock_ops(void);
static void fake_assert_locked(void);

#undef ib_alloc_pd
#define ib_alloc_pd(ca, flags) (&world->pd)
#define ib_dealloc_pd(pd) ((void)(pd))
#define ib_find_pkey fake_find_pkey
#define dev_queue_xmit fake_queue_xmit
#define netdev_lock_ops(dev) fake_lock_ops()
#define netdev_unlock_ops(dev) fake_unlock_ops()
#define netdev_assert_locked_ops(dev) fake_assert_locked()
#include "accel.c"
#include "accel_alloc.c"

#define HCA_QPN		0x123456U
#define HCA_TXQS	300U

/* What the HCA has been told. */
static struct {
	u32 left;		/* packets that it may leave until more has come */
	size_t txqs;
	u32 rxqs;
	int bad_params;
	int bad_init;
	bool builds;		/* upon the operations that it finds */
	bool made;
	bool destroyed;
	int id;
	bool open;
	int open_id;
	u32 opens;
	u32 closes;
	int bad_open;
	int groups;
	union ib_gid mgid;
	u16 mlid;
	int set_qkey;
	u32 qkey;
	u32 sent;
	struct ib_ah *ah;
	u32 qpn;
	u32 len;
	u32 timeouts;
	int bad_mtu;
	int mtu;
	bool stamps;
	int stamp_cmd;		/* the last */
	const void *stamp_arg;	/* and what it was given */
} hca;

/* The rest of the driver and the stack. */
static struct {
	u16 pkey_index;
	bool no_pkey;
	int bad_intf_open;
	int flushed;		/* level, or -1 */
	struct ipoib_intf *who;	/* was flushed last */
	u32 again;
	u32 again_tag[8];
	bool locked;		/* the netdev, by whoever has rtnl */
	u32 locked_twice;
	u32 unlocked;		/* calls without the lock */
} rest;

static struct ipoib_hca client;

struct workqueue_struct *ipoib_rtnl_wq;

/* The lock that newer kernels have around the operations of some netdevs. */
static void fake_lock_ops(void)
{
	ASSERT_RTNL();
	rest.locked_twice += rest.locked;
	rest.locked = true;
}

static void fake_unlock_ops(void)
{
	ASSERT_RTNL();
	rest.locked = false;
}

static void fake_assert_locked(void)
{
	rest.unlocked += !rest.locked;
}

/* As the stack does around the operations of a netdev. */
static void stack_lock(void)
{
	rtnl_lock();
	fake_lock_ops();
}

static void stack_unlock(void)
{
	fake_unlock_ops();
	rtnl_unlock();
}

static int hca_init(struct net_device *dev)
{
	static const u8 qpn[] = { HCA_QPN >> 16, HCA_QPN >> 8 & 0xff, HCA_QPN & 0xff };

	if (hca.bad_init)
		return hca.bad_init;
	dev_addr_mod(dev, IPOIB_HWADDR_QPN + 1, qpn, sizeof(qpn));
	hca.made = true;
	return 0;
}

static void hca_uninit(struct net_device *dev)
{
	hca.made = false;
}

static int hca_open(struct net_device *dev)
{
	ASSERT_RTNL();
	fake_assert_locked();
	if (hca.bad_open)
		return hca.bad_open;
	hca.open = true;
	hca.open_id = hca.id;
	hca.opens++;
	return 0;
}

static int hca_stop(struct net_device *dev)
{
	ASSERT_RTNL();
	fake_assert_locked();
	hca.open = false;
	hca.closes++;
	return 0;
}

static int hca_change_mtu(struct net_device *dev, int mtu)
{
	fake_assert_locked();
	hca.mtu = mtu;
	return hca.bad_mtu;
}

static void hca_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	stats->tx_packets = hca.sent;
	stats->tx_dropped = 1000;
}

static int hca_stamp(int cmd, const void *arg)
{
	fake_assert_locked();
	hca.stamp_cmd = cmd;
	hca.stamp_arg = arg;
	return hca.stamps ? 0 : -ERANGE;
}

/* Older netdevs, also on kernels that have more. */
static int hca_ioctl(struct net_device *dev, struct ifreq *ifr, int cmd)
{
	return hca_stamp(cmd, ifr);
}

static const struct net_device_ops hca_ops = {
	.ndo_init = hca_init,
	.ndo_uninit = hca_uninit,
	.ndo_open = hca_open,
	.ndo_stop = hca_stop,
	.ndo_change_mtu = hca_change_mtu,
	.ndo_get_stats64 = hca_get_stats64,
};

static const struct net_device_ops hca_ioctl_ops = {
	.ndo_eth_ioctl = hca_ioctl,
};

#if COMPAT_NDO_HWTSTAMP
static int hca_hwtstamp_get(struct net_device *dev, struct kernel_hwtstamp_config *config)
{
	return hca_stamp(SIOCGHWTSTAMP, config);
}

static int hca_hwtstamp_set(struct net_device *dev, struct kernel_hwtstamp_config *config,
			    struct netlink_ext_ack *extack)
{
	return hca_stamp(SIOCSHWTSTAMP, config);
}

static const struct net_device_ops hca_hwtstamp_ops = {
	.ndo_hwtstamp_get = hca_hwtstamp_get,
	.ndo_hwtstamp_set = hca_hwtstamp_set,
	.ndo_eth_ioctl = hca_ioctl,
};
#endif

static void hca_set_id(struct net_device *dev, int id)
{
	hca.id = id;
}

static int hca_send(struct net_device *dev, struct sk_buff *skb, struct ib_ah *ah, u32 qpn)
{
	hca.sent++;
	hca.left += netdev_xmit_more();
	hca.ah = ah;
	hca.qpn = qpn;
	hca.len = skb->len;
	kfree_skb(skb);
	return -EBUSY;		/* whatever it says, the packet is gone */
}

static int hca_attach(struct net_device *dev, struct ib_device *ca, union ib_gid *mgid, u16 mlid,
		      int set_qkey, u32 qkey)
{
	hca.groups++;
	hca.mgid = *mgid;
	hca.mlid = mlid;
	hca.set_qkey = set_qkey;
	if (set_qkey)
		hca.qkey = qkey;
	return 0;
}

static int hca_detach(struct net_device *dev, struct ib_device *ca, union ib_gid *mgid, u16 mlid)
{
	hca.groups--;
	return 0;
}

static void hca_tx_timeout(struct net_device *dev, unsigned int queue)
{
	hca.timeouts++;
}

static void hca_destructor(struct net_device *dev)
{
	hca.destroyed = true;
}

static int hca_initialize(struct ib_device *ca, u32 port, struct net_device *dev, void *param)
{
	struct rdma_netdev *rn = netdev_priv(dev);

	rn->send = hca_send;
	rn->attach_mcast = hca_attach;
	rn->detach_mcast = hca_detach;
	rn->set_id = hca_set_id;
	if (!hca.builds)
		dev->netdev_ops = &hca_ops;
	dev->priv_destructor = hca_destructor;
	return 0;
}

static int hca_get_params(struct ib_device *ca, u32 port, enum rdma_netdev_t type,
			  struct rdma_netdev_alloc_params *params)
{
	params->sizeof_priv = sizeof(struct rdma_netdev);
	params->txqs = hca.txqs;
	params->rxqs = hca.rxqs;
	params->initialize_rdma_netdev = hca_initialize;
	return hca.bad_params;
}

static int fake_find_pkey(struct ib_device *ca, u32 port, u16 pkey, u16 *index)
{
	*index = rest.pkey_index;
	return rest.no_pkey ? -ENOENT : 0;
}

static int fake_queue_xmit(struct sk_buff *skb)
{
	if (rest.again < ARRAY_SIZE(rest.again_tag))
		rest.again_tag[rest.again] = skb->len;
	rest.again++;
	kfree_skb(skb);
	return 0;
}

void ipoib_flush(struct ipoib_intf *intf, enum ipoib_flush level)
{
	rest.flushed = level;
	rest.who = intf;
}

static const struct net_device_ops our_ops = {
	.ndo_get_stats64 = ipoib_accel_get_stats64,
};

void ipoib_intf_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &our_ops;
	dev->type = ARPHRD_INFINIBAND;
	dev->addr_len = INFINIBAND_ALEN;
}

int ipoib_intf_open(struct net_device *dev)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	if (rest.bad_intf_open)
		return rest.bad_intf_open;
	intf->up = true;
	if (rest.no_pkey)
		return 0;
	intf->pkey_index = rest.pkey_index;
	return intf->data->start(intf);
}

int ipoib_intf_stop(struct net_device *dev)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	intf->up = false;
	intf->data->stop(intf);
	return 0;
}

int ipoib_intf_change_mtu(struct net_device *dev, int mtu)
{
	ipoib_priv(dev)->admin_mtu = mtu;
	dev->mtu = mtu;
	return 0;
}

void ipoib_path_resolve(struct ipoib_path *path)
{
	set_bit(IPOIB_PATH_BUSY, &path->state);
}

struct ipoib_dest *ipoib_tx_new_destination(struct ipoib_intf *intf, const union ib_gid *gid,
					    const struct sk_buff *skb)
{
	struct ipoib_path *path = kzalloc(sizeof(*path), GFP_ATOMIC);

	if (!path)
		return NULL;
	ipoib_dest_init(&path->dest, gid);
	if (!ipoib_dest_insert(intf, &path->dest))
		return &path->dest;
	kfree(path);
	return NULL;
}

/* The interface of the world on a netdev of the HCA, closed. */
static int accel_setup(struct kunit *test)
{
	struct ipoib_intf *intf;
	struct net_device *old, *dev;
	struct rdma_netdev *rn;
	u32 qpn;
	int err = setup(test);

	if (err)
		return err;
	memset(&hca, 0, sizeof(hca));
	memset(&rest, 0, sizeof(rest));
	hca.txqs = HCA_TXQS;
	hca.rxqs = 1;
	rest.pkey_index = 2;
	rest.flushed = -1;
	refcount_set(&client.users, 1);
	INIT_LIST_HEAD(&client.intfs);
	init_completion(&client.unused);
	ipoib_rtnl_wq = alloc_workqueue("accel_kunit", WQ_PERCPU, 0);
	world->ca->ops.rdma_netdev_get_params = hca_get_params;
	dev = ipoib_accel_alloc_netdev(world->ca, WORLD_PORT, "accel%d", NET_NAME_UNKNOWN);
	if (!ipoib_rtnl_wq || IS_ERR(dev))
		return -ENOMEM;
	intf = world->intf;
	old = intf->dev;
	memcpy(dev->broadcast, old->broadcast, INFINIBAND_ALEN);
	free_netdev(old);
	intf->dev = dev;
	rn = netdev_priv(dev);
	rn->clnt_priv = intf;
	intf->hca = &client;
	intf->ud_mtu_max = 4092;
	intf->up = false;
	intf->running = false;
	world_ready_netdev(dev);
	err = ipoib_accel_init(intf);
	if (err)
		return err;
	dev->netdev_ops = &our_ops;
	dev->reg_state = NETREG_REGISTERED;
	return intf->data->create(intf, &qpn);
}

static int change_mtu(int mtu)
{
	int err;

	stack_lock();
	err = ipoib_accel_change_mtu(world->intf->dev, mtu);
	stack_unlock();
	return err;
}

/* What user space hears when it asks for time stamps, or sets them. */
static int stamp(struct kernel_hwtstamp_config *config, bool set)
{
	struct net_device *dev = world->intf->dev;
	int err;

	stack_lock();
	err = set ? ipoib_accel_hwtstamp_set(dev, config, NULL) :
		    ipoib_accel_hwtstamp_get(dev, config);
	stack_unlock();
	return err;
}

static void close_intf(void)
{
	struct net_device *dev = world->intf->dev;

	stack_lock();
	clear_bit(__LINK_STATE_START, &dev->state);
	ipoib_accel_stop(dev);
	stack_unlock();
}

static int open_intf(void)
{
	struct net_device *dev = world->intf->dev;
	int err;

	stack_lock();
	set_bit(__LINK_STATE_START, &dev->state);
	err = ipoib_accel_open(dev);
	if (err)
		clear_bit(__LINK_STATE_START, &dev->state);
	stack_unlock();
	return err;
}

static void accel_teardown(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	struct ipoib_dest *dest, *next;

	if (netif_running(intf->dev))
		close_intf();
	list_for_each_entry_safe(dest, next, &intf->dest_list, all) {
		if (ipoib_dest_is_mcast(dest))
			continue;
		ipoib_dest_unlink(intf, dest);
		kfree_rcu(ipoib_path_of(dest), dest.rcu);
	}
	flush_workqueue(ipoib_rtnl_wq);
	world_settle();
	intf->data->destroy(intf);
	intf->data = &fake_data;
	KUNIT_EXPECT_FALSE(test, hca.made);
	KUNIT_EXPECT_FALSE(test, hca.open);
	KUNIT_EXPECT_EQ(test, hca.opens, hca.closes);
	KUNIT_EXPECT_EQ(test, rest.unlocked, 0U);
	KUNIT_EXPECT_EQ(test, rest.locked_twice, 0U);
	KUNIT_EXPECT_FALSE(test, rest.locked);
	ipoib_accel_exit(intf);
	KUNIT_EXPECT_TRUE(test, hca.destroyed);
	KUNIT_EXPECT_NULL(test, intf->accel);
	KUNIT_EXPECT_EQ(test, refcount_read(&client.users), 1U);
	destroy_workqueue(ipoib_rtnl_wq);
	intf->dev->reg_state = NETREG_UNINITIALIZED;
	teardown(test);
	KUNIT_EXPECT_EQ(test, hca.groups, 0);
}

/* What events.c does when the P_Key table has changed, or a queue pair has to restart. */
static void control_looks(bool restart)
{
	struct ipoib_intf *intf = world->intf;

	if (intf->running && !restart && !rest.no_pkey &&
	    intf->pkey_index == rest.pkey_index)
		return;
	intf->data->stop(intf);
	if (rest.no_pkey)
		return;
	intf->pkey_index = rest.pkey_index;
	intf->data->start(intf);
}

/* Work with rtnl has been done, and what control has to do about it. */
static void control_follows(struct kunit *test)
{
	flush_workqueue(ipoib_rtnl_wq);
	KUNIT_EXPECT_EQ(test, rest.flushed, (int)IPOIB_FLUSH_HEAVY);
	rest.flushed = -1;
	control_looks(false);
}

static void xmit(struct sk_buff *skb)
{
	struct net_device *dev = world->intf->dev;
	struct netdev_queue *queue = netdev_get_tx_queue(dev, 0);

	local_bh_disable();
	__netif_tx_lock(queue, smp_processor_id());
	ipoib_accel_start_xmit(skb, dev);
	__netif_tx_unlock(queue);
	local_bh_enable();
}

static u64 dropped(void)
{
	struct rtnl_link_stats64 stats;

	return dev_get_stats(world->intf->dev, &stats)->tx_dropped - 1000;
}

static struct ipoib_dest *dest_of(const union ib_gid *gid)
{
	struct ipoib_dest *dest;

	rcu_read_lock();
	dest = ipoib_dest_find(world->intf, gid);
	rcu_read_unlock();
	return dest;
}

static void set_ah(struct kunit *test, const union ib_gid *gid)
{
	struct rdma_ah_attr attr = {};

	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, dest_of(gid), &attr), 0);
	world_settle();
}

#endif /* IPOIB_ACCEL_WORLD_H */
