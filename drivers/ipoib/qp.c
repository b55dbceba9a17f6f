// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The UD queue pairs of an interface: that of the first transmit queue also receives.
 * They are made with the netdev, since the number of the first is part of the hardware
 * address, started and stopped by the control queue, and exchanged for others when the
 * rings change (resize.c); those that only send may come and go (channels.c).
 *
 * Running and stopped are told to the data path by ipoib_intf.running, which
 * changes under the transmit locks: who holds one sees a queue pair that accepts
 * work, or drops. NAPI is enabled exactly while its queue pair runs.
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
	u32 most = ipoib_qp_ring_max(intf->ca), i;

	for (i = 0; i < IPOIB_TXQ_MAX; i++)
		intf->txq[i].size = min(wanted->tx_size ?: ipoib_send_queue_size,
					most);
	intf->rxq.size = min(wanted->rx_size ?: ipoib_recv_queue_size, most);
	intf->tx_sge = min_t(u32, IPOIB_TX_SGE_MAX,
			     intf->ca->attrs.max_send_sge);
}

/**
 * ipoib_qp_make - a UD queue pair
 * @intf: interface with a protection domain
 * @txq: its transmit queue
 * @rxq: its receive queue, or NULL if it only sends
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
		.recv_cq = txq->cq,
		.cap.max_send_wr = txq->size,
		.cap.max_send_sge = intf->tx_sge,
	};

	if (rxq) {
		init.recv_cq = rxq->cq;
		init.cap.max_recv_wr = rxq->size;
		init.cap.max_recv_sge = QP_RX_SGE;
	}
	if (intf->ca->attrs.kernel_cap_flags & IBK_BLOCK_MULTICAST_LOOPBACK)
		init.create_flags |= IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	if (intf->ca->attrs.kernel_cap_flags & IBK_UD_TSO)
		init.create_flags |= IB_QP_CREATE_IPOIB_UD_LSO;
	return ib_create_qp(intf->pd, &init);
}

/* Protection domain, queues and queue pairs. */
static int qp_create(struct ipoib_intf *intf, u32 *qpn)
{
	int err;

	intf->pd = ib_alloc_pd(intf->ca, 0);
	if (IS_ERR(intf->pd))
		return PTR_ERR(intf->pd);
	qp_set_sizes(intf);
	ipoib_refused_init(intf);
	err = ipoib_rxq_create(intf);
	if (err)
		goto err_dealloc_pd;
	err = ipoib_txqs_create(intf);
	if (err)
		goto err_destroy_rxq;
	intf->qp = intf->txq[0].qp;
	*qpn = intf->qp->qp_num;
	return 0;

err_destroy_rxq:
	ipoib_rxq_destroy(intf);
err_dealloc_pd:
	ib_dealloc_pd(intf->pd);
	return err;
}

static void qp_destroy(struct ipoib_intf *intf)
{
	ipoib_refused_stop(intf);
	ipoib_txqs_destroy(intf);
	ipoib_ah_reap(intf, true);
	ipoib_rxq_destroy(intf);
	ib_dealloc_pd(intf->pd);
}

static int qp_to_init(struct ipoib_intf *intf, struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = intf->port,
		.pkey_index = intf->pkey_index,
		.qkey = intf->qkey,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PORT |
			    IB_QP_PKEY_INDEX | IB_QP_QKEY);
}

