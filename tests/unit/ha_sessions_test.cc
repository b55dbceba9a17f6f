// SPDX-License-Identifier: GPL-2.0-only OR MIT
// BFD sessions between hosts of which every port can reach every other one.
#include "ha_sessions_world.hpp"

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

class HaSessions : public SessionsWorld
{
};

TEST_F(HaSessions, AllPairsOfPortsComeUp)
{
    run(3s);
    for (const auto &one : hosts) {
        EXPECT_EQ(one.sessions.all().size(), 4U);
        for (const auto &session : one.sessions.all()) {
            EXPECT_TRUE(session.session.up());
            EXPECT_EQ(session.session.serves(), session.peer == 0);
            EXPECT_EQ(session.session.detection(), 3 * every);
        }
    }
    EXPECT_TRUE(nobodyEver());
}

TEST_F(HaSessions, ASilentPortIsNoticedInTime)
{
    std::vector<Time> all;
    for (unsigned round = 0; round < 50; ++round) {
        settle();
        run(Time(random() % 20000));
        const Time from = now;
        loseAt(0, Side::primary, true, true);
        run(200ms);
        ASSERT_TRUE(ever(0, Side::primary));
        EXPECT_FALSE(ever(0, Side::secondary));
        EXPECT_FALSE(ever(1, Side::primary)); // it has nobody to turn to
        EXPECT_FALSE(ever(1, Side::secondary));
        all.push_back(took(0, Side::primary, from));
        loses = [](const SessionsPacket &) { return false; };
    }
    std::ranges::sort(all);
    EXPECT_LE(all[all.size() / 2], 75ms);
    EXPECT_LE(all.back(), 85ms);
    EXPECT_GE(all.front(), 40ms);
}

TEST_F(HaSessions, AFaultInOneDirectionIsNoticedByItsPort)
{
    std::vector<Time> all;
    for (unsigned round = 0; round < 100; ++round) {
        const bool out = round % 2;
        settle();
        run(Time(random() % 20000));
        const Time from = now;
        loseAt(0, Side::primary, out, !out);
        run(300ms);
        ASSERT_TRUE(ever(0, Side::primary)) << round;
        all.push_back(took(0, Side::primary, from));
        EXPECT_FALSE(ever(0, Side::secondary)) << round;
        EXPECT_FALSE(ever(1, Side::primary)) << round;
        EXPECT_FALSE(ever(1, Side::secondary)) << round;
        loses = [](const SessionsPacket &) { return false; };
    }
    std::ranges::sort(all);
    EXPECT_LE(all[all.size() / 2], 90ms);
    EXPECT_LE(all.back(), 110ms);
}

TEST_F(HaSessions, WhenTheOtherIsLostAsWellNeitherIsWorse)
{
    settle();
    loseAt(0, Side::primary, true, true);
    run(200ms);
    EXPECT_TRUE(hosts[0].sessions.isCutOff(Side::primary));
    loses = [](const SessionsPacket &) { return true; };
    run(200ms);
    EXPECT_FALSE(hosts[0].sessions.isCutOff(Side::primary));
    EXPECT_FALSE(hosts[0].sessions.isCutOff(Side::secondary));
}

TEST_F(HaSessions, APeerThatDiesMovesNobody)
{
    for (unsigned round = 0; round < 50; ++round) {
        settle();
        run(Time(random() % 20000));
        hosts[1].dead = true;
        run(3s);
        hosts[1] = host(1); // it restarts
        run(5s);
        ASSERT_TRUE(nobodyEver()) << round;
    }
}

TEST_F(HaSessions, APeerThatEndsOrderlyMovesNobody)
{
    settle();
    hosts[1].sessions.farewell(
        [this](const auto &one, const BfdPacket &packet) { send(1, one, packet); });
    hosts[1].dead = true;
    run(3s);
    EXPECT_TRUE(nobodyEver());
}

