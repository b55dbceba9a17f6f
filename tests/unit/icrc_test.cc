// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/icrc.hpp"

#include "ib/packet_builder.hpp"

#include <gtest/gtest.h>

#include <set>

namespace openipoib::ib
{
namespace
{

// The sample packet of IBA volume 1, section 7.8: an RDMA WRITE of 14 bytes.
const io::Bytes sample{
    0x70, 0x12, 0x37, 0x5C, 0x00, 0x0E, 0x17, 0xD2, 0x0A, 0x20, 0x24, 0x87, 0x00,
    0x87, 0xB1, 0xB3, 0x00, 0x0D, 0xEC, 0x2A, 0x01, 0x71, 0x0A, 0x1C, 0x01, 0x5D,
    0x40, 0x02, 0x38, 0xF2, 0x7A, 0x05, 0x00, 0x00, 0x00, 0x0E, 0xBB, 0x88, 0x4D,
    0x85, 0xFD, 0x5C, 0xFB, 0xA4, 0x72, 0x8B, 0xC0, 0x69, 0x0E, 0xD4, 0x00, 0x00,
};

TEST(Icrc, SamplePacketOfTheSpecification)
{
    EXPECT_EQ(icrc(sample), 0x9625'B75A);
}

// The bytes whose change leaves the ICRC as it is.
std::set<std::size_t> variantBytes(const io::Bytes &packet)
{
    std::set<std::size_t> found;
    for (std::size_t i = 0; i < packet.size(); ++i) {
        io::Bytes changed = packet;
        changed[i] ^= 0xFF;
        if (i != 1 && icrc(changed) == icrc(packet))
            found.insert(i);
    }
    return found;
}

TEST(Icrc, LocalPacketLeavesOutLaneAndVariantField)
{
    EXPECT_EQ(variantBytes(sample), (std::set<std::size_t>{12}));
    io::Bytes otherLane = sample;
    otherLane[0] ^= 0xF0;
    EXPECT_EQ(icrc(otherLane), icrc(sample));
    otherLane[0] ^= 0x0F; // the link version does count
    EXPECT_NE(icrc(otherLane), icrc(sample));
}

TEST(Icrc, GlobalPacketLeavesOutWhatRoutersChange)
{
    io::Bytes packet = PacketBuilder{}.lrh({.dlid = 2, .slid = 1}).grh({}).bth({}).deth({}).build();
    packet.resize(packet.size() - icrcSize);
    // LRH (byte 1 holds LNH, not tried), traffic class and flow label, hop
    // limit, resv8a of the BTH. Byte 8 is half version, which counts.
    EXPECT_EQ(variantBytes(packet),
              (std::set<std::size_t>{0, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 52}));
}

TEST(Icrc, AnyLengthIsAccepted)
{
    EXPECT_EQ(icrc({}), 0u);
    std::set<std::uint32_t> seen;
    for (std::size_t n = 0; n <= sample.size(); ++n)
        seen.insert(icrc(io::View(sample).first(n)));
    EXPECT_EQ(seen.size(), sample.size() + 1) << "each byte must count";
}

} // namespace
} // namespace openipoib::ib
