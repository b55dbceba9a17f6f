// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One BFD session: its packets, its states, its times.
#include "ha-daemon/core/session.hpp"

#include <gtest/gtest.h>

#include <random>

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t ours = 0x1001;
constexpr std::uint32_t theirs = 0x2002;

BfdPacket fromPeer(BfdState state, std::uint32_t yours = ours)
{
    return {.state = state,
            .multiplier = 3,
            .mine = theirs,
            .yours = yours,
            .minTx = state == BfdState::up ? 20000U : 1000000U,
            .minRx = 20000};
}

class HaSession : public testing::Test
{
  protected:
    std::mt19937 random{1};
    Session session{{.every = 20ms, .multiplier = 3}, ours, [this] { return random(); }};
    Time now{1s};

    void SetUp() override { session.reset(now); }
    bool hear(const BfdPacket &packet) { return session.receive(packet, now); }
    void bringUp()
    {
        ASSERT_TRUE(hear(fromPeer(BfdState::down, 0)));
        ASSERT_EQ(session.state(), BfdState::init);
        ASSERT_TRUE(hear(fromPeer(BfdState::init)));
        ASSERT_TRUE(session.up());
        ASSERT_TRUE(hear(fromPeer(BfdState::up)));
    }
    // All that is sent until @until, with the peer as it is
    std::vector<std::pair<Time, BfdPacket>> sent(Time until)
    {
        std::vector<std::pair<Time, BfdPacket>> out;
        for (;;) {
            session.expire(now);
            while (const auto packet = session.due(now))
                out.emplace_back(now, *packet);
            if (session.next() > until)
                break;
            EXPECT_GE(session.next(), now);
            now = std::max(now, session.next());
        }
        now = until;
        return out;
    }
};

TEST(HaBfdPacket, ComesBackAsItWas)
{
    const BfdPacket packet{.diag = BfdDiag::concatenatedPathDown,
                           .state = BfdState::up,
                           .poll = true,
                           .final = false,
                           .demand = true,
                           .multiplier = 7,
                           .mine = 0x01020304,
                           .yours = 0x05060708,
                           .minTx = 0x090A0B0C,
                           .minRx = 0x0D0E0F10};
    const auto bytes = writeBfdPacket(packet);
    const std::array<std::uint8_t, bfdPacketBytes> expected{
        0x26, 0xE2, 7, 24, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0, 0, 0, 0};
    EXPECT_EQ(bytes, expected);
    EXPECT_EQ(readBfdPacket(bytes), packet);
}

TEST(HaBfdPacket, EveryLengthIsSafe)
{
    const auto bytes = writeBfdPacket(fromPeer(BfdState::up));
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_EQ(readBfdPacket(io::View(bytes).first(length)).error(), BfdFault::length) << length;
    for (unsigned said = 0; said < 256; ++said) {
        io::Bytes longer(bytes.begin(), bytes.end());
        longer.resize(40);
        longer[3] = static_cast<std::uint8_t>(said);
        EXPECT_EQ(readBfdPacket(longer).has_value(), said >= 24 && said <= 40) << said;
    }
}

TEST(HaBfdPacket, EachFieldIsChecked)
{
    const auto wrong = [](std::size_t at, std::uint8_t value) {
        auto bytes = writeBfdPacket(fromPeer(BfdState::up));
        bytes[at] = value;
        const auto packet = readBfdPacket(bytes);
        return packet ? std::optional<BfdFault>() : packet.error();
    };
    EXPECT_EQ(wrong(0, 0x00), BfdFault::version);
    EXPECT_EQ(wrong(0, 0x40), BfdFault::version);
    EXPECT_EQ(wrong(1, 0xC4), BfdFault::flags); // authenticated
    EXPECT_EQ(wrong(1, 0xC1), BfdFault::flags); // multipoint
    EXPECT_EQ(wrong(1, 0xF0), BfdFault::flags); // poll and final
    EXPECT_EQ(wrong(2, 0), BfdFault::multiplier);
    auto packet = fromPeer(BfdState::up);
    packet.mine = 0;
    EXPECT_EQ(readBfdPacket(writeBfdPacket(packet)).error(), BfdFault::discriminator);
    for (const BfdState state :
         {BfdState::adminDown, BfdState::down, BfdState::init, BfdState::up}) {
        const bool isDown = state == BfdState::adminDown || state == BfdState::down;
        EXPECT_EQ(readBfdPacket(writeBfdPacket(fromPeer(state, 0))).has_value(), isDown)
            << text(state);
    }
}

