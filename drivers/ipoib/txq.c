// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Transmit queues: ring, completion queue, queue pair and NAPI each. The stack spreads
 * flows over them, whatever their destination.
 *
 * The first queue's queue pair is the one that receives, its number is part of the
 * hardware address. Those of the others only send: they have no receive queue, are in
 * no group, and no peer learns of them. There are always IPOIB_TXQ_MAX structures, of
 * which the first ipoib_intf.tx_queues have a ring; so a queue that goes leaves its
 * counters, and a completion that comes late still finds where to count.
 */
#include "ipoib.h"

/**
 * ipoib_txqs_default - how many transmit queues suit a machine
 * @ca: HCA
 *
 * Return: one for each processor, as far as the HCA can tell them of completions
 *	separately.
 */
u32 ipoib_txqs_default(const struct ib_device *ca)
{
	return clamp_t(u32, min_t(u32, num_online_cpus(), ca->num_comp_vectors), 1,
		       IPOIB_TXQ_MAX);
}

/**
 * ipoib_txq_of - the queue that a packet which has waited leaves through
 * @intf: interface
 * @skb: packet
 *
 * That from which it came, as long as it is there.
 *
 * Context: all transmit locks.
 * Return: the queue.
 */
struct ipoib_txq *ipoib_txq_of(struct ipoib_intf *intf, struct sk_buff *skb)
{
	u16 queue = skb_get_queue_mapping(skb);

	if (unlikely(queue >= intf->tx_queues)) {
		queue %= intf->tx_queues;
		skb_set_queue_mapping(skb, queue);
	}
	return &intf->txq[queue];
}

static int txq_alloc(struct ipoib_intf *intf, struct ipoib_txq *txq)
{
	struct ib_cq_init_attr attr = {
		.cqe = txq->size,
		.comp_vector = (intf->port + txq->index) %
			       intf->ca->num_comp_vectors,
	};
	u32 i;

	txq->slots = kvcalloc(txq->size, sizeof(*txq->slots), GFP_KERNEL);
	if (!txq->slots)
		return -ENOMEM;
	for (i = 0; i < txq->size; i++) {
		txq->slots[i].wr.wr.sg_list = txq->slots[i].sge;
		txq->slots[i].sge[0].lkey = intf->pd->local_dma_lkey;
	}
	txq->cq = ib_create_cq(intf->ca, ipoib_tx_comp_handler, NULL,
			       &intf->txq[txq->index], &attr);
	if (IS_ERR(txq->cq)) {
		kvfree(txq->slots);
		return PTR_ERR(txq->cq);
	}
	return 0;
}

static void txq_free(struct ipoib_txq *txq)
{
	ib_destroy_cq(txq->cq);
	kvfree(txq->slots);
}

/**
 * ipoib_txq_make - ring, completion queue and queue pair
 * @intf: interface with a protection domain
 * @txq: of that interface, or one to exchange for it; number and size are set
 * @rxq: receive queue of the queue pair, or NULL if it only sends
 *
 * Context: process, rtnl.
 * Return: 0, -ENOMEM, or what the HCA says.
 */
int ipoib_txq_make(struct ipoib_intf *intf, struct ipoib_txq *txq,
		   const struct ipoib_rxq *rxq)
{
	struct ib_qp *qp;
	int err;

	err = txq_alloc(intf, txq);
	if (err)
		return err;
	qp = ipoib_qp_make(intf, txq, rxq);
	if (IS_ERR(qp)) {
		txq_free(txq);
		return PTR_ERR(qp);
	}
	txq->qp = qp;
	WRITE_ONCE(txq->qpn, qp->qp_num);
	return 0;
}

/**
 * ipoib_txq_unmake - the reverse
 * @txq: transmit queue that does not run
 */
void ipoib_txq_unmake(struct ipoib_txq *txq)
{
	WRITE_ONCE(txq->qpn, 0);
	ib_destroy_qp(txq->qp);
	txq->qp = NULL;
	txq_free(txq);
}

