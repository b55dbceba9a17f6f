// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What of connected mode goes as datagrams although the peer has a connection: the segments
 * for one whose MTU is that of datagrams.
 *
 * The kernel's driver takes connections in datagram mode, too, so a bulk transfer to such a
 * peer would be segments of a few KiB through a connection. The HCA cuts datagrams only;
 * each segment uses up a receive buffer of 64 KiB; and a peer without one may halt the
 * connection for 0.66 s at a time (RNR timer 0, IBA 9.7.5.2.8, which is what the kernel's CM
 * asks for). A datagram has none of this.
 */
#include "cm.h"
#include "gso.h"

/* So long a peer is taken for one that gets short segments, or long packets. */
#define CUT_TIME	(10 * HZ)

static bool is_recent(const unsigned long *when)
{
	return time_before(jiffies, READ_ONCE(*when) + CUT_TIME);
}

/**
 * ipoib_cm_cut_init - neither short segments nor long packets have gone to a peer
 * @conn: new connection to it
 */
void ipoib_cm_cut_init(struct ipoib_conn *conn)
{
	conn->cut_at = jiffies - CUT_TIME;
	conn->long_at = conn->cut_at;
}

/**
 * ipoib_cm_prefers_datagram - does a packet go as a datagram, though there is a connection
 * @conn: to the peer
 * @skb: packet with its hardware address in front
 *
 * What the HCA is to cut are datagrams. As long as short segments go to the peer, so does whatever
 * else fits into a datagram, so that the packets of a stream overtake each other only when that
 * begins and ends.
 *
 * Context: transmit queue lock. Return: true if so.
 */
bool ipoib_cm_prefers_datagram(struct ipoib_conn *conn, const struct sk_buff *skb)
{
	if (skb_is_gso(skb))
		return true;
	if (unlikely(skb->len > READ_ONCE(conn->cm->intf->group_mtu) + IPOIB_HARD_LEN)) {
		ipoib_note_use(&conn->long_at);
		return false;
	}
	return unlikely(is_recent(&conn->cut_at)) && !is_recent(&conn->long_at);
}

/**
 * ipoib_cm_cut - do the segments of a packet go as datagrams
 * @intf: interface in connected mode
 * @skb: packet with its hardware address in front
 *
 * Those for a peer that gets long packets as well do not: a stream with both would lose its
 * order.
 *
 * Context: any; the stack also asks for a packet without hardware address, and for one that is
 * sent while the interface goes. Return: true if so; the HCA may cut it, if it can.
 */
bool ipoib_cm_cut(struct ipoib_intf *intf, const struct sk_buff *skb)
{
	struct ipoib_conn *conn;
	struct ipoib_cm *cm;
	bool cut = false;

	if (!skb_is_gso(skb) || skb_network_offset(skb) != IPOIB_HARD_LEN ||
	    skb_headlen(skb) < IPOIB_HARD_LEN ||
	    !skb_gso_validate_network_len(skb, READ_ONCE(intf->group_mtu)))
		return false;
	if (!(skb->data[0] & IPOIB_HWADDR_RC))
		return true;
	rcu_read_lock();
	/* Pairs with ipoib_cm_destroy(). */
	cm = READ_ONCE(intf->cm);
	conn = cm ? ipoib_conn_find(cm, skb) : NULL;
	if (conn && !is_recent(&conn->long_at)) {
		ipoib_note_use(&conn->cut_at);
		ipoib_note_use(&conn->used);
		cut = true;
	}
	rcu_read_unlock();
	return cut;
}
