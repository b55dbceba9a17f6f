/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What connected mode puts into the messages of the communication manager
 * (RFC 4755 sections 3.5 and 6). Pure: no object of the driver in here.
 */
#ifndef IPOIB_CM_WIRE_H
#define IPOIB_CM_WIRE_H

#include <linux/build_bug.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "proto.h"

/*
 * A service ID is this and the QPN of the UD queue pair in the peer's hardware
 * address. The RFC leaves the upper octets to a registry; this is what every
 * implementation in the field uses.
 */
#define IPOIB_CM_SERVICE	0x1000000000000000ULL

/* The largest datagram of connected mode, and with its header. */
#define IPOIB_CM_MTU_MAX	65520
#define IPOIB_CM_FRAME_MAX	(IPOIB_CM_MTU_MAX + IPOIB_ENCAP_LEN)

/* The least a peer must receive for a connection to be of use: that of IPv4. */
#define IPOIB_CM_FRAME_MIN	(IPV4_MIN_MTU + IPOIB_ENCAP_LEN)

/* Says that options follow; what is not of the RFC, others send as zero. */
#define IPOIB_CM_MAGIC		0x6f49506fU

/* The sender understands checksums that are still to be computed. */
#define IPOIB_CM_OPT_PARTIAL	BIT(0)

/**
 * struct ipoib_cm_data - private data of REQ and REP (RFC 4755 section 6)
 * @qpn: of the sender's UD queue pair; the upper octet is reserved
 * @mtu: the longest message the sender receives, encapsulation header included
 *	[octets]
 * @magic: IPOIB_CM_MAGIC; here ends what is of the RFC
 * @options: IPOIB_CM_OPT_*
 */
struct ipoib_cm_data {
	__be32 qpn;
	__be32 mtu;
	__be32 magic;
	__be32 options;
};

static_assert(sizeof(struct ipoib_cm_data) == 16);
#define IPOIB_CM_DATA_MIN	offsetof(struct ipoib_cm_data, magic)

/**
 * struct ipoib_cm_peer - what a peer says of itself
 * @qpn: of its UD queue pair
 * @frame_max: the longest message to send to it, encapsulation header included
 * @options: IPOIB_CM_OPT_* that it knows
 */
struct ipoib_cm_peer {
	u32 qpn;
	u32 frame_max;
	u32 options;
};

/**
 * ipoib_cm_service_id - service that an interface listens on
 * @qpn: of its UD queue pair
 */
static inline __be64 ipoib_cm_service_id(u32 qpn)
{
	return cpu_to_be64(IPOIB_CM_SERVICE | (qpn & 0xffffff));
}

/**
 * ipoib_cm_data_set - compose private data
 * @data: result
 * @qpn: of the own UD queue pair
 * @frame_max: the longest message received, with its header
 * @options: IPOIB_CM_OPT_* to announce
 */
static inline void ipoib_cm_data_set(struct ipoib_cm_data *data, u32 qpn,
				     u32 frame_max, u32 options)
{
	data->magic = cpu_to_be32(IPOIB_CM_MAGIC);
	data->options = cpu_to_be32(options);
	data->qpn = cpu_to_be32(qpn & 0xffffff);
	data->mtu = cpu_to_be32(frame_max);
}

/**
 * ipoib_cm_data_get - understand a peer's private data
 * @from: the data
 * @len: how much there is of it
 * @peer: result; untouched on error
 *
 * Return: 0, or -EINVAL if the data are short or make no sense.
 */
static inline int ipoib_cm_data_get(const void *from, size_t len,
				    struct ipoib_cm_peer *peer)
{
	struct ipoib_cm_data data = {};
	u32 qpn, mtu;

	if (len < IPOIB_CM_DATA_MIN)
		return -EINVAL;
	memcpy(&data, from, min(len, sizeof(data)));
	qpn = be32_to_cpu(data.qpn) & 0xffffff;
	mtu = be32_to_cpu(data.mtu);
	/* 0 and 1 are the management queue pairs, the last means multicast. */
	if (qpn <= 1 || qpn == IB_MULTICAST_QPN || mtu < IPOIB_CM_FRAME_MIN)
		return -EINVAL;
	peer->qpn = qpn;
	peer->frame_max = min_t(u32, mtu, IPOIB_CM_FRAME_MAX);
	peer->options = data.magic == cpu_to_be32(IPOIB_CM_MAGIC) ?
			be32_to_cpu(data.options) : 0;
	return 0;
}

/*
 * A checksum that is still to be computed, in the reserved half of the encapsulation
 * header: one bit says so, one whether its place is that of UDP or of TCP, and an
 * octet where the transport header begins, counted from the network header.
 */
#define IPOIB_PARTIAL		0x8000
#define IPOIB_PARTIAL_UDP	0x4000
#define IPOIB_PARTIAL_START	0x00ff

/**
 * ipoib_partial_mark - say where a checksum is to be computed
 * @start: transport header, from the network header
 * @offset: of the checksum in it
 *
 * Return: the mark, or 0 if it cannot be said.
 */
static inline u16 ipoib_partial_mark(unsigned int start, unsigned int offset)
{
	if (start > IPOIB_PARTIAL_START)
		return 0;
	if (offset == offsetof(struct tcphdr, check))
		return IPOIB_PARTIAL | start;
	if (offset == offsetof(struct udphdr, check))
		return IPOIB_PARTIAL | IPOIB_PARTIAL_UDP | start;
	return 0;
}

/**
 * ipoib_partial_parse - understand a mark
 * @mark: with IPOIB_PARTIAL
 * @len: of the packet from its network header
 * @start: result: transport header, from the network header
 * @offset: result: of the checksum in it
 *
 * Return: false if the checksum would lie outside of the packet, or in the IP header.
 */
static inline bool ipoib_partial_parse(u16 mark, u32 len, u16 *start,
				       u16 *offset)
{
	*start = mark & IPOIB_PARTIAL_START;
	*offset = mark & IPOIB_PARTIAL_UDP ? offsetof(struct udphdr, check) :
					     offsetof(struct tcphdr, check);
	return *start >= sizeof(struct iphdr) &&
	       *start + *offset + sizeof(__sum16) <= len;
}

#endif /* IPOIB_CM_WIRE_H */
