// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/bytes.hpp"
#include "io/error.hpp"
#include "io/packet_socket.hpp"
#include "io/unique_fd.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

#include <utility>

namespace openipoib::io
{
namespace
{

TEST(Bytes, BigEndianBothWays)
{
    Bytes out;
    append<1>(out, 0x1AB); // only the low byte
    append<3>(out, 0x010203);
    append<8>(out, 0x1122'3344'5566'7788);
    EXPECT_EQ(out, (Bytes{0xAB, 1, 2, 3, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}));
    EXPECT_EQ(read<3>(out, 1), 0x010203u);
    EXPECT_EQ(read<8>(out, 4), 0x1122'3344'5566'7788u);
}

TEST(Bytes, Bits)
{
    EXPECT_EQ(bits<std::uint8_t>(0xABCD, 4, 8), 0xBC);
    EXPECT_EQ(bits<std::uint16_t>(0xFFFF'FFFF, 31, 1), 1);
}

bool isOpen(int fd)
{
    return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFd, ClosesOnceAndMoves)
{
    UniqueFd a(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int fd = a.get();
    ASSERT_TRUE(isOpen(fd));
    UniqueFd b(std::move(a));
    EXPECT_FALSE(a); // NOLINT(bugprone-use-after-move): emptied by design
    EXPECT_TRUE(b);
    b = UniqueFd();
    EXPECT_FALSE(isOpen(fd));
}

TEST(PacketSocket, UnknownInterfaceIsAnError)
{
    const auto socket = PacketSocket::open("no-such-netdev", 0x88B5);
    ASSERT_FALSE(socket);
    EXPECT_EQ(socket.error().code, ENODEV);
    EXPECT_EQ(socket.error().text(), "no-such-netdev: No such device");
}

} // namespace
} // namespace openipoib::io
