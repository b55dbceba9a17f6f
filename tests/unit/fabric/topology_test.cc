// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "topology/parser.hpp"

#include <gtest/gtest.h>

namespace openipoib::fabric
{
namespace
{

constexpr std::string_view twoSwitches = R"(#
# Topology file: generated on Sat Jan  1 00:00:00 2022
#
vendid=0x2c9
devid=0xbd36
sysimgguid=0x2c90000000003
switchguid=0x2c90000000001(2c90000000001)
Switch	4 "S-0002c90000000001"		# "leaf # 1" base port 0 lid 1 lmc 0
[1]	"H-0002c90000000101"[1](2c90000000111)	# "h1" lid 3 4xQDR
[3]	"S-0002c90000000002"[4]		# "leaf2" lid 2 12xFDR10

Switch	4 "S-0002c90000000002"		# "leaf2"
[4]	"S-0002c90000000001"[3]		# "leaf # 1" lid 1 12xFDR10
[1]	"h2"[2] w=1 s=2

caguid=0x2c90000000101
Ca	1 "H-0002c90000000101"		# "h1"
[1](2c90000000111)	"S-0002c90000000001"[1]		# lid 3 lmc 0 "leaf # 1" lid 1 4xQDR
Hca 2 "h2"
)";

TEST(Topology, WhatIbnetdiscoverPrints)
{
    const auto topology = parseTopology(twoSwitches, "net");
    ASSERT_TRUE(topology) << topology.error().text();
    ASSERT_EQ(topology->nodes.size(), 4U);
    const auto &leaf = topology->nodes[0];
    EXPECT_EQ(leaf.kind, NodeKind::switchNode);
    EXPECT_EQ(leaf.name, "leaf # 1");
    EXPECT_EQ(leaf.guid, 0x2c90000000001U);
    EXPECT_EQ(leaf.systemGuid, 0x2c90000000003U);
    EXPECT_EQ(leaf.vendor, 0x2c9U);
    EXPECT_EQ(leaf.device, 0xbd36);
    EXPECT_EQ(leaf.port(1).peer, (PortRef{2, 1}));
    EXPECT_EQ(leaf.port(3).peer, (PortRef{1, 4}));
    EXPECT_EQ(leaf.port(3).width, 12);
    EXPECT_EQ(leaf.port(3).speed, Speed::fdr10);
    EXPECT_FALSE(leaf.port(2).peer);
    EXPECT_EQ(leaf.portGuid(2), leaf.guid);
    const auto &host = topology->nodes[2];
    EXPECT_EQ(host.kind, NodeKind::channelAdapter);
    EXPECT_EQ(host.portGuid(1), 0x2c90000000111U);
}

TEST(Topology, OneEndOfACableIsEnough)
{
    const auto topology = parseTopology(twoSwitches, "net");
    ASSERT_TRUE(topology) << topology.error().text();
    const auto &host = topology->nodes[3];
    EXPECT_EQ(host.port(2).peer, (PortRef{1, 1}));
    EXPECT_NE(host.guid, 0U);
    EXPECT_EQ(host.portGuid(2), host.guid + 2);
    EXPECT_EQ(topology->nodes[1].port(1).width, 1);
    EXPECT_EQ(topology->nodes[1].port(1).speed, Speed::ddr);
}

TEST(Topology, GuidsThatAreMissingAreCountedFromABase)
{
    const auto topology = parseTopology(twoSwitches, "net", 0x0612'3456'7800'0000);
    ASSERT_TRUE(topology) << topology.error().text();
    EXPECT_EQ(topology->nodes[0].guid, 0x2c90000000001U);
    EXPECT_EQ(topology->nodes[1].guid, 0x0612'3456'7800'0100U);
    EXPECT_EQ(topology->nodes[3].guid, 0x0612'3456'7800'0200U);
    EXPECT_EQ(topology->freeGuid(), 0x0612'3456'7800'0500U);
}

TEST(Topology, PortsByName)
{
    const auto topology = parseTopology(twoSwitches, "net");
    ASSERT_TRUE(topology);
    EXPECT_EQ(topology->findPort("leaf2:4"), (PortRef{1, 4}));
    EXPECT_EQ(topology->findPort("H-0002c90000000101:1"), (PortRef{2, 1}));
    for (const char *wrong : {"", ":", "leaf2", "leaf2:", "leaf2:0", "leaf2:5", "leaf2:1x", "x:1",
                              "leaf2:-1", "leaf2:99999999999999999999"})
        EXPECT_FALSE(topology->findPort(wrong)) << wrong;
}

struct Wrong {
    const char *text;
    const char *expected;
};

class WrongTopology : public testing::TestWithParam<Wrong>
{
};

TEST_P(WrongTopology, NamesLineAndColumn)
{
    const auto topology = parseTopology(GetParam().text, "f");
    ASSERT_FALSE(topology);
    EXPECT_EQ(topology.error().text(), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongTopology,
    testing::Values(
        Wrong{"Foo 3", "f:1:1: expected Switch, Ca, [port] or name=value"},
        Wrong{"\n  foo=3", "f:2:3: unknown property 'foo'"},
        Wrong{"devid=x", "f:1:7: expected a hexadecimal number"},
        Wrong{"devid=1 2", "f:1:9: unexpected text"},
        Wrong{"switchguid=0x1(zz)", "f:1:16: expected a GUID and ')'"},
        Wrong{"Switch 0 \"a\"", "f:1:8: expected the number of ports, 1 to 254"},
        Wrong{"Switch 255 \"a\"", "f:1:8: expected the number of ports, 1 to 254"},
        Wrong{"Switch 4 a", "f:1:10: expected the node's name in double quotes"},
        Wrong{"Switch 4 \"a", "f:1:10: expected the node's name in double quotes"},
        Wrong{"Switch 4 \"a\"\nSwitch 4 \"a\"", "f:2:10: there is a node \"a\" already"},
        Wrong{"[1] \"a\"[1]", "f:1:1: a port before the first node"},
        Wrong{"Switch 4 \"a\"\n[5] \"a\"[1]", "f:2:2: \"a\" has ports 1 to 4"},
        Wrong{"Switch 4 \"a\"\n[1 \"a\"[2]", "f:2:4: expected ']'"},
        Wrong{"Switch 4 \"a\"\n[1] a", "f:2:5: expected the peer's name in double quotes"},
        Wrong{"Switch 4 \"a\"\n[1] \"a\"", "f:2:8: expected [port] of the peer"},
        Wrong{"Switch 4 \"a\"\n[1] \"b\"[1]", "f:2:5: there is no node \"b\""},
        Wrong{"Switch 4 \"a\"\n[1] \"a\"[9]", "f:2:5: \"a\" has no port 9"},
        Wrong{"Switch 4 \"a\"\n[1] \"a\"[1]", "f:2:5: a port cabled to itself"},
        Wrong{"Switch 4 \"a\"\n[1] \"a\"[2]\n[3] \"a\"[1]",
              "f:3:5: one of the two ports has another cable already"},
        Wrong{"Switch 4 \"a\"\n[1] \"a\"[2] w=3", "f:2:12: no such width or speed"},
        Wrong{"Switch 4 \"a\"\n[1] \"a\"[2] junk", "f:2:12: expected w=WIDTH or s=SPEED"},
        Wrong{"switchguid=1\nSwitch 4 \"a\"\nswitchguid=1\nSwitch 4 \"b\"",
              "f:4:1: a GUID of \"b\" is used twice"}));

} // namespace
} // namespace openipoib::fabric
