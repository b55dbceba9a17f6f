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
	static const u8 want[] = { 0, 0xAB, 0xCD, 0xEF, 0, 0, 0xFF, 0xF4,
				   'o', 'I', 'P', 'o', 0, 0, 0, 1 };
	struct ipoib_cm_data data;
	struct ipoib_cm_peer peer = {};

	ipoib_cm_data_set(&data, 0x80ABCDEF, IPOIB_CM_FRAME_MAX, IPOIB_CM_OPT_PARTIAL);
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

	ipoib_cm_data_set(&data, 0x123, IPOIB_CM_FRAME_MAX, 0);
	for (len = 0; len < 8; len++)
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

/* Without the magic, or cut off within it, there are none. */
static void options(struct kunit *test)
{
	struct ipoib_cm_peer peer = {};
	struct ipoib_cm_data data;
	size_t len;

	ipoib_cm_data_set(&data, 0x123, IPOIB_CM_FRAME_MAX, IPOIB_CM_OPT_PARTIAL);
	KUNIT_EXPECT_EQ(test, ipoib_cm_data_get(&data, sizeof(data), &peer), 0);
	KUNIT_EXPECT_EQ(test, peer.options, (u32)IPOIB_CM_OPT_PARTIAL);
	for (len = 8; len < sizeof(data); len++) {
		KUNIT_EXPECT_EQ(test, ipoib_cm_data_get(&data, len, &peer), 0);
		KUNIT_EXPECT_EQ(test, peer.options, 0U);
	}
	data.magic = 0;
	KUNIT_EXPECT_EQ(test, ipoib_cm_data_get(&data, sizeof(data), &peer), 0);
	KUNIT_EXPECT_EQ(test, peer.options, 0U);
}

static void marks(struct kunit *test)
{
	u16 start, offset;

	KUNIT_EXPECT_EQ(test, ipoib_partial_mark(20, 16), 0x8014);
	KUNIT_EXPECT_EQ(test, ipoib_partial_mark(40, 6), 0xC028);
	KUNIT_EXPECT_EQ(test, ipoib_partial_mark(20, 8), 0);	/* neither TCP nor UDP */
	KUNIT_EXPECT_EQ(test, ipoib_partial_mark(256, 16), 0);
	KUNIT_EXPECT_TRUE(test, ipoib_partial_parse(0x8014, 38, &start, &offset));
	KUNIT_EXPECT_EQ(test, start, 20);
	KUNIT_EXPECT_EQ(test, offset, 16);
	KUNIT_EXPECT_TRUE(test, ipoib_partial_parse(0xC028, 48, &start, &offset));
	KUNIT_EXPECT_EQ(test, start, 40);
	KUNIT_EXPECT_EQ(test, offset, 6);
}

/* Outside of the packet, or within the IP header. */
static void hostile_marks(struct kunit *test)
{
	u16 start, offset;
	u32 mark;

	KUNIT_EXPECT_FALSE(test, ipoib_partial_parse(0x8014, 37, &start, &offset));
	KUNIT_EXPECT_FALSE(test, ipoib_partial_parse(0xC028, 47, &start, &offset));
	KUNIT_EXPECT_FALSE(test, ipoib_partial_parse(0x8013, 2000, &start, &offset));
	KUNIT_EXPECT_FALSE(test, ipoib_partial_parse(0x8000, 2000, &start, &offset));
	for (mark = 0x8000; mark <= 0xffff; mark++)
		if (ipoib_partial_parse(mark, 60, &start, &offset))
			KUNIT_EXPECT_TRUE(test, start >= 20 && start + offset + 2 <= 60);
}

static struct kunit_case cm_wire_cases[] = {
	KUNIT_CASE(service_id),
	KUNIT_CASE(octets_on_the_wire),
	KUNIT_CASE(short_data),
	KUNIT_CASE(values),
	KUNIT_CASE(options),
	KUNIT_CASE(marks),
	KUNIT_CASE(hostile_marks),
	{}
};

static struct kunit_suite cm_wire_suite = {
	.name = "ipoib_cm_wire",
	.test_cases = cm_wire_cases,
};

kunit_test_suite(cm_wire_suite);

MODULE_DESCRIPTION("KUnit suite of the private data of IPoIB connections");
MODULE_LICENSE("Dual MIT/GPL");
