// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Routes by hand, and those of the kernel in a network namespace of its own.
#include "netlink/route.hpp"

#include "netlink/link.hpp"
#include "network_namespace.hpp"

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace openipoib::netlink
{
namespace
{

Message message(int type, int index)
{
    Message out(type, 0);
    rtmsg fixed{};
    fixed.rtm_family = AF_INET;
    fixed.rtm_type = RTN_UNICAST;
    out.header(fixed);
    if (index)
        out.put(RTA_OIF, std::int32_t{index});
    return out;
}

TEST(Route, OfAMessage)
{
    const Message direct = message(RTM_NEWROUTE, 3);
    EXPECT_EQ(parseRoute(nlmsg_hdr(direct.get())), (Route{.index = 3, .type = RTN_UNICAST}));
    Message remote = message(RTM_NEWROUTE, 3);
    const io::Bytes gateway{10, 0, 0, 254};
    remote.put(RTA_GATEWAY, io::View(gateway));
    EXPECT_EQ(parseRoute(nlmsg_hdr(remote.get()))->gateway, gateway);
    Message via = message(RTM_NEWROUTE, 3);
    io::Bytes six(2 + 16);
    six[0] = AF_INET6;
    six[2] = 0xFE;
    via.put(RTA_VIA, io::View(six));
    EXPECT_EQ(parseRoute(nlmsg_hdr(via.get()))->gateway, io::Bytes(six.begin() + 2, six.end()));
    EXPECT_FALSE(parseRoute(nlmsg_hdr(message(RTM_NEWROUTE, 0).get()))) << "of no interface";
    EXPECT_FALSE(parseRoute(nlmsg_hdr(message(RTM_DELROUTE, 3).get())));
    EXPECT_FALSE(parseRoute(nlmsg_hdr(Message(RTM_NEWROUTE, 0).get())));
}

TEST(Route, OfTheKernel)
{
    inNamespace([](Socket &socket) {
        const io::Bytes own{127, 0, 0, 1};
        const io::Bytes other{192, 0, 2, 1};
        const auto lo = findLink(socket, "lo");
        ASSERT_TRUE(lo && setUp(socket, *lo, true));
        const auto local = routeTowards(socket, own, 0);
        ASSERT_TRUE(local) << local.error().text();
        EXPECT_EQ(local->index, lo->index);
        EXPECT_EQ(local->type, RTN_LOCAL);
        EXPECT_TRUE(local->gateway.empty());
        const auto none = routeTowards(socket, other, 0);
        ASSERT_FALSE(none);
        EXPECT_EQ(none.error().code, ENETUNREACH);
        io::Bytes six(16);
        six[15] = 1;
        const auto ofSix = routeTowards(socket, six, 0);
        EXPECT_TRUE(!ofSix || ofSix->index == lo->index) << "IPv6 may be off";
    });
}

} // namespace
} // namespace openipoib::netlink
