// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Questions to subnet administration and management, byte by byte, and their answers.
#include "ib/member_record.hpp"
#include "ib/sa.hpp"
#include "ib/smp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace openipoib::ib
{
namespace
{

TEST(SubnetAdministration, QuestionsAndRecords)
{
    const Gid there = makeGid(defaultPrefix, 2);
    const Gid here = makeGid(defaultPrefix, 1);
    io::Bytes mad = PathRecord{.dgid = there, .sgid = here, .pkey = 0x8001}.question(7);
    ASSERT_EQ(mad.size(), Mad::size);
    EXPECT_EQ(io::read<8>(mad, 48), 0x380CU) << "GIDs, reversible, one path, P_Key";
    EXPECT_EQ(io::read<2>(mad, 56 + 50), 0x8001U);
    EXPECT_EQ(mad[56 + 49], 0x81);
    EXPECT_FALSE(PathRecord::parse(mad)) << "it is no answer";
    mad[3] = static_cast<std::uint8_t>(Method::getResp);
    mad[56 + 41] = 9;
    mad[56 + 54] = 0x85; // exactly 4096
    mad[56 + 55] = 0x87;
    const auto path = PathRecord::parse(mad);
    ASSERT_TRUE(path);
    EXPECT_EQ(path->dlid, 9);
    EXPECT_EQ(path->mtu, 5);
    EXPECT_EQ(path->rate, 7);
    EXPECT_EQ(path->dgid, there);
    mad[4] = 3; // no records
    EXPECT_FALSE(PathRecord::parse(mad));
    EXPECT_FALSE(PathRecord::parse(io::Bytes(100)));

    io::Bytes node = NodeRecord::question(5, 8);
    EXPECT_EQ(io::read<8>(node, 48), 1U);
    EXPECT_EQ(io::read<2>(node, 56), 5U);
    node[3] = static_cast<std::uint8_t>(Method::getResp);
    node[56 + 4 + 27] = 0x42;
    node[56 + 44] = 'h';
    const auto record = NodeRecord::parse(node);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->portGuid, 0x42U);
    EXPECT_EQ(record->description, "h");
}

TEST(SubnetAdministration, AGroupIsAskedForAndNotJoined)
{
    const Gid mgid = makeIpoibMgid(ipoibIpv4, 0xFFFF, 0xFFFFFFFF);
    const io::Bytes mad = MemberRecord::question(mgid, 3);
    EXPECT_EQ(mad[3], static_cast<std::uint8_t>(Method::get));
    EXPECT_EQ(io::read<8>(mad, 48), 1U);
    EXPECT_TRUE(std::ranges::equal(io::View(mad).subspan(56, 16), mgid));
    EXPECT_TRUE(
        std::ranges::all_of(io::View(mad).subspan(72), [](auto byte) { return byte == 0; }));
}

TEST(SubnetManagement, Questions)
{
    const std::array<std::uint8_t, 1> route{2};
    io::Bytes mad = directedQuestion(SmpAttribute::nodeInfo, 0, route, 9);
    ASSERT_EQ(mad.size(), Mad::size);
    EXPECT_EQ(mad[1], 0x81);
    EXPECT_EQ(mad[6], 0) << "hop pointer";
    EXPECT_EQ(mad[7], 1) << "hop count";
    EXPECT_EQ(io::read<4>(mad, 32), 0xFFFFFFFFU) << "permissive LIDs";
    EXPECT_EQ(mad[129], 2);
    mad[4] = 0x80; // the direction of an answer is no error
    EXPECT_EQ(smpStatus(mad), 0);
    mad[5] = 0x0C;
    EXPECT_EQ(smpStatus(mad), 0x0C);
    const io::Bytes sm = lidQuestion(SmpAttribute::smInfo, 0, 9);
    EXPECT_EQ(sm[1], 0x01);
    EXPECT_EQ(io::read<2>(sm, 16), 0x20U);
    EXPECT_EQ(smpStatus(io::Bytes(3)), 0xFFFF);
}

} // namespace
} // namespace openipoib::ib
