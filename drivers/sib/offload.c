// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Offloads for IP over InfiniBand, see offload.h. Header layouts: RFC 791, 8200,
 * 768, 9293; checksums: RFC 1071, RFC 8200, 8.1.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip6_checksum.h>

#include "offload.h"

#define IP_FRAGMENT	0x3FFF		/* offset, and that more come */

static const struct iphdr *ip4(const u8 *p)
{
	return (const struct iphdr *)(p + SIB_IPOIB_LEN);
}

static const struct ipv6hdr *ip6(const u8 *p)
{
	return (const struct ipv6hdr *)(p + SIB_IPOIB_LEN);
}

static int parse_ip4(const u8 *p, u32 avail, struct sib_ip *ip)
{
	const struct iphdr *h = ip4(p);

	if (avail < SIB_IPOIB_LEN + sizeof(*h) || h->version != 4 || h->ihl < 5 ||
	    be16_to_cpu(h->frag_off) & IP_FRAGMENT)
		return -EINVAL;
	ip->v6 = false;
	ip->l4 = SIB_IPOIB_LEN + h->ihl * 4;
	ip->end = SIB_IPOIB_LEN + be16_to_cpu(h->tot_len);
	return h->protocol;
}

static int parse_ip6(const u8 *p, u32 avail, struct sib_ip *ip)
{
	const struct ipv6hdr *h = ip6(p);

	if (avail < SIB_IPOIB_LEN + sizeof(*h) || h->version != 6)
		return -EINVAL;
	ip->v6 = true;
	ip->l4 = SIB_IPOIB_LEN + sizeof(*h);
	ip->end = ip->l4 + be16_to_cpu(h->payload_len);
	return h->nexthdr;
}

/**
 * sib_offload_parse - see what a datagram of IPoIB is
 * @p: its payload from the IPoIB header on, aligned to 4 bytes
 * @avail: readable bytes at @p, @len or SIB_OFFLOAD_HLEN, whichever is less
 * @len: bytes of the payload
 * @ip: filled in
 *
 * Return: 0; -EINVAL if it is not a whole TCP or UDP packet, or of IPv6 one with
 * extension headers.
 */
int sib_offload_parse(const u8 *p, u32 avail, u32 len, struct sib_ip *ip)
{
	int proto;
	u32 min;

	if (avail < SIB_IPOIB_LEN)
		return -EINVAL;
	switch (get_unaligned_be16(p)) {
	case ETH_P_IP:
		proto = parse_ip4(p, avail, ip);
		break;
	case ETH_P_IPV6:
		proto = parse_ip6(p, avail, ip);
		break;
	default:
		return -EINVAL;
	}
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return -EINVAL;
	ip->tcp = proto == IPPROTO_TCP;
	min = ip->tcp ? sizeof(struct tcphdr) : sizeof(struct udphdr);
	if (ip->end > len || ip->l4 + min > ip->end || ip->l4 + min > avail)
		return -EINVAL;
	ip->data = ip->l4 + min;
	if (ip->tcp) {
		ip->data = ip->l4 + ((const struct tcphdr *)(p + ip->l4))->doff * 4;
		if (ip->data < ip->l4 + min || ip->data > ip->end)
			return -EINVAL;
	}
	return 0;
}

/* Checksum of TCP or UDP, given the unfolded sum of its header and data */
static __sum16 l4_check(const u8 *p, const struct sib_ip *ip, __wsum sum)
{
	u8 proto = ip->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	u32 len = ip->end - ip->l4;

	if (ip->v6)
		return csum_ipv6_magic(&ip6(p)->saddr, &ip6(p)->daddr, len, proto, sum);
	return csum_tcpudp_magic(ip4(p)->saddr, ip4(p)->daddr, len, proto, sum);
}

static __sum16 *l4_field(u8 *p, const struct sib_ip *ip)
{
	return ip->tcp ? &((struct tcphdr *)(p + ip->l4))->check :
			 &((struct udphdr *)(p + ip->l4))->check;
}

/* Replace 16 bits in memory of which @sum is the unfolded checksum. */
static void replace(__sum16 *field, __sum16 value, __wsum *sum)
{
	*sum = csum_add(csum_sub(*sum, csum_unfold(*field)), csum_unfold(value));
	*field = value;
}

/**
 * sib_offload_fill - put the checksums into a datagram
 * @p: the whole of it, from the IPoIB header on; what is there in place of
 *	checksums does not matter
 * @ip: from sib_offload_parse()
 * @sum: unfolded checksum of all its bytes, kept right
 * @whole: it ends where the IP packet ends, so that @sum need not be worked out
 *	again
 */
void sib_offload_fill(u8 *p, const struct sib_ip *ip, __wsum *sum, bool whole)
{
	__sum16 *check = l4_field(p, ip);
	struct iphdr *h = (struct iphdr *)(p + SIB_IPOIB_LEN);
	__wsum l4;

	replace(check, 0, sum);
	if (whole)
		l4 = csum_sub(*sum, csum_partial(p, ip->l4, 0));
	else
		l4 = csum_partial(p + ip->l4, ip->end - ip->l4, 0);
	/* for UDP, 0 says that there is none */
	replace(check, l4_check(p, ip, l4) ?: CSUM_MANGLED_0, sum);
	if (ip->v6)
		return;
	replace(&h->check, 0, sum);
	replace(&h->check, ip_fast_csum(h, h->ihl), sum);
}

/**
 * sib_offload_good - whether the checksums of a datagram are right
 * @p: its headers, from the IPoIB header on
 * @ip: from sib_offload_parse(); the datagram ends where the IP packet ends
 * @sum: unfolded checksum of all its bytes
 *
 * Return: true if so; false also for UDP without a checksum.
 */
bool sib_offload_good(const u8 *p, const struct sib_ip *ip, __wsum sum)
{
	if (!ip->v6 && ip_fast_csum(ip4(p), ip4(p)->ihl))
		return false;
	if (!ip->tcp && !((const struct udphdr *)(p + ip->l4))->check)
		return false;
	return !l4_check(p, ip, csum_sub(sum, csum_partial(p, ip->l4, 0)));
}

/**
 * sib_offload_cut - make the headers of a long TCP segment those of a part of it
 * @p: a copy of its headers, from the IPoIB header on
 * @ip: from sib_offload_parse(), of the whole
 * @segment: which part
 *
 * The checksums are left for sib_offload_fill().
 */
void sib_offload_cut(u8 *p, const struct sib_ip *ip, const struct sib_segment *segment)
{
	struct tcphdr *tcp = (struct tcphdr *)(p + ip->l4);
	u32 len = ip->data - SIB_IPOIB_LEN + segment->len;

	if (ip->v6) {
		struct ipv6hdr *h = (struct ipv6hdr *)(p + SIB_IPOIB_LEN);

		h->payload_len = cpu_to_be16(len - sizeof(*h));
	} else {
		struct iphdr *h = (struct iphdr *)(p + SIB_IPOIB_LEN);

		h->tot_len = cpu_to_be16(len);
		h->id = cpu_to_be16(be16_to_cpu(h->id) + segment->index);
	}
	tcp->seq = cpu_to_be32(be32_to_cpu(tcp->seq) + segment->off);
	if (segment->index)
		tcp->cwr = 0;
	if (!segment->last) {
		tcp->fin = 0;
		tcp->psh = 0;
	}
}