/**
 * ipoib_txq_exchange - take the ring of another queue, and give it one's own
 * @txq: of an interface that does not run
 * @other: from ipoib_txq_make()
 *
 * Context: control.
 */
void ipoib_txq_exchange(struct ipoib_txq *txq, struct ipoib_txq *other)
{
	swap(txq->size, other->size);
	swap(txq->slots, other->slots);
	swap(txq->cq, other->cq);
	swap(txq->qp, other->qp);
	swap(txq->qpn, other->qpn);
}

/**
 * ipoib_txq_set_running - let a transmit queue send, or no more
 * @txq: transmit queue whose queue pair is in RTS, or about to leave it
 * @running: it sends
 *
 * What the HCA has refused by then is never posted: it would go to a queue pair in ERROR or RESET.
 * As nothing gets into the ring of a queue that does not run, that needs no look at @running at
 * each doorbell.
 *
 * Context: control, under all transmit locks.
 */
void ipoib_txq_set_running(struct ipoib_txq *txq, bool running)
{
	WRITE_ONCE(txq->running, running);
	if (!running)
		txq->posted = txq->head;
}

static void txqs_init(struct ipoib_intf *intf)
{
	struct ipoib_txq *txq;
	u16 i;

	for (i = 0; i < IPOIB_TXQ_MAX; i++) {
		txq = &intf->txq[i];
		txq->intf = intf;
		txq->index = i;
		spin_lock_init(&txq->done_lock);
		u64_stats_init(&txq->drops.sync);
		u64_stats_init(&txq->done.sync);
		netif_napi_add_tx(intf->dev, &txq->napi, ipoib_tx_poll);
	}
}

static void txqs_exit(struct ipoib_intf *intf)
{
	int i;

	for (i = 0; i < IPOIB_TXQ_MAX; i++)
		netif_napi_del(&intf->txq[i].napi);
}

/*
 * The first queue. Some HCAs count a ring's octets, not its requests (mlx5), and say only now
 * that they are too many: then rings are shorter than was asked for.
 */
static int txqs_make_first(struct ipoib_intf *intf)
{
	u32 wanted = intf->txq[0].size, i;
	int err;

	for (;;) {
		err = ipoib_txq_make(intf, &intf->txq[0], &intf->rxq);
		if ((err != -ENOMEM && err != -EINVAL) || intf->txq[0].size / 2 < IPOIB_RING_MIN)
			break;
		for (i = 0; i < IPOIB_TXQ_MAX; i++)
			intf->txq[i].size /= 2;
	}
	if (!err && intf->txq[0].size != wanted)
		netdev_warn(intf->dev, "transmit rings have %u packets, not %u: there is not room for more\n",
			    intf->txq[0].size, wanted);
	return err;
}

/**
 * ipoib_txqs_create - all transmit queues
 * @intf: interface with a receive queue; their size is set
 *
 * The first one has to be, if with a shorter ring; there are fewer than wanted when the HCA
 * gives no more.
 *
 * Context: process, rtnl.
 * Return: 0, -ENOMEM, or what the HCA says.
 */
int ipoib_txqs_create(struct ipoib_intf *intf)
{
	u32 wanted = intf->queues.tx_queues ?: ipoib_txqs_default(intf->ca);
	u32 n = 0;
	int err;

	txqs_init(intf);
	do {
		err = n ? ipoib_txq_make(intf, &intf->txq[n], NULL) : txqs_make_first(intf);
	} while (!err && ++n < wanted);
	if (!n) {
		txqs_exit(intf);
		return err;
	}
	if (err)
		netdev_warn(intf->dev, "%u transmit queues, not %u: error %d\n",
			    n, wanted, err);
	intf->tx_queues = n;
	netif_set_real_num_tx_queues(intf->dev, n);
	return 0;
}

/**
 * ipoib_txqs_destroy - the reverse
 * @intf: interface that does not run
 */
void ipoib_txqs_destroy(struct ipoib_intf *intf)
{
	while (intf->tx_queues)
		ipoib_txq_unmake(&intf->txq[--intf->tx_queues]);
	txqs_exit(intf);
}
