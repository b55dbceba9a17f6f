// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A netdev of the HCA's own for IPoIB (struct rdma_netdev), as HCAs have that accelerate it.
 * This one accelerates nothing: a UD queue pair sends and receives, one packet a request. It
 * is there to test drivers of IPoIB with, and only if ipoib_netdev or the HCA's profile asks
 * for it.
 *
 * The driver of IPoIB calls all this: open, stop and what is told of groups one after
 * another, send under the transmit lock. As mlx5 does, it asks newer kernels to hold the
 * netdev's own lock around operations. Completions come in softirqs. While the netdev's queue
 * is stopped nothing may be sent, however many requests there still could be.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "netdev_lock.h"
#include "offload.h"
#include "sib.h"

#define NETDEV_RING	256
#define NETDEV_GRH_LEN	40
#define NETDEV_RX_LEN	(NETDEV_GRH_LEN + 4096)
#define NETDEV_HWADDR	20	/* of IPoIB, which drivers expect before its header */

static bool ipoib_netdev;
module_param(ipoib_netdev, bool, 0644);
MODULE_PARM_DESC(ipoib_netdev,
		 "HCAs offer drivers of IPoIB a netdev with queues of their own, to test them (default: no)");

/**
 * struct netdev_send - a send, in the packet's control block
 * @cqe: what its completion calls
 * @dma: address of the packet
 */
struct netdev_send {
	struct ib_cqe cqe;
	u64 dma;
};

/**
 * struct netdev_recv - a receive
 * @cqe: what its completion calls
 * @skb: packet to be
 * @dma: its address
 */
struct netdev_recv {
	struct ib_cqe cqe;
	struct sk_buff *skb;
	u64 dma;
};

/**
 * struct sib_netdev - private part of the netdev
 * @rn: what the driver of IPoIB sees; first
 * @dev: the netdev
 * @pd: protection domain, from ndo_init to ndo_uninit as the next three
 * @send_cq: completions of sends
 * @recv_cq: completions of receives
 * @qp: queue pair, whose number is in the hardware address
 * @pkey_index: to use when it is opened
 * @qkey: of the broadcast group
 * @sends: requests that have not completed
 * @recvs: likewise
 * @idle: woken when there is none of either any more
 * @recv: the receives
 */
struct sib_netdev {
	struct rdma_netdev rn;
	struct net_device *dev;
	struct ib_pd *pd;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct ib_qp *qp;
	u16 pkey_index;
	u32 qkey;
	atomic_t sends;
	atomic_t recvs;
	wait_queue_head_t idle;
	struct netdev_recv recv[NETDEV_RING];
};

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

static struct netdev_send *send_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct netdev_send) > sizeof(skb->cb));
	return (struct netdev_send *)skb->cb;
}

static void netdev_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct netdev_send *send = container_of(wc->wr_cqe, struct netdev_send, cqe);
	struct sk_buff *skb = container_of((void *)send, struct sk_buff, cb);
	struct sib_netdev *nd = cq->cq_context;
	struct net_device *dev = nd->dev;
	int left;

	ib_dma_unmap_single(nd->pd->device, send->dma, skb->len, DMA_TO_DEVICE);
	if (wc->status == IB_WC_SUCCESS) {
		dev->stats.tx_packets++;
		dev->stats.tx_bytes += skb->len;
	} else {
		dev->stats.tx_errors++;
	}
	dev_kfree_skb_any(skb);
	left = atomic_dec_return(&nd->sends);
	if (left <= NETDEV_RING / 2 && netif_queue_stopped(dev) && wc->status == IB_WC_SUCCESS)
		netif_wake_queue(dev);
	if (!left)
		wake_up(&nd->idle);
}

