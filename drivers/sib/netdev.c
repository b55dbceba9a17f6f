// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A netdev of the HCA's own for IPoIB (struct rdma_netdev), as HCAs have that accelerate it.
 * This one accelerates nothing: a UD queue pair sends and receives, one packet a request. It
 * is there to test drivers of IPoIB with, and only if ipoib_netdev or the HCA's profile asks
 * for it. How many queues it has each way is the profile's to say.
 *
 * The driver of IPoIB calls all this: open, stop and what is told of groups one after
 * another, send under the transmit lock. As mlx5 does, it asks newer kernels to hold the
 * netdev's own lock around operations. Completions come in softirqs. While a queue is stopped
 * nothing may be sent through it, however many requests there still could be.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "netdev.h"
#include "netdev_lock.h"
#include "sib.h"

/* mlx5 asks for transmit queues for so many classes of traffic, and uses those of one. */
#define NETDEV_CLASSES	8

static bool ipoib_netdev;
module_param(ipoib_netdev, bool, 0644);
MODULE_PARM_DESC(ipoib_netdev,
		 "HCAs offer drivers of IPoIB a netdev with queues of their own, to test them (default: no)");

static ushort ipoib_netdev_queues;
module_param(ipoib_netdev_queues, ushort, 0644);
MODULE_PARM_DESC(ipoib_netdev_queues,
		 "queues each way of that netdev (default: 0, as many as the HCA's profile says, or one)");

/* All that are initialised, of all HCAs; rtnl. */
static LIST_HEAD(netdevs);

static int netdev_modify(struct sib_netdev *nd, enum ib_qp_state state)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.pkey_index = nd->pkey_index,
		.qkey = nd->qkey,
	};
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT)
		mask |= IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_QKEY;
	if (state == IB_QPS_RTS)
		mask |= IB_QP_SQ_PSN;
	return ib_modify_qp(nd->qp, &attr, mask);
}

static void netdev_quiesce(struct sib_netdev *nd)
{
	netdev_modify(nd, IB_QPS_ERR);
	wait_event(nd->idle, !atomic_read(&nd->sends) && !atomic_read(&nd->recvs));
	netdev_modify(nd, IB_QPS_RESET);
	sib_netdev_free_sends(nd);
	sib_netdev_free_recvs(nd);
}

static int netdev_open(struct net_device *dev)
{
	struct sib_netdev *nd = netdev_priv(dev);
	int err;

	netdev_assert_locked_ops(dev);
	err = netdev_modify(nd, IB_QPS_INIT);
	if (err)
		return err;
	err = sib_netdev_fill(nd);
	if (!err)
		err = netdev_modify(nd, IB_QPS_RTR);
	if (!err)
		err = netdev_modify(nd, IB_QPS_RTS);
	if (err)
		netdev_quiesce(nd);
	else
		WRITE_ONCE(nd->open, true);
	return err;
}

static int netdev_stop(struct net_device *dev)
{
	struct sib_netdev *nd = netdev_priv(dev);

	netdev_assert_locked_ops(dev);
	WRITE_ONCE(nd->open, false);
	netdev_quiesce(nd);
	return 0;
}

static int netdev_make_qp(struct sib_netdev *nd)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = nd->send_cq,
		.recv_cq = nd->recv_cq,
		.cap.max_send_wr = nd->dev->real_num_tx_queues * NETDEV_SENDS,
		.cap.max_recv_wr = NETDEV_RECVS,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
	};
	u8 qpn[3];

	nd->qp = ib_create_qp(nd->pd, &init);
	if (IS_ERR(nd->qp))
		return PTR_ERR(nd->qp);
	/* It stands for what an HCA does by itself. */
	to_sqp(nd->qp)->refuses = false;
	put_unaligned_be24(nd->qp->qp_num, qpn);
	dev_addr_mod(nd->dev, 1, qpn, sizeof(qpn));
	return 0;
}

/* Return: the netdev of the HCA that @dev is, or NULL. */
static struct sib_netdev *netdev_find(const struct ib_device *ibdev, const struct net_device *dev)
{
	struct sib_netdev *nd;

	list_for_each_entry(nd, &netdevs, list)
		if (nd->dev == dev && nd->rn.hca == ibdev)
			return nd;
	return NULL;
}

/*
 * As mlx5 does it: a child's parent is the netdev of its link's index in its own namespace, and
 * the child has to have as many receive queues. (mlx5 takes for the parent whatever it finds.)
 */
static int netdev_find_root(struct sib_netdev *nd)
{
	struct net_device *dev = nd->dev;
	int index = dev_get_iflink(dev);
	struct sib_netdev *root = nd;

	ASSERT_RTNL();
	if (index != dev->ifindex)
		root = netdev_find(nd->rn.hca, __dev_get_by_index(dev_net(dev), index));
	if (!root) {
		dev_warn(&nd->rn.hca->dev, "no netdev: the parent is not in its namespace\n");
		return -EINVAL;
	}
	if (dev->num_rx_queues < root->dev->real_num_rx_queues) {
		dev_warn(&nd->rn.hca->dev, "no netdev: %u receive queues, the parent has %u\n",
			 dev->num_rx_queues, root->dev->real_num_rx_queues);
		return -EINVAL;
	}
	nd->root = root;
	return 0;
}