static int qp_to_rts(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int err;

	err = ib_modify_qp(qp, &attr, IB_QP_STATE);
	attr.qp_state = IB_QPS_RTS;
	return err ?: ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

/* The queue pairs of queues @from to @to - 1. */
static void qps_to_state(struct ipoib_intf *intf, u32 from, u32 to,
			 enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	for (; from < to; from++)
		if (ib_modify_qp(intf->txq[from].qp, &attr, IB_QP_STATE))
			netdev_warn(intf->dev, "queue pair %u does not go to %s\n",
				    from, state == IB_QPS_ERR ? "ERROR" : "RESET");
}

/* Those that only send. */
static int qps_start_senders(struct ipoib_intf *intf, u32 from, u32 to)
{
	int err = 0;
	u32 i;

	for (i = from; i < to && !err; i++) {
		err = qp_to_init(intf, intf->txq[i].qp);
		if (!err)
			err = qp_to_rts(intf->txq[i].qp);
	}
	if (err)
		qps_to_state(intf, from, i, IB_QPS_RESET);
	return err;
}

/* Senders see the first queue run exactly when the interface does. */
static void qps_set_running(struct ipoib_intf *intf, u32 from, u32 to,
			    bool running)
{
	u32 i;

	ipoib_tx_lock_all(intf->dev);
	for (i = from; i < to; i++)
		ipoib_txq_set_running(&intf->txq[i], running);
	WRITE_ONCE(intf->running, intf->txq[0].running);
	/* No completion will come to do it: the rings are empty. */
	if (!from && running)
		ipoib_dest_send_backlog(intf);
	ipoib_tx_unlock_all(intf->dev);
}

/* Let packets through queue pairs that are in RTS. */
static void qps_run(struct ipoib_intf *intf, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++)
		napi_enable(&intf->txq[i].napi);
	qps_set_running(intf, from, to, true);
	/* The first poll arms the completion queue. */
	local_bh_disable();
	for (i = from; i < to; i++)
		napi_schedule(&intf->txq[i].napi);
	local_bh_enable();
}

/* From RESET to working; back to that on error. */
static int qp_start(struct ipoib_intf *intf)
{
	int err;

	err = qp_to_init(intf, intf->qp);
	if (err)
		goto err_out;
	err = ipoib_rxq_fill(&intf->rxq, intf->group_mtu);
	if (err)
		goto err_empty;
	err = qp_to_rts(intf->qp);
	if (err)
		goto err_empty;
	err = qps_start_senders(intf, 1, intf->tx_queues);
	if (err)
		goto err_empty;
	qps_run(intf, 0, intf->tx_queues);
	/* Only now: it posts again what it has received while the interface runs. */
	napi_enable(&intf->rxq.napi);
	local_bh_disable();
	napi_schedule(&intf->rxq.napi);
	local_bh_enable();
	netif_tx_wake_all_queues(intf->dev);
	return 0;

err_empty:
	qps_to_state(intf, 0, 1, IB_QPS_RESET);
	ipoib_cq_discard(intf->rxq.cq, intf->rxq.wc);
	ipoib_rxq_empty(&intf->rxq);
err_out:
	netdev_err(intf->dev, "cannot start the queue pair: error %d\n", err);
	return err;
}

static u32 qps_pending(const struct ipoib_intf *intf, u32 from, u32 to)
{
	u32 sends = 0;

	for (; from < to; from++)
		sends += ipoib_tx_awaited(&intf->txq[from]);
	return sends;
}

static bool qps_are_drained(const struct ipoib_intf *intf)
{
	return !qps_pending(intf, 0, intf->tx_queues) && ipoib_cm_drained(intf) &&
	       !READ_ONCE(intf->rxq.posted);
}

/* Take back what will not complete any more; NAPI is off, the queue pairs are reset. */
static void qps_reclaim(struct ipoib_intf *intf, u32 from, u32 to)
{
	for (; from < to; from++) {
		ipoib_cq_discard(intf->txq[from].cq, intf->txq[from].wc);
		ipoib_txq_reclaim(&intf->txq[from]);
	}
}

/* Also of queues that have gone: their packets may have left through connections. */
static void qps_reset_byte_limits(struct ipoib_intf *intf)
{
	u32 i;

	for (i = 0; i < intf->dev->num_tx_queues; i++)
		netdev_tx_reset_queue(netdev_get_tx_queue(intf->dev, i));
}

/*
 * Waits for the flushed completions of all requests; a HCA that does not
 * deliver them within five seconds has its buffers taken back all the same,
 * since a queue pair in RESET no longer touches them (IBA 10.3.1).
 */
