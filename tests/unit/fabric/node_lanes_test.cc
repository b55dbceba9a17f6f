// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Data lanes: which one a packet leaves by, and that they do not wait for each other.
#include "node_world.hpp"

namespace openipoib::fabric
{
namespace
{

using namespace std::chrono_literals;
using Packets = std::vector<io::Bytes>;

class NodeLanesTest : public NodeWorld
{
  protected:
    static constexpr std::uint16_t slToVlTable = 0x17;

    void SetUp() override
    {
        configure();
        for (std::uint8_t port = 1; port <= node.portCount(); ++port)
            sent(port, vl15);
    }

    // VL of each SL for packets from one port to another; SLs 0 and 1 share a byte.
    void map(std::uint8_t in, std::uint8_t out, const Port::SlMap &lanes)
    {
        Attribute table{};
        for (std::size_t sl = 0; sl < lanes.size(); ++sl)
            table[sl / 2] |= static_cast<std::uint8_t>(lanes[sl] << (sl % 2 == 0 ? 4 : 0));
        const std::uint32_t modifier = static_cast<std::uint32_t>(in) << 8 | out;
        ASSERT_EQ(set(slToVlTable, modifier, table), 0U);
        ASSERT_EQ(get(slToVlTable, modifier), table);
    }

    static Port::SlMap identity()
    {
        Port::SlMap lanes{};
        for (std::uint8_t sl = 0; sl < lanes.size(); ++sl)
            lanes[sl] = sl;
        return lanes;
    }

    static io::Bytes onLane(std::uint8_t vl, std::uint8_t sl, std::uint16_t dlid = 13,
                            std::size_t size = 64)
    {
        return ib::PacketBuilder{}
            .lrh({.vl = vl, .sl = sl, .dlid = dlid, .slid = 9})
            .bth({.qpn = 0x42})
            .deth({})
            .payload(io::Bytes(size))
            .build();
    }

    // Packets that come in by a lane until it is held back.
    std::size_t fill(std::uint8_t in, std::uint8_t vl, std::uint8_t sl)
    {
        std::size_t count = 0;
        for (; node.openLanes(in)[vl] && count < 1000; ++count)
            receive(in, onLane(vl, sl, 13, 4096));
        EXPECT_LT(count, 1000U);
        return count;
    }

