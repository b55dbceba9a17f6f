// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The UD queue pair of an interface: made with the netdev, since its number is
 * part of the hardware address, started and stopped by the control queue, and
 * exchanged for another when the rings change (resize.c).
 *
 * Running and stopped are told to the data path by ipoib_intf.running, which
 * changes under the transmit locks: who holds one sees a queue pair that accepts
 * work, or drops. NAPI is enabled exactly while the queue pair runs.
 */
#include <linux/log2.h>

#include "ipoib.h"

#define QP_DRAIN_TIMEOUT	(5 * HZ)
#define QP_RX_SGE		3

/**
 * ipoib_qp_ring_max - the largest ring of a HCA
 * @ca: HCA
 *
 * Return: packets, a power of two.
 */
u32 ipoib_qp_ring_max(const struct ib_device *ca)
{
	u32 most = min3(ca->attrs.max_qp_wr, ca->attrs.max_cqe, IPOIB_RING_MAX);

	return rounddown_pow_of_two(most);
}

/* The ring sizes asked for, or what the HCA has. */
static void qp_set_sizes(struct ipoib_intf *intf)
{
	const struct ipoib_queue_settings *wanted = &intf->queues;
	u32 most = ipoib_qp_ring_max(intf->ca);

	intf->txq.size = min(wanted->tx_size ?: ipoib_send_queue_size, most);
	intf->rxq.size = min(wanted->rx_size ?: ipoib_recv_queue_size, most);
	intf->tx_sge = min_t(u32, IPOIB_TX_SGE_MAX,
			     intf->ca->attrs.max_send_sge);
}

/**
 * ipoib_qp_make - a UD queue pair
 * @intf: interface with a protection domain
 * @txq: its transmit queue
 * @rxq: its receive queue
 *
 * Context: process, rtnl.
 * Return: the queue pair in RESET, or an error pointer.
 */
struct ib_qp *ipoib_qp_make(struct ipoib_intf *intf,
			    const struct ipoib_txq *txq,
			    const struct ipoib_rxq *rxq)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = txq->cq,
		.recv_cq = rxq->cq,
		.cap.max_send_wr = txq->size,
		.cap.max_recv_wr = rxq->size,
		.cap.max_send_sge = intf->tx_sge,
		.cap.max_recv_sge = QP_RX_SGE,
	};

	if (intf->ca->attrs.kernel_cap_flags & IBK_BLOCK_MULTICAST_LOOPBACK)
		init.create_flags |= IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	return ib_create_qp(intf->pd, &init);
}

/**
 * ipoib_qp_create - protection domain, queues and queue pair
 * @intf: interface being registered
 *
 * Context: process, rtnl.
 * Return: 0 or a negative error; nothing is left behind on error.
 */
int ipoib_qp_create(struct ipoib_intf *intf)
{
	int err;

	intf->pd = ib_alloc_pd(intf->ca, 0);
	if (IS_ERR(intf->pd))
		return PTR_ERR(intf->pd);
	qp_set_sizes(intf);
	err = ipoib_txq_create(intf);
	if (err)
		goto err_dealloc_pd;
	err = ipoib_rxq_create(intf);
	if (err)
		goto err_destroy_txq;
	intf->qp = ipoib_qp_make(intf, &intf->txq, &intf->rxq);
	if (IS_ERR(intf->qp)) {
		err = PTR_ERR(intf->qp);
		goto err_destroy_rxq;
	}
	return 0;

err_destroy_rxq:
	ipoib_rxq_destroy(intf);
err_destroy_txq:
	ipoib_txq_destroy(intf);
err_dealloc_pd:
	ib_dealloc_pd(intf->pd);
	return err;
}

/**
 * ipoib_qp_destroy - the reverse of ipoib_qp_create()
 * @intf: interface, stopped
 */
void ipoib_qp_destroy(struct ipoib_intf *intf)
{
	ib_destroy_qp(intf->qp);
	ipoib_ah_reap(intf, true);
	ipoib_rxq_destroy(intf);
	ipoib_txq_destroy(intf);
	ib_dealloc_pd(intf->pd);
}

static int qp_to_state(struct ipoib_intf *intf, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return ib_modify_qp(intf->qp, &attr, IB_QP_STATE);
}

