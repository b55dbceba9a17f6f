// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a switch does with packets: forwards by its tables, or drops for a reason.
#include "node_world.hpp"

#include <random>

namespace openipoib::fabric
{
namespace
{

using namespace std::chrono_literals;

class NodeForwardTest : public NodeWorld
{
  protected:
    void SetUp() override
    {
        configure();
        for (std::uint8_t port = 1; port <= node.portCount(); ++port)
            sent(port, vl15);
    }

    std::size_t waiting(std::uint8_t port) const
    {
        return node.port(port).queues[vl0].packets.size();
    }
};

TEST_F(NodeForwardTest, UnicastGoesWhereTheTableSaysUnchanged)
{
    const io::Bytes packet = data(13);
    const auto before = node.port(1).counters.get(Counter::rcvData);
    receive(1, packet);
    const auto out = sent(3, vl0);
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0], packet);
    EXPECT_EQ(waiting(2) + waiting(4), 0U);
    EXPECT_EQ(node.port(3).counters.get(Counter::unicastXmit), 1U);
    EXPECT_EQ(node.port(1).counters.get(Counter::rcvData) - before, packet.size());
}

TEST_F(NodeForwardTest, AnyTableIsFollowed)
{
    std::mt19937 engine{11};
    Attribute table;
    for (auto &port : table)
        port = static_cast<std::uint8_t>(engine() % 7); // 5 and 6 do not exist
    table[switchLid] = 0;
    ASSERT_EQ(set(linearTable, 0, table), 0U);
    for (std::uint16_t lid = 3; lid < 64; ++lid) {
        const std::uint8_t in = 1 + engine() % 4;
        receive(in, data(lid));
        for (std::uint8_t out = 1; out <= 4; ++out)
            EXPECT_EQ(sent(out, vl0).size(), table[lid] == out && out != in ? 1U : 0U)
                << "LID " << lid << " from " << int(in) << " at " << int(out);
    }
}

TEST_F(NodeForwardTest, AnyMulticastTableIsFollowed)
{
    std::mt19937 engine{12};
    Attribute masks{};
    for (std::size_t i = 1; i < masks.size(); i += 2)
        masks[i] = static_cast<std::uint8_t>(engine() & 0x1E);
    ASSERT_EQ(set(multicastTable, 0, masks), 0U);
    for (std::uint16_t i = 0; i < 32; ++i) {
        const std::uint8_t in = 1 + engine() % 4;
        receive(in, data(static_cast<std::uint16_t>(ib::firstMulticastLid + i)));
        for (std::uint8_t out = 1; out <= 4; ++out)
            EXPECT_EQ(sent(out, vl0).size(),
                      (masks[2U * i + 1] >> out & 1) != 0 && out != in ? 1U : 0U);
    }
}

TEST_F(NodeForwardTest, AGroupThatNoTableKnowsGoesToTheDefaultPorts)
{
    Attribute info = get(switchInfo);
    setField(info, IB_SW_DEF_MCAST_PRIM_F, 3);
    setField(info, IB_SW_DEF_MCAST_NOT_PRIM_F, 4);
    ASSERT_EQ(set(switchInfo, 0, info), 0U);
    Attribute masks{};
    masks[1] = 0x06;
    ASSERT_EQ(set(multicastTable, 0, masks), 0U);
    for (const int lid : {ib::firstMulticastLid + 1, 0xFFF0}) {
        receive(1, data(static_cast<std::uint16_t>(lid)));
        receive(3, data(static_cast<std::uint16_t>(lid)));
        EXPECT_EQ(waiting(1) + waiting(2), 0U);
        EXPECT_EQ(sent(3, vl0).size(), 1U);
        EXPECT_EQ(sent(4, vl0).size(), 1U);
    }
    receive(1, data(ib::firstMulticastLid)); // this one is known
    EXPECT_EQ(sent(2, vl0).size(), 1U);
    EXPECT_EQ(waiting(3) + waiting(4), 0U);
    for (const std::uint32_t nowhere : {0U, 1U, 9U, 255U}) {
        const auto before = drops(1, Drop::unknownLid);
        setField(info, IB_SW_DEF_MCAST_PRIM_F, nowhere);
        setField(info, IB_SW_DEF_MCAST_NOT_PRIM_F, 1);
        ASSERT_EQ(set(switchInfo, 0, info), 0U);
        receive(1, data(ib::firstMulticastLid + 1));
        EXPECT_EQ(drops(1, Drop::unknownLid), before + 1) << nowhere;
        EXPECT_EQ(waiting(1) + waiting(2) + waiting(3) + waiting(4), 0U);
    }
}

TEST_F(NodeForwardTest, EachReasonToDropIsCounted)
{
    receive(1, data(60));
    receive(1, data(63 + 1)); // beyond LinearFDBTop
    EXPECT_EQ(drops(1, Drop::unknownLid), 2U);
    receive(1, data(11));
    EXPECT_EQ(drops(1, Drop::looping), 1U);
    receive(1, data(ib::firstMulticastLid + 5));
    EXPECT_EQ(drops(1, Drop::unknownLid), 3U);
    EXPECT_EQ(node.port(1).counters.get(Counter::rcvSwitchRelay), 4U);
    io::Bytes bad = data(13);
    bad.pop_back();
    receive(1, bad);
    receive(1, {});
    EXPECT_EQ(drops(1, Drop::malformed), 2U);
    node.receive(1, {.bytes = data(13), .hops = 64}, now);
    EXPECT_EQ(drops(1, Drop::lifetime), 1U);
    for (std::uint8_t out = 1; out <= 4; ++out)
        EXPECT_EQ(waiting(out), 0U);
}