TEST_F(HaSession, BothGoUpInThreeSteps)
{
    auto said = sent(now);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].second.state, BfdState::down);
    EXPECT_EQ(said[0].second.yours, 0U);
    ASSERT_TRUE(hear(fromPeer(BfdState::down, 0)));
    said = sent(now + 1ms);
    ASSERT_EQ(said.size(), 1U); // at once
    EXPECT_EQ(said[0].second.state, BfdState::init);
    EXPECT_EQ(said[0].second.yours, theirs);
    EXPECT_EQ(said[0].second.minTx, 1000000U);
    ASSERT_TRUE(hear(fromPeer(BfdState::up)));
    said = sent(now + 1ms);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].second.state, BfdState::up);
    EXPECT_EQ(said[0].second.minTx, 20000U);
    EXPECT_TRUE(said[0].second.poll);
}

TEST_F(HaSession, UpIsNothingToOneThatIsDown)
{
    EXPECT_TRUE(hear(fromPeer(BfdState::up)));
    EXPECT_EQ(session.state(), BfdState::down);
}

TEST_F(HaSession, IntervalsKeepTheirBounds)
{
    bringUp();
    std::vector<Time> at;
    for (const auto &[when, packet] : sent(now + 50ms))
        at.push_back(when);
    for (unsigned round = 0; round < 500; ++round) {
        ASSERT_TRUE(hear(fromPeer(BfdState::up)));
        for (const auto &[when, packet] : sent(now + 20ms))
            at.push_back(when);
    }
    Time least = 1s;
    Time most{};
    for (std::size_t i = 3; i < at.size(); ++i) {
        least = std::min(least, at[i] - at[i - 1]);
        most = std::max(most, at[i] - at[i - 1]);
    }
    EXPECT_GE(least, 15ms);
    EXPECT_LT(least, 16ms);
    EXPECT_LE(most, 20ms);
    EXPECT_GT(most, 19ms);
}

TEST_F(HaSession, AMultiplierOfOneLeavesTheLastTenth)
{
    Session single{{.every = 20ms, .multiplier = 1}, ours, [this] { return random(); }};
    single.reset(now);
    ASSERT_TRUE(single.receive(fromPeer(BfdState::init), now));
    Time last{};
    for (unsigned round = 0; round < 400; ++round) {
        ASSERT_TRUE(single.receive(fromPeer(BfdState::up), now));
        while (!single.due(now))
            now += 100us;
        if (round > 2) {
            EXPECT_GE(now - last, 15ms);
            EXPECT_LE(now - last, 18100us);
        }
        last = now;
    }
}

TEST_F(HaSession, SlowWhileItIsNotUp)
{
    const auto said = sent(now + 20s);
    EXPECT_GE(said.size(), 20U);
    EXPECT_LE(said.size(), 28U);
}

TEST_F(HaSession, TheSlowerOfBothCounts)
{
    bringUp();
    auto slower = fromPeer(BfdState::up);
    slower.minRx = 50000;
    slower.minTx = 70000;
    slower.multiplier = 4;
    ASSERT_TRUE(hear(slower));
    EXPECT_EQ(session.sendEvery(), 50ms);
    EXPECT_EQ(session.detection(), 280ms);
    auto faster = fromPeer(BfdState::up);
    faster.minRx = 1;
    faster.minTx = 1;
    ASSERT_TRUE(hear(faster));
    EXPECT_EQ(session.sendEvery(), 20ms);
    EXPECT_EQ(session.detection(), 60ms);
    faster.minRx = faster.minTx = UINT32_MAX;
    faster.multiplier = 255;
    ASSERT_TRUE(hear(faster));
    EXPECT_LE(session.detection(), 255h);
    (void)sent(now);
    EXPECT_GT(session.next(), now);
}

TEST_F(HaSession, DownWhenTheDetectionTimeIsOver)
{
    bringUp();
    (void)sent(now + 59999us);
    EXPECT_TRUE(session.up());
    const auto said = sent(now + 1us);
    EXPECT_EQ(session.state(), BfdState::down);
    EXPECT_EQ(session.diag(), BfdDiag::timeExpired);
    // The peer hears of it at once, by a packet that names its discriminator.
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].second.state, BfdState::down);
    EXPECT_EQ(said[0].second.diag, BfdDiag::timeExpired);
    EXPECT_EQ(said[0].second.yours, theirs);
    const auto later = sent(now + 3s);
    ASSERT_FALSE(later.empty());
    EXPECT_EQ(later.back().second.yours, 0U);
}

// What it knows of the peer goes later than that it is up.
TEST_F(HaSession, APeerOfFewPacketsIsForgottenAsADownOne)
{
    bringUp();
    auto brief = fromPeer(BfdState::up);
    brief.multiplier = 1;
    ASSERT_TRUE(hear(brief));
    now += 45ms; // longer than it takes to forget it, and less than three packets
    session.expire(now);
    EXPECT_EQ(session.state(), BfdState::down);
    EXPECT_EQ(session.due(now)->yours, 0U);
}

TEST_F(HaSession, DownWhenThePeerSaysSo)
{
    bringUp();
    ASSERT_TRUE(hear(fromPeer(BfdState::down)));
    EXPECT_EQ(session.state(), BfdState::down);
    EXPECT_EQ(session.diag(), BfdDiag::neighborDown);
}

