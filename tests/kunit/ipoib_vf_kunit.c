// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Virtual functions: the HCA is told what the administrator has said. */
#include <kunit/test.h>
#include <linux/module.h>

#include "ipoib_netdev.h"
#include "vf.c"

#define PORT	2
#define VF	5

/* What the HCA has been told. */
static struct {
	struct ib_device ca;
	int vf;
	u32 port;
	int state;
	u64 guid;
	int type;
} hca;

static struct net_device *dev;

static int told(int vf, u32 port)
{
	hca.vf = vf;
	hca.port = port;
	return vf == VF ? 0 : -EINVAL;
}

static int set_link_state(struct ib_device *ca, int vf, u32 port, int state)
{
	hca.state = state;
	return told(vf, port);
}

static int get_config(struct ib_device *ca, int vf, u32 port, struct ifla_vf_info *info)
{
	info->linkstate = IFLA_VF_LINK_STATE_ENABLE;
	return told(vf, port);
}

static int get_stats(struct ib_device *ca, int vf, u32 port, struct ifla_vf_stats *stats)
{
	stats->rx_packets = 42;
	return told(vf, port);
}

static int get_guid(struct ib_device *ca, int vf, u32 port, struct ifla_vf_guid *node,
		    struct ifla_vf_guid *guid)
{
	node->guid = 1;
	guid->guid = 2;
	return told(vf, port);
}

static int set_guid(struct ib_device *ca, int vf, u32 port, u64 guid, int type)
{
	hca.guid = guid;
	hca.type = type;
	return told(vf, port);
}

static void expect_told(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, hca.vf, VF);
	KUNIT_EXPECT_EQ(test, hca.port, (u32)PORT);
	hca.vf = 0;
	hca.port = 0;
}

static void handed_on(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ipoib_vf_set_link_state(dev, VF, IFLA_VF_LINK_STATE_DISABLE), 0);
	expect_told(test);
	KUNIT_EXPECT_EQ(test, hca.state, (int)IFLA_VF_LINK_STATE_DISABLE);
	KUNIT_EXPECT_EQ(test, ipoib_vf_set_guid(dev, VF, 0x1234, IFLA_VF_IB_PORT_GUID), 0);
	expect_told(test);
	KUNIT_EXPECT_EQ(test, hca.guid, 0x1234ULL);
	KUNIT_EXPECT_EQ(test, hca.type, (int)IFLA_VF_IB_PORT_GUID);
	KUNIT_EXPECT_EQ(test, ipoib_vf_set_link_state(dev, VF + 1, 0), -EINVAL);
}

static void answered(struct kunit *test)
{
	static const u8 address[INFINIBAND_ALEN] = {
		0, 0, 2, 1, 0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5, 6, 7, 8, 9,
	};
	struct ifla_vf_guid node = {}, port = {};
	struct ifla_vf_stats stats = {};
	struct ifla_vf_info info = {};

	dev->addr_len = sizeof(address);
	dev_addr_mod(dev, 0, address, sizeof(address));
	KUNIT_EXPECT_EQ(test, ipoib_vf_get_config(dev, VF, &info), 0);
	expect_told(test);
	KUNIT_EXPECT_EQ(test, info.vf, (u32)VF);
	KUNIT_EXPECT_EQ(test, info.linkstate, (u32)IFLA_VF_LINK_STATE_ENABLE);
	KUNIT_EXPECT_EQ(test, memcmp(info.mac, address, sizeof(address)), 0);
	KUNIT_EXPECT_EQ(test, ipoib_vf_get_stats(dev, VF, &stats), 0);
	expect_told(test);
	KUNIT_EXPECT_EQ(test, stats.rx_packets, 42ULL);
	KUNIT_EXPECT_EQ(test, ipoib_vf_get_guid(dev, VF, &node, &port), 0);
	expect_told(test);
	KUNIT_EXPECT_EQ(test, node.guid, 1ULL);
	KUNIT_EXPECT_EQ(test, port.guid, 2ULL);
	KUNIT_EXPECT_EQ(test, ipoib_vf_get_config(dev, VF + 1, &info), -EINVAL);
}

static void a_hca_without_them(struct kunit *test)
{
	struct ifla_vf_info info = {};

	memset(&hca.ca.ops, 0, sizeof(hca.ca.ops));
	KUNIT_EXPECT_EQ(test, ipoib_vf_set_link_state(dev, VF, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ipoib_vf_set_guid(dev, VF, 1, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ipoib_vf_get_config(dev, VF, &info), -EOPNOTSUPP);
}

static int setup(struct kunit *test)
{
	struct ipoib_intf *intf;

	memset(&hca, 0, sizeof(hca));
	hca.ca.ops.set_vf_link_state = set_link_state;
	hca.ca.ops.get_vf_config = get_config;
	hca.ca.ops.get_vf_stats = get_stats;
	hca.ca.ops.get_vf_guid = get_guid;
	hca.ca.ops.set_vf_guid = set_guid;
	intf = netdev_create(test, 1);
	if (!intf)
		return -ENOMEM;
	dev = intf->dev;
	intf->ca = &hca.ca;
	intf->port = PORT;
	return 0;
}

static void teardown(struct kunit *test)
{
	if (dev)
		free_netdev(dev);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(handed_on),
	KUNIT_CASE(answered),
	KUNIT_CASE(a_hca_without_them),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_vf",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of virtual functions");
MODULE_LICENSE("Dual MIT/GPL");
