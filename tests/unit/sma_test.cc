// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/sma.hpp"

#include "ib/mad.hpp"
#include "ib/packet_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace openipoib::ib
{
namespace
{

constexpr std::uint64_t guid = 0x1122'3344'5566'7788;
constexpr std::size_t smpOffset = Lrh::size + Bth::size + Deth::size;

// A directed route SMP over one hop, as the other end of the cable sends it.
io::Bytes request(Method method, std::uint16_t attribute, const io::Bytes &data = {},
                  MgmtClass mgmtClass = MgmtClass::subnDirected)
{
    io::Bytes mad;
    Mad{.mgmtClass = mgmtClass,
        .method = method,
        .classSpecific = 0x0101,
        .transaction = 42,
        .attribute = attribute}
        .appendTo(mad);
    std::ranges::copy(data, mad.begin() + 64);
    return PacketBuilder{}
        .lrh({.vl = 15, .dlid = permissiveLid, .slid = 7})
        .bth({})
        .deth({})
        .payload(mad)
        .build();
}

class SmaTest : public testing::Test
{
  protected:
    io::Bytes answer(const io::Bytes &packet)
    {
        const auto reply = sma.answer(packet);
        return reply ? io::Bytes(reply->begin() + smpOffset, reply->end() - 4) : io::Bytes{};
    }

    void setState(PortState state, std::uint16_t lid = 5)
    {
        io::Bytes data(64);
        data[17] = static_cast<std::uint8_t>(lid);
        data[19] = 9; // SM's LID
        data[32] = static_cast<std::uint8_t>(state);
        EXPECT_EQ(answer(request(Method::set, 0x15, data)).size(), Mad::size);
    }

    Sma sma{guid, "a test"};
};

TEST_F(SmaTest, NodeInfo)
{
    const io::Bytes mad = answer(request(Method::get, 0x11));
    ASSERT_EQ(mad.size(), Mad::size);
    EXPECT_EQ(mad[3], 0x81);
    EXPECT_EQ(io::read<2>(mad, 4), 0x8000u); // on its way back, no error
    EXPECT_EQ(io::read<8>(mad, 8), 42u);
    EXPECT_EQ(mad[192 + 1], 1); // return path
    EXPECT_EQ(mad[64 + 2], 1);  // channel adapter
    EXPECT_EQ(io::read<8>(mad, 64 + 20), guid);
}

TEST_F(SmaTest, RepliesGoBackTheWayTheyCame)
{
    const auto directed = sma.answer(request(Method::get, 0x10));
    ASSERT_TRUE(directed);
    EXPECT_EQ(Lrh::parse(*directed)->dlid, permissiveLid);
    EXPECT_EQ(Lrh::parse(*directed)->vl, 15);
    const auto routed = sma.answer(request(Method::get, 0x10, {}, MgmtClass::subnLid));
    ASSERT_TRUE(routed);
    EXPECT_EQ(Lrh::parse(*routed)->dlid, 7);
    EXPECT_EQ(io::read<2>(*routed, smpOffset + 4), 0u);
}

TEST_F(SmaTest, PortIsTakenToActive)
{
    EXPECT_EQ(sma.state(), PortState::down);
    sma.linkUp();
    EXPECT_EQ(sma.state(), PortState::init);
    setState(PortState::active); // not from INIT
    EXPECT_EQ(sma.state(), PortState::init);
    setState(PortState::armed);
    setState(PortState::active);
    EXPECT_EQ(sma.state(), PortState::active);
    EXPECT_EQ(sma.lid(), 5);
    EXPECT_EQ(sma.smLid(), 9);
    const io::Bytes mad = answer(request(Method::get, 0x15));
    EXPECT_EQ(mad[64 + 32] & 0xF, 4);
    EXPECT_EQ(io::read<2>(mad, 64 + 16), 5u);
    sma.linkUp();
    EXPECT_EQ(sma.state(), PortState::init);
}

TEST_F(SmaTest, UnknownAttributeIsRefused)
{
    EXPECT_EQ(io::read<2>(answer(request(Method::get, 0x20)), 4), 0x800Cu);
    EXPECT_EQ(io::read<2>(answer(request(Method::set, 0x11)), 4), 0x800Cu);
}

TEST_F(SmaTest, PkeysAreKept)
{
    io::Bytes keys(64);
    keys[0] = 0x7F;
    keys[1] = 0xFF;
    keys[3] = 0x01;
    static_cast<void>(answer(request(Method::set, 0x16, keys)));
    const io::Bytes mad = answer(request(Method::get, 0x16));
    EXPECT_EQ(io::Bytes(mad.begin() + 64, mad.begin() + 128), keys);
}

TEST_F(SmaTest, WhatIsNoRequestGetsNoAnswer)
{
    EXPECT_FALSE(sma.answer(request(Method::getResp, 0x11)));
    EXPECT_FALSE(sma.answer(request(Method::get, 0x11, {}, MgmtClass::perf)));
    const io::Bytes good = request(Method::get, 0x11);
    for (std::size_t n = 0; n + 4 < good.size(); ++n)
        EXPECT_FALSE(sma.answer(io::View(good).first(n))) << n;
    io::Bytes otherLane = good;
    otherLane[0] = 0;
    EXPECT_FALSE(sma.answer(otherLane));
    for (const int hop : {0, 2, 64, 255}) {
        io::Bytes lost = good;
        lost[smpOffset + 6] = static_cast<std::uint8_t>(hop);
        EXPECT_FALSE(sma.answer(lost)) << hop;
    }
}

} // namespace
} // namespace openipoib::ib
