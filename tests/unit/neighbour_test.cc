// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Neighbours by hand, and those of the kernel in a network namespace of its own.
#include "netlink/neighbour.hpp"

#include "netlink/link.hpp"
#include "network_namespace.hpp"

#include <gtest/gtest.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace openipoib::netlink
{
namespace
{

const io::Bytes address{10, 0, 0, 2};
const io::Bytes hardware{0x80, 0, 0, 2, 0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};

Message message(int type, const io::Bytes &of)
{
    Message out(type, 0);
    ndmsg fixed{};
    fixed.ndm_family = AF_INET;
    fixed.ndm_ifindex = 3;
    fixed.ndm_state = NUD_REACHABLE;
    out.header(fixed);
    out.put(NDA_DST, io::View(of));
    out.put(NDA_LLADDR, io::View(hardware));
    return out;
}

TEST(Neighbour, OfAMessage)
{
    const Message one = message(RTM_NEWNEIGH, address);
    const auto neighbour = parseNeighbour(nlmsg_hdr(one.get()));
    ASSERT_TRUE(neighbour);
    EXPECT_EQ(neighbour->index, 3);
    EXPECT_EQ(neighbour->address, address);
    EXPECT_EQ(neighbour->hardware, hardware);
    EXPECT_TRUE(neighbour->isLimited());
    EXPECT_FALSE((Neighbour{.state = NUD_PERMANENT, .address = {}, .hardware = {}}.isLimited()));
    EXPECT_FALSE(parseNeighbour(nlmsg_hdr(message(RTM_DELNEIGH, address).get())));
    EXPECT_FALSE(parseNeighbour(nlmsg_hdr(message(RTM_NEWNEIGH, {1, 2}).get())));
    EXPECT_FALSE(parseNeighbour(nlmsg_hdr(Message(RTM_NEWNEIGH, 0).get())));
}

TEST(Neighbour, OfTheKernel)
{
    inNamespace([](Socket &socket) {
        const auto none = neighbours(socket);
        ASSERT_TRUE(none) << none.error().text();
        EXPECT_TRUE(none->empty());
        const auto lo = findLink(socket, "lo");
        ASSERT_TRUE(lo && setUp(socket, *lo, true));
        Message add(RTM_NEWNEIGH, NLM_F_CREATE);
        // Those of IPv4 have no address of their own there.
        io::Bytes six(16);
        six[0] = 0xFD;
        ndmsg fixed{};
        fixed.ndm_family = AF_INET6;
        fixed.ndm_ifindex = lo->index;
        fixed.ndm_state = NUD_PERMANENT;
        add.header(fixed);
        add.put(NDA_DST, io::View(six));
        ASSERT_TRUE(socket.request(add, "neighbour"));
        const auto all = neighbours(socket);
        ASSERT_TRUE(all && all->size() == 1);
        EXPECT_EQ(all->front().address, six);
        EXPECT_EQ(all->front().state, NUD_PERMANENT);
    });
}

} // namespace
} // namespace openipoib::netlink
