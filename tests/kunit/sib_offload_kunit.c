// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Offloads for IP: checksums against a plain sum over all bytes, the parts of a
 * long TCP segment put together again, and packets that are none.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/module.h>

#include "offload.c"

#define SIZE	3000

struct packet {
	const char *name;
	bool v6;
	bool tcp;
	u8 options;	/* 4-byte words after the IPv4 header, and after TCP's */
	u32 data;
	u32 trailer;	/* bytes after the IP packet */
};

static const struct packet packets[] = {
	{ .name = "v4 tcp", .tcp = true, .data = 1000 },
	{ .name = "v4 tcp odd", .tcp = true, .data = 999 },
	{ .name = "v4 tcp options", .tcp = true, .options = 10, .data = 1 },
	{ .name = "v4 tcp bare", .tcp = true },
	{ .name = "v4 udp", .data = 555 },
	{ .name = "v4 udp bare" },
	{ .name = "v4 udp trailer", .data = 13, .trailer = 7 },
	{ .name = "v6 tcp", .v6 = true, .tcp = true, .data = 1400 },
	{ .name = "v6 udp", .v6 = true, .data = 9, .trailer = 1 },
};

static void packet_name(const struct packet *k, char *desc)
{
	strscpy(desc, k->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(packet, packets, packet_name);

static void put_ip4(u8 *h, const struct packet *k, u32 l4len)
{
	struct iphdr *ip = (struct iphdr *)h;

	ip->version = 4;
	ip->ihl = 5 + k->options;
	ip->tot_len = cpu_to_be16(ip->ihl * 4 + l4len);
	ip->id = cpu_to_be16(0xFFFE);
	ip->frag_off = cpu_to_be16(0x4000);
	ip->ttl = 64;
	ip->protocol = k->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	ip->check = 0x1234;
	ip->saddr = cpu_to_be32(0x0A000001);
	ip->daddr = cpu_to_be32(0x0A000002);
}

static void put_ip6(u8 *h, const struct packet *k, u32 l4len)
{
	struct ipv6hdr *ip = (struct ipv6hdr *)h;

	ip->version = 6;
	ip->payload_len = cpu_to_be16(l4len);
	ip->nexthdr = k->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	ip->saddr.s6_addr[0] = 0xFD;
	ip->saddr.s6_addr[15] = 1;
	ip->daddr.s6_addr[0] = 0xFD;
	ip->daddr.s6_addr[15] = 2;
}

/* A datagram with nonsense in place of checksums; returns its length. */
static u32 make(u8 *p, const struct packet *k)
{
	u32 l3 = k->v6 ? 40 : 20 + 4 * k->options;
	u32 l4 = k->tcp ? 20 + 4 * k->options : 8;
	u8 *h = p + SIB_IPOIB_LEN + l3;
	u32 i;

	for (i = 0; i < SIZE; i++)
		p[i] = i * 7;
	memset(p, 0, SIB_IPOIB_LEN + l3 + l4);
	put_unaligned_be16(k->v6 ? ETH_P_IPV6 : ETH_P_IP, p);
	if (k->v6)
		put_ip6(p + SIB_IPOIB_LEN, k, l4 + k->data);
	else
		put_ip4(p + SIB_IPOIB_LEN, k, l4 + k->data);
	put_unaligned_be16(0x1111, h);
	put_unaligned_be16(0x2222, h + 2);
	if (k->tcp) {
		struct tcphdr *tcp = (struct tcphdr *)h;

		tcp->seq = cpu_to_be32(0xFFFFFF00);
		tcp->doff = l4 / 4;
		tcp->fin = 1;
		tcp->psh = 1;
		tcp->ack = 1;
		tcp->cwr = 1;
		tcp->check = 0x4321;
	} else {
		put_unaligned_be16(l4 + k->data, h + 4);
		put_unaligned_be16(0x4321, h + 6);
	}
	return SIB_IPOIB_LEN + l3 + l4 + k->data + k->trailer;
}

/* RFC 1071, byte for byte */
static u32 plain(const u8 *p, u32 len, u32 sum)
{
	u32 i;

	for (i = 0; i < len; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return sum;
}

/* The sum that is all ones if the checksum of TCP or UDP is right */
static u32 l4_sum(const u8 *p, const struct packet *k, const struct sib_ip *ip)
{
	const u8 *from = p + SIB_IPOIB_LEN + (k->v6 ? 8 : 12);
	u32 sum = (ip->end - ip->l4) + (k->tcp ? IPPROTO_TCP : IPPROTO_UDP);

	sum = plain(from, k->v6 ? 32 : 8, sum);
	return plain(p + ip->l4, ip->end - ip->l4, sum);
}

static u16 fold(__wsum sum)
{
	return (__force u16)csum_fold(sum);
}

static void checksums_are_right(struct kunit *test)
{
	const struct packet *k = test->param_value;
	u8 *p = kunit_kzalloc(test, SIZE, GFP_KERNEL);
	struct sib_ip ip;
	__wsum sum;
	u32 len;

	KUNIT_ASSERT_NOT_NULL(test, p);
	len = make(p, k);
	sum = csum_partial(p, len, 0);
	KUNIT_ASSERT_EQ(test, sib_offload_parse(p, min_t(u32, len, SIB_OFFLOAD_HLEN), len, &ip), 0);
	KUNIT_EXPECT_EQ(test, ip.end + k->trailer, len);
	sib_offload_fill(p, &ip, &sum, !k->trailer);
	KUNIT_EXPECT_EQ(test, l4_sum(p, k, &ip), 0xFFFFU);
	if (!k->v6)
		KUNIT_EXPECT_EQ(test, plain(p + SIB_IPOIB_LEN, ip.l4 - SIB_IPOIB_LEN, 0), 0xFFFFU);
	KUNIT_EXPECT_EQ(test, fold(sum), fold(csum_partial(p, len, 0)));
}

static void damage_is_seen(struct kunit *test)
{
	const struct packet *k = test->param_value;
	u8 *p = kunit_kzalloc(test, SIZE, GFP_KERNEL);
	struct sib_ip ip;
	__wsum sum = 0;
	u32 len, i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	len = make(p, k) - k->trailer;
	KUNIT_ASSERT_EQ(test, sib_offload_parse(p, min_t(u32, len, SIB_OFFLOAD_HLEN), len, &ip), 0);
	sib_offload_fill(p, &ip, &sum, false);
	KUNIT_EXPECT_TRUE(test, sib_offload_good(p, &ip, csum_partial(p, len, 0)));
	for (i = k->v6 ? SIB_IPOIB_LEN + 8 : SIB_IPOIB_LEN; i < len; i += 1 + i / 50) {
		p[i] ^= 0x10;
		sum = csum_partial(p, len, 0);
		KUNIT_EXPECT_FALSE_MSG(test, sib_offload_good(p, &ip, sum), "byte %u", i);
		p[i] ^= 0x10;
	}
}

static void no_udp_checksum_is_not_good(struct kunit *test)
{
	static const struct packet k = { .data = 100 };
	u8 *p = kunit_kzalloc(test, SIZE, GFP_KERNEL);
	struct sib_ip ip;
	__wsum sum = 0;
	u32 len;

	KUNIT_ASSERT_NOT_NULL(test, p);
	len = make(p, &k);
	KUNIT_ASSERT_EQ(test, sib_offload_parse(p, SIB_OFFLOAD_HLEN, len, &ip), 0);
	sib_offload_fill(p, &ip, &sum, false);
	put_unaligned_be16(0, p + ip.l4 + 6);
	KUNIT_EXPECT_FALSE(test, sib_offload_good(p, &ip, csum_partial(p, len, 0)));
}

/* A byte or a length of a good packet changed so that it is none */
struct refusal {
	const char *name;
	bool v6;
	bool tcp;
	u32 at;
	u8 value;
	u32 cut;	/* bytes less than there should be */
};

static const struct refusal refusals[] = {
	{ .name = "arp", .at = 1, .value = 6 },
	{ .name = "v4 version", .at = 4, .value = 0x65 },
	{ .name = "v4 ihl short", .at = 4, .value = 0x44 },
	{ .name = "v4 ihl long", .at = 4, .value = 0x4F },
	{ .name = "v4 fragment", .at = 11, .value = 1 },
	{ .name = "v4 more fragments", .at = 10, .value = 0x20 },
	{ .name = "v4 icmp", .at = 13, .value = 1 },
	{ .name = "v4 length short", .at = 7, .value = 27 },
	{ .name = "v4 length long", .at = 6, .value = 0xFF },
	{ .name = "v4 truncated", .cut = 1, .at = 3 },
	{ .name = "v6 version", .v6 = true, .at = 4, .value = 0x40 },
	{ .name = "v6 extension", .v6 = true, .at = 10, .value = 43 },
	{ .name = "v6 length", .v6 = true, .at = 9, .value = 7 },
	{ .name = "v6 truncated", .v6 = true, .cut = 1, .at = 3 },
	{ .name = "tcp doff short", .tcp = true, .at = 36, .value = 0x40 },
	{ .name = "tcp doff long", .tcp = true, .at = 36, .value = 0xF0 },
};

static void refusal_name(const struct refusal *r, char *desc)
{
	strscpy(desc, r->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(refusal, refusals, refusal_name);

static void what_is_none_is_refused(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	struct packet k = { .v6 = r->v6, .tcp = r->tcp, .data = 2 };
	u8 *p = kunit_kzalloc(test, SIZE, GFP_KERNEL);
	struct sib_ip ip;
	u32 len, full;

	KUNIT_ASSERT_NOT_NULL(test, p);
	full = make(p, &k);
	KUNIT_ASSERT_EQ(test, sib_offload_parse(p, full, full, &ip), 0);
	len = full - r->cut;
	p[r->at] = r->value;
	KUNIT_EXPECT_EQ(test, sib_offload_parse(p, len, len, &ip), -EINVAL);
}

/* KASAN sees a byte read too many. */
static void nothing_is_read_beyond_the_end(struct kunit *test)
{
	static const struct packet kinds[] = {
		{ .tcp = true, .data = 1 }, { .data = 1 },
		{ .v6 = true, .tcp = true, .data = 1 }, { .v6 = true, .data = 1 },
	};
	u8 *p = kunit_kzalloc(test, SIZE, GFP_KERNEL), *copy;
	struct sib_ip ip;
	u32 len, n, i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		len = make(p, &kinds[i]);
		for (n = 0; n < len; n++) {
			copy = kmemdup(p, n ?: 1, GFP_KERNEL);
			KUNIT_ASSERT_NOT_NULL(test, copy);
			KUNIT_EXPECT_EQ(test, sib_offload_parse(copy, n, n, &ip), -EINVAL);
			kfree(copy);
		}
	}
}

/* Cut, and the parts are packets of their own whose data follow each other. */
static void parts_make_the_whole(struct kunit *test)
{
	const struct packet *k = test->param_value;
	struct sib_ip ip, cut;
	u8 *p, *header;
	u32 len, mss = 333, n = 0;
	struct sib_segment part = {};

	if (!k->tcp || k->trailer || !k->data)
		return;
	p = kunit_kzalloc(test, SIZE, GFP_KERNEL);
	header = kunit_kzalloc(test, SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_NOT_NULL(test, header);
	len = make(p, k);
	KUNIT_ASSERT_EQ(test, sib_offload_parse(p, min_t(u32, len, SIB_OFFLOAD_HLEN), len, &ip), 0);
	for (; !part.last; part.index++, part.off += part.len) {
		struct tcphdr *tcp = (struct tcphdr *)(header + ip.l4);
		__wsum sum = 0;

		part.len = min(mss, k->data - part.off);
		part.last = part.off + part.len == k->data;
		memcpy(header, p, ip.data);
		memcpy(header + ip.data, p + ip.data + part.off, part.len);
		sib_offload_cut(header, &ip, &part);
		len = ip.data + part.len;
		KUNIT_ASSERT_EQ(test, sib_offload_parse(header, min_t(u32, len, SIB_OFFLOAD_HLEN),
							len, &cut), 0);
		KUNIT_EXPECT_EQ(test, cut.end, len);
		KUNIT_EXPECT_EQ(test, cut.data, ip.data);
		sib_offload_fill(header, &cut, &sum, false);
		KUNIT_EXPECT_EQ(test, l4_sum(header, k, &cut), 0xFFFFU);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(tcp->seq), 0xFFFFFF00 + part.off);
		KUNIT_EXPECT_EQ(test, (bool)tcp->cwr, !part.index);
		KUNIT_EXPECT_EQ(test, (bool)tcp->fin, part.last);
		KUNIT_EXPECT_EQ(test, (bool)tcp->psh, part.last);
		KUNIT_EXPECT_TRUE(test, tcp->ack);
		if (!k->v6)
			KUNIT_EXPECT_EQ(test, get_unaligned_be16(header + 8),
					(u16)(0xFFFE + part.index));
		n++;
	}
	KUNIT_EXPECT_EQ(test, n, DIV_ROUND_UP(k->data, mss));
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(checksums_are_right, packet_gen_params),
	KUNIT_CASE_PARAM(damage_is_seen, packet_gen_params),
	KUNIT_CASE(no_udp_checksum_is_not_good),
	KUNIT_CASE_PARAM(what_is_none_is_refused, refusal_gen_params),
	KUNIT_CASE(nothing_is_read_beyond_the_end),
	KUNIT_CASE_PARAM(parts_make_the_whole, packet_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_offload",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of offloads for IP");
MODULE_LICENSE("Dual MIT/GPL");
