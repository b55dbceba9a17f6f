// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Connected mode of an interface: its life, its mode, and what control does for it.
 */
#include <linux/sched/mm.h>

#include "cm.h"

static unsigned int cm_default_mtu;
module_param_named(connected_mtu, cm_default_mtu, uint, 0644);
MODULE_PARM_DESC(connected_mtu,
		 "MTU of an interface that enters connected mode with none set by hand; 0 leaves it alone (0)");

static bool cm_partial = true;
module_param_named(cm_partial_checksum, cm_partial, bool, 0644);
MODULE_PARM_DESC(cm_partial_checksum,
		 "no checksums where the peer knows that a connection has its own (Y)");

/**
 * ipoib_cm_options - what goes beyond the RFC and is announced to peers
 *
 * Return: IPOIB_CM_OPT_*.
 */
u32 ipoib_cm_options(void)
{
	return READ_ONCE(cm_partial) ? IPOIB_CM_OPT_PARTIAL : 0;
}

/* Objects that are seen to before others of the interface have their turn on the control queue. */
#define CM_BATCH	16

/*
 * Nobody's time is up while there is nobody; and what has been noted before the
 * interface went down must not have its connections looked after again.
 */
static void cm_schedule_tick(struct ipoib_cm *cm)
{
	if (!cm->intf->up)
		return;
	if (!list_empty(&cm->conn_list) || !list_empty(&cm->links) ||
	    !list_empty(&cm->rx_links) || !cm->listen)
		queue_delayed_work(cm->intf->wq, &cm->tick, IPOIB_CM_TICK);
}

/*
 * What is allocated here may be what writing back dirty pages waits for, so it
 * must not wait for that in turn.
 */
static void cm_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(work, struct ipoib_cm, work);
	unsigned int noio = memalloc_noio_save();
	struct ipoib_cm_item *item;
	unsigned long events;
	unsigned int left;

	if (xchg(&cm->stopping, false))
		ipoib_conns_event(cm, IPOIB_CONN_EV_STOP);
	for (left = CM_BATCH; left; left--) {
		item = ipoib_cm_next_ready(cm, &events);
		if (!item)
			break;
		item->handle(item, events);
	}
	if (!left)
		queue_work(cm->intf->wq, &cm->work);
	cm_schedule_tick(cm);
	memalloc_noio_restore(noio);
}

static void cm_tick(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work),
					   struct ipoib_cm, tick);

	ipoib_conns_tick(cm);
	ipoib_cm_tx_tick(cm);
	ipoib_cm_rx_tick(cm);
	cm_schedule_tick(cm);
}

/**
 * ipoib_cm_start - accept connections, and make them when the mode says so
 * @intf: interface with a running control queue
 *
 * Context: control.
 * Return: 0, -ENOMEM, or what the CM says.
 */
int ipoib_cm_start(struct ipoib_intf *intf)
{
	return intf->cm ? ipoib_cm_rx_start(intf->cm) : 0;
}

/**
 * ipoib_cm_stop - end all connections
 * @intf: interface whose UD queue pair has stopped
 *
 * Context: control.
 */
void ipoib_cm_stop(struct ipoib_intf *intf)
{
	struct ipoib_cm *cm = intf->cm;

	if (!cm)
		return;
	cancel_delayed_work_sync(&cm->tick);
	ipoib_cm_rx_stop(cm);
	ipoib_conns_event(cm, IPOIB_CONN_EV_NOPATH);
	WARN_ON(!list_empty(&cm->links));
}

/**
 * ipoib_cm_restart_rx - end all incoming connections, accept new ones
 * @intf: interface whose P_Key has another index
 *
 * Context: control.
 */
void ipoib_cm_restart_rx(struct ipoib_intf *intf)
{
	if (!intf->cm)
		return;
	ipoib_cm_rx_stop(intf->cm);
	if (ipoib_cm_rx_start(intf->cm))
		netdev_warn(intf->dev, "incoming connections are refused for now\n");
}

/**
 * ipoib_cm_reset - remake every connection when there is something to send
 * @intf: interface
 *
 * Context: control.
 */
void ipoib_cm_reset(struct ipoib_intf *intf)
{
	if (intf->cm)
		ipoib_conns_event(intf->cm, IPOIB_CONN_EV_RESET);
}

