// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/packet_builder.hpp"

#include "ib/icrc.hpp"

#include <gtest/gtest.h>

namespace openipoib::ib
{
namespace
{

std::uint32_t trailingIcrc(const io::Bytes &packet)
{
    return static_cast<std::uint32_t>(io::read<4>(packet, packet.size() - icrcSize));
}

io::View withoutIcrc(const io::Bytes &packet)
{
    return io::View(packet).first(packet.size() - icrcSize);
}

TEST(PacketBuilder, WholePacketByteForByte)
{
    const io::Bytes packet = PacketBuilder{}
                                 .lrh({.dlid = 2, .slid = 1})
                                 .bth({.qpn = 0x42, .psn = 7})
                                 .deth({.qkey = 0xB1B, .sourceQpn = 0x43})
                                 .ipoib({.type = IpoibHeader::arp})
                                 .payload(io::Bytes{0xDE, 0xAD, 0xBE})
                                 .build();
    const io::Bytes head{
        0x00, 0x02, 0x00, 0x02, 0x00, 0x0A, 0x00, 0x01,                         // LRH, 10 words
        0x64, 0x50, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x42, 0x00, 0x00, 0x00, 0x07, // BTH, 1 pad
        0x00, 0x00, 0x0B, 0x1B, 0x00, 0x00, 0x00, 0x43,                         // DETH
        0x08, 0x06, 0x00, 0x00, 0xDE, 0xAD, 0xBE, 0x00,                         // IPoIB, pad
    };
    ASSERT_EQ(packet.size(), head.size() + icrcSize);
    EXPECT_EQ(io::Bytes(packet.begin(), packet.end() - 4), head);
    EXPECT_EQ(trailingIcrc(packet), icrc(head));
}

TEST(PacketBuilder, LengthAndPadOfEveryPayloadSize)
{
    for (std::size_t n = 0; n < 70; ++n) {
        const io::Bytes packet =
            PacketBuilder{}.lrh({}).grh({}).bth({}).deth({}).payload(io::Bytes(n, 0xAA)).build();
        ASSERT_EQ(packet.size() % 4, 0u);
        EXPECT_EQ(Lrh::parse(packet)->words * 4u, packet.size());
        EXPECT_EQ(Lrh::parse(packet)->next, LinkNext::grh);
        const io::View rest = io::View(packet).subspan(Lrh::size);
        EXPECT_EQ(Grh::parse(rest)->payloadLength, packet.size() - Lrh::size - Grh::size);
        EXPECT_EQ((n + Bth::parse(rest.subspan(Grh::size))->pad) % 4, 0u);
        EXPECT_EQ(trailingIcrc(packet), icrc(withoutIcrc(packet)));
    }
}

TEST(PacketBuilder, OverridesAreWrongInOneWayOnly)
{
    PacketBuilder base;
    base.lrh({.dlid = 2, .slid = 1}).grh({}).bth({}).deth({}).payload(io::Bytes(8, 1));
    const io::Bytes good = base.build();

    const io::Bytes words = PacketBuilder(base).overrideWords(5).build();
    EXPECT_EQ(words.size(), good.size());
    EXPECT_EQ(Lrh::parse(words)->words, 5);
    EXPECT_EQ(trailingIcrc(words), icrc(withoutIcrc(words)));

    const io::Bytes next = PacketBuilder(base).overrideNext(LinkNext::raw).build();
    EXPECT_EQ(Lrh::parse(next)->next, LinkNext::raw);

    const io::Bytes pad = PacketBuilder(base).overridePad(3).build();
    EXPECT_EQ(Bth::parse(io::View(pad).subspan(Lrh::size + Grh::size))->pad, 3);
    EXPECT_EQ(trailingIcrc(pad), icrc(withoutIcrc(pad)));

    const io::Bytes grh = PacketBuilder(base).overrideGrhLength(9).build();
    EXPECT_EQ(Grh::parse(io::View(grh).subspan(Lrh::size))->payloadLength, 9);

    const io::Bytes crc = PacketBuilder(base).overrideIcrc(0x01020304).build();
    EXPECT_EQ(trailingIcrc(crc), 0x01020304u);
    EXPECT_EQ(io::Bytes(crc.begin(), crc.end() - 4), io::Bytes(good.begin(), good.end() - 4));
}

TEST(PacketBuilder, TruncateCutsAndNeverExtends)
{
    PacketBuilder base;
    base.lrh({}).bth({}).deth({});
    const io::Bytes good = base.build();
    for (std::size_t n = 0; n <= good.size() + 4; ++n) {
        const io::Bytes cut = PacketBuilder(base).truncate(n).build();
        EXPECT_EQ(cut, io::Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(
                                                                  std::min(n, good.size()))));
    }
}

TEST(PacketBuilder, RawPacketHasNoTransport)
{
    const io::Bytes packet = PacketBuilder{}.lrh({.dlid = 2}).payload(io::Bytes(4, 9)).build();
    EXPECT_EQ(Lrh::parse(packet)->next, LinkNext::raw);
    EXPECT_EQ(packet.size(), Lrh::size + 4 + icrcSize);
}

} // namespace
} // namespace openipoib::ib
