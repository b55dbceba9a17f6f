// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Receives of the netdev for IPoIB (netdev.c). A child's packets come by its parent's receive
 * queues: while the parent is closed, none come. Which queue is the sender's to say, by the
 * number of its queue pair.
 */
#include "netdev.h"
#include "offload.h"
#include "sib.h"

#define NETDEV_GRH_LEN	40
#define NETDEV_RX_LEN	(NETDEV_GRH_LEN + 4096)
#define NETDEV_HWADDR	20	/* of IPoIB, which drivers expect before its header */

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
	skb_record_rx_queue(skb, wc->src_qp % nd->root->dev->real_num_rx_queues);
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

static void netdev_receive(struct sib_netdev *nd, struct netdev_recv *recv,
			   const struct ib_wc *wc)
{
	struct sk_buff *skb = NULL;

	if (!READ_ONCE(nd->root->open))
		return;
	if (wc->byte_len >= NETDEV_GRH_LEN + SIB_IPOIB_LEN && !netdev_is_own(nd, wc))
		skb = netdev_alloc_skb(nd->dev, NETDEV_RX_LEN);
	if (!skb) {
		nd->dev->stats.rx_dropped++;
		return;
	}
	swap(skb, recv->skb);
	skb->dev = nd->dev;
	netdev_deliver(nd, skb, wc);
}

static void netdev_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct netdev_recv *recv = container_of(wc->wr_cqe, struct netdev_recv, cqe);
	struct sib_netdev *nd = cq->cq_context;

	ib_dma_unmap_single(nd->pd->device, recv->dma, NETDEV_RX_LEN, DMA_FROM_DEVICE);
	if (wc->status == IB_WC_SUCCESS) {
		netdev_receive(nd, recv, wc);
		netdev_post_recv(nd, recv);
	}
	if (atomic_dec_and_test(&nd->recvs))
		wake_up(&nd->idle);
}

/**
 * sib_netdev_free_recvs - free the buffers
 * @nd: netdev none of whose receives is under way
 *
 * Context: process.
 */
void sib_netdev_free_recvs(struct sib_netdev *nd)
{
	u32 i;

	for (i = 0; i < NETDEV_RECVS; i++) {
		kfree_skb(nd->recv[i].skb);
		nd->recv[i].skb = NULL;
	}
}

/**
 * sib_netdev_fill - post all receives
 * @nd: netdev whose queue pair takes them
 *
 * Context: process. Return: 0, or an error: some may have been posted then.
 */
int sib_netdev_fill(struct sib_netdev *nd)
{
	int err = 0;
	u32 i;

	for (i = 0; i < NETDEV_RECVS && !err; i++) {
		struct netdev_recv *recv = &nd->recv[i];

		recv->cqe.done = netdev_recv_done;
		recv->skb = __netdev_alloc_skb(nd->dev, NETDEV_RX_LEN, GFP_KERNEL);
		err = recv->skb ? netdev_post_recv(nd, recv) : -ENOMEM;
	}
	return err;
}
