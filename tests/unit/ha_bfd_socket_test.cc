// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The socket of BFD, in a network of its own: what its filter lets in.
#include "ha-daemon/linux/bfd_socket.hpp"

#include "netlink/address.hpp"
#include "netlink/link.hpp"
#include "network_namespace.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <poll.h>
#include <sys/socket.h>

#include <initializer_list>
#include <iterator>
#include <string>

namespace openipoib::ha
{
namespace
{

constexpr int deadline = 10'000; // ms
// The kernel makes the routes to addresses that are added later in its own time.
const char *const receiver = "::1";

in6_addr addressOf(const char *text)
{
    in6_addr out{};
    EXPECT_EQ(::inet_pton(AF_INET6, text, &out), 1) << text;
    return out;
}

io::Bytes bytesOf(const char *text)
{
    const in6_addr address = addressOf(text);
    return {std::begin(address.s6_addr), std::end(address.s6_addr)};
}

// lo, up, with these addresses as well; its index
int loWith(netlink::Socket &socket, std::initializer_list<const char *> addresses)
{
    const auto lo = netlink::findLink(socket, "lo");
    EXPECT_TRUE(lo && netlink::setUp(socket, *lo, true));
    for (const auto *text : addresses) {
        auto address = *netlink::parseAddress(std::string(text) + "/128");
        address.index = lo->index;
        address.flags = IFA_F_NODAD; // or it may still be tentative
        EXPECT_TRUE(netlink::addAddress(socket, address)) << text;
    }
    return lo->index;
}

void sendFrom(const char *from, int hops, const std::string &text)
{
    const io::UniqueFd fd(::socket(AF_INET6, SOCK_DGRAM, 0));
    sockaddr_in6 here{};
    here.sin6_family = AF_INET6;
    here.sin6_addr = addressOf(from);
    sockaddr_in6 there = here;
    there.sin6_addr = addressOf(receiver);
    there.sin6_port = htons(bfdPort);
    ASSERT_EQ(::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof hops), 0);
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr *>(&here), sizeof here), 0) << from;
    ASSERT_EQ(::sendto(fd.get(), text.data(), text.size(), 0,
                       reinterpret_cast<const sockaddr *>(&there), sizeof there),
              static_cast<ssize_t>(text.size()));
}

// All that comes until @last has, a word each
std::string heardUntil(const BfdSocket &socket, const std::string &last)
{
    std::string out;
    while (!out.ends_with(last + ' ')) {
        pollfd one{socket.fd(), POLLIN, 0};
        if (::poll(&one, 1, deadline) != 1)
            return out + "and then nothing";
        socket.receive([&](io::View, int hops, io::View payload) {
            EXPECT_EQ(hops, 255);
            out.append(payload.begin(), payload.end());
            out += ' ';
        });
    }
    return out;
}

// RFC 5881 section 5: what a router has passed on is not a neighbour's.
TEST(BfdSocket, HopLimit)
{
    inNamespace([](netlink::Socket &netlink) {
        const int lo = loWith(netlink, {"fd00::1"});
        const auto socket = BfdSocket::open(lo, {bytesOf("fd00::1")});
        ASSERT_TRUE(socket) << socket.error().text();
        for (const int hops : {254, 64, 1})
            sendFrom("fd00::1", hops, "far");
        sendFrom("fd00::1", 255, "near");
        EXPECT_EQ(heardUntil(*socket, "near"), "near ");
    });
}

// Each word of an address counts, of whichever peer it is.
TEST(BfdSocket, OnlyItsPeers)
{
    inNamespace([](netlink::Socket &netlink) {
        const int lo =
            loWith(netlink, {"fd00::1:0:0:1", "fd00::2:0:0:2", "fd00::3", "fd00::1:0:0:2",
                             "fd00::2:0:0:1", "fd01::3", "fd00:0:1::3"});
        const auto socket = BfdSocket::open(
            lo, {bytesOf("fd00::1:0:0:1"), bytesOf("fd00::2:0:0:2"), bytesOf("fd00::3")});
        ASSERT_TRUE(socket) << socket.error().text();
        for (const auto *stranger : {"fd00::1:0:0:2", "fd00::2:0:0:1", "fd01::3", "fd00:0:1::3"})
            sendFrom(stranger, 255, stranger);
        sendFrom("fd00::2:0:0:2", 255, "second");
        sendFrom("fd00::1:0:0:1", 255, "first");
        sendFrom("fd00::3", 255, "third");
        EXPECT_EQ(heardUntil(*socket, "third"), "second first third ");
    });
}

TEST(BfdSocket, NobodyWithoutPeers)
{
    inNamespace([](netlink::Socket &netlink) {
        const int lo = loWith(netlink, {"fd00::1"});
        const auto none = BfdSocket::open(lo, {});
        ASSERT_TRUE(none) << none.error().text();
        sendFrom("fd00::1", 255, "somebody");
        // Over lo a datagram has arrived when sendto() returns.
        none->receive([](io::View, int, io::View) { ADD_FAILURE() << "heard somebody"; });
    });
}

TEST(BfdSocket, ItSendsAsANeighbour)
{
    inNamespace([](netlink::Socket &netlink) {
        const int lo = loWith(netlink, {});
        const auto socket = BfdSocket::open(lo, {bytesOf(receiver)});
        ASSERT_TRUE(socket) << socket.error().text();
        const std::string text = "itself";
        ASSERT_TRUE(socket->send(bytesOf(receiver), io::Bytes(text.begin(), text.end())));
        EXPECT_EQ(heardUntil(*socket, text), "itself ");
    });
}

} // namespace
} // namespace openipoib::ha
