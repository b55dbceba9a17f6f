/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Wire formats of IP over InfiniBand (RFC 4391) and the link-layer address the
 * network stack knows an interface by. Pure: no object of the driver in here.
 */
#ifndef IPOIB_PROTO_H
#define IPOIB_PROTO_H

#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/if_infiniband.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/types.h>
#include <net/ndisc.h>
#include <rdma/ib_verbs.h>

/* RFC 4391 section 6: the encapsulation header in front of each datagram. */
struct ipoib_header {
	__be16 proto;		/* an Ethertype */
	__be16 reserved;	/* zero, or what cm_wire.h says; else ignored */
};

#define IPOIB_ENCAP_LEN		((int)sizeof(struct ipoib_header))

/*
 * The stack has no room of its own for the destination's 20-octet address
 * between header creation and transmission, so hard_header puts it in front of
 * the encapsulation header, and the transmit path takes it off again.
 */
#define IPOIB_HARD_LEN		(INFINIBAND_ALEN + IPOIB_ENCAP_LEN)

#define IPOIB_GRH_LEN		((int)sizeof(struct ib_grh))

/* What precedes the datagram in a receive buffer. */
#define IPOIB_UD_HEAD_LEN	(IPOIB_GRH_LEN + IPOIB_ENCAP_LEN)

/* The largest datagram of a group whose MTU is @ib_mtu octets. */
#define IPOIB_UD_MTU(ib_mtu)	((ib_mtu) - IPOIB_ENCAP_LEN)

/* RFC 4391 section 4: scope of the broadcast group, link-local. */
#define IPOIB_SCOPE_LINK_LOCAL	0x2

/* Octets 6 and 7 of an MGID: which protocol is mapped (RFC 4391 section 4). */
#define IPOIB_SIGNATURE_IPV4	0x401b
#define IPOIB_SIGNATURE_IPV6	0x601b

/* The top bit of a P_Key: full membership (IBA 10.9.1). */
#define IPOIB_PKEY_FULL_MEMBER	0x8000

/* Offsets in the 20-octet link-layer address (RFC 4391 section 9.1.1). */
#define IPOIB_HWADDR_QPN	0	/* one octet of flags, then the QPN */
#define IPOIB_HWADDR_GID	4

/* In the octet of flags: connections are accepted (RFC 4755 section 3.1). */
#define IPOIB_HWADDR_RC		0x80

/**
 * ipoib_resolves_address - is a packet one of ARP or of neighbour discovery (RFC 4861)
 * @skb: packet with its hardware address in front
 */
static inline bool ipoib_resolves_address(const struct sk_buff *skb)
{
	const struct ipoib_header *encap = (const void *)(skb->data + INFINIBAND_ALEN);
	const struct ipv6hdr *ip = (const void *)(encap + 1);
	const struct icmp6hdr *icmp = (const void *)(ip + 1);

	if (encap->proto == htons(ETH_P_ARP) || encap->proto == htons(ETH_P_RARP))
		return true;
	return encap->proto == htons(ETH_P_IPV6) &&
	       skb_headlen(skb) >= IPOIB_HARD_LEN + sizeof(*ip) + sizeof(*icmp) &&
	       ip->nexthdr == IPPROTO_ICMPV6 &&
	       icmp->icmp6_type >= NDISC_ROUTER_SOLICITATION &&
	       icmp->icmp6_type <= NDISC_REDIRECT;
}

/**
 * ipoib_hwaddr_qpn - queue pair number in a link-layer address
 * @hwaddr: 20 octets
 */
static inline u32 ipoib_hwaddr_qpn(const u8 *hwaddr)
{
	return get_unaligned_be32(hwaddr + IPOIB_HWADDR_QPN) & 0xffffff;
}

/**
 * ipoib_hwaddr_gid - copy of the GID in a link-layer address
 * @hwaddr: 20 octets, of any alignment
 */
static inline union ib_gid ipoib_hwaddr_gid(const u8 *hwaddr)
{
	union ib_gid gid;

	memcpy(&gid, hwaddr + IPOIB_HWADDR_GID, sizeof(gid));
	return gid;
}

/**
 * ipoib_hwaddr_is_multicast - does the address name a group
 * @hwaddr: 20 octets
 */
static inline bool ipoib_hwaddr_is_multicast(const u8 *hwaddr)
{
	return hwaddr[IPOIB_HWADDR_GID] == 0xff;
}

/**
 * ipoib_hwaddr_set - compose a link-layer address (RFC 4391 section 9.1.1)
 * @hwaddr: 20 octets of result
 * @flags: first octet, zero in datagram mode
 * @qpn: queue pair number, 24 bits
 * @gid: port GID
 */
static inline void ipoib_hwaddr_set(u8 *hwaddr, u8 flags, u32 qpn,
				    const union ib_gid *gid)
{
	put_unaligned_be32((u32)flags << 24 | (qpn & 0xffffff),
			   hwaddr + IPOIB_HWADDR_QPN);
	memcpy(hwaddr + IPOIB_HWADDR_GID, gid, sizeof(*gid));
}

void ipoib_broadcast_hwaddr(u8 *hwaddr, u8 scope, u16 pkey);
bool ipoib_multicast_hwaddr_valid(const u8 *hwaddr, const u8 *broadcast);

#endif /* IPOIB_PROTO_H */