static int qp_to_init(struct ipoib_intf *intf)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = intf->port,
		.pkey_index = intf->pkey_index,
		.qkey = intf->qkey,
	};

	return ib_modify_qp(intf->qp, &attr, IB_QP_STATE | IB_QP_PORT |
			    IB_QP_PKEY_INDEX | IB_QP_QKEY);
}

static int qp_to_rts(struct ipoib_intf *intf)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };
	int err;

	err = qp_to_state(intf, IB_QPS_RTR);
	return err ?: ib_modify_qp(intf->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

static void qp_set_running(struct ipoib_intf *intf, bool running)
{
	ipoib_tx_lock_all(intf->dev);
	WRITE_ONCE(intf->running, running);
	/* No completion will come to do it: the ring is empty. */
	if (running)
		ipoib_dest_send_backlog(intf);
	ipoib_tx_unlock_all(intf->dev);
}

/**
 * ipoib_qp_start - from RESET to working
 * @intf: interface with a valid P_Key index
 *
 * Context: control.
 * Return: 0, -ENOMEM, or what the HCA says; the queue pair is in RESET then.
 */
int ipoib_qp_start(struct ipoib_intf *intf)
{
	int err;

	err = qp_to_init(intf);
	if (err)
		goto err_out;
	err = ipoib_rxq_fill(&intf->rxq, intf->group_mtu);
	if (err)
		goto err_empty;
	err = qp_to_rts(intf);
	if (err)
		goto err_empty;
	napi_enable(&intf->txq.napi);
	napi_enable(&intf->rxq.napi);
	qp_set_running(intf, true);
	/* The first poll arms the completion queues. */
	local_bh_disable();
	napi_schedule(&intf->txq.napi);
	napi_schedule(&intf->rxq.napi);
	local_bh_enable();
	netif_tx_wake_all_queues(intf->dev);
	return 0;

err_empty:
	qp_to_state(intf, IB_QPS_RESET);
	ipoib_rxq_empty(&intf->rxq);
err_out:
	netdev_err(intf->dev, "cannot start the queue pair: error %d\n", err);
	return err;
}

static bool qp_is_drained(const struct ipoib_intf *intf)
{
	return ipoib_tx_drained(&intf->txq) && ipoib_cm_drained(intf) &&
	       !READ_ONCE(intf->rxq.posted);
}

/**
 * ipoib_qp_stop - complete or abandon all work and go to RESET
 * @intf: interface
 *
 * Waits for the flushed completions of all requests; a HCA that does not
 * deliver them within five seconds has its buffers taken back all the same,
 * since a queue pair in RESET no longer touches them (IBA 10.3.1).
 *
 * Context: control.
 */
void ipoib_qp_stop(struct ipoib_intf *intf)
{
	if (!intf->running)
		return;
	qp_set_running(intf, false);
	ipoib_cm_quiesce(intf);
	if (qp_to_state(intf, IB_QPS_ERR))
		netdev_warn(intf->dev, "the queue pair does not go to ERROR\n");
	if (!wait_event_timeout(intf->drained, qp_is_drained(intf),
				QP_DRAIN_TIMEOUT))
		netdev_warn(intf->dev,
			    "%u sends and %u receives were never completed\n",
			    intf->txq.head - intf->txq.tail,
			    intf->rxq.posted);
	napi_disable(&intf->rxq.napi);
	napi_disable(&intf->txq.napi);
	if (qp_to_state(intf, IB_QPS_RESET))
		netdev_warn(intf->dev, "the queue pair does not go to RESET\n");
	ipoib_cm_reclaim(intf);
	ipoib_tx_lock_all(intf->dev);
	ipoib_txq_reclaim(&intf->txq);
	ipoib_tx_unlock_all(intf->dev);
	ipoib_rxq_empty(&intf->rxq);
	ipoib_ah_reap(intf, true);
}

/**
 * ipoib_qp_set_qkey - use the Q_Key of the broadcast group
 * @intf: interface
 * @qkey: host byte order
 *
 * Context: control.
 * Return: 0 or what the HCA says.
 */
int ipoib_qp_set_qkey(struct ipoib_intf *intf, u32 qkey)
{
	struct ib_qp_attr attr = { .qkey = qkey };
	int err;

	err = ib_modify_qp(intf->qp, &attr, IB_QP_QKEY);
	if (err)
		return err;
	ipoib_tx_lock_all(intf->dev);
	intf->qkey = qkey;
	ipoib_tx_unlock_all(intf->dev);
	return 0;
}
