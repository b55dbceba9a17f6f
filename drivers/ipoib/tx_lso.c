// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * TCP segments longer than a datagram, which HCAs with large send offload cut
 * themselves. The headers are given apart from the data: encapsulation, IP and TCP.
 */
#include <linux/tcp.h>

#include "ipoib.h"

/* Octets of the headers, with the encapsulation header at their front. */
static unsigned int lso_hlen(const struct sk_buff *skb)
{
	return skb_tcp_all_headers(skb);
}

/**
 * ipoib_tx_lso_frame_len - the length of the packets that leave
 * @skb: packet to be cut, encapsulation header in front
 *
 * Return: octets of the longest.
 */
unsigned int ipoib_tx_lso_frame_len(const struct sk_buff *skb)
{
	return min(lso_hlen(skb) + skb_shinfo(skb)->gso_size, skb->len);
}

/**
 * ipoib_tx_lso_prepare - have the HCA cut a packet
 * @intf: interface
 * @slot: of the packet; its request's operation and headers are set
 * @skb: packet to be cut, encapsulation header in front; the headers are pulled off
 *
 * Return: false if there is no memory for headers in one piece, or for what the HCA
 * cannot gather, or the packet is none that a HCA cuts.
 */
bool ipoib_tx_lso_prepare(const struct ipoib_intf *intf, struct ipoib_tx_slot *slot,
			  struct sk_buff *skb)
{
	unsigned int hlen = lso_hlen(skb);

	/* Both may move the headers. */
	if (!skb_is_gso_tcp(skb) || !pskb_may_pull(skb, hlen) ||
	    !ipoib_tx_fits_sges(intf, skb, hlen))
		return false;
	slot->wr.wr.opcode = IB_WR_LSO;
	slot->wr.header = skb->data;
	slot->wr.hlen = hlen;
	slot->wr.mss = skb_shinfo(skb)->gso_size;
	skb_pull(skb, hlen);
	return true;
}

/**
 * ipoib_tx_lso_packets - datagrams that the HCA makes of a packet
 * @slot: prepared by ipoib_tx_lso_prepare()
 */
unsigned int ipoib_tx_lso_packets(const struct ipoib_tx_slot *slot)
{
	return DIV_ROUND_UP(slot->skb->len, slot->wr.mss) ?: 1;
}