static int netdev_make_queues(struct sib_netdev *nd)
{
	u32 txqs = nd->dev->real_num_tx_queues;
	struct ib_device *ibdev = nd->rn.hca;
	int err;

	nd->txq = kvcalloc(txqs, sizeof(*nd->txq), GFP_KERNEL);
	if (!nd->txq)
		return -ENOMEM;
	nd->send_cq = ib_alloc_cq(ibdev, nd, txqs * NETDEV_SENDS, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(nd->send_cq)) {
		err = PTR_ERR(nd->send_cq);
		goto err_txq;
	}
	nd->recv_cq = ib_alloc_cq(ibdev, nd, NETDEV_RECVS, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(nd->recv_cq)) {
		err = PTR_ERR(nd->recv_cq);
		goto err_send_cq;
	}
	err = netdev_make_qp(nd);
	if (err)
		goto err_recv_cq;
	return 0;

err_recv_cq:
	ib_free_cq(nd->recv_cq);
err_send_cq:
	ib_free_cq(nd->send_cq);
err_txq:
	kvfree(nd->txq);
	return err;
}

static int netdev_init(struct net_device *dev)
{
	struct sib_netdev *nd = netdev_priv(dev);
	int err = netdev_find_root(nd);

	if (err)
		return err;
	nd->pd = ib_alloc_pd(nd->rn.hca, 0);
	if (IS_ERR(nd->pd))
		return PTR_ERR(nd->pd);
	err = netdev_make_queues(nd);
	if (err) {
		ib_dealloc_pd(nd->pd);
		return err;
	}
	list_add(&nd->list, &netdevs);
	return 0;
}

static void netdev_uninit(struct net_device *dev)
{
	struct sib_netdev *nd = netdev_priv(dev);

	ASSERT_RTNL();
	list_del(&nd->list);
	ib_destroy_qp(nd->qp);
	ib_free_cq(nd->recv_cq);
	ib_free_cq(nd->send_cq);
	kvfree(nd->txq);
	ib_dealloc_pd(nd->pd);
}

static const struct net_device_ops sib_netdev_ops = {
	.ndo_init = netdev_init,
	.ndo_uninit = netdev_uninit,
	.ndo_open = netdev_open,
	.ndo_stop = netdev_stop,
};

static void netdev_set_id(struct net_device *dev, int id)
{
	struct sib_netdev *nd = netdev_priv(dev);

	nd->pkey_index = id;
}

static int netdev_attach_mcast(struct net_device *dev, struct ib_device *ibdev, union ib_gid *gid,
			       u16 mlid, int set_qkey, u32 qkey)
{
	struct sib_netdev *nd = netdev_priv(dev);
	struct ib_qp_attr attr = { .qkey = qkey };
	int err = 0;

	if (set_qkey)
		err = ib_modify_qp(nd->qp, &attr, IB_QP_QKEY);
	if (err)
		return err;
	if (set_qkey)
		WRITE_ONCE(nd->qkey, qkey);
	return ib_attach_mcast(nd->qp, gid, mlid);
}

static int netdev_detach_mcast(struct net_device *dev, struct ib_device *ibdev, union ib_gid *gid,
			       u16 mlid)
{
	struct sib_netdev *nd = netdev_priv(dev);

	return ib_detach_mcast(nd->qp, gid, mlid);
}

static int netdev_initialize(struct ib_device *ibdev, u32 port_num, struct net_device *dev,
			     void *param)
{
	u16 queues = to_sib(ibdev)->netdev_queues;
	struct sib_netdev *nd = netdev_priv(dev);
	int err = netif_set_real_num_tx_queues(dev, queues);

	if (!err)
		err = netif_set_real_num_rx_queues(dev, queues);
	if (err)
		return err;
	nd->rn.hca = ibdev;
	nd->rn.port_num = port_num;
	nd->rn.send = sib_netdev_send;
	nd->rn.set_id = netdev_set_id;
	nd->rn.attach_mcast = netdev_attach_mcast;
	nd->rn.detach_mcast = netdev_detach_mcast;
	nd->dev = dev;
	init_waitqueue_head(&nd->idle);
	dev->netdev_ops = &sib_netdev_ops;
	compat_want_ops_lock(dev);
	return 0;
}

static int netdev_get_params(struct ib_device *ibdev, u32 port_num, enum rdma_netdev_t type,
			     struct rdma_netdev_alloc_params *params)
{
	u16 queues = to_sib(ibdev)->netdev_queues;

	if (type != RDMA_NETDEV_IPOIB)
		return -EOPNOTSUPP;
	params->sizeof_priv = sizeof(struct sib_netdev);
	params->txqs = queues * NETDEV_CLASSES;
	params->rxqs = queues;
	params->initialize_rdma_netdev = netdev_initialize;
	return 0;
}

static const struct ib_device_ops netdev_device_ops = {
	.rdma_netdev_get_params = netdev_get_params,
};

/**
 * sib_netdev_offer - have a HCA offer a netdev of its own, if that is asked for
 * @dev: HCA, not registered
 */
void sib_netdev_offer(struct sib_dev *dev)
{
	u16 queues = READ_ONCE(ipoib_netdev_queues);

	dev->netdev_queues = queues ?: dev->profile->netdev ?: 1;
	if (READ_ONCE(ipoib_netdev) || dev->profile->netdev)
		ib_set_device_ops(&dev->ibdev, &netdev_device_ops);
}