TEST_F(HaSessions, ASessionThatIsSwitchedOffIsNoFault)
{
    settle();
    hosts[1].sessions.farewell([this](const auto &one, const BfdPacket &packet) {
        if (one.peer == 0)
            send(1, one, packet);
    });
    loses = [](const SessionsPacket &packet) {
        return packet.from == 1 && packet.to == Side::primary;
    };
    run(10s);
    EXPECT_FALSE(ever(0, Side::primary));
    // Nor when it comes back, though its silence was long.
    loses = [](const SessionsPacket &) { return false; };
    run(10s);
    EXPECT_TRUE(nobodyEver());
}

TEST_F(HaSessions, AHostThatDoesNotRunForAWhileMovesNobody)
{
    for (const unsigned who : {0U, 1U})
        for (Time time = 20ms; time < 150ms; time += 1ms) {
            settle();
            run(Time(random() % 20000));
            hosts[who].stoppedUntil = now + time;
            run(2s);
            ASSERT_TRUE(nobodyEver()) << who << " for " << time.count() << " us";
        }
    EXPECT_GT(hosts[0].sessions.stalls(), 0U);
}

TEST_F(HaSessions, AFaultBesideAStopIsNoticedLater)
{
    settle();
    loseAt(0, Side::primary, true, true);
    run(45ms);
    const Time stop = 38ms; // not so long that the peer misses this host
    hosts[0].stoppedUntil = now + stop;
    const Time from = now;
    run(1s);
    EXPECT_TRUE(ever(0, Side::primary));
    EXPECT_GE(took(0, Side::primary, from), stop + 100ms);
    EXPECT_LE(took(0, Side::primary, from), stop + 150ms);
}

TEST_F(HaSessions, ALongStopMovesNobody)
{
    for (const Time time : {Time(1s), Time(10s), Time(24h)}) {
        settle();
        hosts[0].stoppedUntil = now + time;
        wire.clear();
        hosts[1].stoppedUntil = now + time; // both: as when the clock jumps
        run(time + 5s);
        ASSERT_TRUE(nobodyEver()) << time.count();
    }
}

// One that stalls twice a second has its sessions lost by peers, and made again, all the time.
TEST_F(HaSessions, AHostThatStallsAllTheTimeNoticesAFaultAtLast)
{
    settle();
    const auto stallFor = [this](Time duration) {
        for (const Time end = now + duration; now < end;) {
            run(Time(random() % 400'000 + 100'000));
            hosts[0].stoppedUntil = now + 90ms;
            run(90ms);
        }
    };
    stallFor(300s);
    EXPECT_FALSE(ever(0, Side::primary));
    EXPECT_FALSE(ever(0, Side::secondary));
    loseAt(0, Side::primary, false, true);
    stallFor(120s);
    EXPECT_TRUE(ever(0, Side::primary));
    EXPECT_FALSE(ever(0, Side::secondary));
}

TEST_F(HaSessions, LostPacketsMoveNobody)
{
    settle();
    loses = [this](const SessionsPacket &) { return random() % 400 == 0; };
    run(600s);
    EXPECT_TRUE(nobodyEver());
    std::uint64_t missed = 0;
    for (const auto &one : hosts[0].sessions.all())
        missed += one.counts.missed;
    EXPECT_GT(missed, 200U);
}

TEST_F(HaSessions, OnePortIsEnoughToReachThePeer)
{
    settle();
    // Of the peer's standby: nobody misses it.
    loseAt(1, Side::secondary, true, true);
    run(1s);
    EXPECT_FALSE(ever(0, Side::primary));
    EXPECT_FALSE(ever(0, Side::secondary));
    EXPECT_TRUE(ever(1, Side::secondary));
    EXPECT_FALSE(ever(1, Side::primary));
}

