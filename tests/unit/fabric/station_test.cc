// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A station against the other implementation of the protocol, over a cable that
// the test can cut and make lossy.
#include "link/station.hpp"

#include "ib/packet_builder.hpp"
#include "link/endpoint.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace openipoib::fabric
{
namespace
{

using namespace std::chrono_literals;

constexpr io::MacAddress peerMac{2, 0, 0, 0, 0, 1};

io::Bytes numbered(std::uint32_t number)
{
    return ib::PacketBuilder{}.lrh({.dlid = 1}).bth({.psn = number}).deth({}).build();
}

std::uint32_t numberOf(const io::Bytes &packet)
{
    return ib::Bth::parse(io::View(packet).subspan(ib::Lrh::size))->psn;
}

class StationTest : public testing::Test
{
  protected:
    void SetUp() override { station.enable(now); }

    // What has come, as far as it is wanted.
    void take()
    {
        while (input.size() < wanted) {
            auto packet = station.takePacket(now);
            if (!packet)
                return;
            input.push_back(std::move(*packet));
        }
    }

    // Carry everything both ends have to say, then let 5 ms pass.
    void step()
    {
        station.onTime(now);
        peer.onTime(now);
        for (const auto &out : station.takeOutput())
            if (passes())
                peer.onFrame(*out.frame, now);
        for (const auto &frame : peer.takeOutput())
            if (passes())
                station.onFrame(peerMac, frame, now);
        take();
        station.onBatchEnd(now);
        now += 5ms;
    }

    bool until(const std::function<bool()> &condition, Time::duration limit)
    {
        for (const auto end = now + limit; now < end; step())
            if (condition())
                return true;
        return condition();
    }

    void train()
    {
        ASSERT_TRUE(until([this] { return station.isUp() && peer.isUp(); }, 500ms));
    }

    // Both ways at once; everything must come, once, in order.
    void expectTransfer(std::uint32_t count)
    {
        std::uint32_t sent = 0, returned = 0, got = 0, back = 0;
        EXPECT_TRUE(until(
            [&] {
                for (; sent < count && station.canSend(); ++sent)
                    station.send(numbered(sent), 1, now);
                for (; returned < count && peer.canSend(); ++returned)
                    peer.send(numbered(returned), now);
                for (const auto &packet : peer.takeInput())
                    EXPECT_EQ(numberOf(packet), got++);
                for (const auto &packet : std::exchange(input, {}))
                    EXPECT_EQ(numberOf(packet), back++);
                return got == count && back == count;
            },
            120s));
        EXPECT_EQ(got, count);
        EXPECT_EQ(back, count);
    }

    std::mt19937 engine{7};
    std::function<bool()> passes = [] { return true; };
    std::size_t wanted = ~std::size_t{0};
    std::vector<io::Bytes> input;
    Time now{1h};
    std::uint32_t nextSession = 100;
    Station station{{.guid = 0xA}, [this] { return nextSession++; }};
    link::Endpoint peer{{.session = 1, .guid = 0xB}};
};

TEST_F(StationTest, TrainsAndCarries)
{
    train();
    expectTransfer(2000);
    EXPECT_EQ(station.counters().rxData, 2000U);
    EXPECT_EQ(station.counters().retransmit, 0U);
}

TEST_F(StationTest, LosesNothingOnALossyCable)
{
    train();
    passes = [this] { return engine() % 10 != 0; };
    expectTransfer(1000);
    EXPECT_GT(station.counters().retransmit, 0U);
}

TEST_F(StationTest, ACutCableIsNoticedAndTrainsAgain)
{
    train();
    const std::uint32_t session = station.session();
    passes = [] { return false; };
    EXPECT_TRUE(until([this] { return !station.isUp(); }, 1100ms));
    EXPECT_EQ(station.counters().timeout, 1U);
    EXPECT_EQ(station.counters().down, 1U);
    EXPECT_NE(station.session(), session);
    passes = [] { return true; };
    train();
    expectTransfer(10);
}

TEST_F(StationTest, ADisabledOneIsNotWaitedFor)
{
    train();
    const Time begin = now;
    station.disable(now);
    EXPECT_TRUE(until([this] { return !peer.isUp(); }, 2s));
    EXPECT_LE(now - begin, 10ms);
    EXPECT_EQ(station.counters().down, 1U);
    EXPECT_FALSE(until([this] { return station.isUp() || peer.isUp(); }, 2s));
    station.enable(now);
    expectTransfer(100);
}

TEST_F(StationTest, HoldsThePeerBackWithoutLoss)
{
    train();
    wanted = 0;
    std::uint32_t sent = 0;
    EXPECT_FALSE(until(
        [&] {
            for (; peer.canSend(); ++sent)
                peer.send(numbered(sent), now);
            return sent > linkWindow;
        },
        500ms));
    EXPECT_EQ(sent, linkWindow);
    wanted = 1000;
    take();
    std::uint32_t got = 0;
    for (const auto &packet : input)
        EXPECT_EQ(numberOf(packet), got++);
    EXPECT_EQ(got, linkWindow);
}

TEST_F(StationTest, GivesThePacketsOfAFrameOneByOne)
{
    train();
    wanted = 2;
    for (std::uint32_t number = 0; number < 6; number += 3) {
        io::Bytes payload;
        for (std::uint32_t i = 0; i < 3; ++i)
            io::append(payload, numbered(number + i));
        peer.sendFrame(payload, 3, now);
    }
    EXPECT_FALSE(until([this] { return peer.unacknowledged() == 0; }, 500ms));
    EXPECT_EQ(peer.unacknowledged(), 1U); // a frame whose packets nobody has taken
    EXPECT_EQ(station.counters().rxLost, 0U);
    wanted = 5;
    EXPECT_TRUE(until([this] { return peer.unacknowledged() == 0; }, 500ms));
    wanted = 1000;
    take();
    ASSERT_EQ(input.size(), 6U);
    for (std::uint32_t number = 0; number < 6; ++number)
        EXPECT_EQ(numberOf(input[number]), number);
}

// The peer takes them for delivered; it knows of frames of which none has been.
TEST_F(StationTest, CountsWhatItLosesOfAFrameThatWasTakenInPart)
{
    train();
    wanted = 1;
    for (std::uint32_t number = 0; number < 6; number += 3) {
        io::Bytes payload;
        for (std::uint32_t i = 0; i < 3; ++i)
            io::append(payload, numbered(number + i));
        peer.sendFrame(payload, 3, now);
    }
    step();
    ASSERT_EQ(input.size(), 1U);
    station.restart(now);
    EXPECT_EQ(station.counters().rxLost, 2U);
}

TEST_F(StationTest, CountsWhatIsNotForIt)
{
    train();
    const auto give = [this](const io::Bytes &frame, const io::MacAddress &source = peerMac) {
        station.onFrame(source, frame, now);
    };
    auto header = peer.header(link::FrameType::ack);
    const io::Bytes good = header.frame({});
    io::Bytes bad = good;
    bad[20] ^= 1;
    give(bad);
    give(io::Bytes(27));
    bad = good;
    bad[0] = 2;
    give(bad);
    header.session = 9;
    give(header.frame({}));
    give(header.frame({}), {2, 0, 0, 0, 0, 9});
    header.session = station.session();
    give(header.frame({}));
    header = peer.header(static_cast<link::FrameType>(7));
    give(header.frame({}));
    header = peer.header(link::FrameType::ack);
    header.ack = 5;
    give(header.frame({}));
    const auto &counters = station.counters();
    EXPECT_EQ(counters.rxCheck, 1U);
    EXPECT_EQ(counters.rxLength, 1U);
    EXPECT_EQ(counters.rxVersion, 1U);
    EXPECT_EQ(counters.rxSession, 1U);
    EXPECT_EQ(counters.rxForeign, 1U);
    EXPECT_EQ(counters.rxLoop, 1U);
    EXPECT_EQ(counters.rxType, 1U);
    EXPECT_EQ(counters.rxWindow, 1U);
    EXPECT_TRUE(station.isUp());
}

// Else a peer that takes nothing any more would keep the link: nothing is under way then.
TEST_F(StationTest, AFrameThatClosesTheWindowIsNone)
{
    train();
    std::uint32_t sent = 0;
    for (const auto end = now + 5s; now < end && station.isUp(); now += 5ms) {
        station.onTime(now);
        peer.onTime(now);
        for (const auto &out : station.takeOutput())
            if (link::Header::parse(*out.frame)->type == link::FrameType::hello)
                peer.onFrame(*out.frame, now);
        for (const auto &frame : peer.takeOutput())
            station.onFrame(peerMac, frame, now);
        for (; station.canSend(); ++sent)
            station.send(numbered(sent), 1, now);
        link::Header ack = peer.header(link::FrameType::ack);
        ack.ack = sent;
        ack.window = 0;
        station.onFrame(peerMac, ack.frame({}), now);
        station.onBatchEnd(now);
    }
    EXPECT_FALSE(station.isUp());
    EXPECT_EQ(sent, linkWindow);
    EXPECT_EQ(station.counters().stall, 1U);
    EXPECT_GT(station.counters().rxWindow, 0U);
}

// What is told of the link is true as long as it is up.
TEST_F(StationTest, APeerThatTakesShorterFramesTrainsAgain)
{
    train();
    const auto hello = [this](std::uint32_t maxFrame) {
        io::Bytes payload;
        link::Hello{.state = link::HelloState::up, .maxFrame = maxFrame}.appendTo(payload);
        station.onFrame(peerMac, peer.header(link::FrameType::hello).frame(payload), now);
    };
    hello(65535);
    EXPECT_TRUE(station.isUp());
    const std::uint32_t session = station.session();
    hello(4208);
    EXPECT_FALSE(station.isUp());
    EXPECT_NE(station.session(), session);
    EXPECT_EQ(station.counters().restart, 1U);
    train();
    expectTransfer(10);
}

// Timers of connections trust the link to lose nothing.
TEST_F(StationTest, AFrameThatNeverComesEndsTheLink)
{
    train();
    link::Header second = peer.header(link::FrameType::data);
    second.seq = 1;
    second.count = 1;
    station.onFrame(peerMac, second.frame(numbered(1)), now);
    station.onBatchEnd(now);
    const Time since = now;
    EXPECT_TRUE(until([this] { return !station.isUp(); }, 5s));
    EXPECT_GE(now - since, 4s);
    EXPECT_EQ(station.counters().stall, 1U);
    EXPECT_TRUE(input.empty());
}

TEST_F(StationTest, KnowsSinceWhenTheNextPacketCouldHaveBeenTaken)
{
    train();
    EXPECT_EQ(station.waitingSince(), Time::max());
    const auto arrive = [this](std::uint32_t seq) {
        link::Header header = peer.header(link::FrameType::data);
        header.seq = seq;
        header.count = 2;
        io::Bytes payload = numbered(2 * seq);
        io::append(payload, numbered(2 * seq + 1));
        station.onFrame(peerMac, header.frame(payload), now);
    };
    const Time start = now;
    arrive(1);
    arrive(3);
    EXPECT_EQ(station.waitingSince(), Time::max()); // not its turn yet
    now = start + 10ms;
    arrive(0);
    now = start + 20ms;
    arrive(2);
    std::vector<Time> since;
    for (auto at = station.waitingSince(); station.takePacket(now); at = station.waitingSince())
        since.push_back(at);
    const Time first = start + 10ms, second = start + 20ms;
    EXPECT_EQ(since, (std::vector{first, first, first, first, second, second, second, second}));
    EXPECT_EQ(station.waitingSince(), Time::max());
}

TEST_F(StationTest, WhatIsHeldBackIsNotMissing)
{
    train();
    wanted = 0;
    for (std::uint32_t number = 0; number < 3; ++number)
        peer.send(numbered(number), now);
    EXPECT_FALSE(until([this] { return !station.isUp(); }, 6s));
    EXPECT_EQ(station.counters().stall, 0U);
    wanted = 1000;
    take();
    EXPECT_EQ(input.size(), 3U);
}

} // namespace
} // namespace openipoib::fabric
