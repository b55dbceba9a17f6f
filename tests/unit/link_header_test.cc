// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "link/header.hpp"

#include "link/hello.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace openipoib::link
{
namespace
{

TEST(Checksum, ExampleOfRfc1071)
{
    // Section 3: the words 0001 f203 f4f5 f6f7 sum up to ddf2.
    EXPECT_EQ(checksum(io::Bytes{0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7}),
              static_cast<std::uint16_t>(~0xDDF2));
    EXPECT_EQ(checksum(io::Bytes{0x01}), static_cast<std::uint16_t>(~0x0100));
    EXPECT_EQ(checksum({}), 0xFFFF);
}

const Header sample{.version = 1,
                    .type = FrameType::data,
                    .length = 30,
                    .flags = flagAckRequest,
                    .count = 1,
                    .session = 0x01020304,
                    .peer = 0x05060708,
                    .seq = 0x090A0B0C,
                    .ack = 0x0D0E0F10,
                    .gap = 0x1112,
                    .window = 0x1314};

TEST(LinkHeader, Bytes)
{
    const io::Bytes frame = sample.frame(io::Bytes{0xAA, 0xBB});
    io::Bytes want{1,    2,    0,    30,   0,    0,    1,    1,    0x01, 0x02,
                   0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C,
                   0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12, 0x13, 0x14, 0xAA, 0xBB};
    const std::uint16_t check = checksum(want);
    want[4] = static_cast<std::uint8_t>(check >> 8);
    want[5] = static_cast<std::uint8_t>(check);
    EXPECT_EQ(frame, want);
    EXPECT_EQ(checksum(frame), 0);
    EXPECT_EQ(Header::parse(frame), sample);
}

TEST(LinkHeader, PaddingIsAllowedAndNotChecked)
{
    io::Bytes frame = sample.frame(io::Bytes{0xAA, 0xBB});
    frame.resize(60, 0x55);
    EXPECT_EQ(Header::parse(frame), sample);
}

TEST(LinkHeader, EveryFaultIsTold)
{
    const io::Bytes good = sample.frame(io::Bytes{0xAA, 0xBB});
    for (std::size_t n = 0; n < good.size(); ++n)
        EXPECT_EQ(Header::parse(io::View(good).first(n)).error(), FrameFault::length) << n;
    Header other = sample;
    other.version = 2;
    EXPECT_EQ(Header::parse(other.frame({})).error(), FrameFault::version);
    for (std::size_t i = 4; i < good.size(); ++i) {
        io::Bytes bad = good;
        bad[i] ^= 0x10;
        EXPECT_EQ(Header::parse(bad).error(), FrameFault::check) << i;
    }
    for (const unsigned length : {0u, 27u, 31u, 65535u})
        EXPECT_EQ(Header::parse(
                      sample.frameWithLength(io::Bytes{1, 2}, static_cast<std::uint16_t>(length)))
                      .error(),
                  FrameFault::length);
}

TEST(Hello, Bytes)
{
    const Hello hello{.state = HelloState::heard,
                      .port = 2,
                      .timeout = 1000,
                      .maxFrame = 65535,
                      .guid = 0x1122'3344'5566'7788};
    io::Bytes bytes;
    hello.appendTo(bytes);
    EXPECT_EQ(bytes, (io::Bytes{1,    2,    0x03, 0xE8, 0,    0,    0xFF, 0xFF, 0x11, 0x22,
                                0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0,    0,    0,    0}));
    EXPECT_EQ(Hello::parse(bytes), hello);
    for (std::size_t n = 0; n < bytes.size(); ++n)
        EXPECT_FALSE(Hello::parse(io::View(bytes).first(n)));
}

} // namespace
} // namespace openipoib::link
