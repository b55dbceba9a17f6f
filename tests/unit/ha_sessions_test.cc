// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The sessions of two hosts with two ports each, over links that fail in all ways.
#include "ha-daemon/core/session_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

constexpr Time every = 20ms;
constexpr Time latency = 200us;

io::Bytes address(unsigned host, Side side)
{
    io::Bytes out(16);
    out[0] = 0xFE;
    out[1] = 0x80;
    out[14] = static_cast<std::uint8_t>(host);
    out[15] = static_cast<std::uint8_t>(side);
    return out;
}

struct Packet {
    unsigned from = 0;
    Side by = Side::primary;
    Side to = Side::primary;
    std::array<std::uint8_t, bfdPacketBytes> bytes{};
};

// Two hosts; each is at rest, runs, or is stopped for a while.
class HaSessions : public testing::Test
{
  protected:
    struct Host {
        Sessions sessions;
        std::vector<Packet> waiting; // it has not read them yet
        Time stoppedUntil{};
        bool dead = false;
        std::array<bool, 2> everCutOff{};
        std::array<Time, 2> cutOffAt{};
    };

    std::mt19937 random{7};
    std::vector<Host> hosts;
    std::multimap<Time, Packet> wire;
    Time now{10s};
    // Whether a packet of this host by this side to that side is lost
    std::function<bool(const Packet &)> loses = [](const Packet &) { return false; };

    Host host(unsigned number)
    {
        const SessionPolicy policy{
            .peers = {address(1 - number, Side::primary), address(1 - number, Side::secondary)},
            .times = {.every = every, .multiplier = 3}};
        Host out{.sessions = Sessions(policy, [this] { return random(); }), .waiting = {}};
        out.sessions.watch({{1, 2}}, now);
        return out;
    }
    void SetUp() override
    {
        hosts.push_back(host(0));
        hosts.push_back(host(1));
    }

    void send(unsigned from, const Sessions::One &one, const BfdPacket &packet)
    {
        const Packet out{from, one.side, static_cast<Side>(one.peer), writeBfdPacket(packet)};
        if (!loses(out))
            wire.emplace(now + latency + Time(random() % 300), out);
    }
    void serve(unsigned number)
    {
        Host &one = hosts[number];
        for (const auto &packet : std::exchange(one.waiting, {}))
            one.sessions.receive(packet.to, address(packet.from, packet.by), 255, packet.bytes,
                                 now);
        one.sessions.advance(now, [&](const Sessions::One &session, const BfdPacket &packet) {
            send(number, session, packet);
        });
        for (const Side side : {Side::primary, Side::secondary}) {
            const auto at = static_cast<std::size_t>(side);
            if (one.sessions.isCutOff(side) && !one.everCutOff[at])
                one.cutOffAt[at] = now;
            one.everCutOff[at] = one.everCutOff[at] || one.sessions.isCutOff(side);
        }
    }
    void run(Time time)
    {
        const Time end = now + time;
        for (;;) {
            Time next = end;
            if (!wire.empty())
                next = std::min(next, wire.begin()->first);
            for (const auto &one : hosts)
                if (const auto due = one.sessions.next(); due && !one.dead)
                    next = std::min(next, std::max(*due, one.stoppedUntil));
            now = std::max(now, next);
            if (now >= end)
                break;
            std::array<bool, 2> called{};
            while (!wire.empty() && wire.begin()->first <= now) {
                const Packet packet = wire.begin()->second;
                wire.erase(wire.begin());
                hosts[1 - packet.from].waiting.push_back(packet);
                called[1 - packet.from] = true;
            }
            for (unsigned number = 0; number < hosts.size(); ++number) {
                Host &one = hosts[number];
                const auto due = one.sessions.next();
                if (!one.dead && now >= one.stoppedUntil &&
                    (called[number] || (due && now >= *due)))
                    serve(number);
            }
        }
        now = end;
    }
    // As at the start of the test: all is well, and nothing was ever wrong.
    void settle()
    {
        run(5s);
        for (auto &one : hosts) {
            for (const auto &session : one.sessions.all())
                ASSERT_TRUE(session.session.up());
            one.everCutOff = {};
        }
    }
    [[nodiscard]] bool ever(unsigned number, Side side) const
    {
        return hosts[number].everCutOff[static_cast<std::size_t>(side)];
    }
    [[nodiscard]] bool nobodyEver() const
    {
        return !ever(0, Side::primary) && !ever(0, Side::secondary) && !ever(1, Side::primary) &&
               !ever(1, Side::secondary);
    }
    [[nodiscard]] Time took(unsigned number, Side side, Time from) const
    {
        return hosts[number].cutOffAt[static_cast<std::size_t>(side)] - from;
    }
    void loseAt(unsigned number, Side side, bool out, bool in)
    {
        loses = [=](const Packet &packet) {
            return packet.from == number ? out && packet.by == side : in && packet.to == side;
        };
    }
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
        loses = [](const Packet &) { return false; };
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
        loses = [](const Packet &) { return false; };
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
    loses = [](const Packet &) { return true; };
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
        hosts[1] = host(1); // it starts anew
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
    loses = [](const Packet &packet) { return packet.from == 1 && packet.to == Side::primary; };
    run(10s);
    EXPECT_FALSE(ever(0, Side::primary));
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

TEST_F(HaSessions, LostPacketsMoveNobody)
{
    settle();
    loses = [this](const Packet &) { return random() % 400 == 0; };
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
        loses = [](const Packet &packet) { return packet.by != packet.to; };
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
        loses = [](const Packet &) { return false; };
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
        loses = [](const Packet &packet) { return packet.by != packet.to; };
        run(500ms);
        EXPECT_TRUE(ever(0, Side::primary));
        EXPECT_TRUE(ever(1, Side::secondary));
        loses = [](const Packet &) { return false; };
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
    loses = [](const Packet &) { return false; };
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
    loseAt(0, Side::primary, true, true);
    run(200ms);
    SessionsReport after = reportOf(hosts[0].sessions);
    EXPECT_TRUE(isNews(before, after));
    EXPECT_EQ(whyCutOff(after, Side::primary), "nobody answers by BFD");
    EXPECT_TRUE(whyCutOff(after, Side::secondary).empty());
    EXPECT_EQ(after.lines[0].counts.downs, 1U);
    EXPECT_GE(after.lines[0].counts.longest, 60ms);
    SessionsReport more = after;
    ++more.lines[0].counts.sent;
    EXPECT_FALSE(isNews(after, more));
}

} // namespace
} // namespace openipoib::ha