/**
 * ipoib_cm_mtu_default - MTU for an interface that has none set by hand
 * @intf: interface in connected mode
 *
 * Return: an MTU, or 0 for that of the broadcast group.
 */
int ipoib_cm_mtu_default(const struct ipoib_intf *intf)
{
	return min_t(unsigned int, READ_ONCE(cm_default_mtu),
		     ipoib_cm_mtu_max(intf));
}

/**
 * ipoib_cm_mtu_max - the largest MTU in connected mode
 * @intf: interface
 *
 * Return: the MTU, or 0 if connected mode cannot be had.
 */
int ipoib_cm_mtu_max(const struct ipoib_intf *intf)
{
	if (!intf->cm)
		return 0;
	return ipoib_cm_rxq_frame_max(&intf->cm->rxq) - IPOIB_ENCAP_LEN;
}

/**
 * ipoib_cm_warn_mtu - say once what a large MTU means
 * @intf: interface
 *
 * Context: rtnl.
 */
void ipoib_cm_warn_mtu(struct ipoib_intf *intf)
{
	if (intf->cm->told_mtu)
		return;
	intf->cm->told_mtu = true;
	netdev_info(intf->dev, "MTU above %d: multicast and datagram destinations rely on path MTU discovery, whose first packets are lost\n",
		    READ_ONCE(intf->group_mtu));
}

/*
 * A connection's send completes with the peer's acknowledgment, and one after the
 * other: so the queue is never found empty, and BQL, which takes that for enough,
 * would leave it at the few packets it began with, one round trip for each few.
 */
static void set_byte_limits(struct ipoib_intf *intf)
{
	unsigned int min = intf->connected ? IPOIB_CM_BYTES_MIN : 0, i;

	for (i = 0; i < intf->dev->num_tx_queues; i++)
		netdev_queue_set_dql_min_limit(netdev_get_tx_queue(intf->dev, i), min);
}

/**
 * ipoib_cm_set_mode - use connections for outgoing packets, or stop it
 * @intf: interface
 * @connected: true for connected mode
 *
 * Packets that wait for a connection, and those that follow, go as datagrams when
 * it stops; a link ends when it has sent what it has.
 *
 * Context: rtnl.
 * Return: 0, or -EOPNOTSUPP if the HCA cannot.
 */
int ipoib_cm_set_mode(struct ipoib_intf *intf, bool connected)
{
	struct net_device *dev = intf->dev;

	ASSERT_RTNL();
	if (connected == intf->connected)
		return 0;
	if (connected && !intf->cm) {
		netdev_warn(dev, "no connected mode: %s\n", intf->accel ?
			    "the HCA accelerates the interface" :
			    "the HCA has no shared receive queues, and max_nonsrq_conn_qp is 0");
		return -EOPNOTSUPP;
	}
	if (!connected)
		ipoib_intf_update_mtu(intf, false);
	ipoib_tx_lock_all(dev);
	WRITE_ONCE(intf->connected, connected);
	set_byte_limits(intf);
	ipoib_tx_unlock_all(dev);
	if (connected) {
		ipoib_intf_update_mtu(intf, true);
	} else {
		WRITE_ONCE(intf->cm->stopping, true);
		queue_work(intf->wq, &intf->cm->work);
	}
	return 0;
}

/**
 * ipoib_cm_get_stats - what connected mode has done
 * @intf: interface
 * @stats: result
 *
 * Return: false if there is no connected mode.
 */
bool ipoib_cm_get_stats(const struct ipoib_intf *intf,
			struct ipoib_cm_stats *stats)
{
	const struct ipoib_cm *cm = intf->cm;
	int i;

	if (!cm)
		return false;
	stats->rx = &cm->rxq.count;
	stats->connects = READ_ONCE(cm->stat_connects);
	stats->accepts = READ_ONCE(cm->stat_accepts);
	stats->refused = READ_ONCE(cm->stat_refused);
	stats->rejects = READ_ONCE(cm->stat_rejects);
	stats->out_full = READ_ONCE(cm->stat_out_full);
	stats->in_full = READ_ONCE(cm->stat_in_full);
	stats->lost = READ_ONCE(cm->stat_lost);
	stats->out = ipoib_conn_count(cm);
	stats->in = READ_ONCE(cm->rx_count);
	stats->setups = READ_ONCE(cm->setups);
	stats->partial = 0;
	for (i = 0; i < IPOIB_TXQ_MAX; i++)
		stats->partial += READ_ONCE(intf->txq[i].partial);
	return true;
}

