// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a subnet manager asks of a switch, and is told.
#include "node_world.hpp"

namespace openipoib::fabric
{
namespace
{

using namespace std::chrono_literals;

class NodeSmaTest : public NodeWorld
{
  protected:
    static constexpr std::uint32_t badAttribute = 0x0C, badField = 0x1C;

    void SetUp() override { node.linkUp(1, now); }

    std::vector<io::Bytes> traps(std::uint8_t port = 1)
    {
        std::vector<io::Bytes> found;
        for (const auto &packet : sent(port, vl15))
            if (const auto mad = madOf(packet); mad[3] == 5)
                found.push_back(mad);
        return found;
    }

    // The one packet that waits on VL 15 of a port, traps apart: header and MAD.
    std::pair<ib::Lrh, io::Bytes> passed(std::uint8_t port)
    {
        std::pair<ib::Lrh, io::Bytes> found;
        for (const auto &packet : sent(port, vl15))
            if (const auto mad = madOf(packet); mad[3] != 5) {
                EXPECT_TRUE(found.second.empty());
                found = {*ib::Lrh::parse(packet), mad};
            }
        EXPECT_EQ(found.second.size(), ib::Mad::size);
        found.second.resize(ib::Mad::size);
        return found;
    }
};

TEST_F(NodeSmaTest, NodeInfoNamesThePortItWasAskedBy)
{
    const Attribute info = get(nodeInfo);
    EXPECT_EQ(getField(info, IB_NODE_TYPE_F), 2U);
    EXPECT_EQ(getField(info, IB_NODE_NPORTS_F), 4U);
    EXPECT_EQ(getField64(info, IB_NODE_GUID_F), guid);
    EXPECT_EQ(getField64(info, IB_NODE_PORT_GUID_F), guid);
    EXPECT_EQ(getField(info, IB_NODE_LOCAL_PORT_F), 1U);
}

TEST_F(NodeSmaTest, AnAnswerGoesBackTheWayTheRequestCame)
{
    const io::Bytes answer = ask(directed(ib::Method::get, nodeInfo, 0));
    ASSERT_EQ(answer.size(), ib::Mad::size);
    EXPECT_EQ(getField(answer, IB_DRSMP_DIRECTION_F), 1U);
    EXPECT_EQ(answer[6], 1);       // hop pointer
    EXPECT_EQ(answer[192 + 1], 1); // return path
    EXPECT_EQ(io::read<8>(answer, 8), 42U);
}

TEST_F(NodeSmaTest, ARequestForAnotherNodeGoesOn)
{
    node.linkUp(3, now);
    io::Bytes mad = directed(ib::Method::get, nodeInfo, 0);
    mad[7] = 2;       // hops
    mad[128 + 2] = 3; // out of port 3
    receive(1, onLane15(mad));
    const auto packets = sent(3, vl15);
    ASSERT_EQ(packets.size(), 1U);
    const io::Bytes passed = madOf(packets[0]);
    EXPECT_EQ(passed[6], 2);
    EXPECT_EQ(passed[192 + 1], 1);
    EXPECT_TRUE(sent(1, vl15).empty());
}

TEST_F(NodeSmaTest, HopsThatMakeNoSenseAreDropped)
{
    for (const auto &[pointer, count] : {std::pair{0, 3}, {5, 3}, {1, 64}, {200, 200}}) {
        io::Bytes mad = directed(ib::Method::get, nodeInfo, 0);
        mad[6] = static_cast<std::uint8_t>(pointer);
        mad[7] = static_cast<std::uint8_t>(count);
        EXPECT_TRUE(ask(mad).empty()) << pointer << " of " << count;
    }
    EXPECT_EQ(drops(1, Drop::management), 4U);
}

// IBA volume 1, 14.2.2: the directed part of a route may begin at a switch that the request
// gets to by its LID, with no hop made.
TEST_F(NodeSmaTest, ARouteMayBeginWithAPartByLid)
{
    configure();
    traps();
    io::Bytes mad = directed(ib::Method::get, nodeInfo, 0);
    setField(mad, IB_DRSMP_DRSLID_F, smLid);
    mad[6] = 0;
    mad[7] = 0; // to that switch
    receive(1, onLane15(mad, switchLid, smLid));
    const auto [byLid, answer] = passed(1);
    EXPECT_EQ(byLid.dlid, smLid);
    EXPECT_EQ(byLid.slid, switchLid);
    EXPECT_EQ(answer[3], 0x81);
    EXPECT_EQ(answer[6], 0);
    mad[7] = 1; // to a neighbour of it
    mad[128 + 1] = 3;
    receive(1, onLane15(mad, switchLid, smLid));
    auto [directedOn, request] = passed(3);
    EXPECT_EQ(directedOn.dlid, ib::permissiveLid);
    EXPECT_EQ(request[6], 1);
    request[3] = 0x81;
    setField(request, IB_DRSMP_DIRECTION_F, 1); // hop pointer: 1, after the neighbour's hop back
    receive(3, onLane15(request));
    const auto [back, response] = passed(1);
    EXPECT_EQ(back.dlid, smLid);
    EXPECT_EQ(back.slid, switchLid);
    EXPECT_EQ(response[6], 0);
}

TEST_F(NodeSmaTest, ARouteMayEndWithAPartByLid)
{
    configure();
    traps();
    io::Bytes mad = directed(ib::Method::get, nodeInfo, 0);
    setField(mad, IB_DRSMP_DRDLID_F, 13);
    receive(1, onLane15(mad));
    const auto [on, request] = passed(3);
    EXPECT_EQ(on.dlid, 13);
    EXPECT_EQ(on.slid, switchLid);
    EXPECT_EQ(request[6], 2);
    EXPECT_EQ(request[192 + 1], 1);
    setField(mad, IB_DRSMP_DRDLID_F, switchLid); // the end of both parts
    receive(1, onLane15(mad));
    const auto [back, answer] = passed(1);
    EXPECT_EQ(back.dlid, ib::permissiveLid);
    EXPECT_EQ(answer[3], 0x81);
    EXPECT_EQ(answer[6], 1);
}

// The answer goes by LID to where the directed part ends, and from there by the return path.
TEST_F(NodeSmaTest, AnAnswerGoesBackTheTwoPartsThatItsRequestCame)
{
    configure();
    traps();
    io::Bytes mad = directed(ib::Method::get, nodeInfo, 0);
    setField(mad, IB_DRSMP_DRDLID_F, switchLid);
    mad[6] = 2;
    mad[192 + 1] = 4; // the number of another switch's port
    receive(3, onLane15(mad, switchLid, 13));
    const auto [byLid, answer] = passed(3);
    EXPECT_EQ(byLid.dlid, 13);
    EXPECT_EQ(byLid.slid, switchLid);
    EXPECT_EQ(answer[3], 0x81);
    EXPECT_EQ(answer[6], 2);
    EXPECT_EQ(getField(answer, IB_DRSMP_DIRECTION_F), 1U);
    receive(3, onLane15(answer, switchLid, 13)); // as that of another node would come
    const auto [back, response] = passed(4);
    EXPECT_EQ(back.dlid, ib::permissiveLid);
    EXPECT_EQ(response[6], 1);
}

TEST_F(NodeSmaTest, ThePortStateMachine)
{
    EXPECT_EQ(getField(get(portInfo, 1), IB_PORT_STATE_F), 2U); // INIT
    EXPECT_EQ(getField(get(portInfo, 2), IB_PORT_STATE_F), 1U); // DOWN
    Attribute info = get(portInfo, 1);
    setField(info, IB_PORT_PHYS_STATE_F, 0);
    setField(info, IB_PORT_STATE_F, 4); // ACTIVE from INIT: no
    EXPECT_EQ(set(portInfo, 1, info), badField);
    setPort(1, PortState::armed);
    setPort(1, PortState::active);
    EXPECT_EQ(getField(get(portInfo, 1), IB_PORT_STATE_F), 4U);
    setField(info, IB_PORT_STATE_F, 3); // ARMED from ACTIVE: no
    EXPECT_EQ(set(portInfo, 1, info), badField);
    setField(info, IB_PORT_STATE_F, 1);
    EXPECT_EQ(set(portInfo, 1, info), 0U);
    ASSERT_EQ(phys.size(), 1U);
    EXPECT_EQ(phys[0], (std::pair<std::uint8_t, PhysState>{1, PhysState::polling}));
}

TEST_F(NodeSmaTest, WhatAPortCannotDoIsRefused)
{
    const Attribute good = get(portInfo, 1);
    for (const auto &[field, value] : {std::pair{IB_PORT_NEIGHBOR_MTU_F, 0U},
                                       {IB_PORT_NEIGHBOR_MTU_F, 6U},
                                       {IB_PORT_OPER_VLS_F, 5U},
                                       {IB_PORT_LINK_WIDTH_ENABLED_F, 8U}}) {
        Attribute info = good;
        setField(info, IB_PORT_STATE_F, 0);
        setField(info, IB_PORT_PHYS_STATE_F, 0);
        setField(info, field, value);
        EXPECT_EQ(set(portInfo, 1, info), badField) << field << ' ' << value;
    }
    EXPECT_EQ(get(portInfo, 1), good);
    EXPECT_EQ(set(portInfo, 5, good), badField); // no such port
}

TEST_F(NodeSmaTest, TablesAreReadAsTheyWereWritten)
{
    Attribute block;
    for (std::size_t i = 0; i < block.size(); ++i)
        block[i] = static_cast<std::uint8_t>(i * 3);
    EXPECT_EQ(set(linearTable, 5, block), 0U);
    EXPECT_EQ(get(linearTable, 5), block);
    EXPECT_EQ(set(linearTable, 768, block), badField);
    Attribute masks{};
    for (std::size_t i = 0; i < masks.size(); i += 2)
        masks[i + 1] = 0x1E;
    EXPECT_EQ(set(multicastTable, 2, masks), 0U);
    EXPECT_EQ(get(multicastTable, 2), masks);
    EXPECT_EQ(set(multicastTable, 128, masks), badField);
    EXPECT_EQ(set(pkeyTable, 0x0003'0001, block), 0U); // port 3, block 1
    EXPECT_EQ(get(pkeyTable, 0x0003'0001), block);
    EXPECT_EQ(set(pkeyTable, 0x0003'0002, block), badField);
    EXPECT_EQ(set(pkeyTable, 0x0005'0000, block), badField);
    EXPECT_EQ(set(0x7777, 0, block), badAttribute);
}

TEST_F(NodeSmaTest, TheMkeyProtects)
{
    Attribute info = get(portInfo, 0);
    setField(info, IB_PORT_LID_F, switchLid);
    setField64(info, IB_PORT_MKEY_F, 77);
    setField(info, IB_PORT_MKEY_PROT_BITS_F, 1);
    ASSERT_EQ(set(portInfo, 0, info), 0U);
    // Anyone may read, but not the key; only who knows it may write.
    EXPECT_EQ(getField64(get(portInfo, 0), IB_PORT_MKEY_F), 0U);
    setField(info, IB_PORT_LID_F, 40);
    EXPECT_TRUE(ask(directed(ib::Method::set, portInfo, 0, info)).empty());
    EXPECT_EQ(node.port(0).lid(), switchLid);
    EXPECT_EQ(node.port(0).info(IB_PORT_MKEY_VIOL_F), 1U);
    const io::Bytes answer = ask(directed(ib::Method::set, portInfo, 0, info, 77));
    EXPECT_EQ(getField64(attributeOf(answer), IB_PORT_MKEY_F), 77U);
    EXPECT_EQ(node.port(0).lid(), 40U);
}

TEST_F(NodeSmaTest, TheMkeysLeaseEnds)
{
    Attribute info = get(portInfo, 0);
    setField(info, IB_PORT_LID_F, switchLid);
    setField64(info, IB_PORT_MKEY_F, 77);
    setField(info, IB_PORT_MKEY_PROT_BITS_F, 2);
    setField(info, IB_PORT_MKEY_LEASE_F, 3);
    ASSERT_EQ(set(portInfo, 0, info), 0U);
    const io::Bytes question = directed(ib::Method::get, portInfo, 0);
    EXPECT_TRUE(ask(question).empty());
    now += 2900ms;
    node.onTime(now);
    EXPECT_TRUE(ask(question).empty());
    now += 100ms;
    node.onTime(now);
    EXPECT_FALSE(ask(question).empty());
}

TEST_F(NodeSmaTest, APortThatChangesIsReportedUntilTheSmHasHeard)
{
    configure();
    traps();
    now += 2s;
    node.onTime(now);
    traps();
    node.linkDown(3, PhysState::polling, now);
    EXPECT_EQ(getField(get(switchInfo), IB_SW_STATE_CHANGE_F), 1U);
    now = node.deadline();
    node.onTime(now);
    auto found = traps();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(io::read<2>(found[0], 64 + 4), 128U);
    EXPECT_EQ(io::read<2>(found[0], 64 + 10), switchLid);
    // Again after SubnetTimeOut, unless the SM represses it.
    now = node.deadline();
    node.onTime(now);
    found = traps();
    ASSERT_EQ(found.size(), 1U);
    found[0][3] = 7;
    receive(1, onLane15(found[0], switchLid, smLid));
    EXPECT_EQ(node.deadline(), Time::max());
}

TEST_F(NodeSmaTest, AResponseIsNotAnswered)
{
    EXPECT_TRUE(ask(directed(ib::Method::getResp, nodeInfo, 0)).empty());
    EXPECT_TRUE(ask(directed(ib::Method::trap, nodeInfo, 0)).empty());
    EXPECT_EQ(drops(1, Drop::management), 2U);
}

} // namespace
} // namespace openipoib::fabric
