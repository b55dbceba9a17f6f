// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Packets to connected queue pairs: what is asked for is what is built.
#include "wire/connected.hpp"

#include "ib/bth.hpp"
#include "ib/lrh.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace openipoib::wire
{

namespace
{

Target target()
{
    Target to;
    to.lid = 7;
    to.ownLid = 9;
    return to;
}

ib::Bth bthOf(const Shot &shot)
{
    return *ib::Bth::parse(io::View(shot.bytes).subspan(ib::Lrh::size));
}

} // namespace

TEST(Connected, HasTheFieldsAskedFor)
{
    const Shot shot =
        connected(target(), {.opcode = 0x0A, .qpn = 0x123, .psn = 0xABCDEF, .payload = {1, 2, 3}});
    const auto lrh = ib::Lrh::parse(shot.bytes);
    ASSERT_TRUE(lrh);
    EXPECT_EQ(lrh->dlid, 7);
    EXPECT_EQ(lrh->slid, 9);
    const auto bth = bthOf(shot);
    EXPECT_EQ(bth.opcode, 0x0A);
    EXPECT_EQ(bth.qpn, 0x123u);
    EXPECT_EQ(bth.psn, 0xABCDEFu);
    EXPECT_EQ(bth.pad, 1);
    EXPECT_TRUE(bth.acknowledge);
    EXPECT_EQ(shot.bytes.size(), ib::Lrh::size + ib::Bth::size + 4 + 4); // padded, and the ICRC
}

TEST(Connected, FuzzedGoToAllAndOnlyTheQueuePairsGiven)
{
    const std::array<std::uint32_t, 3> qpns{5, 6, 7};
    std::mt19937_64 random(1);
    std::set<std::uint32_t> hit;
    std::set<std::uint8_t> opcodes;
    for (int i = 0; i < 2000; ++i) {
        const auto bth = bthOf(fuzzed(target(), qpns, random));
        hit.insert(bth.qpn);
        opcodes.insert(bth.opcode);
    }
    EXPECT_EQ(hit, std::set<std::uint32_t>(qpns.begin(), qpns.end()));
    EXPECT_GT(opcodes.size(), 60u);
}

TEST(Connected, FuzzIsRepeatable)
{
    const std::array<std::uint32_t, 1> qpns{5};
    std::mt19937_64 first(3);
    std::mt19937_64 second(3);
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(fuzzed(target(), qpns, first).bytes, fuzzed(target(), qpns, second).bytes);
}

} // namespace openipoib::wire
