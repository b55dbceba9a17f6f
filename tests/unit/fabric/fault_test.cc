// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What goes wrong on request, and comes right again.
#include "fabric_world.hpp"

namespace openipoib::fabric
{
namespace
{

class FaultTest : public FabricWorld
{
  protected:
    void SetUp() override
    {
        FabricWorld::SetUp();
        steps(20);
        ASSERT_TRUE(host.isUp());
    }

    unsigned add(Fault fault)
    {
        const auto added = fabric.addFault(fault, now);
        EXPECT_TRUE(added) << added.error().context;
        return added ? added->id : 0;
    }

    void clear(unsigned id)
    {
        EXPECT_EQ(
            fabric.clearFaults([id](const Fault &fault) { return fault.id == id; }, now).size(),
            1U);
    }

    PhysState phys(std::string_view name)
    {
        return fabric.node(port(name).node)->port(port(name).port).phys();
    }

    std::uint64_t dropped(std::string_view name)
    {
        return fabric.node(port(name).node)->port(port(name).port).counters.get(Drop::fault);
    }
};

TEST_F(FaultTest, APulledCableTakesBothEndsDown)
{
    for (const auto *name : {"S-1:4", "S-2:4"}) {
        const unsigned id = add({.kind = FaultKind::link, .at = port(name)});
        EXPECT_EQ(state("S-1:4"), PortState::down);
        EXPECT_EQ(state("S-2:4"), PortState::down);
        EXPECT_EQ(phys("S-1:4"), PhysState::polling);
        clear(id);
        EXPECT_EQ(state("S-1:4"), PortState::init);
        EXPECT_EQ(state("S-2:4"), PortState::init);
    }
}

TEST_F(FaultTest, AHostsCableIsPulledByItsName)
{
    const unsigned id = add({.kind = FaultKind::link, .at = port("h1:1")});
    EXPECT_EQ(state("S-1:1"), PortState::down);
    steps(300);
    EXPECT_FALSE(host.isUp());
    clear(id);
    steps(40);
    EXPECT_TRUE(host.isUp());
    EXPECT_EQ(state("S-1:1"), PortState::init);
}

TEST_F(FaultTest, APortThatIsOffIsDisabledAndItsPeerPolls)
{
    const unsigned id = add({.kind = FaultKind::port, .at = port("S-1:4")});
    EXPECT_EQ(phys("S-1:4"), PhysState::disabled);
    EXPECT_EQ(phys("S-2:4"), PhysState::polling);
    EXPECT_TRUE(probe({1, 4}).empty());
    clear(id);
    EXPECT_EQ(state("S-2:4"), PortState::init);
    EXPECT_FALSE(probe({1, 4}).empty());
}

TEST_F(FaultTest, TwoFaultsOfOneLinkBothCount)
{
    const unsigned pulled = add({.kind = FaultKind::link, .at = port("S-1:4")});
    const unsigned off = add({.kind = FaultKind::port, .at = port("S-2:4")});
    clear(pulled);
    EXPECT_EQ(state("S-1:4"), PortState::down);
    clear(off);
    EXPECT_EQ(state("S-1:4"), PortState::init);
}

TEST_F(FaultTest, ASwitchThatWasOffHasForgottenAll)
{
    ASSERT_FALSE(probe({1, 4}).empty());
    const auto received = [this] {
        return fabric.node(port("S-2:4").node)->port(4).counters.get(Counter::rcvPackets);
    };
    EXPECT_EQ(received(), 1U);
    const unsigned id = add({.kind = FaultKind::power, .at = switchNamed("S-2")});
    EXPECT_EQ(state("S-1:4"), PortState::down);
    EXPECT_EQ(state("idle:1"), PortState::down);
    EXPECT_TRUE(probe({1, 4}).empty());
    clear(id);
    EXPECT_EQ(state("S-1:4"), PortState::init);
    EXPECT_EQ(state("idle:1"), PortState::init);
    EXPECT_EQ(received(), 0U);
    EXPECT_FALSE(probe({1, 4, 1}).empty());
}

TEST_F(FaultTest, TheHostsSwitchMayBeOffToo)
{
    const unsigned id = add({.kind = FaultKind::power, .at = switchNamed("S-1")});
    steps(300);
    EXPECT_FALSE(host.isUp());
    clear(id);
    steps(40);
    EXPECT_TRUE(host.isUp());
    EXPECT_FALSE(probe({1, 4}).empty());
}

TEST_F(FaultTest, AStuckSwitchAnswersNothing)
{
    const unsigned id = add({.kind = FaultKind::stuck, .at = switchNamed("S-1")});
    EXPECT_TRUE(probe({1}).empty());
    EXPECT_EQ(dropped("S-1:1"), 1U);
    EXPECT_EQ(state("S-1:1"), PortState::init);
    clear(id);
    EXPECT_FALSE(probe({1}).empty());
}

TEST_F(FaultTest, PacketsAreDroppedByPortAndKind)
{
    PacketKinds ud;
    ud.set(static_cast<std::size_t>(PacketKind::ud));
    const unsigned other =
        add({.kind = FaultKind::drop, .at = port("S-1:4"), .packets = ud, .perMillion = 1'000'000});
    EXPECT_FALSE(probe({1, 4}).empty());
    clear(other);
    add({.kind = FaultKind::drop, .at = port("S-2:4"), .perMillion = 1'000'000});
    EXPECT_FALSE(probe({1}).empty());
    EXPECT_TRUE(probe({1, 4}).empty());
    EXPECT_EQ(dropped("S-1:4"), 1U); // at the port it was to leave by
}

TEST_F(FaultTest, DropsOfAHostCountBothWays)
{
    add({.kind = FaultKind::drop, .at = port("h1:1"), .perMillion = 1'000'000});
    EXPECT_TRUE(probe({1}).empty());
    EXPECT_EQ(dropped("S-1:1"), 1U);
    EXPECT_TRUE(host.isUp()); // the link itself loses nothing
}

TEST_F(FaultTest, AFractionIsDropped)
{
    add({.kind = FaultKind::drop, .at = port("S-1:4"), .perMillion = 500'000});
    for (int turn = 0; turn < 4; ++turn) {
        const bool isUnlucky = turn % 2 == 0;
        nextSession = isUnlucky ? 0 : 600'000; // what chance says next
        EXPECT_EQ(probe({1, 4}).empty(), isUnlucky) << turn;
    }
}

TEST_F(FaultTest, LatePacketsComeLateAndInOrder)
{
    add({.kind = FaultKind::delay, .at = port("S-1:4"), .delay = 100ms});
    ask({1, 4});
    ask({1, 4, 1});
    steps(38); // 190 ms; there and back takes 200
    EXPECT_TRUE(answers().empty());
    steps(6);
    const auto found = answers();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(getField(found[0], IB_NODE_TYPE_F), 2U);
    EXPECT_EQ(getField(found[1], IB_NODE_TYPE_F), 1U);
}

TEST_F(FaultTest, PacketsOfACableAreLateBothWays)
{
    add({.kind = FaultKind::delay, .at = port("h1:1"), .delay = 50ms});
    ask({1});
    steps(18);
    EXPECT_TRUE(answers().empty());
    steps(6);
    EXPECT_EQ(answers().size(), 1U);
}

TEST_F(FaultTest, WhatIsUnderWayStaysInOrderWhenTheDelayEnds)
{
    const unsigned id = add({.kind = FaultKind::delay, .at = port("S-1:4"), .delay = 100ms});
    ask({1, 4});
    steps(2);
    clear(id);
    ask({1, 4, 1});
    steps(2);
    EXPECT_TRUE(answers().empty());
    steps(22);
    const auto found = answers();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(getField(found[0], IB_NODE_TYPE_F), 2U);
}

TEST_F(FaultTest, APulledCableLosesWhatIsUnderWay)
{
    add({.kind = FaultKind::delay, .at = port("S-1:4"), .delay = 100ms});
    ask({1, 4});
    steps(2);
    clear(add({.kind = FaultKind::link, .at = port("S-2:4")}));
    steps(60);
    EXPECT_TRUE(answers().empty());
}

TEST_F(FaultTest, AFaultEndsByItself)
{
    add({.kind = FaultKind::link, .at = port("S-1:4"), .until = now + 100ms});
    EXPECT_LE(fabric.deadline(), now + 100ms);
    steps(18);
    EXPECT_EQ(state("S-1:4"), PortState::down);
    steps(4);
    EXPECT_EQ(state("S-1:4"), PortState::init);
    EXPECT_TRUE(fabric.faults().all().empty());
}

TEST_F(FaultTest, AnEqualFaultIsReplaced)
{
    add({.kind = FaultKind::delay, .at = port("S-1:4"), .delay = 100ms});
    add({.kind = FaultKind::delay, .at = port("S-1:4"), .delay = 1ms});
    ASSERT_EQ(fabric.faults().all().size(), 1U);
    EXPECT_EQ(fabric.faults().all()[0].delay, 1ms);
}

TEST_F(FaultTest, PlacesThatDoNotFitAreRefused)
{
    EXPECT_FALSE(fabric.addFault({.kind = FaultKind::power, .at = port("S-1:4")}, now));
    EXPECT_FALSE(fabric.addFault({.kind = FaultKind::link, .at = switchNamed("S-1")}, now));
    EXPECT_FALSE(fabric.addFault({.kind = FaultKind::power, .at = switchNamed("h1")}, now));
    EXPECT_TRUE(fabric.faults().all().empty());
}

TEST(PacketKindTest, IsReadFromTheHeaders)
{
    const auto kind = [](const ib::Lrh &lrh, const ib::Bth &bth) {
        return kindOf(ib::PacketBuilder{}.lrh(lrh).bth(bth).deth({}).build());
    };
    EXPECT_EQ(kind({.vl = vl15}, {}), PacketKind::mad);
    EXPECT_EQ(kind({}, {.qpn = 1}), PacketKind::mad);
    EXPECT_EQ(kind({}, {.qpn = 0x42}), PacketKind::ud);
    io::Bytes rc = ib::PacketBuilder{}.lrh({}).bth({.qpn = 0x42}).deth({}).build();
    rc[ib::Lrh::size] = 0x04; // RC SEND only
    EXPECT_EQ(kindOf(rc), PacketKind::rc);
    EXPECT_EQ(kindOf(io::Bytes(3)), PacketKind::other);
}

} // namespace
} // namespace openipoib::fabric
