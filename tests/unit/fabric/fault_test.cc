// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What goes wrong on request, and comes right again.
#include "fabric_world.hpp"

#include "ib/icrc.hpp"

#include <random>

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

    const PortCounters &counters(std::string_view name)
    {
        return fabric.node(port(name).node)->port(port(name).port).counters;
    }

    std::uint64_t dropped(std::string_view name) { return counters(name).get(Drop::fault); }

    // Packets that have left by a port, come to no other, and are not said to be lost.
    std::int64_t unaccounted(std::string_view from, std::string_view to)
    {
        const PortCounters &left = counters(from);
        const PortCounters &came = counters(to);
        return static_cast<std::int64_t>(
            left.get(Counter::xmitPackets) + left.get(Counter::duplicated) - left.get(Drop::fault) -
            left.get(Drop::underWay) - came.get(Counter::rcvPackets) - came.get(Drop::corrupted));
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

// Without a cable, too, and while something else keeps the link down.
TEST_F(FaultTest, APortThatIsEnabledPollsUntilItsLinkIsUp)
{
    const auto set = [this](std::uint8_t number, PhysState wanted) {
        Attribute info = fabric.node(port("S-1:1").node)->port(number).portInfo();
        setField(info, IB_PORT_STATE_F, 0);
        setField(info, IB_PORT_PHYS_STATE_F, static_cast<std::uint32_t>(wanted));
        smp({1}, {.method = ib::Method::set, .attribute = IB_ATTR_PORT_INFO, .modifier = number},
            info);
        steps(4);
    };
    const unsigned pulled = add({.kind = FaultKind::link, .at = port("S-1:4")});
    for (const auto &[number, name] :
         {std::pair<std::uint8_t, const char *>{3, "S-1:3"}, {4, "S-1:4"}}) {
        set(number, PhysState::disabled);
        EXPECT_EQ(phys(name), PhysState::disabled) << name;
        set(number, PhysState::polling);
        EXPECT_EQ(phys(name), PhysState::polling) << name;
    }
    clear(pulled);
    EXPECT_EQ(state("S-1:4"), PortState::init);
    for (const auto *name : {"S-1:4", "S-1:1"}) { // the latter has a cable to a host
        add({.kind = FaultKind::link, .at = port(name)});
        const unsigned off = add({.kind = FaultKind::port, .at = port(name)});
        EXPECT_EQ(phys(name), PhysState::disabled) << name;
        clear(off);
        EXPECT_EQ(phys(name), PhysState::polling) << name;
    }
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
    EXPECT_EQ(dropped("S-1:1"), 0U);
    EXPECT_EQ(counters("S-1:1").get(Drop::stuck), 1U);
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
        nextChance = isUnlucky ? 0 : 600'000; // what chance says next
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

TEST_F(FaultTest, ARestartedHostGetsNothingOfBefore)
{
    add({.kind = FaultKind::delay, .at = port("h1:1"), .delay = 200ms});
    ask({1}); // on its way in
    steps(2);
    host = link::Endpoint({.session = 70, .guid = 0xB, .maxFrame = 9000});
    steps(100);
    EXPECT_TRUE(host.isUp());
    EXPECT_TRUE(answers().empty());
    EXPECT_EQ(counters("S-1:1").get(Drop::underWay), 1U);
    ask({1});
    steps(50); // the answer is on its way out
    host = link::Endpoint({.session = 80, .guid = 0xB, .maxFrame = 9000});
    steps(100);
    EXPECT_TRUE(host.isUp());
    EXPECT_TRUE(answers().empty());
    EXPECT_EQ(counters("S-1:1").get(Drop::underWay), 2U);
}

TEST_F(FaultTest, ALinkThatTheSmTakesDownLosesWhatIsUnderWay)
{
    add({.kind = FaultKind::delay, .at = port("S-1:4"), .delay = 100ms});
    ask({1, 4});
    steps(2);
    Attribute info = fabric.node(port("S-1:4").node)->port(4).portInfo();
    setField(info, IB_PORT_STATE_F, static_cast<std::uint32_t>(PortState::down));
    setField(info, IB_PORT_PHYS_STATE_F, 0);
    smp({1}, {.method = ib::Method::set, .attribute = IB_ATTR_PORT_INFO, .modifier = 4}, info);
    steps(60);
    EXPECT_EQ(state("S-1:4"), PortState::init);
    EXPECT_EQ(counters("S-1:4").get(Counter::linkDowned), 1U);
    EXPECT_EQ(answers().size(), 1U); // of the Set
    EXPECT_EQ(counters("S-1:4").get(Drop::underWay), 1U);
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

TEST_F(FaultTest, SubnetManagementAloneMayBeLost)
{
    PacketKinds gmp;
    gmp.set(static_cast<std::size_t>(PacketKind::gmp));
    add({.kind = FaultKind::drop, .at = port("S-1:4"), .packets = gmp, .perMillion = 1'000'000});
    EXPECT_FALSE(probe({1, 4}).empty());
    add({.kind = FaultKind::drop,
         .at = port("S-1:4"),
         .packets = PacketKinds{}.set(static_cast<std::size_t>(PacketKind::smp)),
         .perMillion = 1'000'000});
    EXPECT_TRUE(probe({1, 4}).empty());
    EXPECT_FALSE(probe({1}).empty());
}

TEST_F(FaultTest, ACutPartsTheFabric)
{
    const std::size_t leaf = switchNamed("S-1").node;
    const std::size_t elsewhere = switchNamed("h1").node;
    const unsigned id = add({.kind = FaultKind::cut, .at = {leaf, 0}, .nodes = {leaf, elsewhere}});
    EXPECT_EQ(state("S-1:4"), PortState::down);
    EXPECT_EQ(state("S-2:4"), PortState::down);
    EXPECT_EQ(state("S-2:1"), PortState::init);
    EXPECT_FALSE(probe({1}).empty()); // on the same side
    const unsigned other =
        add({.kind = FaultKind::cut, .at = {elsewhere, 0}, .nodes = {elsewhere}});
    EXPECT_EQ(state("S-1:1"), PortState::down);
    clear(id);
    EXPECT_EQ(state("S-2:4"), PortState::init);
    EXPECT_EQ(state("S-1:1"), PortState::down);
    clear(other);
    steps(40);
    EXPECT_EQ(state("S-1:1"), PortState::init);
}

TEST_F(FaultTest, PacketsComeTwice)
{
    const unsigned id =
        add({.kind = FaultKind::duplicate, .at = port("h1:1"), .perMillion = 1'000'000});
    ask({1}); // twice there, and each answer twice back
    steps(4);
    EXPECT_EQ(answers().size(), 4U);
    clear(id);
    ask({1});
    steps(4);
    EXPECT_EQ(answers().size(), 1U);
}

TEST_F(FaultTest, CopiesBetweenSwitchesStayInOrder)
{
    add({.kind = FaultKind::duplicate, .at = port("S-1:4"), .perMillion = 1'000'000});
    ask({1, 4});
    ask({1, 4, 1});
    steps(4);
    const auto found = answers();
    ASSERT_EQ(found.size(), 8U);
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(getField(found[i], IB_NODE_TYPE_F), i < 4 ? 2U : 1U) << i;
}

TEST_F(FaultTest, EveryPacketOfALinkIsAccountedFor)
{
    // One number decides about all that may befall a packet.
    std::uint32_t fraction = 0;
    for (const FaultKind kind :
         {FaultKind::drop, FaultKind::corrupt, FaultKind::duplicate, FaultKind::reorder})
        add({.kind = kind, .at = port("S-1:4"), .perMillion = fraction += 200'000});
    add({.kind = FaultKind::delay, .at = port("S-2:4"), .delay = 20ms});
    for (int turn = 0; turn < 100; ++turn) {
        nextChance = static_cast<std::uint32_t>(turn * 10'000);
        ask({1, 4});
        steps(1);
        if (turn % 10 == 0) // with packets under way
            clear(add({.kind = FaultKind::link, .at = port("S-1:4")}));
    }
    steps(20);
    EXPECT_GT(counters("S-1:4").get(Counter::duplicated), 0U);
    EXPECT_GT(counters("S-1:4").get(Drop::underWay) + counters("S-2:4").get(Drop::underWay), 0U);
    EXPECT_GT(dropped("S-1:4"), 0U);
    EXPECT_EQ(unaccounted("S-1:4", "S-2:4"), 0);
    EXPECT_EQ(unaccounted("S-2:4", "S-1:4"), 0);
}

TEST_F(FaultTest, ASwitchDropsWhatIsCorrupted)
{
    add({.kind = FaultKind::corrupt, .at = port("S-1:4"), .perMillion = 1'000'000});
    EXPECT_TRUE(probe({1, 4}).empty());
    const auto &counters = fabric.node(port("S-2:4").node)->port(4).counters;
    EXPECT_EQ(counters.get(Drop::corrupted), 1U);
    EXPECT_EQ(counters.get(Counter::rcvErrors), 1U);
    EXPECT_EQ(counters.get(Counter::symbolError), 1U);
    EXPECT_EQ(counters.get(Counter::rcvPackets), 0U);
}

TEST_F(FaultTest, AHostGetsWhatIsCorrupted)
{
    ask({1});
    steps(1); // the question is through
    add({.kind = FaultKind::delay, .at = port("S-1:4"), .delay = 1ms});
    steps(3);
    const auto before = host.takeInput();
    ASSERT_EQ(before.size(), 1U);
    ask({1, 4}); // comes back late, and meets the fault
    steps(1);
    add({.kind = FaultKind::corrupt, .at = port("S-1:1"), .perMillion = 1'000'000});
    steps(6);
    const auto after = host.takeInput();
    ASSERT_EQ(after.size(), 1U);
    const io::Bytes whole = after[0];
    const auto headers = PacketHeaders::parse(whole);
    ASSERT_TRUE(headers); // the LRH is as it was
    EXPECT_NE(ib::icrc(io::View(whole).first(whole.size() - 4)),
              io::read<4>(whole, whole.size() - 4));
}

TEST_F(FaultTest, PacketsAreOvertaken)
{
    add({.kind = FaultKind::reorder, .at = port("h1:1"), .perMillion = 500'000});
    nextChance = 0; // the first is, the second is not, nor are the answers
    ask({1});
    nextChance = 499'999;
    ask({1, 4, 1});
    steps(6);
    const auto found = answers();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(getField(found[0], IB_NODE_TYPE_F), 1U);
    EXPECT_EQ(getField(found[1], IB_NODE_TYPE_F), 2U);
}

TEST_F(FaultTest, ARateLetsPacketsPassOneByOne)
{
    // A MAD is 288 octets with headers and ICRC: 23.04 ms each.
    add({.kind = FaultKind::rate, .at = port("S-1:4"), .bitsPerSecond = 100'000});
    for (int i = 0; i < 4; ++i)
        ask({1, 4});
    std::vector<Time> times;
    for (int i = 0; i < 40; ++i) {
        steps(1);
        for (const auto &answer : answers()) {
            EXPECT_FALSE(answer.empty());
            times.push_back(now);
        }
    }
    ASSERT_EQ(times.size(), 4U);
    EXPECT_GE(times[3] - times[0], 65ms);
    EXPECT_LE(times[3] - times[0], 80ms);
    EXPECT_GT(fabric.deadline(), now - 5ms); // no clock runs on for it
}

// A caller comes later than he wants to, and no packet leaves before that.
TEST(WireTest, ARateIsKeptByWhoComesLate)
{
    for (const auto late : {0us, 300us, 3000us}) {
        Wire wire;
        Time now{1h};
        const Time end = now + 1s;
        std::size_t sent = 0;
        while (now < end) {
            wire.rest(now);
            for (; wire.openLanes(now).all(); sent += 1000)
                EXPECT_LE(wire.send(1000, 8'000'000, now), now + 1ms); // 1 ms each
            now = wire.wake() + late;
        }
        EXPECT_GE(sent, 990'000U) << late.count();
        EXPECT_LE(sent, 1'010'000U) << late.count();
        now = end + 1min; // what has not been sent meanwhile is not made good
        for (sent = 0; wire.openLanes(now).all(); ++sent)
            static_cast<void>(wire.send(1000, 8'000'000, now));
        EXPECT_EQ(sent, 1U);
    }
}

TEST_F(FaultTest, WhatARateHoldsUpWaitsInTheSwitch)
{
    add({.kind = FaultKind::rate, .at = port("S-1:4"), .bitsPerSecond = 1000});
    for (int i = 0; i < 5; ++i)
        ask({1, 4});
    steps(4);
    const Node &leaf = *fabric.node(port("S-1:4").node);
    EXPECT_EQ(leaf.port(4).queues[vl15].packets.size(), 4U);
    clear(fabric.faults().all()[0].id);
}

TEST_F(FaultTest, PlacesThatDoNotFitAreRefused)
{
    EXPECT_FALSE(fabric.addFault({.kind = FaultKind::power, .at = port("S-1:4")}, now));
    EXPECT_FALSE(fabric.addFault({.kind = FaultKind::link, .at = switchNamed("S-1")}, now));
    EXPECT_FALSE(fabric.addFault({.kind = FaultKind::power, .at = switchNamed("h1")}, now));
    EXPECT_TRUE(fabric.faults().all().empty());
}

TEST(FaultsTest, TheSameNumbersChooseTheSamePackets)
{
    const auto fates = [](std::uint32_t seed) {
        Faults faults;
        static_cast<void>(faults.add({.kind = FaultKind::drop, .at = {}, .perMillion = 250'000}));
        std::mt19937 chance(seed);
        std::vector<bool> result;
        for (int i = 0; i < 10'000; ++i)
            result.push_back(faults
                                 .judge({}, std::nullopt, PacketKind::ud,
                                        [&] { return static_cast<std::uint32_t>(chance()); })
                                 .isDropped);
        return result;
    };
    const auto first = fates(1);
    EXPECT_EQ(first, fates(1));
    EXPECT_NE(first, fates(2));
    const auto hits = std::ranges::count(first, true);
    EXPECT_GT(hits, 2300); // 2,500 and four standard deviations
    EXPECT_LT(hits, 2700);
}

TEST(PacketKindTest, IsReadFromTheHeaders)
{
    const auto kind = [](const ib::Lrh &lrh, const ib::Bth &bth) {
        return kindOf(ib::PacketBuilder{}.lrh(lrh).bth(bth).deth({}).build());
    };
    EXPECT_EQ(kind({.vl = vl15}, {}), PacketKind::smp);
    EXPECT_EQ(kind({}, {.qpn = 1}), PacketKind::gmp);
    EXPECT_EQ(kind({}, {.qpn = 0x42}), PacketKind::ud);
    io::Bytes rc = ib::PacketBuilder{}.lrh({}).bth({.qpn = 0x42}).deth({}).build();
    rc[ib::Lrh::size] = 0x04; // RC SEND only
    EXPECT_EQ(kindOf(rc), PacketKind::rc);
    EXPECT_EQ(kindOf(io::Bytes(3)), PacketKind::other);
}

} // namespace
} // namespace openipoib::fabric
