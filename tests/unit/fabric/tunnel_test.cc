// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Two ends of a `udp:` cable, and somebody between them who may record, change and repeat
// what passes, but does not have the key.
#include "io/key_file.hpp"
#include "udp/tunnel.hpp"

#include <gtest/gtest.h>

namespace openipoib::fabric
{
namespace
{

using namespace std::chrono_literals;

constexpr std::size_t mostFrame = 4208;
constexpr std::size_t wide = 65507; // bytes of a datagram

class TwoTunnels : public testing::Test
{
  protected:
    using End = std::unique_ptr<Tunnel>;

    [[nodiscard]] End make(std::uint8_t secret = 1)
    {
        return std::make_unique<Tunnel>(io::Bytes(keySize, secret), mostFrame,
                                        [this] { return ++chance; });
    }

    // What one sends comes to the other, and the answer back; the frames that came.
    std::vector<io::Bytes> pass(const End &from, const End &to, const io::Bytes &frame,
                                std::size_t most = wide)
    {
        std::vector<io::Bytes> frames;
        now += 50ms;
        for (const auto &datagram : from->wrap(frame, most, now)) {
            record.push_back(datagram);
            auto arrival = to->onDatagram(datagram, true, now);
            if (arrival.frame)
                frames.push_back(*arrival.frame);
            if (arrival.reply)
                static_cast<void>(from->onDatagram(*arrival.reply, true, now));
        }
        return frames;
    }

    void meet()
    {
        for (unsigned i = 0; i < 2; ++i) {
            static_cast<void>(pass(left, right, {1}));
            static_cast<void>(pass(right, left, {1}));
        }
        ASSERT_TRUE(left->hasPeer() && right->hasPeer());
        record.clear();
    }