TEST_F(HaSessions, WhenSwitchesPartOneOfBothMoves)
{
    std::array<unsigned, 2> moved{};
    for (unsigned round = 0; round < 20; ++round) {
        hosts.clear();
        SetUp(); // other discriminators
        hosts[1].sessions.setActive(Side::secondary);
        settle();
        const Time from = now;
        loses = [](const SessionsPacket &packet) { return packet.by != packet.to; };
        Time first{};
        for (; now < from + 1s; run(1ms))
            for (const unsigned number : {0U, 1U}) {
                const Side active = number ? Side::secondary : Side::primary;
                if (!first.count() && hosts[number].sessions.isCutOff(active)) {
                    first = now - from;
                    hosts[number].sessions.setActive(other(active));
                    ++moved[number];
                }
            }
        EXPECT_GT(first, 40ms);
        EXPECT_LE(first, 90ms);
        // The other one has seen that, and stays.
        EXPECT_FALSE(ever(0, Side::primary) && ever(1, Side::secondary));
        loses = [](const SessionsPacket &) { return false; };
        wire.clear();
    }
    EXPECT_EQ(moved[0] + moved[1], 20U);
    EXPECT_GT(moved[0], 0U);
    EXPECT_GT(moved[1], 0U);
}

TEST_F(HaSessions, IfThePeerCannotMoveTheOtherOneDoes)
{
    for (unsigned round = 0; round < 10; ++round) {
        hosts.clear();
        SetUp();
        hosts[1].sessions.setActive(Side::secondary);
        settle();
        loses = [](const SessionsPacket &packet) { return packet.by != packet.to; };
        run(500ms);
        EXPECT_TRUE(ever(0, Side::primary));
        EXPECT_TRUE(ever(1, Side::secondary));
        loses = [](const SessionsPacket &) { return false; };
    }
}

TEST_F(HaSessions, APeerThatFailsOverIsFollowedByNobody)
{
    settle();
    for (unsigned round = 0; round < 20; ++round) {
        run(Time(random() % 20000));
        hosts[1].sessions.setActive(round % 2 ? Side::primary : Side::secondary);
        run(500ms);
    }
    EXPECT_TRUE(nobodyEver());
}

TEST_F(HaSessions, AFaultThatIsThereAtTheStartIsNoticed)
{
    loseAt(0, Side::primary, true, true);
    run(3s);
    EXPECT_FALSE(ever(0, Side::primary));
    run(4s);
    EXPECT_TRUE(ever(0, Side::primary));
    loses = [](const SessionsPacket &) { return false; };
    run(3s);
    EXPECT_FALSE(hosts[0].sessions.isCutOff(Side::primary));
}

TEST_F(HaSessions, ANewInterfaceHasTimeToHear)
{
    settle();
    for (int index = 9; index < 60; ++index) {
        run(Time(random() % 20000));
        hosts[0].sessions.watch({{index, 2}}, now);
        run(2s);
        ASSERT_TRUE(nobodyEver()) << index;
    }
    hosts[0].sessions.watch({{0, 2}}, now);
    run(10s);
    EXPECT_FALSE(ever(0, Side::primary)); // there is none
    for (const auto &one : hosts[0].sessions.all())
        EXPECT_EQ(one.session.up(), one.side == Side::secondary);
    EXPECT_GT(hosts[0].sessions.drops().strangers, 0U); // nothing is told to what is not there
    hosts[0].sessions.watch({{0, 0}}, now);
    EXPECT_FALSE(hosts[0].sessions.next());
}