    void setLanes(std::uint8_t port, std::uint32_t code)
    {
        Attribute info = get(portInfo, port);
        setField(info, IB_PORT_STATE_F, 0);
        setField(info, IB_PORT_PHYS_STATE_F, 0);
        setField(info, IB_PORT_OPER_VLS_F, code);
        ASSERT_EQ(set(portInfo, port, info), 0U);
    }
};

TEST_F(NodeLanesTest, PortsHaveEightDataLanes)
{
    const Attribute info = get(portInfo, 3);
    EXPECT_EQ(getField(info, IB_PORT_VL_CAP_F), 4U);
    EXPECT_EQ(getField(info, IB_PORT_OPER_VLS_F), 4U);
}

TEST_F(NodeLanesTest, AnSlIsMappedByInputAndOutput)
{
    Port::SlMap lanes{};
    lanes[2] = 5;
    map(1, 3, lanes);
    lanes[2] = 6;
    map(2, 3, lanes);
    receive(1, onLane(0, 2));
    receive(1, onLane(7, 2)); // whatever the lane it came by
    receive(2, onLane(0, 2));
    receive(4, onLane(0, 2)); // not written: VL 0
    receive(1, onLane(4, 3));
    const auto fifth = sent(3, 5);
    ASSERT_EQ(fifth.size(), 2U);
    EXPECT_EQ(fifth[0], onLane(5, 2)); // and nothing else has changed
    EXPECT_EQ(fifth[1], onLane(5, 2));
    EXPECT_EQ(sent(3, 6), Packets{onLane(6, 2)});
    EXPECT_EQ(sent(3, vl0), (Packets{onLane(0, 2), onLane(0, 3)}));
    EXPECT_FALSE(node.nextLane(3));
}

TEST_F(NodeLanesTest, ALaneThatTheLinkDoesNotHaveDrops)
{
    map(1, 3, identity());
    for (std::uint8_t sl = 0; sl < 16; ++sl)
        receive(1, onLane(0, sl));
    EXPECT_EQ(sent(3, allLanes).size(), 8U);
    EXPECT_EQ(drops(1, Drop::virtualLane), 8U); // VL 15 is no data lane either
    EXPECT_EQ(node.port(1).counters.get(Counter::rcvSwitchRelay), 8U);
    setLanes(3, 2); // VLs 0 and 1
    for (std::uint8_t sl = 0; sl < 8; ++sl)
        receive(1, onLane(0, sl));
    EXPECT_EQ(sent(3, allLanes).size(), 2U);
    EXPECT_EQ(drops(1, Drop::virtualLane), 14U);
}

TEST_F(NodeLanesTest, WhatComesByALaneThatTheLinkDoesNotHaveIsMalformed)
{
    receive(1, onLane(8, 0));
    receive(1, onLane(14, 0));
    EXPECT_EQ(drops(1, Drop::malformed), 2U);
    setLanes(1, 1);
    receive(1, onLane(1, 0));
    EXPECT_EQ(drops(1, Drop::malformed), 3U);
    EXPECT_EQ(node.port(1).counters.get(Counter::rcvErrors), 3U);
    EXPECT_FALSE(node.nextLane(3));
}

TEST_F(NodeLanesTest, EachCopyForAGroupHasALaneOfItsOwn)
{
    Attribute masks{};
    masks[1] = 0x1E;
    ASSERT_EQ(set(multicastTable, 0, masks), 0U);
    Port::SlMap lanes{};
    for (std::uint8_t out = 2; out <= 4; ++out) {
        lanes[1] = out;
        map(1, out, lanes);
    }
    receive(1, onLane(0, 1, ib::firstMulticastLid));
    for (std::uint8_t out = 2; out <= 4; ++out)
        EXPECT_EQ(sent(out, out), Packets{onLane(out, 1, ib::firstMulticastLid)});
}

TEST_F(NodeLanesTest, AFullLaneHoldsBackTheLanesThatFillItAndNoOthers)
{
    map(1, 3, identity());
    map(2, 3, identity());
    const std::size_t count = fill(1, 4, 1); // in by VL 4, out by VL 1
    EXPECT_EQ(node.openLanes(1), allLanes & ~Lanes{1U << 4});
    EXPECT_TRUE(acceptsInput(2));
    EXPECT_EQ(node.port(3).counters.get(Counter::xmitWait), 1U);
    receive(1, onLane(0, 2)); // others pass
    receive(1, onLane(1, 3));
    EXPECT_EQ(sent(3, 2).size() + sent(3, 3).size(), 2U);
    EXPECT_TRUE(inputs.empty());
    EXPECT_EQ(sent(3, 1).size(), count);
    EXPECT_EQ(inputs, std::vector<std::uint8_t>{1});
    EXPECT_TRUE(acceptsInput(1));
}

TEST_F(NodeLanesTest, ALaneIsOpenWhenAllQueuesHaveLetItGo)
{
    map(1, 3, identity());
    fill(1, 0, 1);
    for (int i = 0; i < 100; ++i) // what was under way
        receive(1, onLane(0, 2, 13, 4096));
    sent(3, 1);
    EXPECT_FALSE(node.openLanes(1)[0]);
    EXPECT_TRUE(inputs.empty());
    sent(3, 2);
    EXPECT_TRUE(acceptsInput(1));
    EXPECT_EQ(inputs, std::vector<std::uint8_t>{1});
}

TEST_F(NodeLanesTest, LanesTakeTurnsBehindLane15)
{
    map(1, 3, identity());
    for (const int sl : {0, 0, 0, 2, 2, 7})
        receive(1, onLane(0, static_cast<std::uint8_t>(sl)));
    receive(1, onLane15(directed(ib::Method::get, nodeInfo, 0), 13, smLid));
    std::vector<int> order;
    while (const auto vl = node.nextLane(3)) {
        order.push_back(*vl);
        EXPECT_EQ(node.take(3, *vl, now).vl(), *vl);
    }
    EXPECT_EQ(order, (std::vector{15, 0, 2, 7, 0, 2, 0}));
}

TEST_F(NodeLanesTest, ALaneThatIsStuckLosesItsHeadAndNoOtherDoes)
{
    map(1, 3, identity());
    setInfo(3, IB_PORT_HOQ_LIFE_F, 16); // 0.27 s, sixteen times
    receive(1, onLane(0, 1));
    now += std::chrono::seconds(3);
    receive(1, onLane(0, 2));
    now += std::chrono::seconds(2);
    EXPECT_LE(node.deadline(), now);
    node.onTime(now);
    EXPECT_TRUE(sent(3, 1).empty());
    EXPECT_EQ(sent(3, 2).size(), 1U);
    EXPECT_EQ(drops(3, Drop::lifetime), 1U);
}

TEST_F(NodeLanesTest, ALaneThatLosesAsManyInARowAsVLStallCountIsEmptiedAndRestsForEightLives)
{
    const auto life = std::chrono::milliseconds(269) * 16;
    map(1, 3, identity());
    setInfo(3, IB_PORT_HOQ_LIFE_F, 16);
    setInfo(3, IB_PORT_VL_STALL_COUNT_F, 3);
    for (int i = 0; i < 20; ++i)
        receive(1, onLane(0, 1));
    receive(1, onLane(0, 2));
    for (int i = 0; i < 2; ++i)
        node.onTime(now += life);
    EXPECT_EQ(sent(3, 2).size(), 0U); // its own head was as late
    EXPECT_EQ(drops(3, Drop::lifetime), 3U);
    node.onTime(now += life);
    EXPECT_EQ(drops(3, Drop::lifetime), 21U);
    EXPECT_TRUE(sent(3, 1).empty());
    receive(1, onLane(0, 1));
    receive(1, onLane(0, 2));
    EXPECT_EQ(drops(3, Drop::lifetime), 22U);
    EXPECT_EQ(sent(3, 2).size(), 1U);
    now += 8 * life;
    receive(1, onLane(0, 1));
    EXPECT_EQ(sent(3, 1).size(), 1U);
}

// The host that hung is another one when it has been started again.
TEST_F(NodeLanesTest, ALaneRestsNoLongerThanItsLinkIsUp)
{
    const auto life = std::chrono::milliseconds(269) * 16;
    const auto again = [this] {
        node.linkDown(3, PhysState::polling, now);
        node.linkUp(3, now);
        setPort(3, PortState::armed);
        setPort(3, PortState::active);
    };
    map(1, 3, identity());
    setInfo(3, IB_PORT_HOQ_LIFE_F, 16);
    setInfo(3, IB_PORT_VL_STALL_COUNT_F, 2);
    receive(1, onLane(0, 1));
    receive(1, onLane(0, 1));
    node.onTime(now += life);
    node.onTime(now += life);
    receive(1, onLane(0, 1));
    EXPECT_TRUE(sent(3, 1).empty());
    again();
    receive(1, onLane(0, 1));
    node.onTime(now += life); // the first late one
    receive(1, onLane(0, 1));
    again();
    receive(1, onLane(0, 1));
    node.onTime(now += life); // not the second
    receive(1, onLane(0, 1));
    EXPECT_EQ(sent(3, 1).size(), 1U);
    fill(1, 0, 1);
    node.onTime(now += 500ms);
    again();
    fill(1, 0, 1); // holds back, as one does that is not slow
}

TEST_F(NodeLanesTest, APacketThatLeavesEndsARowOfLateOnes)
{
    map(1, 3, identity());
    setInfo(3, IB_PORT_HOQ_LIFE_F, 16);
    setInfo(3, IB_PORT_VL_STALL_COUNT_F, 2);
    for (int i = 0; i < 4; ++i) {
        receive(1, onLane(0, 1));
        receive(1, onLane(0, 1));
        node.onTime(now += std::chrono::seconds(5));
        EXPECT_EQ(sent(3, 1).size(), 1U);
    }
    EXPECT_EQ(drops(3, Drop::lifetime), 4U);
}

TEST_F(NodeLanesTest, AQueueHoldsNobodyBackForLongerThanHalfASecond)
{
    map(1, 3, identity());
    setInfo(3, IB_PORT_HOQ_LIFE_F, 16); // 0.27 s, sixteen times
    const std::size_t count = fill(1, 0, 1);
    EXPECT_LE(node.deadline(), now + 500ms);
    node.onTime(now += 499ms);
    EXPECT_FALSE(acceptsInput(1));
    node.onTime(now += 1ms);
    EXPECT_TRUE(acceptsInput(1));
    EXPECT_EQ(inputs, std::vector<std::uint8_t>{1});
    const auto &queue = node.port(3).queues[1];
    EXPECT_LE(queue.bytes, 232U * 1024);
    EXPECT_GT(queue.bytes, 227U * 1024); // and no more of it is lost
    EXPECT_EQ(drops(3, Drop::noRoom), count - queue.packets.size());
    for (std::size_t i = 0; i < count; ++i) // what is too much now is lost at once
        receive(1, onLane(0, 1, 13, 4096));
    EXPECT_TRUE(acceptsInput(1));
    EXPECT_LE(queue.bytes, 256U * 1024);
    EXPECT_EQ(drops(3, Drop::noRoom) + queue.packets.size(), 2 * count);
}

TEST_F(NodeLanesTest, ASlowQueueHoldsBackAgainWhenItIsNot)
{
    map(1, 3, identity());
    setInfo(3, IB_PORT_HOQ_LIFE_F, 16);
    const auto full = [this] {
        for (int i = 0; i < 100; ++i)
            receive(1, onLane(0, 1, 13, 4096));
        return !acceptsInput(1);
    };
    ASSERT_TRUE(full());
    node.onTime(now += 500ms);
    for (int i = 0; i < 60; ++i) { // two a second are too few
        static_cast<void>(node.take(3, 1, now += 500ms));
        EXPECT_FALSE(full()) << i;
    }
    for (int i = 0; i < 40; ++i)
        static_cast<void>(node.take(3, 1, now += 20ms));
    EXPECT_TRUE(full());
    sent(3, 1);
    ASSERT_TRUE(full());
    node.onTime(now += 500ms);
    EXPECT_FALSE(full());
    while (node.nextLane(3, Lanes{1U << 1})) // all there is, however slowly
        static_cast<void>(node.take(3, 1, now += 1s));
    EXPECT_TRUE(full());
}

TEST_F(NodeLanesTest, WhatIsOverdueIsHeldBackByNone)
{
    map(1, 3, identity());
    const std::size_t count = fill(1, 0, 1);
    const std::size_t bytes = node.port(3).queues[1].bytes;
    node.setOverdue(1, true);
    EXPECT_TRUE(acceptsInput(1));
    receive(1, onLane(0, 1, 13, 4096));
    receive(1, onLane(0, 2, 13, 4096)); // there is room
    EXPECT_EQ(drops(3, Drop::noRoom), 1U);
    EXPECT_EQ(node.port(3).queues[1].bytes, bytes);
    node.setOverdue(1, false);
    EXPECT_FALSE(acceptsInput(1));
    EXPECT_EQ(sent(3, 2).size(), 1U);
    EXPECT_EQ(sent(3, 1).size(), count);
    EXPECT_TRUE(acceptsInput(1));
}

TEST_F(NodeLanesTest, AQueueWithoutALifeHoldsBackForEver)
{
    map(1, 3, identity());
    const std::size_t count = fill(1, 0, 1);
    node.onTime(now += 1h);
    EXPECT_FALSE(acceptsInput(1));
    EXPECT_EQ(sent(3, 1).size(), count);
}

// 16 packets of 4 KiB a second are 64 KiB and some.
TEST_F(NodeLanesTest, AQueueThatLoses64KiBASecondIsNotSlow)
{
    map(1, 3, identity());
    setInfo(3, IB_PORT_HOQ_LIFE_F, 16);
    for (int i = 0; i < 160; ++i) {
        while (acceptsInput(1))
            receive(1, onLane(0, 1, 13, 4096));
        static_cast<void>(node.take(3, 1, now));
        node.onTime(now += 62ms);
    }
    EXPECT_EQ(drops(3, Drop::noRoom), 0U);
    EXPECT_GT(node.port(3).counters.get(Counter::xmitWait), 20U);
}

TEST_F(NodeLanesTest, ACopyForAGroupHoldsNobodyBack)
{
    Attribute masks{};
    masks[1] = 0x1E;
    ASSERT_EQ(set(multicastTable, 0, masks), 0U);
    const io::Bytes copy = onLane(0, 0, ib::firstMulticastLid, 4096);
    for (std::size_t i = 0; i < 100; ++i) {
        receive(1, copy);
        EXPECT_EQ(sent(2, vl0).size(), 1U);
        EXPECT_EQ(sent(4, vl0).size(), 1U);
    }
    EXPECT_TRUE(acceptsInput(1));
    const auto &queue = node.port(3).queues[vl0]; // nobody takes from it
    EXPECT_LE(queue.bytes, 256U * 1024);
    EXPECT_EQ(queue.packets.size() + drops(3, Drop::noRoom), 100U);
    EXPECT_EQ(node.port(3).counters.get(Counter::xmitDiscards), drops(3, Drop::noRoom));
    fill(1, 0, 0); // what is for that port alone does
}

} // namespace
} // namespace openipoib::fabric
