// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sends of the netdev for IPoIB (netdev.c). Each transmit queue has a ring of requests, which
 * all go to the one queue pair. As with other HCAs, a packet that is given with more to come
 * (netdev_xmit_more()) stays in the ring until there is one without on the same queue, or the
 * queue stops: who leaves out that one has the packet wait.
 */
#include "netdev.h"
#include "sib.h"

static struct netdev_send *send_at(struct netdev_txq *txq, u32 position)
{
	return &txq->ring[position % NETDEV_SENDS];
}

static void send_unmap(struct sib_netdev *nd, struct netdev_send *send)
{
	ib_dma_unmap_single(nd->pd->device, send->sge.addr, send->skb->len, DMA_TO_DEVICE);
}

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct netdev_send *send = container_of(wc->wr_cqe, struct netdev_send, cqe);
	struct sib_netdev *nd = cq->cq_context;
	struct net_device *dev = nd->dev;
	struct sk_buff *skb = send->skb;
	u16 index = skb_get_queue_mapping(skb);
	struct netdev_queue *queue = netdev_get_tx_queue(dev, index);
	struct netdev_txq *txq = &nd->txq[index];
	u32 left;

	send_unmap(nd, send);
	if (wc->status == IB_WC_SUCCESS) {
		dev->stats.tx_packets++;
		dev->stats.tx_bytes += skb->len;
	} else {
		dev->stats.tx_errors++;
	}
	netdev_tx_completed_queue(queue, 1, skb->len);
	dev_kfree_skb_any(skb);
	/* The slot has been read. */
	smp_store_release(&txq->tail, txq->tail + 1);
	/* The sender stops the queue and looks again. */
	smp_mb();
	left = READ_ONCE(txq->head) - txq->tail;
	if (left <= NETDEV_SENDS / 2 && netif_tx_queue_stopped(queue) &&
	    wc->status == IB_WC_SUCCESS)
		netif_tx_wake_queue(queue);
	if (atomic_dec_and_test(&nd->sends))
		wake_up(&nd->idle);
}

static int send_put(struct sib_netdev *nd, struct netdev_txq *txq, struct sk_buff *skb,
		    struct ib_ah *ah, u32 qpn)
{
	struct netdev_send *send = send_at(txq, txq->head);
	u64 dma;

	if (skb_linearize(skb))
		return -ENOMEM;
	dma = ib_dma_map_single(nd->pd->device, skb->data, skb->len, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(nd->pd->device, dma))
		return -ENOMEM;
	send->cqe.done = send_done;
	send->skb = skb;
	send->sge = (struct ib_sge){
		.addr = dma,
		.length = skb->len,
		.lkey = nd->pd->local_dma_lkey,
	};
	send->wr = (struct ib_ud_wr){
		.wr.wr_cqe = &send->cqe,
		.wr.sg_list = &send->sge,
		.wr.num_sge = 1,
		.wr.opcode = IB_WR_SEND,
		.wr.send_flags = IB_SEND_SIGNALED,
		.ah = ah,
		.remote_qpn = qpn,
		.remote_qkey = READ_ONCE(nd->qkey),
	};
	WRITE_ONCE(txq->head, txq->head + 1);
	return 0;
}

static void send_drop(struct sib_netdev *nd, struct sk_buff *skb)
{
	dev_core_stats_tx_dropped_inc(nd->dev);
	dev_kfree_skb_any(skb);
}

/* Take back what the HCA has not been told of. */
static void send_retract(struct sib_netdev *nd, struct netdev_txq *txq)
{
	struct netdev_send *send;

	while (txq->head != txq->posted) {
		WRITE_ONCE(txq->head, txq->head - 1);
		send = send_at(txq, txq->head);
		send_unmap(nd, send);
		send_drop(nd, send->skb);
	}
}

/* An HCA that refuses a request has failed: the limit in octets starts afresh with ndo_stop. */
static void send_ring(struct sib_netdev *nd, struct netdev_txq *txq)
{
	struct netdev_send *first = send_at(txq, txq->posted), *send;
	const struct ib_send_wr *bad = NULL;
	u32 i, n = txq->head - txq->posted;

	if (!n)
		return;
	for (i = 0; i + 1 < n; i++) {
		send = send_at(txq, txq->posted + i);
		send->wr.wr.next = &send_at(txq, txq->posted + i + 1)->wr.wr;
	}
	atomic_add(n, &nd->sends);
	if (!ib_post_send(nd->qp, &first->wr.wr, &bad)) {
		txq->posted = txq->head;
		return;
	}
	while (&send_at(txq, txq->posted)->wr.wr != bad)
		txq->posted++;
	if (!atomic_sub_return(txq->head - txq->posted, &nd->sends))
		wake_up(&nd->idle);
	send_retract(nd, txq);
}

/**
 * sib_netdev_send - send a packet
 * @dev: netdev
 * @skb: packet, which is consumed
 * @ah: where to, as the next
 * @qpn: queue pair there
 *
 * Context: lock of the packet's transmit queue. Return: NETDEV_TX_OK.
 */
int sib_netdev_send(struct net_device *dev, struct sk_buff *skb, struct ib_ah *ah, u32 qpn)
{
	u16 index = skb_get_queue_mapping(skb);
	struct netdev_queue *queue = netdev_get_tx_queue(dev, index);
	struct sib_netdev *nd = netdev_priv(dev);
	struct netdev_txq *txq = &nd->txq[index];
	bool more = netdev_xmit_more();
	u32 len = skb->len;

	/* Somebody sends into a queue that is stopped. */
	if (WARN_ON_ONCE(txq->head - READ_ONCE(txq->tail) >= NETDEV_SENDS) ||
	    send_put(nd, txq, skb, ah, qpn)) {
		send_drop(nd, skb);
		if (!more)
			send_ring(nd, txq);
		return NETDEV_TX_OK;
	}
	if (txq->head - READ_ONCE(txq->tail) >= NETDEV_SENDS)
		netif_tx_stop_queue(queue);
	if (__netdev_tx_sent_queue(queue, len, more))
		send_ring(nd, txq);
	/* The last completion may have come before the queue was stopped. */
	smp_mb();
	if (netif_tx_queue_stopped(queue) &&
	    txq->head - READ_ONCE(txq->tail) <= NETDEV_SENDS / 2)
		netif_tx_start_queue(queue);
	return NETDEV_TX_OK;
}

/**
 * sib_netdev_free_sends - forget what has not been sent
 * @nd: netdev into which nobody sends, and of which no request is under way
 *
 * Context: process.
 */
void sib_netdev_free_sends(struct sib_netdev *nd)
{
	u32 i;

	for (i = 0; i < nd->dev->real_num_tx_queues; i++) {
		send_retract(nd, &nd->txq[i]);
		netdev_tx_reset_queue(netdev_get_tx_queue(nd->dev, i));
	}
}
