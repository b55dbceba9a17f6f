// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Private data of the CM, hostile lengths and values included, and the service ID
 * (RFC 4755 sections 3.5 and 6).
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "cm_wire.h"

static void service_id(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ipoib_cm_service_id(0xABCDEF)), 0x1000000000ABCDEFULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ipoib_cm_service_id(0xFFABCDEF)), 0x1000000000ABCDEFULL);
}

static void octets_on_the_wire(struct kunit *test)
{
	static const u8 want[] = { 0, 0xAB, 0xCD, 0xEF, 0, 0, 0xFF, 0xF4 };
	struct ipoib_cm_data data;
	struct ipoib_cm_peer peer = {};

	ipoib_cm_data_set(&data, 0x80ABCDEF, IPOIB_CM_FRAME_MAX);
	KUNIT_EXPECT_EQ(test, memcmp(&data, want, sizeof(want)), 0);
	KUNIT_EXPECT_EQ(test, ipoib_cm_data_get(&data, sizeof(data), &peer), 0);
	KUNIT_EXPECT_EQ(test, peer.qpn, 0xABCDEFU);
	KUNIT_EXPECT_EQ(test, peer.frame_max, 65524U);
}

/* Shorter than the two fields: refused, and the result untouched. */
static void short_data(struct kunit *test)
{
	struct ipoib_cm_peer peer = { .qpn = 7, .frame_max = 9 };
	struct ipoib_cm_data data;
	size_t len;

	ipoib_cm_data_set(&data, 0x123, IPOIB_CM_FRAME_MAX);
	for (len = 0; len < sizeof(data); len++)
		KUNIT_EXPECT_EQ(test, ipoib_cm_data_get(&data, len, &peer), -EINVAL);
	KUNIT_EXPECT_EQ(test, peer.qpn, 7U);
	KUNIT_EXPECT_EQ(test, peer.frame_max, 9U);
}

static int get(u32 qpn, u32 mtu, struct ipoib_cm_peer *peer)
{
	struct ipoib_cm_data data = { .qpn = cpu_to_be32(qpn), .mtu = cpu_to_be32(mtu) };

	return ipoib_cm_data_get(&data, sizeof(data), peer);
}

static void values(struct kunit *test)
{
	struct ipoib_cm_peer peer = {};

	KUNIT_EXPECT_EQ(test, get(0, 65524, &peer), -EINVAL);
	KUNIT_EXPECT_EQ(test, get(1, 65524, &peer), -EINVAL);
	KUNIT_EXPECT_EQ(test, get(0xFFFFFF, 65524, &peer), -EINVAL);
	KUNIT_EXPECT_EQ(test, get(0x80000002, 65524, &peer), 0);	/* reserved octet */
	KUNIT_EXPECT_EQ(test, peer.qpn, 2U);
	KUNIT_EXPECT_EQ(test, get(2, 0, &peer), -EINVAL);
	KUNIT_EXPECT_EQ(test, get(2, 4, &peer), -EINVAL);
	KUNIT_EXPECT_EQ(test, get(2, IPOIB_CM_FRAME_MIN - 1, &peer), -EINVAL);
	KUNIT_EXPECT_EQ(test, get(2, IPOIB_CM_FRAME_MIN, &peer), 0);
	KUNIT_EXPECT_EQ(test, peer.frame_max, (u32)IPOIB_CM_FRAME_MIN);
	KUNIT_EXPECT_EQ(test, get(2, U32_MAX, &peer), 0);
	KUNIT_EXPECT_EQ(test, peer.frame_max, (u32)IPOIB_CM_FRAME_MAX);
}

static struct kunit_case cm_wire_cases[] = {
	KUNIT_CASE(service_id),
	KUNIT_CASE(octets_on_the_wire),
	KUNIT_CASE(short_data),
	KUNIT_CASE(values),
	{}
};

static struct kunit_suite cm_wire_suite = {
	.name = "ipoib_cm_wire",
	.test_cases = cm_wire_cases,
};

kunit_test_suite(cm_wire_suite);

MODULE_DESCRIPTION("KUnit suite of the private data of IPoIB connections");
MODULE_LICENSE("Dual MIT/GPL");
