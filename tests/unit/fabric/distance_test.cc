// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Two stations far from each other, on a cable that may lose frames.
#include "link/station.hpp"

#include "ib/packet_builder.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace openipoib::fabric
{
namespace
{

using namespace std::chrono_literals;

constexpr io::MacAddress someMac{2, 0, 0, 0, 0, 1};

class Distance : public testing::Test
{
  protected:
    struct End {
        Station station;
        std::multimap<Time, Frame> coming;
        std::uint64_t packets = 0; // that have come
    };

    // Carry everything that has its time, then let a millisecond pass.
    void step()
    {
        for (const auto &[from, to] : {std::pair{&left, &right}, {&right, &left}}) {
            from->station.onTime(now);
            for (auto &out : from->station.takeOutput())
                if (chance() % 1000 >= lossPerMille)
                    to->coming.emplace(now + delay, std::move(out.frame));
            const auto due = to->coming.upper_bound(now);
            for (auto at = to->coming.begin(); at != due; at = to->coming.erase(at))
                to->station.onFrame(someMac, *at->second, now);
            while (to->station.takePacket(now))
                ++to->packets;
            to->station.onBatchEnd(now);
        }
        now += 1ms;
    }

    void run(Time::duration time)
    {
        for (const auto end = now + time; now < end;)
            step();
    }

    void train()
    {
        left.station.enable(now);
        right.station.enable(now);
        run(1s);
        ASSERT_TRUE(left.station.isUp() && right.station.isUp());
    }

    void send() { left.station.send(packet, 1, now); }

    std::mt19937 chance{1};
    io::Bytes packet = ib::PacketBuilder{}.lrh({.dlid = 1}).bth({}).deth({}).build();
    Time now{1h};
    Time::duration delay = 20ms;
    unsigned lossPerMille = 0;
    End left{.station{{.guid = 1}, [this] { return static_cast<std::uint32_t>(chance()); }},
             .coming = {}};
    End right{.station{{.guid = 2}, [this] { return static_cast<std::uint32_t>(chance()); }},
              .coming = {}};
};

TEST_F(Distance, NothingIsSentTwiceForWantOfPatience)
{
    train();
    for (unsigned i = 0; i < 100; ++i) {
        send();
        run(100ms);
    }
    EXPECT_EQ(right.packets, 100U);
    EXPECT_LE(left.station.counters().retransmit, 3U); // until it is known how far it is
}

TEST_F(Distance, LossIsMadeGoodAndTheLinkStaysUp)
{
    train();
    lossPerMille = 30; // frames are three datagrams each, of which 1 % get lost
    std::uint64_t sent = 0;
    for (const auto end = now + 60s; now < end; step())
        for (; left.station.canSend(); ++sent)
            send();
    lossPerMille = 0;
    run(2s);
    EXPECT_EQ(right.packets, sent);
    RecordProperty("frames", std::to_string(sent));
    EXPECT_EQ(left.station.counters().down + right.station.counters().down, 0U);
    EXPECT_GT(sent, 60'000U); // of 180,000 without loss
    // Those that were lost, and some more.
    EXPECT_LT(left.station.counters().retransmit, sent / 10);
}

TEST_F(Distance, WhatIsLostNearByIsStillSentAgainSoon)
{
    delay = 0ms;
    train();
    for (unsigned i = 0; i < 20; ++i) {
        send();
        run(20ms);
    }
    lossPerMille = 1000;
    send();
    step();
    lossPerMille = 0;
    run(45ms);
    EXPECT_EQ(right.packets, 21U);
}

} // namespace
} // namespace openipoib::fabric
