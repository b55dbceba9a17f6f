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

/* So long a peer is taken for one that gets short segments, or long packets. */
#define CUT_TIME	(10 * HZ)

static bool seen_lately(struct ipoib_conn_seen *seen)
{
	if (!READ_ONCE(seen->ever))
		return false;
	if (time_before(jiffies, READ_ONCE(seen->at) + CUT_TIME))
		return true;
	/* Not for ever: jiffies wrap. */
	WRITE_ONCE(seen->ever, false);
	return false;
}

static void seen_now(struct ipoib_conn_seen *seen)
{
	ipoib_note_use(&seen->at);
	/* Who has just taken it for an old one takes it back until the next packet. */
	if (!READ_ONCE(seen->ever))
		WRITE_ONCE(seen->ever, true);
}

/**
 * ipoib_cm_prefers_datagram - does a packet go as a datagram, though there is a connection
 * @conn: to the peer
 * @skb: packet with its hardware address in front
 *
 * As long as short segments go to the peer, so does whatever else fits into a datagram: packets
 * of a stream keep their order.
 *
 * Context: transmit queue lock. Return: true if so.
 */
bool ipoib_cm_prefers_datagram(struct ipoib_conn *conn, const struct sk_buff *skb)
{
	if (unlikely(skb->len > READ_ONCE(conn->cm->intf->group_mtu) + IPOIB_HARD_LEN)) {
		seen_now(&conn->seen_long);
		return false;
	}
	return unlikely(seen_lately(&conn->seen_cut)) && !seen_lately(&conn->seen_long);
}

/**
 * ipoib_cm_cut - do the segments of a packet go as datagrams
 * @intf: interface in connected mode
 * @skb: packet with its hardware address in front
 *
 * Those for a peer that gets long packets as well do not: a stream with both would lose its
 * order.
 *
 * Context: softirqs off. Return: true if so; the HCA may cut it, if it can.
 */
bool ipoib_cm_cut(struct ipoib_intf *intf, const struct sk_buff *skb)
{
	struct ipoib_conn *conn;
	bool cut = false;

	if (!skb_is_gso(skb) || skb_headlen(skb) < IPOIB_HARD_LEN ||
	    !skb_gso_validate_network_len(skb, READ_ONCE(intf->group_mtu)))
		return false;
	if (!(skb->data[0] & IPOIB_HWADDR_RC))
		return true;
	rcu_read_lock();
	conn = ipoib_conn_find(intf->cm, skb);
	if (conn && !seen_lately(&conn->seen_long)) {
		seen_now(&conn->seen_cut);
		ipoib_note_use(&conn->used);
		cut = true;
	}
	rcu_read_unlock();
	return cut;
}