static int netdev_post_send(struct sib_netdev *nd, struct sk_buff *skb, struct ib_ah *ah, u32 qpn)
{
	struct netdev_send *send = send_of(skb);
	struct ib_sge sge = { .length = skb->len, .lkey = nd->pd->local_dma_lkey };
	struct ib_ud_wr wr = {
		.wr.wr_cqe = &send->cqe,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.wr.opcode = IB_WR_SEND,
		.wr.send_flags = IB_SEND_SIGNALED,
		.ah = ah,
		.remote_qpn = qpn,
		.remote_qkey = nd->qkey,
	};
	int err;

	send->cqe.done = netdev_send_done;
	send->dma = ib_dma_map_single(nd->pd->device, skb->data, skb->len, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(nd->pd->device, send->dma))
		return -ENOMEM;
	sge.addr = send->dma;
	atomic_inc(&nd->sends);
	err = ib_post_send(nd->qp, &wr.wr, NULL);
	if (!err)
		return 0;
	atomic_dec(&nd->sends);
	ib_dma_unmap_single(nd->pd->device, send->dma, skb->len, DMA_TO_DEVICE);
	return err;
}

static int netdev_send(struct net_device *dev, struct sk_buff *skb, struct ib_ah *ah, u32 qpn)
{
	struct sib_netdev *nd = netdev_priv(dev);

	/* Somebody sends into a queue that is stopped. */
	WARN_ON_ONCE(atomic_read(&nd->sends) >= NETDEV_RING);
	if (skb_linearize(skb) || netdev_post_send(nd, skb, ah, qpn)) {
		dev->stats.tx_dropped++;
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	if (atomic_read(&nd->sends) < NETDEV_RING)
		return NETDEV_TX_OK;
	netif_stop_queue(dev);
	/* The last completion may have come before that. */
	smp_mb();
	if (atomic_read(&nd->sends) <= NETDEV_RING / 2)
		netif_start_queue(dev);
	return NETDEV_TX_OK;
}

static bool netdev_is_own(const struct sib_netdev *nd, const struct ib_wc *wc)
{
	return wc->src_qp == nd->qp->qp_num &&
	       wc->slid == READ_ONCE(to_sib(nd->pd->device)->port.sma.lid);
}

/* In the place of the GRH's end comes room for a hardware address. */
static void netdev_deliver(struct sib_netdev *nd, struct sk_buff *skb, const struct ib_wc *wc)
{
	const struct ib_grh *grh = (const struct ib_grh *)skb->data;
	struct net_device *dev = nd->dev;

	skb_put(skb, wc->byte_len);
	skb->pkt_type = PACKET_HOST;
	if (wc->wc_flags & IB_WC_GRH && grh->dgid.raw[0] == 0xff)
		skb->pkt_type = memcmp(&grh->dgid, dev->broadcast + 4, sizeof(grh->dgid)) ?
				PACKET_MULTICAST : PACKET_BROADCAST;
	skb_pull(skb, NETDEV_GRH_LEN);
	skb->protocol = *(const __be16 *)skb->data;
	skb_push(skb, NETDEV_HWADDR);
	memset(skb->data, 0, NETDEV_HWADDR);
	skb_reset_mac_header(skb);
	skb_pull(skb, NETDEV_HWADDR + SIB_IPOIB_LEN);
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += skb->len;
	netif_receive_skb(skb);
}

static int netdev_post_recv(struct sib_netdev *nd, struct netdev_recv *recv)
{
	struct ib_sge sge = { .length = NETDEV_RX_LEN, .lkey = nd->pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_cqe = &recv->cqe, .sg_list = &sge, .num_sge = 1 };
	int err;

	recv->dma = ib_dma_map_single(nd->pd->device, recv->skb->data, NETDEV_RX_LEN,
				      DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(nd->pd->device, recv->dma))
		return -ENOMEM;
	sge.addr = recv->dma;
	atomic_inc(&nd->recvs);
	err = ib_post_recv(nd->qp, &wr, NULL);
	if (!err)
		return 0;
	atomic_dec(&nd->recvs);
	ib_dma_unmap_single(nd->pd->device, recv->dma, NETDEV_RX_LEN, DMA_FROM_DEVICE);
	return err;
}

static void netdev_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct netdev_recv *recv = container_of(wc->wr_cqe, struct netdev_recv, cqe);
	struct sib_netdev *nd = cq->cq_context;
	struct sk_buff *skb = NULL;

	ib_dma_unmap_single(nd->pd->device, recv->dma, NETDEV_RX_LEN, DMA_FROM_DEVICE);
	if (wc->status == IB_WC_SUCCESS) {
		if (wc->byte_len >= NETDEV_GRH_LEN + SIB_IPOIB_LEN && !netdev_is_own(nd, wc))
			skb = netdev_alloc_skb(nd->dev, NETDEV_RX_LEN);
		if (skb) {
			swap(skb, recv->skb);
			skb->dev = nd->dev;
			netdev_deliver(nd, skb, wc);
		} else {
			nd->dev->stats.rx_dropped++;
		}
		netdev_post_recv(nd, recv);
	}
	if (atomic_dec_and_test(&nd->recvs))
		wake_up(&nd->idle);
}