// Whoever is in the partition may send anything, with the address of the peer as well.
TEST_F(HaSessions, WhatIsSpoofedIsCountedAndChangesNothing)
{
    settle();
    const auto stranger = address(7, Side::primary);
    const auto peer = address(1, Side::primary);
    BfdPacket packet{.state = BfdState::down, .mine = 1, .yours = 0, .minTx = 1, .minRx = 1};
    Sessions &sessions = hosts[0].sessions;
    const SessionDrops before = sessions.drops();
    for (unsigned i = 0; i < 100000; ++i) {
        packet.mine = static_cast<std::uint32_t>(random()) | 1;
        sessions.receive(Side::primary, peer, 255, writeBfdPacket(packet), now);
        packet.yours = static_cast<std::uint32_t>(random()) | 1;
        sessions.receive(Side::primary, peer, 255, writeBfdPacket(packet), now);
        packet.yours = 0;
        sessions.receive(Side::primary, stranger, 255, writeBfdPacket(packet), now);
        sessions.receive(Side::primary, peer, 254, writeBfdPacket(packet), now);
        sessions.receive(Side::primary, peer, 255, {}, now);
        if (i % 1000 == 0)
            run(1ms);
    }
    run(1s);
    EXPECT_TRUE(nobodyEver());
    for (const auto &one : sessions.all()) {
        EXPECT_TRUE(one.session.up());
        EXPECT_EQ(one.counts.downs, 0U);
    }
    EXPECT_EQ(sessions.drops().unbelieved - before.unbelieved, 200000U);
    EXPECT_EQ(sessions.drops().strangers - before.strangers, 100000U);
    EXPECT_EQ(sessions.drops().routed - before.routed, 100000U);
    EXPECT_EQ(sessions.drops().malformed - before.malformed, 100000U);
}

TEST_F(HaSessions, WhatIsRecordedCannotBePlayedToAnotherPort)
{
    settle();
    // A packet that is right, for another session of the same two hosts
    const auto &one = hosts[1].sessions.all()[0];
    const BfdPacket down{
        .state = BfdState::down, .mine = one.session.mine(), .yours = one.session.remote().mine};
    hosts[0].sessions.receive(Side::secondary, address(1, Side::secondary), 255,
                              writeBfdPacket(down), now);
    run(10ms);
    for (const auto &each : hosts[0].sessions.all())
        EXPECT_TRUE(each.session.up());
}

TEST_F(HaSessions, DiscriminatorsDiffer)
{
    unsigned calls = 0;
    const Sessions sessions(
        {.peers = {address(1, Side::primary), address(1, Side::secondary)}, .times = {}},
        [&] { return calls++ / 2; }); // 0, and each twice
    std::set<std::uint32_t> seen;
    for (const auto &one : sessions.all())
        seen.insert(one.session.mine());
    EXPECT_EQ(seen.size(), 4U);
    EXPECT_FALSE(seen.contains(0));
}

TEST_F(HaSessions, TheReportSaysWhatIsWrong)
{
    settle();
    const SessionsReport before = reportOf(hosts[0].sessions);
    EXPECT_EQ(before.count, 4U);
    EXPECT_TRUE(whyCutOff(before, Side::primary).empty());
    EXPECT_EQ(metBy(before, Side::primary), Met::somebody);
    hosts[1].sessions.setActive(Side::secondary);
    loses = [](const SessionsPacket &packet) { return packet.by != packet.to; };
    run(200ms);
    EXPECT_EQ(metBy(reportOf(hosts[0].sessions), Side::primary), Met::standbys);
    EXPECT_EQ(metBy(reportOf(hosts[0].sessions), Side::secondary), Met::somebody);
    hosts[1].sessions.setActive(Side::primary);
    loses = [](const SessionsPacket &) { return false; };
    run(3s);
    loseAt(0, Side::primary, true, true);
    run(200ms);
    SessionsReport after = reportOf(hosts[0].sessions);
    EXPECT_TRUE(isNews(before, after));
    EXPECT_EQ(whyCutOff(after, Side::primary), "nobody answers by BFD");
    EXPECT_EQ(metBy(after, Side::primary), Met::nobody);
    EXPECT_TRUE(whyCutOff(after, Side::secondary).empty());
    EXPECT_EQ(after.lines[0].counts.downs, 1U);
    EXPECT_GE(after.lines[0].counts.longest, 60ms);
    SessionsReport more = after;
    ++more.lines[0].counts.sent;
    EXPECT_FALSE(isNews(after, more));
}

} // namespace
} // namespace openipoib::ha
