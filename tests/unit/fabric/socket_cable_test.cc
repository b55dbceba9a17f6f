// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/socket_cable.hpp"

#include "../network_namespace.hpp"
#include "link/header.hpp"
#include "link/station.hpp"
#include "netlink/link.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace openipoib::fabric
{
namespace
{

constexpr io::MacAddress ours{2, 0, 0, 0, 0, 1};

// A folder with a cable unix:…/cable, and somebody at the other end of it.
class LocalCable : public testing::Test
{
  protected:
    LocalCable()
    {
        std::string pattern = testing::TempDir() + "cableXXXXXX";
        folder_ = ::mkdtemp(pattern.data());
        cable_ = SocketCable::open("unix:" + folder_ + "/cable", [] { return 7U; }).value();
        other_ = end("other");
        speak();
    }
    ~LocalCable() override
    {
        cable_.reset();
        std::filesystem::remove_all(folder_);
    }

    [[nodiscard]] sockaddr_un address(const std::string &name) const
    {
        sockaddr_un made{.sun_family = AF_UNIX, .sun_path = {}};
        std::ranges::copy(folder_ + "/" + name, made.sun_path);
        return made;
    }

    io::UniqueFd end(const std::string &name)
    {
        io::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        const sockaddr_un mine = address(name);
        EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr *>(&mine), sizeof mine), 0);
        return fd;
    }

    // The other end sends a frame, so that the cable knows it.
    void speak()
    {
        io::Bytes frame(12, 2);
        io::append<2>(frame, link::ethertype);
        frame.resize(60);
        const sockaddr_un to = address("cable");
        ASSERT_EQ(::sendto(other_.get(), frame.data(), frame.size(), 0,
                           reinterpret_cast<const sockaddr *>(&to), sizeof to),
                  60);
        unsigned count = 0;
        cable_->receive([&](const io::MacAddress &, io::View) { ++count; });
        ASSERT_EQ(count, 1U);
    }

    // Send until frames wait.
    void fill()
    {
        const auto frame = std::make_shared<const io::Bytes>(1000);
        for (unsigned i = 0; i < 100'000 && cable_->isReady(); ++i)
            cable_->send(ours, frame);
        ASSERT_FALSE(cable_->isReady());
    }

    [[nodiscard]] bool isWritable() const
    {
        pollfd wait{.fd = cable_->fd(), .events = POLLOUT, .revents = 0};
        return ::poll(&wait, 1, 0) == 1;
    }

    std::string folder_;
    std::unique_ptr<SocketCable> cable_;
    io::UniqueFd other_;
};

TEST_F(LocalCable, IsNotWritableWhileTheOtherEndTakesNothing)
{
    fill();
    EXPECT_FALSE(isWritable());
    std::array<char, 2000> frame{};
    while (::recv(other_.get(), frame.data(), frame.size(), 0) > 0) {
    }
    EXPECT_TRUE(isWritable());
    cable_->flush();
    EXPECT_TRUE(cable_->isReady());
}

TEST_F(LocalCable, LosesWhatWaitsForAnEndThatHasGone)
{
    fill();
    other_.reset();
    EXPECT_TRUE(isWritable());
    cable_->flush();
    EXPECT_TRUE(cable_->isReady());
}

TEST_F(LocalCable, HearsANewEndAfterAnOldOneThatWasSlow)
{
    fill();
    other_.reset();
    cable_->flush();
    other_ = end("another");
    speak();
    cable_->send(ours, std::make_shared<const io::Bytes>(1000));
    std::array<char, 2000> frame{};
    EXPECT_GT(::recv(other_.get(), frame.data(), frame.size(), 0), 1000);
}

TEST_F(LocalCable, IsNeverDown)
{
    fill();
    other_.reset();
    cable_->flush();
    EXPECT_FALSE(cable_->isDown());
    EXPECT_FALSE(cable_->mend());
}

// A process that was killed leaves its file.
TEST_F(LocalCable, TakesThePlaceOfOneWithoutAnOwner)
{
    const std::string left = "unix:" + folder_ + "/left";
    const auto open = [&left] { return SocketCable::open(left, [] { return 7U; }); };
    end("left").reset();
    ASSERT_TRUE(std::filesystem::exists(folder_ + "/left"));
    {
        const auto cable = open();
        ASSERT_TRUE(cable) << cable.error().text();
        const auto other = open();
        ASSERT_FALSE(other);
        EXPECT_EQ(other.error().code, EADDRINUSE);
        EXPECT_TRUE(std::filesystem::exists(folder_ + "/left"));
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/left"));
    const io::UniqueFd owned = end("left"); // somebody else's
    EXPECT_EQ(open().error().code, EADDRINUSE);
}

TEST(DeviceCable, FollowsTheMtu)
{
    inNamespace([](netlink::Socket &socket) {
        const auto lo = netlink::findLink(socket, "lo");
        ASSERT_TRUE(lo) << lo.error().text();
        ASSERT_TRUE(netlink::setUp(socket, *lo, true));
        ASSERT_TRUE(netlink::setMtu(socket, *lo, 9000));
        const auto cable = SocketCable::open("netdev:lo", [] { return 7U; });
        ASSERT_TRUE(cable) << cable.error().text();
        const auto mostAfter = [&cable](const io::MacAddress &to, std::size_t size) {
            (*cable)->send(to, std::make_shared<const io::Bytes>(size));
            return (*cable)->maxFrame();
        };
        EXPECT_EQ(mostAfter(ours, 9000), 9000U);
        ASSERT_TRUE(netlink::setMtu(socket, *lo, 4500));
        EXPECT_EQ(mostAfter(ours, 4500), 9000U); // nothing tells yet
        EXPECT_EQ(mostAfter(ours, 4501), 4500U);
        ASSERT_TRUE(netlink::setMtu(socket, *lo, 1500));
        EXPECT_EQ(mostAfter(broadcastMac, 48), 1500U); // a HELLO
        ASSERT_TRUE(netlink::setMtu(socket, *lo, 9000));
        EXPECT_EQ(mostAfter(broadcastMac, 48), 9000U);
        ASSERT_TRUE(netlink::setMtu(socket, *lo, 65536));
        EXPECT_EQ(mostAfter(broadcastMac, 48), longestFrame);
        EXPECT_FALSE((*cable)->isDown());
    });
}

} // namespace
} // namespace openipoib::fabric
