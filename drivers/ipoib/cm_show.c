// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Connections for who debugs: peers that packets go to or could go to, then those
 * that have connected to us.
 *
 * Entries of the table are there while its lock is held. A link ends on the control
 * queue meanwhile, but its memory stays for those that read under RCU.
 */
#include <linux/seq_file.h>

#include "cm_rx.h"
#include "cm_tx.h"

static const char * const conn_state_names[IPOIB_CONN_STATES] = {
	[IPOIB_CONN_NEW] = "NEW",
	[IPOIB_CONN_PATH] = "PATH",
	[IPOIB_CONN_REQ] = "REQ",
	[IPOIB_CONN_UP] = "UP",
	[IPOIB_CONN_DATAGRAM] = "DATAGRAM",
	[IPOIB_CONN_RETRY_PATH] = "RETRY_PATH",
	[IPOIB_CONN_RETRY] = "RETRY",
	[IPOIB_CONN_GONE] = "GONE",
};

static void show_link(const struct ipoib_cm_tx *link, struct seq_file *file)
{
	seq_printf(file,
		   "  MTU:      %u\n"
		   "  ring:     %u/%u\n",
		   link->frame_max - IPOIB_ENCAP_LEN,
		   READ_ONCE(link->head) - READ_ONCE(link->tail),
		   IPOIB_CM_TX_RING);
}

static void show_conn(const struct ipoib_conn *conn, struct seq_file *file)
{
	enum ipoib_conn_state state = READ_ONCE(conn->state);
	const struct ipoib_cm_tx *link = READ_ONCE(conn->link);
	union ib_gid gid = conn->key.gid;	/* aligned to eight octets here */

	ipoib_debugfs_gid(file, &gid);
	seq_printf(file,
		   "  direction: out\n"
		   "  QPN:      0x%06x\n"
		   "  state:    %s\n",
		   be32_to_cpu(conn->key.qpn), conn_state_names[state]);
	if (state == IPOIB_CONN_UP && link)
		show_link(link, file);
	seq_printf(file,
		   "  waiting:  %u packets, %u bytes\n"
		   "  idle:     %u ms\n"
		   "\n",
		   skb_queue_len_lockless(&conn->hold.packets),
		   READ_ONCE(conn->hold.bytes),
		   jiffies_to_msecs(jiffies - READ_ONCE(conn->used)));
}

static const char *rx_state_name(enum ipoib_cm_rx_state state)
{
	switch (state) {
	case IPOIB_CM_RX_NEW:
		return "NEW";
	case IPOIB_CM_RX_LIVE:
		return "LIVE";
	default:
		return "ENDING";
	}
}

static void show_rx(const struct ipoib_cm_rx *rx, struct seq_file *file)
{
	ipoib_debugfs_gid(file, &rx->from.gid);
	seq_printf(file,
		   "  direction: in\n"
		   "  QPN:      0x%06x\n"
		   "  state:    %s\n"
		   "  MTU:      %u\n"
		   "  idle:     %u ms\n"
		   "\n",
		   be32_to_cpu(rx->from.qpn), rx_state_name(READ_ONCE(rx->state)),
		   ipoib_cm_rxq_frame_max(&rx->cm->rxq) - IPOIB_ENCAP_LEN,
		   jiffies_to_msecs(jiffies - READ_ONCE(rx->used)));
}

/**
 * ipoib_cm_show - tell of an interface's connections
 * @intf: interface
 * @file: to write to
 *
 * Context: process.
 */
void ipoib_cm_show(struct ipoib_intf *intf, struct seq_file *file)
{
	const struct ipoib_conn *conn;
	const struct ipoib_cm_rx *rx;
	struct ipoib_cm *cm = intf->cm;

	if (!cm)
		return;
	rcu_read_lock();
	spin_lock_bh(&cm->conn_lock);
	list_for_each_entry(conn, &cm->conn_list, all)
		show_conn(conn, file);
	spin_unlock_bh(&cm->conn_lock);
	rcu_read_unlock();
	mutex_lock(&cm->rx_lock);
	list_for_each_entry(rx, &cm->rx_links, list)
		show_rx(rx, file);
	mutex_unlock(&cm->rx_lock);
}
