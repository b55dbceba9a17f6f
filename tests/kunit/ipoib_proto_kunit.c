// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Link-layer addresses and multicast mapping of RFC 4391, against the stack's
 * own mapping functions.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <net/if_inet6.h>
#include <net/ip.h>

#include "mgid.c"

static void hardware_address(struct kunit *test)
{
	static const u8 want[INFINIBAND_ALEN] = {
		0x80, 0xAB, 0xCD, 0xEF,
		0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0x00, 0xFF, 0xFE, 0x12, 0x34, 0x56,
	};
	union ib_gid gid;
	u8 raw[INFINIBAND_ALEN + 1], *hwaddr = raw + 1;		/* of any alignment */

	memcpy(gid.raw, want + 4, 16);
	ipoib_hwaddr_set(hwaddr, 0x80, 0xFFABCDEF, &gid);
	KUNIT_EXPECT_EQ(test, memcmp(hwaddr, want, sizeof(want)), 0);
	KUNIT_EXPECT_EQ(test, ipoib_hwaddr_qpn(hwaddr), 0xABCDEFU);
	gid = ipoib_hwaddr_gid(hwaddr);
	KUNIT_EXPECT_EQ(test, memcmp(gid.raw, want + 4, 16), 0);
	KUNIT_EXPECT_FALSE(test, ipoib_hwaddr_is_multicast(hwaddr));
	ipoib_hwaddr_set(hwaddr, 0, 1, &gid);
	KUNIT_EXPECT_EQ(test, hwaddr[0], 0);
	KUNIT_EXPECT_EQ(test, ipoib_hwaddr_qpn(hwaddr), 1U);
}

/* RFC 4391 section 4: FF1<scope>:401B:<P_Key>::FFFF:FFFF */
static void broadcast_of_every_scope_and_pkey(struct kunit *test)
{
	u8 hwaddr[INFINIBAND_ALEN], want[INFINIBAND_ALEN] = {
		0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0x40, 0x1B, 0, 0, 0, 0, 0, 0, 0, 0,
		0xFF, 0xFF, 0xFF, 0xFF,
	};
	unsigned int scope, pkey, bad = 0;

	for (scope = 0; scope < 16; scope++) {
		for (pkey = 0; pkey <= 0xFFFF; pkey++) {
			want[5] = 0x10 | scope;
			want[8] = 0x80 | pkey >> 8;
			want[9] = pkey & 0xFF;
			ipoib_broadcast_hwaddr(hwaddr, scope, pkey);
			bad += !!memcmp(hwaddr, want, sizeof(want));
		}
	}
	KUNIT_EXPECT_EQ(test, bad, 0U);
	KUNIT_EXPECT_TRUE(test, ipoib_hwaddr_is_multicast(hwaddr));
	ipoib_broadcast_hwaddr(hwaddr, 0xF2, 0xFFFF);	/* four bits of scope count */
	KUNIT_EXPECT_EQ(test, hwaddr[5], 0x12);
}

/* What the stack maps a group to is a group of the interface. */
static void mapped_groups_are_valid(struct kunit *test)
{
	static const u16 pkeys[] = { 0x7FFF, 0x8001, 0xFFFF, 0x1234 };
	static const u8 scopes[] = { 1, 2, 3, 5, 8, 14 };
	u8 broadcast[INFINIBAND_ALEN], other[INFINIBAND_ALEN], mapped[INFINIBAND_ALEN];
	struct in6_addr nodes = IN6ADDR_LINKLOCAL_ALLNODES_INIT;
	unsigned int p, s;

	for (p = 0; p < ARRAY_SIZE(pkeys); p++) {
		for (s = 0; s < ARRAY_SIZE(scopes); s++) {
			ipoib_broadcast_hwaddr(broadcast, scopes[s], pkeys[p]);
			ip_ib_mc_map(htonl(0xE00000FB), broadcast, mapped);
			KUNIT_EXPECT_TRUE(test, ipoib_multicast_hwaddr_valid(mapped, broadcast));
			KUNIT_EXPECT_EQ(test, get_unaligned_be32(mapped + 16), 0x000000FBU);
			ipv6_ib_mc_map(&nodes, broadcast, mapped);
			KUNIT_EXPECT_TRUE(test, ipoib_multicast_hwaddr_valid(mapped, broadcast));
			ipoib_broadcast_hwaddr(other, scopes[s], pkeys[p] ^ 1);
			KUNIT_EXPECT_FALSE(test, ipoib_multicast_hwaddr_valid(mapped, other));
			ipoib_broadcast_hwaddr(other, scopes[s] ^ 1, pkeys[p]);
			KUNIT_EXPECT_FALSE(test, ipoib_multicast_hwaddr_valid(mapped, other));
		}
	}
}

static void what_is_no_group(struct kunit *test)
{
	/* octets that make it another thing; the rest is the group's own number */
	static const u8 decisive[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	u8 broadcast[INFINIBAND_ALEN], addr[INFINIBAND_ALEN];
	int i;

	ipoib_broadcast_hwaddr(broadcast, IPOIB_SCOPE_LINK_LOCAL, 0xFFFF);
	for (i = 0; i < INFINIBAND_ALEN; i++) {
		memcpy(addr, broadcast, sizeof(addr));
		addr[i] ^= 0x04;
		KUNIT_EXPECT_EQ_MSG(test, ipoib_multicast_hwaddr_valid(addr, broadcast),
				    i > decisive[ARRAY_SIZE(decisive) - 1], "octet %d", i);
	}
	/* Ethernet-minded callers pass what is no InfiniBand group at all */
	memset(addr, 0, sizeof(addr));
	addr[0] = 0x01;
	addr[2] = 0x5E;
	KUNIT_EXPECT_FALSE(test, ipoib_multicast_hwaddr_valid(addr, broadcast));
}

static void sizes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)sizeof(struct ipoib_header), 4);
	KUNIT_EXPECT_EQ(test, IPOIB_HARD_LEN, 24);
	KUNIT_EXPECT_EQ(test, IPOIB_UD_HEAD_LEN, 44);
	KUNIT_EXPECT_EQ(test, IPOIB_UD_MTU(2048), 2044);
	KUNIT_EXPECT_EQ(test, IPOIB_UD_MTU(4096), 4092);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(hardware_address),
	KUNIT_CASE(broadcast_of_every_scope_and_pkey),
	KUNIT_CASE(mapped_groups_are_valid),
	KUNIT_CASE(what_is_no_group),
	KUNIT_CASE(sizes),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_proto",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: IPoIB addresses");
