// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Messages of the communication manager, byte by byte and from bytes that nobody meant.
#include "peers/cm.hpp"

#include "ib/mad.hpp"

#include <gtest/gtest.h>

#include <random>

namespace openipoib::peers
{

namespace
{

constexpr std::size_t body = ib::Mad::headerSize;

CmMessage req()
{
    return {.type = CmType::req,
            .transaction = 0x1122'3344'5566'7788,
            .commId = 0xA1A2'A3A4,
            .serviceId = ipoibService | 0x12'3456,
            .caGuid = 0x0200'0000'0000'0001,
            .qpn = 0xB1'B2B3,
            .psn = 0xC1'C2C3,
            .lid = 0xD1D2,
            .remoteLid = 0xE1E2,
            .gid = ib::makeGid(ib::defaultPrefix, 1),
            .remoteGid = ib::makeGid(ib::defaultPrefix, 2),
            .ipoibQpn = 0xF1'F2F3,
            .longest = 65524};
}

CmMessage rep()
{
    return {.type = CmType::rep,
            .transaction = 7,
            .commId = 1,
            .remoteCommId = 2,
            .caGuid = 3,
            .qpn = 4,
            .psn = 0xFF'FFFF,
            .ipoibQpn = 5,
            .longest = 2048};
}

std::uint64_t read4(const io::Bytes &mad, std::size_t at)
{
    return io::read<4>(mad, body + at);
}

} // namespace

TEST(CmMessage, ReqIsAsTheArchitectureHasIt)
{
    const auto mad = req().mad();
    ASSERT_EQ(mad.size(), ib::Mad::size);
    EXPECT_EQ(io::read<4>(mad, 0), 0x0107'0203u); // version, class, its version, Send
    EXPECT_EQ(io::read<8>(mad, 8), 0x1122'3344'5566'7788u);
    EXPECT_EQ(io::read<2>(mad, 16), 0x10u);
    EXPECT_EQ(read4(mad, 0), 0xA1A2'A3A4u);
    EXPECT_EQ(io::read<8>(mad, body + 8), 0x1000'0000'0012'3456u);
    EXPECT_EQ(io::read<8>(mad, body + 16), 0x0200'0000'0000'0001u);
    EXPECT_EQ(read4(mad, 32), 0xB1B2'B301u);
    EXPECT_EQ(read4(mad, 44) >> 8, 0xC1'C2C3u);
    EXPECT_EQ(read4(mad, 48) >> 16, 0xFFFFu); // P_Key
    EXPECT_EQ(read4(mad, 52), 0xD1D2'E1E2u);
    EXPECT_EQ(io::read<8>(mad, body + 56), 0xFE80'0000'0000'0000u);
    EXPECT_EQ(io::read<8>(mad, body + 64), 1u);
    EXPECT_EQ(io::read<8>(mad, body + 80), 2u);
    EXPECT_EQ(read4(mad, 140), 0x00F1'F2F3u);
    EXPECT_EQ(read4(mad, 144), 65524u);
}

TEST(CmMessage, RepIsAsTheArchitectureHasIt)
{
    const auto mad = rep().mad();
    EXPECT_EQ(io::read<2>(mad, 16), 0x13u);
    EXPECT_EQ(read4(mad, 0), 1u);
    EXPECT_EQ(read4(mad, 4), 2u);
    EXPECT_EQ(read4(mad, 12) >> 8, 4u);
    EXPECT_EQ(read4(mad, 20) >> 8, 0xFF'FFFFu);
    EXPECT_EQ(io::read<8>(mad, body + 28), 3u);
    EXPECT_EQ(read4(mad, 36), 5u);
    EXPECT_EQ(read4(mad, 40), 2048u);
}

TEST(CmMessage, IsReadAsItWasWritten)
{
    const CmMessage dreq{
        .type = CmType::dreq, .transaction = 1, .commId = 2, .remoteCommId = 3, .qpn = 4};
    for (const auto &message : {req(), rep(), dreq})
        EXPECT_EQ(CmMessage::parse(message.mad()), message);
    for (const CmType type : {CmType::rej, CmType::rtu, CmType::drep}) {
        const CmMessage message{.type = type, .transaction = 9, .commId = 8, .remoteCommId = 7};
        EXPECT_EQ(CmMessage::parse(message.mad()), message);
    }
}

TEST(CmMessage, ShorterThanAMadIsNone)
{
    const auto mad = req().mad();
    for (std::size_t size = 0; size < mad.size(); ++size)
        EXPECT_FALSE(CmMessage::parse(io::View(mad).first(size))) << size;
}

TEST(CmMessage, OtherClassesVersionsMethodsAndTypesAreNone)
{
    for (const std::size_t at : {1, 2, 3, 17}) {
        auto mad = req().mad();
        mad[at] ^= 0x80;
        EXPECT_FALSE(CmMessage::parse(mad)) << at;
    }
}

TEST(CmMessage, HasNoQueuePairBeyondTheLast)
{
    auto mad = req().mad();
    mad[body + 140] = 0xFF; // RFC 4755: reserved, in front of the QPN
    EXPECT_EQ(CmMessage::parse(mad), req());
}

TEST(CmMessage, WhateverIsInItIsReadWithinBounds)
{
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        auto mad = req().mad();
        mad[17] = static_cast<std::uint8_t>(random() % 0x20);
        for (std::size_t at = body; at < mad.size(); ++at)
            mad[at] = static_cast<std::uint8_t>(random());
        const auto message = CmMessage::parse(mad);
        if (!message)
            continue;
        EXPECT_LE(message->qpn, qpnMask);
        EXPECT_LE(message->psn, qpnMask);
        EXPECT_LE(message->ipoibQpn, qpnMask);
    }
}

} // namespace openipoib::peers
