// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The cases of ib-frames can be built, are wrong where they say, and repeat.
#include "wire/cases.hpp"

#include "ib/icrc.hpp"
#include "wire/arp.hpp"

#include <gtest/gtest.h>

#include <set>

namespace openipoib::wire
{
namespace
{

Target target()
{
    return {.address = {.qpn = 0x42, .gid = ib::makeGid(ib::defaultPrefix, 1)},
            .lid = 1,
            .ownLid = 2,
            .qkey = 0xB1B,
            .ownGid = ib::makeGid(ib::defaultPrefix, 2),
            .link = {.session = 11, .peer = 22, .seq = 5, .ack = 6, .window = 128},
            .peerSession = 22};
}

bool isWhole(const io::Bytes &packet)
{
    const auto lrh = ib::Lrh::parse(packet);
    return lrh && lrh->words * 4u == packet.size() &&
           io::read<4>(packet, packet.size() - ib::icrcSize) ==
               ib::icrc(io::View(packet).first(packet.size() - ib::icrcSize));
}

TEST(Cases, NamesAreUnique)
{
    std::set<std::string_view> names;
    for (const auto &what : allCases())
        EXPECT_TRUE(names.insert(what.name).second) << what.name;
    EXPECT_GT(names.size(), 40u);
}

TEST(Cases, EachIsCountedByThePortOrByIb0)
{
    for (const auto &what : allCases())
        EXPECT_NE(what.counters.empty(), what.ib0.empty()) << what.name;
}

TEST(Cases, AllCanBeBuiltAndRepeatFromTheirSeed)
{
    for (const auto &what : allCases()) {
        std::mt19937_64 one(1);
        std::mt19937_64 two(1);
        for (std::uint32_t n = 0; n < std::min(what.defaultCount, 500u); ++n) {
            const Shot shot = what.make(target(), one, n);
            EXPECT_EQ(shot.bytes, what.make(target(), two, n).bytes) << what.name << ' ' << n;
            EXPECT_LT(shot.bytes.size(), 9000u);
        }
    }
}

TEST(Cases, LinkFramesAreRefusedOrOfAnotherSessionOrNumber)
{
    const Target t = target();
    for (const auto &what : allCases()) {
        std::mt19937_64 random(1);
        for (std::uint32_t n = 0; n < std::min(what.defaultCount, 300u); ++n) {
            const Shot shot = what.make(t, random, n);
            if (shot.level == Shot::Level::packet)
                continue;
            const auto header = link::Header::parse(shot.bytes);
            const bool acceptable = header && header->type == link::FrameType::data &&
                                    header->session == t.link.session &&
                                    header->peer == t.link.peer && header->seq == t.link.seq;
            EXPECT_FALSE(acceptable) << what.name << ' ' << n;
        }
    }
}

TEST(Cases, PacketsThatAreWrongInOneFieldAreWholeOtherwise)
{
    for (const char *name : {"opcode", "wrong-dlid", "other-partition", "wrong-qkey", "wrong-vl",
                             "unknown-qp", "unknown-group", "bth-version", "other-dgid"}) {
        const auto what = std::ranges::find(allCases(), name, &Case::name);
        ASSERT_NE(what, allCases().end()) << name;
        std::mt19937_64 random(1);
        for (std::uint32_t n = 0; n < what->defaultCount; ++n)
            EXPECT_TRUE(isWhole(what->make(target(), random, n).bytes)) << name << ' ' << n;
    }
}

TEST(Cases, UnicastIsRight)
{
    const io::Bytes packet = unicast(target()).ipoib({}).payload(io::Bytes(20)).build();
    EXPECT_TRUE(isWhole(packet));
    EXPECT_EQ(ib::Bth::parse(io::View(packet).subspan(8))->qpn, 0x42u);
}

TEST(Arp, RoundTripAndForeignFormats)
{
    const Arp arp{.operation = Arp::reply,
                  .sender = {.flags = 0x80, .qpn = 7, .gid = ib::makeGid(1, 2)},
                  .senderIp = {10, 10, 0, 1},
                  .target = {.qpn = 8, .gid = ib::makeGid(3, 4)},
                  .targetIp = {10, 10, 0, 2}};
    io::Bytes bytes;
    arp.appendTo(bytes);
    ASSERT_EQ(bytes.size(), Arp::size);
    const auto parsed = Arp::parse(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->operation, Arp::reply);
    EXPECT_EQ(parsed->sender, arp.sender);
    EXPECT_EQ(parsed->senderIp, arp.senderIp);
    EXPECT_EQ(parsed->target, arp.target);
    EXPECT_EQ(parsed->targetIp, arp.targetIp);
    for (std::size_t n = 0; n < bytes.size(); ++n)
        EXPECT_FALSE(Arp::parse(io::View(bytes).first(n)));
    bytes[1] = 1; // Ethernet
    EXPECT_FALSE(Arp::parse(bytes));
}

} // namespace
} // namespace openipoib::wire
