// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Links between switches and to hosts.
#include "fabric_world.hpp"

namespace openipoib::fabric
{
namespace
{

class FabricTest : public FabricWorld
{
};

TEST_F(FabricTest, LinksTrain)
{
    EXPECT_EQ(state("S-1:4"), PortState::init);
    EXPECT_EQ(state("S-2:1"), PortState::init);
    EXPECT_EQ(state("S-1:2"), PortState::down);
    EXPECT_EQ(state("S-1:1"), PortState::down);
    steps(20);
    EXPECT_TRUE(host.isUp());
    EXPECT_EQ(state("S-1:1"), PortState::init);
}

TEST_F(FabricTest, DirectedRoutesReachEveryNode)
{
    steps(20);
    ASSERT_TRUE(host.isUp());
    for (const auto &[path, name] :
         {std::pair<io::Bytes, const char *>{{1}, "S-1"}, {{1, 4}, "S-2"}, {{1, 4, 1}, "idle"}}) {
        const io::Bytes info = probe(path);
        ASSERT_EQ(info.size(), 64U) << name;
        const auto &node = fabric.topology().nodes[*fabric.topology().find(name)];
        EXPECT_EQ(getField64(info, IB_NODE_GUID_F), node.guid) << name;
        EXPECT_EQ(getField(info, IB_NODE_TYPE_F), static_cast<std::uint32_t>(node.kind));
    }
    EXPECT_TRUE(probe({1, 2}).empty());
}

TEST_F(FabricTest, ARestartedHostIsANewLink)
{
    steps(20);
    const PortRef port = *fabric.topology().findPort("S-1:1");
    host = link::Endpoint({.session = 2, .guid = 0xB, .maxFrame = 9000});
    steps(20);
    EXPECT_TRUE(host.isUp());
    EXPECT_EQ(fabric.node(port.node)->port(1).counters.get(Counter::linkDowned), 1U);
}

TEST_F(FabricTest, ACableThatTakesShorterFramesOffersASmallerMtu)
{
    steps(20);
    const PortRef at = port("S-1:1");
    EXPECT_EQ(fabric.node(at.node)->port(1).info(IB_PORT_MTU_CAP_F), 5U); // 4096
    cable.most = 1500;
    steps(40);
    EXPECT_TRUE(host.isUp());
    EXPECT_EQ(state("S-1:1"), PortState::init);
    EXPECT_EQ(fabric.node(at.node)->port(1).counters.get(Counter::linkDowned), 1U);
    EXPECT_EQ(fabric.node(at.node)->port(1).info(IB_PORT_MTU_CAP_F), 3U); // 1024
    EXPECT_FALSE(probe({1}).empty());
}

// As a device has it that comes back and is then given its MTU.
TEST_F(FabricTest, LongerFramesAreForALinkThatTrains)
{
    const PortRef at = port("S-1:1");
    const auto cap = [&] { return fabric.node(at.node)->port(1).info(IB_PORT_MTU_CAP_F); };
    steps(20);
    cable.most = 1500;
    steps(40);
    ASSERT_EQ(cap(), 3U);
    cable.most = 9000;
    steps(200);
    EXPECT_EQ(fabric.node(at.node)->port(1).counters.get(Counter::linkDowned), 1U);
    EXPECT_EQ(cap(), 3U);
    host = link::Endpoint({.session = 70, .guid = 0xB, .maxFrame = 9000});
    steps(40);
    EXPECT_TRUE(host.isUp());
    EXPECT_EQ(cap(), 5U);
    EXPECT_FALSE(probe({1}).empty());
}

// Not the whole window of them.
TEST_F(FabricTest, OneFrameThatIsTooLongTellsThatTheCableTakesShorterOnes)
{
    steps(20);
    cable.fallsTo = 1500;
    const auto sent = [this] { return fabric.station(port("S-1:1"))->counters().txData; };
    const auto before = sent();
    for (int i = 0; i < 100; ++i) // the answers take four frames
        ask({1});
    steps(1);
    EXPECT_EQ(sent() - before, 1U);
    steps(40);
    EXPECT_TRUE(host.isUp());
}

TEST_F(FabricTest, APlaceIsTakenOnce)
{
    MemoryCable other;
    EXPECT_EQ(fabric.attach(*fabric.topology().findPort("h1:1"), other).error().code, EBUSY);
    EXPECT_EQ(fabric.attach(*fabric.topology().findPort("S-1:4"), other).error().code, EBUSY);
    EXPECT_TRUE(fabric.attach(*fabric.topology().findPort("S-1:2"), other));
}

// With a peer that does not mind: a link with such frames carries no MAD.
class ShortCable : public FabricWorld
{
  protected:
    ShortCable() { cable.most = 300; }
};

TEST_F(ShortCable, WhatNoFrameTakesIsDropped)
{
    steps(20);
    ASSERT_TRUE(host.isUp());
    const PortRef at = port("S-1:1");
    const Node &leaf = *fabric.node(at.node);
    const auto dropped = [&leaf] { return leaf.port(1).counters.get(Drop::tooLong); };
    ask({1});
    ask({1});
    steps(2);
    EXPECT_EQ(dropped(), 2U);
    ASSERT_TRUE(fabric.addFault({.kind = FaultKind::delay, .at = at, .delay = 20ms}, now));
    ask({1});
    steps(20);
    EXPECT_EQ(dropped(), 3U);
    EXPECT_TRUE(answers().empty());
    EXPECT_FALSE(leaf.nextLane(1)); // nothing waits behind it
    EXPECT_GT(fabric.deadline(), now - 5ms);
    EXPECT_TRUE(host.isUp());
}

} // namespace
} // namespace openipoib::fabric
