// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Two ends of a `udp:` cable, with real sockets of this machine.
#include "io/open_cable.hpp"

#include "io/key_file.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace openipoib::fabric
{
namespace
{

using namespace std::chrono_literals;

constexpr io::MacAddress anybody{};
const io::Bytes key(keySize, 7);

// An address that no other process of this test has.
std::string address(unsigned number)
{
    return fmt::format("127.{}.{}.{}", 64 + number, ::getpid() >> 8 & 255, ::getpid() & 255);
}

class UdpCables : public testing::Test
{
  protected:
    using End = std::unique_ptr<FdCable>;

    End open(const std::string &description, const io::Bytes &secret = key)
    {
        auto cable = openCable(description, secret, [this] { return chance(); });
        EXPECT_TRUE(cable) << cable.error().text();
        return std::move(*cable);
    }

    // Frames that have come to an end.
    static std::vector<io::Bytes> take(FdCable &end)
    {
        std::vector<io::Bytes> frames;
        end.receive([&](const io::MacAddress & /*source*/, io::View frame) {
            frames.emplace_back(frame.begin(), frame.end());
        });
        return frames;
    }

    static void await(const FdCable &end, std::chrono::milliseconds most)
    {
        pollfd wait{.fd = end.fd(), .events = POLLIN, .revents = 0};
        ::poll(&wait, 1, static_cast<int>(most.count()));
    }

    // Send it again and again, as the link protocol does, until it comes.
    static bool reaches(FdCable &from, FdCable &to, const io::Bytes &frame)
    {
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (std::chrono::steady_clock::now() < deadline) {
            from.send(anybody, std::make_shared<const io::Bytes>(frame));
            await(to, 20ms);
            if (std::ranges::count(take(to), frame) != 0)
                return true;
            await(from, 20ms);
            take(from); // greetings
        }
        return false;
    }

    static std::uint64_t count(const FdCable &end, std::string_view name)
    {
        for (const auto &[counter, value] : end.counts())
            if (counter == name)
                return value;
        ADD_FAILURE() << "no counter " << name;
        return 0;
    }

    std::mt19937 chance{1};
};

TEST_F(UdpCables, CarryFramesBothWays)
{
    const auto left = open("udp:" + address(0) + ":7471=" + address(1) + ":7471");
    const auto right = open("udp:" + address(1) + ":7471=" + address(0) + ":7471");
    io::Bytes frame(left->maxFrame());
    std::iota(frame.begin(), frame.end(), 0);
    EXPECT_TRUE(reaches(*left, *right, frame));
    EXPECT_TRUE(reaches(*right, *left, {1, 2, 3}));
    EXPECT_EQ(count(*left, "udp_rx_code"), 0U);
}

TEST_F(UdpCables, WithoutARemoteTheyFindWhoHasTheKey)
{
    const auto left = open("udp:" + address(2) + ":7471");
    auto right = open("udp:=" + address(2) + ":7471");
    EXPECT_TRUE(reaches(*right, *left, {1}));
    EXPECT_TRUE(reaches(*left, *right, {2}));
    right = open("udp:=" + address(2) + ":7471"); // from another port, as after a restart
    EXPECT_TRUE(reaches(*right, *left, {3}));
    EXPECT_TRUE(reaches(*left, *right, {4}));
}

TEST_F(UdpCables, OfAnyAddressOfTheMachineTakeIpv4AndIpv6)
{
    const std::string port = std::to_string(20000 + ::getpid() % 20000);
    const auto left = open("udp::" + port);
    for (const std::string host : {"127.0.0.1", "[::1]", "localhost"}) {
        const auto right = open("udp:=" + host + ":" + port);
        EXPECT_TRUE(reaches(*right, *left, {1})) << host;
        EXPECT_TRUE(reaches(*left, *right, io::Bytes(4208, 2))) << host;
    }
}

TEST_F(UdpCables, WithAnotherKeyCarryNothingAndSayWhy)
{
    const auto left = open("udp:" + address(3) + ":7471");
    const auto right = open("udp:=" + address(3) + ":7471", io::Bytes(keySize, 8));
    for (unsigned i = 0; i < 10; ++i)
        right->send(anybody, std::make_shared<const io::Bytes>(io::Bytes{1}));
    EXPECT_TRUE(take(*left).empty());
    EXPECT_EQ(count(*left, "udp_rx_code"), 10U);
    EXPECT_EQ(count(*left, "udp_rx"), 0U);
    EXPECT_EQ(count(*left, "udp_tx"), 0U); // strangers get no answer
}

TEST_F(UdpCables, SurviveAPeerThatIsNotThere)
{
    const auto left = open("udp:" + address(4) + ":7471=" + address(5) + ":7471");
    for (unsigned i = 0; i < 10; ++i) {
        left->send(anybody, std::make_shared<const io::Bytes>(io::Bytes{1}));
        take(*left);
    }
    const auto right = open("udp:" + address(5) + ":7471=" + address(4) + ":7471");
    EXPECT_TRUE(reaches(*left, *right, {1}));
}

TEST_F(UdpCables, AreRefusedWithoutAKeyOrWithEndsThatAreNone)
{
    const auto random = [] { return 1U; };
    EXPECT_EQ(openCable("udp::7471", {}, random).error().code, EINVAL);
    EXPECT_EQ(openCable("udp:7471", key, random).error().code, EINVAL);
    EXPECT_EQ(openCable("udp:=no.such.name.invalid:1", key, random).error().code, ENXIO);
    EXPECT_EQ(openCable("tcp:1", key, random).error().code, EINVAL);
    const auto left = open("udp:" + address(6) + ":7471");
    EXPECT_EQ(openCable("udp:" + address(6) + ":7471", key, random).error().code, EADDRINUSE);
}

} // namespace
} // namespace openipoib::fabric
