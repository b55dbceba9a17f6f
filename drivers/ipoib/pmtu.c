// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Packets too long for where they go: a datagram destination or a group, when the
 * interface's MTU is that of connected mode, or a peer that receives less.
 *
 * The packet is lost, but its sender learns the MTU: the route remembers it, and
 * ICMP (RFC 1191, RFC 8201) tells sockets and, for forwarded packets, other hosts.
 * ICMP is sent from the control queue, because an answer may leave through this
 * interface, whose transmit lock the caller holds.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/ipv6.h>
#include <net/dst.h>
#include <net/icmp.h>
#include <net/ip.h>

#include "drop.h"
#include "ipoib.h"

/* Answers that wait to be sent; who is told later is told by the next packet. */
#define PMTU_QUEUE_MAX	64

/**
 * struct pmtu_note - what a packet carries while it waits
 * @mtu: that of the path
 */
struct pmtu_note {
	u32 mtu;
};

static struct pmtu_note *pmtu_note_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct pmtu_note) > sizeof(skb->cb));
	return (struct pmtu_note *)skb->cb;
}

static void pmtu_answer(struct sk_buff *skb)
{
	u32 mtu = pmtu_note_of(skb)->mtu;

	memset(skb->cb, 0, sizeof(skb->cb));
	if (skb->protocol == htons(ETH_P_IP))
		icmp_send(skb, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, htonl(mtu));
	else if (IS_ENABLED(CONFIG_IPV6) && skb->protocol == htons(ETH_P_IPV6))
		icmpv6_send(skb, ICMPV6_PKT_TOOBIG, 0, mtu);
}

static void pmtu_work(struct work_struct *work)
{
	struct ipoib_intf *intf = container_of(work, struct ipoib_intf,
					       pmtu_work);
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&intf->pmtu_queue))) {
		local_bh_disable();
		pmtu_answer(skb);
		local_bh_enable();
		kfree_skb_reason(skb, SKB_DROP_REASON_PKT_TOO_BIG);
	}
}

/**
 * ipoib_pmtu_too_long - a packet does not fit where it should go
 * @txq: transmit queue
 * @skb: packet, encapsulation header in front; consumed
 * @mtu: what would fit, without that header
 * @told: has this been logged for the destination; set
 *
 * Context: transmit queue lock.
 */
void ipoib_pmtu_too_long(struct ipoib_txq *txq, struct sk_buff *skb, u32 mtu,
			 bool *told)
{
	struct ipoib_intf *intf = txq->intf;

	ipoib_count(&txq->too_long, 1);
	if (!READ_ONCE(*told)) {
		WRITE_ONCE(*told, true);
		net_info_ratelimited("%s: packet of %u octets is too long for a destination of MTU %u\n",
				     intf->dev->name, skb->len - IPOIB_ENCAP_LEN,
				     mtu);
	}
	ipoib_count_error(&txq->drops);
	skb_dst_update_pmtu(skb, mtu);
	if (skb_queue_len_lockless(&intf->pmtu_queue) >= PMTU_QUEUE_MAX) {
		dev_kfree_skb_any_reason(skb, SKB_DROP_REASON_PKT_TOO_BIG);
		return;
	}
	pmtu_note_of(skb)->mtu = mtu;
	skb_queue_tail(&intf->pmtu_queue, skb);
	queue_work(intf->wq, &intf->pmtu_work);
}

/**
 * ipoib_pmtu_init - nothing waits yet
 * @intf: interface being made
 */
void ipoib_pmtu_init(struct ipoib_intf *intf)
{
	skb_queue_head_init(&intf->pmtu_queue);
	INIT_WORK(&intf->pmtu_work, pmtu_work);
}

/**
 * ipoib_pmtu_choose - the MTU of an interface
 * @wanted: set by hand, or 0
 * @group: of the broadcast group
 * @connected: the largest of connected mode, or 0 in datagram mode
 * @preset: for connected mode with none set by hand, or 0
 *
 * Return: the MTU.
 */
int ipoib_pmtu_choose(int wanted, int group, int connected, int preset)
{
	if (!connected)
		return wanted ? min(wanted, group) : group;
	if (!wanted)
		wanted = preset ?: group;
	return min(wanted, connected);
}
