/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What an HCA does for IP over InfiniBand (RFC 4391) when asked: checksums of IP,
 * TCP and UDP, and the cutting of long TCP segments. Pure functions over memory:
 * no device, no lock, any context. What they are given may be anything.
 */
#ifndef SIB_OFFLOAD_H
#define SIB_OFFLOAD_H

#include <linux/types.h>

/* IPoIB header, and with it the longest IPv4 and TCP headers */
#define SIB_IPOIB_LEN		4
#define SIB_OFFLOAD_HLEN	(SIB_IPOIB_LEN + 60 + 60)

/**
 * struct sib_ip - where things are in a datagram
 * @v6: IPv6, else IPv4
 * @tcp: TCP, else UDP
 * @l4: offset of the TCP or UDP header
 * @data: offset of what comes after it
 * @end: offset of the end of the IP packet
 */
struct sib_ip {
	bool v6;
	bool tcp;
	u32 l4;
	u32 data;
	u32 end;
};

/**
 * struct sib_segment - part of a long TCP segment
 * @off: bytes of data before it
 * @len: bytes of data
 * @index: how many parts come before it
 * @last: none comes after it
 */
struct sib_segment {
	u32 off;
	u32 len;
	u32 index;
	bool last;
};

int sib_offload_parse(const u8 *p, u32 avail, u32 len, struct sib_ip *ip);
void sib_offload_fill(u8 *p, const struct sib_ip *ip, __wsum *sum, bool whole);
bool sib_offload_good(const u8 *p, const struct sib_ip *ip, __wsum sum);
void sib_offload_cut(u8 *p, const struct sib_ip *ip, const struct sib_segment *segment);

#endif /* SIB_OFFLOAD_H */
