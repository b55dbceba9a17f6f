// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Multicast addresses (RFC 4391 section 4): which group stands for broadcast,
 * and which of the addresses that the stack asks for can be groups at all. The
 * mapping of IP groups itself is the stack's (ip_ib_mc_map, ipv6_ib_mc_map); it
 * takes scope and P_Key from the broadcast address composed here.
 *
 * Pure functions without state; any context.
 */
#include "proto.h"

/**
 * ipoib_broadcast_hwaddr - link-layer address of the broadcast group
 * @hwaddr: 20 octets of result
 * @scope: IPv6 scope of the group, 4 bits
 * @pkey: P_Key of the partition; the group carries the full-member form
 */
void ipoib_broadcast_hwaddr(u8 *hwaddr, u8 scope, u16 pkey)
{
	u8 *mgid = hwaddr + IPOIB_HWADDR_GID;

	memset(hwaddr, 0, INFINIBAND_ALEN);
	put_unaligned_be32(IB_MULTICAST_QPN, hwaddr + IPOIB_HWADDR_QPN);
	mgid[0] = 0xff;
	mgid[1] = 0x10 | (scope & 0xf);
	put_unaligned_be16(IPOIB_SIGNATURE_IPV4, mgid + 2);
	put_unaligned_be16(pkey | IPOIB_PKEY_FULL_MEMBER, mgid + 4);
	memset(mgid + 12, 0xff, 4);
}

/**
 * ipoib_multicast_hwaddr_valid - can an interface join this group
 * @hwaddr: 20 octets asked for
 * @broadcast: the interface's broadcast address
 *
 * A group of an interface has the multicast QPN, the flags and scope of its
 * broadcast group, a signature of RFC 4391 and the interface's P_Key.
 */
bool ipoib_multicast_hwaddr_valid(const u8 *hwaddr, const u8 *broadcast)
{
	const u8 *mgid = hwaddr + IPOIB_HWADDR_GID;
	u16 signature = get_unaligned_be16(mgid + 2);

	return !memcmp(hwaddr, broadcast, IPOIB_HWADDR_GID + 2) &&
	       (signature == IPOIB_SIGNATURE_IPV4 ||
		signature == IPOIB_SIGNATURE_IPV6) &&
	       !memcmp(mgid + 4, broadcast + IPOIB_HWADDR_GID + 4, 2);
}