    std::uint32_t chance = 0;
    Time now{1h};
    End left = make(), right = make();
    std::vector<io::Bytes> record; // what has passed
};

TEST_F(TwoTunnels, MeetAndPassFramesBothWays)
{
    EXPECT_TRUE(pass(left, right, {1}).empty()); // a greeting in its place
    EXPECT_TRUE(left->hasPeer());
    EXPECT_EQ(pass(left, right, {2}), (std::vector<io::Bytes>{{2}}));
    EXPECT_EQ(pass(right, left, {3}), (std::vector<io::Bytes>{{3}}));
}

TEST_F(TwoTunnels, FramesOfAnyLengthPassPathsOfAnyWidth)
{
    meet();
    for (const std::size_t size : {1U, 27U, 1000U, 1456U, 1457U, 4207U, 4208U})
        for (const std::size_t most : {100U, 508U, 1200U, 1472U, 8972U, 65507U}) {
            io::Bytes frame(size);
            for (std::size_t i = 0; i < size; ++i)
                frame[i] = static_cast<std::uint8_t>(i * 7 + size);
            io::Bytes came;
            for (const auto &datagram : left->wrap(frame, most, now)) {
                EXPECT_LE(datagram.size(), most);
                auto arrival = right->onDatagram(datagram, true, now);
                if (arrival.frame)
                    came = *arrival.frame;
            }
            EXPECT_EQ(came, frame) << size << " by " << most;
        }
    EXPECT_EQ(right->partialFrames(), 0U);
}

TEST_F(TwoTunnels, APathTooNarrowForAnythingCarriesNothing)
{
    meet();
    EXPECT_TRUE(left->wrap(io::Bytes(4208), 10, now).empty());
}

TEST_F(TwoTunnels, WithDifferentKeysNeverMeet)
{
    const End stranger = make(2);
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_TRUE(pass(stranger, left, {1}).empty());
        EXPECT_TRUE(pass(left, stranger, {1}).empty());
    }
    EXPECT_FALSE(stranger->hasPeer() || left->hasPeer());
    EXPECT_EQ(left->counters().rxCode, 4U);
    EXPECT_EQ(left->counters().rx, 0U);
}

TEST_F(TwoTunnels, NothingComesTwice)
{
    meet();
    EXPECT_EQ(pass(left, right, {9}).size(), 1U);
    ASSERT_EQ(record.size(), 1U);
    EXPECT_FALSE(right->onDatagram(record[0], true, now).frame);
    EXPECT_EQ(right->counters().rxReplay, 1U);
}

TEST_F(TwoTunnels, NothingComesBack)
{
    meet();
    static_cast<void>(pass(left, right, {9}));
    const auto arrival = left->onDatagram(record[0], true, now);
    EXPECT_FALSE(arrival.frame || arrival.reply);
    EXPECT_EQ(left->counters().rxReflected, 1U);
}

TEST_F(TwoTunnels, APeerThatBeginsAnewIsFoundAtOnce)
{
    meet();
    left = make();
    static_cast<void>(pass(left, right, {1}));
    EXPECT_EQ(pass(left, right, {2}).size(), 1U);
    EXPECT_EQ(pass(right, left, {3}).size(), 1U);
    EXPECT_EQ(right->counters().peerUp, 2U);
}

TEST_F(TwoTunnels, WhatWasRecordedOfAnEarlierEpochOfThePeerIsOfNoUse)
{
    meet();
    static_cast<void>(pass(left, right, {1}));
    const auto old = record;
    left = make();
    static_cast<void>(pass(left, right, {2}));
    ASSERT_EQ(pass(left, right, {2}).size(), 1U);
    for (const auto &datagram : old) {
        const auto arrival = right->onDatagram(datagram, true, now);
        EXPECT_FALSE(arrival.frame || arrival.reply || arrival.isNewest);
    }
    EXPECT_EQ(pass(left, right, {3}).size(), 1U);
    EXPECT_EQ(right->counters().peerUp, 2U);
}

TEST_F(TwoTunnels, WhatWasRecordedBeforeWeBeganIsOfNoUse)
{
    meet();
    static_cast<void>(pass(left, right, {1}));
    const auto old = record;
    right = make();
    for (const auto &datagram : old) {
        const auto arrival = right->onDatagram(datagram, true, now);
        EXPECT_FALSE(arrival.frame || arrival.isNewest);
    }
    EXPECT_FALSE(right->hasPeer());
    EXPECT_EQ(right->counters().rxEpoch, 1U);
}

TEST_F(TwoTunnels, StrangersAreAnsweredNowAndThen)
{
    unsigned replies = 0;
    for (unsigned i = 0; i < 1000; ++i)
        if (const auto arrival =
                right->onDatagram(left->wrap(io::Bytes{1}, wide, now)[0], true, now);
            arrival.reply) {
            ++replies;
            EXPECT_LE(arrival.reply->size(), Datagram::overhead); // no longer than the question
        }
    EXPECT_EQ(replies, 1U);
}

TEST_F(TwoTunnels, AThirdOneIsNotHeardWhileThePeerIsThere)
{
    meet();
    const End third = make();
    const auto greet = [&] {
        auto arrival = right->onDatagram(third->wrap(io::Bytes{1}, wide, now)[0], false, now);
        if (arrival.reply)
            static_cast<void>(third->onDatagram(*arrival.reply, true, now));
        return arrival.frame.has_value();
    };
    EXPECT_FALSE(greet());
    EXPECT_FALSE(greet());
    EXPECT_EQ(right->counters().rxForeign, 1U);
    EXPECT_EQ(pass(left, right, {1}).size(), 1U);
    now += 2s;
    EXPECT_TRUE(greet()); // nothing was heard of the peer
}

TEST_F(TwoTunnels, OneThatWasSilentForLongIsFoundAgainThoughAnotherTookItsPlace)
{
    meet();
    const End third = make();
    now += 2s;
    static_cast<void>(pass(third, right, {1}));
    ASSERT_EQ(pass(third, right, {1}).size(), 1U);
    now += 4s;
    for (unsigned i = 0; i < 2; ++i)
        static_cast<void>(pass(left, right, {1}));
    EXPECT_EQ(pass(left, right, {2}).size(), 1U);
}

TEST_F(TwoTunnels, APeerThatBeginsAnewVeryOftenIsStillFound)
{
    for (unsigned i = 0; i < 3000; ++i) {
        left = make();
        for (unsigned j = 0; j < 3 && pass(left, right, {1}).empty(); ++j) {
        }
        ASSERT_EQ(pass(left, right, {2}).size(), 1U) << i;
    }
}

TEST_F(TwoTunnels, TheNewestOfThePeerIsToldFromWhatWasOvertaken)
{
    meet();
    const auto first = left->wrap(io::Bytes{1}, wide, now),
               second = left->wrap(io::Bytes{2}, wide, now);
    EXPECT_TRUE(right->onDatagram(second[0], true, now).isNewest);
    const auto late = right->onDatagram(first[0], true, now);
    EXPECT_TRUE(late.frame);
    EXPECT_FALSE(late.isNewest);
}

} // namespace
} // namespace openipoib::fabric