static void netdev_free_recvs(struct sib_netdev *nd)
{
	u32 i;

	for (i = 0; i < NETDEV_RING; i++) {
		kfree_skb(nd->recv[i].skb);
		nd->recv[i].skb = NULL;
	}
}

static void netdev_quiesce(struct sib_netdev *nd)
{
	netdev_modify(nd, IB_QPS_ERR);
	wait_event(nd->idle, !atomic_read(&nd->sends) && !atomic_read(&nd->recvs));
	netdev_modify(nd, IB_QPS_RESET);
	netdev_free_recvs(nd);
}

static int netdev_fill(struct sib_netdev *nd)
{
	int err = 0;
	u32 i;

	for (i = 0; i < NETDEV_RING && !err; i++) {
		struct netdev_recv *recv = &nd->recv[i];

		recv->cqe.done = netdev_recv_done;
		recv->skb = __netdev_alloc_skb(nd->dev, NETDEV_RX_LEN, GFP_KERNEL);
		err = recv->skb ? netdev_post_recv(nd, recv) : -ENOMEM;
	}
	return err;
}

static int netdev_open(struct net_device *dev)
{
	struct sib_netdev *nd = netdev_priv(dev);
	int err;

	netdev_assert_locked_ops(dev);
	err = netdev_modify(nd, IB_QPS_INIT);
	if (err)
		return err;
	err = netdev_fill(nd);
	if (!err)
		err = netdev_modify(nd, IB_QPS_RTR);
	if (!err)
		err = netdev_modify(nd, IB_QPS_RTS);
	if (err)
		netdev_quiesce(nd);
	return err;
}

static int netdev_stop(struct net_device *dev)
{
	netdev_assert_locked_ops(dev);
	netdev_quiesce(netdev_priv(dev));
	return 0;
}

static int netdev_make_qp(struct sib_netdev *nd)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = nd->send_cq,
		.recv_cq = nd->recv_cq,
		.cap.max_send_wr = NETDEV_RING,
		.cap.max_recv_wr = NETDEV_RING,
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

static int netdev_init(struct net_device *dev)
{
	struct sib_netdev *nd = netdev_priv(dev);
	struct ib_device *ibdev = nd->rn.hca;
	int err;

	nd->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(nd->pd))
		return PTR_ERR(nd->pd);
	nd->send_cq = ib_alloc_cq(ibdev, nd, NETDEV_RING, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(nd->send_cq)) {
		err = PTR_ERR(nd->send_cq);
		goto err_pd;
	}
	nd->recv_cq = ib_alloc_cq(ibdev, nd, NETDEV_RING, 0, IB_POLL_SOFTIRQ);
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
err_pd:
	ib_dealloc_pd(nd->pd);
	return err;
}

static void netdev_uninit(struct net_device *dev)
{
	struct sib_netdev *nd = netdev_priv(dev);

	ib_destroy_qp(nd->qp);
	ib_free_cq(nd->recv_cq);
	ib_free_cq(nd->send_cq);
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
	struct sib_netdev *nd = netdev_priv(dev);

	nd->rn.hca = ibdev;
	nd->rn.port_num = port_num;
	nd->rn.send = netdev_send;
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
	if (type != RDMA_NETDEV_IPOIB)
		return -EOPNOTSUPP;
	params->sizeof_priv = sizeof(struct sib_netdev);
	params->txqs = 1;
	params->rxqs = 1;
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
	if (READ_ONCE(ipoib_netdev) || dev->profile->netdev)
		ib_set_device_ops(&dev->ibdev, &netdev_device_ops);
}