TEST_F(HaSession, DownByAdministrationAsWell)
{
    bringUp();
    ASSERT_TRUE(hear(fromPeer(BfdState::adminDown)));
    EXPECT_EQ(session.state(), BfdState::down);
    ASSERT_TRUE(hear(fromPeer(BfdState::adminDown)));
    EXPECT_EQ(session.state(), BfdState::down);
}

TEST_F(HaSession, WhoDoesNotKnowItIsNotBelieved)
{
    bringUp();
    EXPECT_FALSE(hear(fromPeer(BfdState::down, 0)));
    EXPECT_FALSE(hear(fromPeer(BfdState::down, ours + 1)));
    EXPECT_FALSE(hear(fromPeer(BfdState::adminDown, 0)));
    auto other = fromPeer(BfdState::down);
    other.mine = theirs + 1;
    EXPECT_FALSE(hear(other));
    EXPECT_TRUE(session.up());
    // Nor do such packets keep it up.
    now += 60ms;
    EXPECT_FALSE(hear(fromPeer(BfdState::up, ours + 1)));
    session.expire(now);
    EXPECT_FALSE(session.up());
    // A peer that has restarted
    other = fromPeer(BfdState::down, 0);
    other.mine = theirs + 1;
    EXPECT_TRUE(hear(other));
    EXPECT_EQ(session.state(), BfdState::init);
}

TEST_F(HaSession, APollIsAnsweredOnce)
{
    bringUp();
    (void)sent(now + 5ms);
    auto poll = fromPeer(BfdState::up);
    poll.poll = true;
    for (unsigned i = 0; i < 1000; ++i)
        ASSERT_TRUE(hear(poll));
    auto said = sent(now + 2ms);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_TRUE(said[0].second.final);
    EXPECT_FALSE(said[0].second.poll);
    // Its own goes on until it is answered.
    EXPECT_TRUE(sent(now + 20ms).back().second.poll);
    auto final = fromPeer(BfdState::up);
    final.final = true;
    ASSERT_TRUE(hear(final));
    EXPECT_FALSE(sent(now + 20ms).back().second.poll);
}

TEST_F(HaSession, AFloodOfPollsHasNoFloodOfAnswers)
{
    bringUp();
    auto poll = fromPeer(BfdState::up);
    poll.poll = true;
    std::size_t answers = 0;
    for (unsigned i = 0; i < 10000; ++i) {
        now += 10us;
        ASSERT_TRUE(hear(poll));
        answers += session.due(now).has_value();
    }
    EXPECT_LE(answers, 101U); // in 100 ms
}

TEST_F(HaSession, APeerMayWantSilence)
{
    bringUp();
    (void)sent(now + 5ms);
    auto quiet = fromPeer(BfdState::up);
    quiet.minRx = 0;
    ASSERT_TRUE(hear(quiet));
    EXPECT_TRUE(sent(now + 50ms).empty());
    quiet.poll = true;
    ASSERT_TRUE(hear(quiet));
    EXPECT_EQ(sent(now + 50ms).size(), 1U);
}

TEST_F(HaSession, AStandbySaysSo)
{
    bringUp();
    (void)sent(now + 10ms);
    session.standBy(true);
    auto said = sent(now + 1ms);
    ASSERT_EQ(said.size(), 1U); // at once
    EXPECT_EQ(said[0].second.state, BfdState::up);
    EXPECT_EQ(said[0].second.diag, BfdDiag::concatenatedPathDown);
    session.standBy(false);
    said = sent(now + 2ms);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].second.diag, BfdDiag::none);
    EXPECT_TRUE(session.serves());
    auto standby = fromPeer(BfdState::up);
    standby.diag = BfdDiag::concatenatedPathDown;
    ASSERT_TRUE(hear(standby));
    EXPECT_TRUE(session.up());
    EXPECT_FALSE(session.serves());
}

// Before it is up: the peer must not count on it for the first packet.
TEST_F(HaSession, AStandbySaysSoFromTheStart)
{
    (void)sent(now);
    session.standBy(true);
    ASSERT_TRUE(hear(fromPeer(BfdState::down, 0)));
    const auto said = sent(now + 1ms);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].second.state, BfdState::init);
    EXPECT_EQ(said[0].second.diag, BfdDiag::concatenatedPathDown);
}

TEST_F(HaSession, ItsLastWordIsNoFault)
{
    bringUp();
    const BfdPacket last = session.farewell();
    EXPECT_EQ(last.state, BfdState::adminDown);
    EXPECT_EQ(last.yours, theirs);
    EXPECT_FALSE(last.poll);
    EXPECT_TRUE(readBfdPacket(writeBfdPacket(last)));
}

} // namespace
} // namespace openipoib::ha