TEST_F(NodeForwardTest, NothingPassesAPortThatIsNotActive)
{
    node.linkDown(3, PhysState::polling, now);
    receive(1, data(13));
    EXPECT_EQ(drops(3, Drop::portDown), 1U);
    EXPECT_EQ(node.port(3).counters.get(Counter::xmitDiscards), 1U);
    node.linkUp(3, now); // INIT
    receive(3, data(12));
    EXPECT_EQ(drops(3, Drop::state), 1U);
    setPort(3, PortState::armed); // takes data, sends none
    receive(3, data(12));
    receive(1, data(13));
    EXPECT_EQ(waiting(2), 1U);
    EXPECT_EQ(drops(3, Drop::portDown), 2U);
}

TEST_F(NodeForwardTest, PartitionsAreEnforcedAtBothEnds)
{
    Attribute keys{};
    keys[0] = 0x00;
    keys[1] = 0x05; // 0x0005, limited: membership is not the switch's business
    for (const std::uint32_t port : {1U, 3U})
        ASSERT_EQ(set(pkeyTable, port << 16, keys), 0U);
    receive(1, data(13, 0x7777));
    EXPECT_EQ(sent(3, vl0).size(), 1U); // not enforced yet
    setInfo(1, IB_PORT_PART_EN_INB_F, 1);
    receive(1, data(13, 0x7777));
    EXPECT_EQ(drops(1, Drop::pkeyInbound), 1U);
    EXPECT_EQ(node.port(1).counters.get(Counter::rcvConstraint), 1U);
    receive(1, data(13, 0x8005));
    EXPECT_EQ(sent(3, vl0).size(), 1U);
    setInfo(3, IB_PORT_PART_EN_OUTB_F, 1);
    receive(2, data(13, 0x7777));
    EXPECT_EQ(drops(3, Drop::pkeyOutbound), 1U);
    EXPECT_EQ(node.port(3).counters.get(Counter::xmitConstraint), 1U);
    receive(2, data(13, 0x0005));
    EXPECT_EQ(sent(3, vl0).size(), 1U);
}

TEST_F(NodeForwardTest, TheNeighboursMtuIsKept)
{
    setInfo(3, IB_PORT_NEIGHBOR_MTU_F, 2); // 512
    receive(1, data(13, ib::defaultPkey, 512));
    EXPECT_EQ(waiting(3), 1U);
    receive(1, data(13, ib::defaultPkey, 540));
    EXPECT_EQ(waiting(3), 1U);
    EXPECT_EQ(drops(3, Drop::tooLong), 1U);
    EXPECT_EQ(node.port(3).counters.get(Counter::xmitDiscards), 1U);
    receive(3, data(11, ib::defaultPkey, 540)); // nor may the neighbour send more
    EXPECT_EQ(drops(3, Drop::malformed), 1U);
    EXPECT_EQ(node.port(3).counters.get(Counter::rcvErrors), 1U);
    EXPECT_EQ(node.port(3).counters.get(Counter::xmitDiscards), 1U);
    EXPECT_EQ(waiting(1), 0U);
}

TEST_F(NodeForwardTest, AFullOutputHoldsBackWhoFillsItAndLosesNothing)
{
    std::size_t count = 0;
    while (acceptsInput(1) && count < 10000) {
        receive(1, data(13, ib::defaultPkey, 4096));
        ++count;
    }
    ASSERT_LT(count, 10000U);
    EXPECT_TRUE(acceptsInput(2));
    EXPECT_TRUE(inputs.empty());
    EXPECT_EQ(sent(3, vl0).size(), count);
    EXPECT_EQ(inputs, std::vector<std::uint8_t>{1});
    EXPECT_TRUE(acceptsInput(1));
}

TEST_F(NodeForwardTest, WhatWaitsTooLongIsDropped)
{
    setInfo(3, IB_PORT_HOQ_LIFE_F, 16); // 0.27 s, sixteen times
    receive(1, data(13));
    now += 4s;
    node.onTime(now);
    EXPECT_EQ(waiting(3), 1U);
    now += 1s;
    node.onTime(now);
    EXPECT_EQ(waiting(3), 0U);
    EXPECT_EQ(drops(3, Drop::lifetime), 1U);
}

TEST_F(NodeForwardTest, ALinkThatGoesDownLetsGoOfWhoWaited)
{
    while (acceptsInput(1))
        receive(1, data(13, ib::defaultPkey, 4096));
    node.linkDown(3, PhysState::polling, now);
    EXPECT_TRUE(acceptsInput(1));
    EXPECT_EQ(inputs, std::vector<std::uint8_t>{1});
    EXPECT_GT(drops(3, Drop::portDown), 0U);
}

TEST_F(NodeForwardTest, AnyBytesAreSurvived)
{
    std::mt19937 engine{13};
    const io::Bytes seed = onLane15(directed(ib::Method::set, portInfo, 1));
    for (int i = 0; i < 20000; ++i) {
        io::Bytes packet = engine() % 2 == 0 ? seed : data(13);
        for (unsigned change = engine() % 8; change > 0; --change)
            packet[engine() % packet.size()] = static_cast<std::uint8_t>(engine());
        if (engine() % 16 == 0)
            packet.resize(engine() % packet.size());
        receive(1 + engine() % 4, packet);
        for (std::uint8_t port = 1; port <= 4; ++port)
            sent(port, allLanes);
    }
}

} // namespace
} // namespace openipoib::fabric
