// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Each header against bytes written down by hand from the specifications, and
// back again.
#include "ib/bth.hpp"
#include "ib/deth.hpp"
#include "ib/grh.hpp"
#include "ib/ipoib.hpp"
#include "ib/lrh.hpp"
#include "ib/mad.hpp"

#include <gtest/gtest.h>

namespace openipoib::ib
{
namespace
{

template <typename Header> io::Bytes encode(const Header &header)
{
    io::Bytes out;
    header.appendTo(out);
    return out;
}

// Every strict prefix is refused, the whole is accepted.
template <typename Header> void expectRoundTrip(const Header &header, const io::Bytes &bytes)
{
    EXPECT_EQ(encode(header), bytes);
    for (std::size_t n = 0; n < bytes.size(); ++n)
        EXPECT_FALSE(Header::parse(io::View(bytes).first(n))) << n;
    const auto parsed = Header::parse(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, header);
}

TEST(Lrh, Bytes)
{
    expectRoundTrip(Lrh{.vl = 7,
                        .linkVersion = 0,
                        .sl = 1,
                        .next = LinkNext::bth,
                        .dlid = 0x375C,
                        .words = 0x00E,
                        .slid = 0x17D2},
                    {0x70, 0x12, 0x37, 0x5C, 0x00, 0x0E, 0x17, 0xD2});
}

TEST(Lrh, ReservedLengthBitsAreNotLength)
{
    const auto parsed = Lrh::parse(io::Bytes{0, 3, 0, 1, 0xF8 | 0x07, 0xFF, 0, 2});
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->words, 0x7FF);
    EXPECT_EQ(parsed->next, LinkNext::grh);
}

TEST(Grh, Bytes)
{
    io::Bytes bytes{0x6A, 0xB1, 0x23, 0x45, 0x01, 0x20, 0x1B, 0x3F};
    const Gid source = makeGid(defaultPrefix, 0x0102'0304'0506'0708);
    const Gid destination = makeIpoibMgid(ipoibIpv4, 0xFFFF, 0xFFFF'FFFF);
    io::append(bytes, source);
    io::append(bytes, destination);
    expectRoundTrip(Grh{.version = 6,
                        .trafficClass = 0xAB,
                        .flowLabel = 0x12345,
                        .payloadLength = 0x120,
                        .next = Grh::nextBth,
                        .hopLimit = 0x3F,
                        .source = source,
                        .destination = destination},
                    bytes);
}

TEST(Bth, Bytes)
{
    // The BTH of the sample packet of IBA volume 1, section 7.8.
    expectRoundTrip(Bth{.opcode = 0x0A,
                        .solicited = false,
                        .migrated = false,
                        .pad = 2,
                        .version = 0,
                        .pkey = 0x2487,
                        .variant = 0,
                        .qpn = 0x87B1B3,
                        .acknowledge = false,
                        .psn = 0x0DEC2A},
                    {0x0A, 0x20, 0x24, 0x87, 0x00, 0x87, 0xB1, 0xB3, 0x00, 0x0D, 0xEC, 0x2A});
}

TEST(Bth, FlagBits)
{
    expectRoundTrip(Bth{.opcode = 0x64,
                        .solicited = true,
                        .migrated = true,
                        .pad = 3,
                        .version = 15,
                        .pkey = 0x8001,
                        .variant = 0xA5,
                        .qpn = 1,
                        .acknowledge = true,
                        .psn = 0xFFFFFF},
                    {0x64, 0xFF, 0x80, 0x01, 0xA5, 0, 0, 1, 0x80, 0xFF, 0xFF, 0xFF});
}

TEST(Deth, Bytes)
{
    expectRoundTrip(Deth{.qkey = 0x0000'0B1B, .sourceQpn = 0x00ABCD},
                    {0x00, 0x00, 0x0B, 0x1B, 0x00, 0x00, 0xAB, 0xCD});
}

TEST(IpoibHeader, Bytes)
{
    expectRoundTrip(IpoibHeader{.type = IpoibHeader::ipv6, .reserved = 0x1234},
                    {0x86, 0xDD, 0x12, 0x34});
}

TEST(HardwareAddress, Bytes)
{
    io::Bytes bytes{0x80, 0x00, 0x04, 0x04};
    const Gid gid = makeGid(defaultPrefix, 0xA);
    io::append(bytes, gid);
    expectRoundTrip(HardwareAddress{.flags = 0x80, .qpn = 0x404, .gid = gid}, bytes);
}

TEST(Mgid, BroadcastGroups)
{
    // RFC 4391, section 4: ff12:401b:ffff::ffff:ffff for the default P_Key.
    const Gid ipv4{0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF};
    EXPECT_EQ(makeIpoibMgid(ipoibIpv4, 0xFFFF, 0xFFFF'FFFF), ipv4);
    const Gid ipv6Site{0xFF, 0x15, 0x60, 0x1B, 0x80, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    EXPECT_EQ(makeIpoibMgid(ipoibIpv6, 0x8001, 1, 5), ipv6Site);
}

TEST(Mad, Bytes)
{
    io::Bytes bytes{1,    0x03, 2,    0x02, 0x01, 0x02, 0x03, 0x04, 0x11, 0x22, 0x33, 0x44,
                    0x55, 0x66, 0x77, 0x88, 0x00, 0x38, 0x00, 0x00, 0xDE, 0xAD, 0xBE, 0xEF};
    bytes.resize(Mad::size);
    expectRoundTrip(Mad{.baseVersion = 1,
                        .mgmtClass = MgmtClass::subnAdm,
                        .classVersion = 2,
                        .method = Method::set,
                        .status = 0x102,
                        .classSpecific = 0x304,
                        .transaction = 0x1122'3344'5566'7788,
                        .attribute = 0x38,
                        .modifier = 0xDEAD'BEEF},
                    bytes);
}

} // namespace
} // namespace openipoib::ib