/**
 * ipoib_cm_moderate - have completions of connections told of later
 * @intf: interface
 * @wanted: how late
 *
 * Context: rtnl.
 * Return: 0 or what the HCA says.
 */
int ipoib_cm_moderate(struct ipoib_intf *intf,
		      const struct ipoib_queue_settings *wanted)
{
	struct ipoib_cm *cm = intf->cm;
	int err;

	if (!cm)
		return 0;
	err = rdma_set_cq_moderation(cm->tx_cq, wanted->tx_frames,
				     wanted->tx_usecs);
	return err ?: ipoib_adapt_moderate(&cm->rxq.adapt, wanted);
}

/**
 * ipoib_cm_create - what connected mode needs as long as the netdev exists
 * @intf: interface with a UD queue pair
 *
 * Context: process, rtnl.
 * Return: 0, also if the HCA cannot do connected mode, or a negative error.
 */
int ipoib_cm_create(struct ipoib_intf *intf)
{
	struct ib_cq_init_attr attr = {
		.cqe = IPOIB_CM_TX_RING,
		.comp_vector = intf->port % intf->ca->num_comp_vectors,
	};
	struct ipoib_cm *cm;
	int err = -ENOMEM;

	if (!ipoib_cm_shared(&intf->ca->attrs) && !ipoib_nonsrq_connections)
		return 0;
	cm = kvzalloc(sizeof(*cm), GFP_KERNEL);
	if (!cm)
		return -ENOMEM;
	cm->intf = intf;
	INIT_WORK(&cm->work, cm_work);
	INIT_DELAYED_WORK(&cm->tick, cm_tick);
	INIT_LIST_HEAD(&cm->backlog);
	INIT_LIST_HEAD(&cm->links);
	INIT_LIST_HEAD(&cm->rx_links);
	mutex_init(&cm->rx_lock);
	mutex_init(&cm->rxq.fill_lock);
	err = ipoib_cm_commands_create(cm);
	if (err)
		goto err_free;
	err = ipoib_conns_init(cm);
	if (err)
		goto err_commands;
	cm->tx_cq = ib_create_cq(intf->ca, ipoib_tx_comp_handler, NULL,
				 &intf->txq[0], &attr);
	if (IS_ERR(cm->tx_cq)) {
		err = PTR_ERR(cm->tx_cq);
		goto err_conns;
	}
	err = ipoib_cm_rxq_create(cm);
	if (err)
		goto err_destroy_cq;
	intf->cm = cm;
	set_byte_limits(intf);	/* the interface before it may have been connected */
	return 0;

err_destroy_cq:
	ib_destroy_cq(cm->tx_cq);
err_conns:
	ipoib_conns_destroy(cm);
err_commands:
	destroy_workqueue(cm->commands);
err_free:
	mutex_destroy(&cm->rxq.fill_lock);
	mutex_destroy(&cm->rx_lock);
	kvfree(cm);
	return err;
}

/**
 * ipoib_cm_destroy - the reverse; the interface is stopped
 * @intf: interface
 */
void ipoib_cm_destroy(struct ipoib_intf *intf)
{
	struct ipoib_cm *cm = intf->cm;

	if (!cm)
		return;
	/* A command that ends queues cm->work. */
	destroy_workqueue(cm->commands);
	cancel_work_sync(&cm->work);
	WRITE_ONCE(intf->connected, false);
	WRITE_ONCE(intf->cm, NULL);
	/* A packet socket may ask ipoib_cm_cut() behind the back of the queues. */
	synchronize_net();
	ipoib_cm_rxq_destroy(cm);
	ib_destroy_cq(cm->tx_cq);
	ipoib_conns_destroy(cm);
	mutex_destroy(&cm->rxq.fill_lock);
	mutex_destroy(&cm->rx_lock);
	kvfree(cm);
}