static void qp_stop(struct ipoib_intf *intf)
{
	u32 i, n = intf->tx_queues;

	if (!intf->running)
		return;
	qps_set_running(intf, 0, n, false);
	ipoib_cm_quiesce(intf);
	qps_to_state(intf, 0, n, IB_QPS_ERR);
	if (!wait_event_timeout(intf->drained, qps_are_drained(intf),
				QP_DRAIN_TIMEOUT))
		netdev_warn(intf->dev,
			    "%u sends and %u receives were never completed\n",
			    qps_pending(intf, 0, n), intf->rxq.posted);
	napi_disable(&intf->rxq.napi);
	for (i = 0; i < n; i++)
		napi_disable(&intf->txq[i].napi);
	qps_to_state(intf, 0, n, IB_QPS_RESET);
	ipoib_cm_reclaim(intf);
	ipoib_tx_lock_all(intf->dev);
	qps_reclaim(intf, 0, n);
	qps_reset_byte_limits(intf);
	ipoib_tx_unlock_all(intf->dev);
	ipoib_cq_discard(intf->rxq.cq, intf->rxq.wc);
	ipoib_rxq_empty(&intf->rxq);
	ipoib_ah_reap(intf, true);
}

static void qps_set_count(struct ipoib_intf *intf, u32 count)
{
	ipoib_tx_lock_all(intf->dev);
	WRITE_ONCE(intf->tx_queues, count);
	ipoib_tx_unlock_all(intf->dev);
}

/**
 * ipoib_qp_more_queues - have more transmit queues
 * @intf: interface
 * @count: how many; those beyond what there are have been made
 *
 * Context: control.
 * Return: 0, or what the HCA says; nothing has changed then.
 */
int ipoib_qp_more_queues(struct ipoib_intf *intf, u32 count)
{
	u32 from = intf->tx_queues;
	int err;

	if (intf->running) {
		err = qps_start_senders(intf, from, count);
		if (err)
			return err;
		qps_run(intf, from, count);
	}
	qps_set_count(intf, count);
	return 0;
}

/**
 * ipoib_qp_fewer_queues - stop transmit queues
 * @intf: interface
 * @count: how many there still are; the stack uses no others
 *
 * Context: control.
 */
void ipoib_qp_fewer_queues(struct ipoib_intf *intf, u32 count)
{
	u32 i, to = intf->tx_queues;

	qps_set_count(intf, count);
	if (!intf->running)
		return;
	qps_set_running(intf, count, to, false);
	qps_to_state(intf, count, to, IB_QPS_ERR);
	if (!wait_event_timeout(intf->drained, !qps_pending(intf, count, to),
				QP_DRAIN_TIMEOUT))
		netdev_warn(intf->dev, "%u sends were never completed\n",
			    qps_pending(intf, count, to));
	for (i = count; i < to; i++)
		napi_disable(&intf->txq[i].napi);
	qps_to_state(intf, count, to, IB_QPS_RESET);
	ipoib_tx_lock_all(intf->dev);
	qps_reclaim(intf, count, to);
	ipoib_tx_unlock_all(intf->dev);
}

static int qp_set_qkey(struct ipoib_intf *intf, u32 qkey)
{
	struct ib_qp_attr attr = { .qkey = qkey };
	int err = 0;
	u32 i;

	for (i = 0; i < intf->tx_queues && !err; i++)
		err = ib_modify_qp(intf->txq[i].qp, &attr, IB_QP_QKEY);
	if (err)
		return err;
	ipoib_tx_lock_all(intf->dev);
	intf->qkey = qkey;
	ipoib_tx_unlock_all(intf->dev);
	return 0;
}

static int qp_attach_mcast(struct ipoib_intf *intf, union ib_gid *mgid, u16 mlid)
{
	return ib_attach_mcast(intf->qp, mgid, mlid);
}

static int qp_detach_mcast(struct ipoib_intf *intf, union ib_gid *mgid, u16 mlid)
{
	return ib_detach_mcast(intf->qp, mgid, mlid);
}

const struct ipoib_data_ops ipoib_data_own = {
	.create = qp_create,
	.destroy = qp_destroy,
	.start = qp_start,
	.stop = qp_stop,
	.set_qkey = qp_set_qkey,
	.send_held = ipoib_dest_send_held,
	.attach_mcast = qp_attach_mcast,
	.detach_mcast = qp_detach_mcast,
};
