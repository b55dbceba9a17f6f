// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Messages of neighbour discovery, byte by byte.
#include "ha-daemon/linux/discovery.hpp"

#include <gtest/gtest.h>

namespace openipoib::ha
{
namespace
{

const io::Bytes hardware(20, 0xAB);
const io::Bytes address{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0x56};

io::Bytes part(const io::Bytes &all, long from, long to)
{
    return {all.begin() + from, all.begin() + to};
}

TEST(HaDiscovery, AnAdvertisementOverrides)
{
    const io::Bytes packet = advertisement(hardware, address, false);
    ASSERT_EQ(packet.size(), 40u + 24 + 24);
    EXPECT_EQ(part(packet, 0, 8), (io::Bytes{0x60, 0, 0, 0, 0, 48, 58, 255}));
    EXPECT_EQ(part(packet, 8, 24), address);
    EXPECT_EQ(part(packet, 24, 40), (io::Bytes{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
    EXPECT_EQ(part(packet, 40, 42), (io::Bytes{136, 0}));
    EXPECT_EQ(part(packet, 44, 48), (io::Bytes{0x20, 0, 0, 0}));
    EXPECT_EQ(part(packet, 48, 64), address);
    EXPECT_EQ(part(packet, 64, 68), (io::Bytes{2, 3, 0, 0}));
    EXPECT_EQ(part(packet, 68, 88), hardware);
    EXPECT_EQ(advertisement(hardware, address, true)[44], 0xA0);
    // Addresses, length, protocol and message add up to nothing (RFC 4443, section 2.3).
    std::uint32_t sum = 48 + 58;
    for (std::size_t at = 8; at < packet.size(); at += 2)
        sum += static_cast<std::uint32_t>(io::read<2>(packet, at));
    EXPECT_EQ((sum & 0xFFFF) + (sum >> 16), 0xFFFFu);
}

TEST(HaDiscovery, ASolicitationSaysWhereItsSenderIs)
{
    const io::Bytes message = solicitation(hardware, address);
    ASSERT_EQ(message.size(), 8u + 16 + 24);
    EXPECT_EQ(part(message, 0, 8), (io::Bytes{135, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(part(message, 8, 24), address);
    EXPECT_EQ(part(message, 24, 28), (io::Bytes{1, 3, 0, 0}));
    EXPECT_EQ(part(message, 28, 48), hardware);
    EXPECT_EQ(solicitedNode(address),
              (io::Bytes{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0x12, 0x34, 0x56}));
}

TEST(HaDiscovery, OnlyValidAdvertisementsAnswer)
{
    const io::Bytes packet = advertisement(hardware, address, false);
    const io::Bytes message(packet.begin() + 40, packet.end());
    EXPECT_EQ(advertised(message, 255), address);
    for (const int hops : {0, 64, 254, 256, -1})
        EXPECT_FALSE(advertised(message, hops)) << hops; // a router was between
    for (std::size_t length = 0; length < 24; ++length)
        EXPECT_FALSE(advertised(io::View(message).first(length), 255)) << length;
    for (const std::size_t at : {0, 1}) { // type, code
        io::Bytes other = message;
        other[at] ^= 1;
        EXPECT_FALSE(advertised(other, 255)) << at;
    }
    EXPECT_FALSE(advertised(solicitation(hardware, address), 255));
    io::Bytes group = message;
    group[8] = 0xFF;
    EXPECT_FALSE(advertised(group, 255));
}

} // namespace
} // namespace openipoib::ha
