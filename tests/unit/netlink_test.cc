// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Messages by hand, and the kernel itself in a network namespace of its own.
#include "netlink/address.hpp"
#include "netlink/device_name.hpp"
#include "netlink/link.hpp"
#include "network_namespace.hpp"

#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>

namespace openipoib::netlink
{
namespace
{

// What the kernel would send about an IPoIB interface.
Message ipoibLink()
{
    Message message(RTM_NEWLINK, 0);
    ifinfomsg fixed{};
    fixed.ifi_index = 7;
    fixed.ifi_type = ARPHRD_INFINIBAND;
    fixed.ifi_flags = IFF_UP | IFF_LOWER_UP;
    message.header(fixed);
    message.put(IFLA_IFNAME, "ib0.8001");
    message.put(IFLA_MTU, std::uint32_t{65520});
    message.put(IFLA_OPERSTATE, std::uint8_t{6});
    message.put(IFLA_LINK, std::int32_t{5});
    message.put(IFLA_MASTER, std::int32_t{9});
    io::Bytes address(20);
    for (std::uint8_t i = 0; i < 20; ++i)
        address[i] = i;
    message.put(IFLA_ADDRESS, io::View(address));
    const auto info = message.nest(IFLA_LINKINFO);
    message.put(IFLA_INFO_KIND, "ipoib");
    const auto data = message.nest(IFLA_INFO_DATA);
    message.put(IFLA_IPOIB_PKEY, std::uint16_t{0x8001});
    message.put(IFLA_IPOIB_MODE, std::uint16_t{IPOIB_MODE_CONNECTED});
    message.put(IFLA_IPOIB_UMCAST, std::uint16_t{1});
    return message;
}

TEST(DeviceName, WhatItCanBe)
{
    for (const auto *name : {"ibp65s0.8001", "a", "fifteen_letters", "ib0-a_b+c"})
        EXPECT_TRUE(isDeviceName(name)) << name;
    for (const auto *name : {"", ".", "..", "sixteen_letters_", "a/b", "a:1", "ib%d", "a b", "a\n",
                             "a\x7f", "\xc3\xa9"})
        EXPECT_FALSE(isDeviceName(name)) << name;
}

TEST(NetlinkLink, Ipoib)
{
    const Message message = ipoibLink();
    ASSERT_TRUE(message.get());
    const auto link = parseLink(nlmsg_hdr(message.get()));
    ASSERT_TRUE(link);
    EXPECT_EQ(link->index, 7);
    EXPECT_EQ(link->name, "ib0.8001");
    EXPECT_EQ(link->kind, "ipoib");
    EXPECT_EQ(link->mtu, 65520u);
    EXPECT_EQ(link->parent, 5);
    EXPECT_EQ(link->master, 9);
    EXPECT_EQ(link->operState, 6u);
    EXPECT_TRUE(link->isInfiniband());
    EXPECT_TRUE(link->isRunning());
    EXPECT_EQ(link->ipoib, (Ipoib{.pkey = 0x8001, .connected = true, .umcast = true}));
    ASSERT_EQ(link->gid().size(), 16u);
    EXPECT_EQ(link->gid().front(), 4);
}

TEST(NetlinkLink, NoLinkNoAnswer)
{
    Message other(RTM_NEWADDR, 0);
    other.header(ifinfomsg{});
    EXPECT_FALSE(parseLink(nlmsg_hdr(other.get())));
    Message nameless(RTM_NEWLINK, 0);
    ifinfomsg fixed{};
    fixed.ifi_index = 1;
    nameless.header(fixed);
    EXPECT_FALSE(parseLink(nlmsg_hdr(nameless.get())));
    Message bare(RTM_NEWLINK, 0);
    EXPECT_FALSE(parseLink(nlmsg_hdr(bare.get())));
}

// Every byte of the message wrong in turn, in a buffer of exactly its size: the
// sanitizers see any step beyond it.
TEST(NetlinkLink, HostileBytes)
{
    const Message message = ipoibLink();
    const nlmsghdr *header = nlmsg_hdr(message.get());
    const auto *start = reinterpret_cast<const std::uint8_t *>(header);
    unsigned parsed = 0;
    for (std::size_t at = sizeof(nlmsghdr); at < header->nlmsg_len; ++at)
        for (const unsigned value : {0U, 1U, 4U, 0x7FU, 0xFFU}) {
            io::Bytes copy(start, start + header->nlmsg_len);
            copy[at] = static_cast<std::uint8_t>(value);
            parsed += parseLink(reinterpret_cast<nlmsghdr *>(copy.data())).has_value();
        }
    EXPECT_GT(parsed, 0u);
    for (std::uint32_t length = sizeof(nlmsghdr); length < header->nlmsg_len; ++length) {
        io::Bytes copy(start, start + length);
        reinterpret_cast<nlmsghdr *>(copy.data())->nlmsg_len = length;
        static_cast<void>(parseLink(reinterpret_cast<nlmsghdr *>(copy.data())));
    }
}

TEST(NetlinkAddress, Text)
{
    EXPECT_EQ(parseAddress("10.0.0.1/24")->text(), "10.0.0.1/24");
    EXPECT_EQ(parseAddress("10.0.0.1")->text(), "10.0.0.1/32");
    EXPECT_EQ(parseAddress("fd00:0::1/64")->text(), "fd00::1/64");
    for (const char *wrong : {"", "10.0.0", "10.0.0.1/33", "fd00::1/129", "10.0.0.1/", "10.0.0.1/x",
                              "10.0.0.1/24x", "ib0"})
        EXPECT_FALSE(parseAddress(wrong)) << wrong;
}

// An address with everything that somebody can have set
Address fullAddress(int index, bool six)
{
    Address address = *parseAddress(six ? "fd00::1/64" : "10.0.0.1/24");
    address.index = index;
    address.peer = parseAddress(six ? "fd00:1::2" : "10.0.9.2")->local;
    if (!six) {
        address.broadcast = {10, 0, 9, 200};
        address.label = "lo:full";
    }
    address.flags = IFA_F_PERMANENT;
    address.metric = 77;
    address.protocol = 42;
    return address;
}

TEST(NetlinkAddress, NothingOfAMessageIsLost)
{
    for (const bool six : {false, true}) {
        Address address = fullAddress(3, six);
        address.scope = RT_SCOPE_LINK;
        address.valid = 100;
        address.preferred = 50;
        EXPECT_EQ(decodeAddress(encodeAddress(address)), address) << six;
        // What a later kernel says as well
        io::Bytes bytes = encodeAddress(address);
        const io::Bytes later{5, 0, 100, 0, 0xAB, 0, 0, 0};
        bytes.insert(bytes.end(), later.begin(), later.end());
        const auto found = decodeAddress(bytes);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->others, later);
        EXPECT_EQ(encodeAddress(*found), bytes);
    }
}

TEST(NetlinkAddress, PartOfAMessageIsReadAsFarAsItGoes)
{
    const io::Bytes bytes = encodeAddress(fullAddress(3, true));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const io::Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        const auto found = decodeAddress(part);
        EXPECT_TRUE(!found || found->isWhole()) << size;
    }
    EXPECT_FALSE(decodeAddress({}));
}

Link linkOf(Socket &socket, const std::string &name)
{
    auto link = findLink(socket, name);
    EXPECT_TRUE(link) << link.error().text();
    return link.value_or(Link{});
}

TEST(NetlinkKernel, LoopbackAndItsAddresses)
{
    inNamespace([](Socket &socket) {
        const Link lo = linkOf(socket, "lo");
        EXPECT_EQ(lo.type, ARPHRD_LOOPBACK);
        EXPECT_FALSE(lo.isUp());
        ASSERT_TRUE(setUp(socket, lo, true));
        EXPECT_TRUE(linkOf(socket, "lo").isRunning());
        ASSERT_TRUE(setMtu(socket, lo, 1400));
        EXPECT_EQ(linkOf(socket, "lo").mtu, 1400u);

        for (const char *text : {"10.1.2.3/24", "fd00::7/64"}) {
            auto address = *parseAddress(text);
            address.index = lo.index;
            ASSERT_TRUE(addAddress(socket, address));
            const auto again = addAddress(socket, address);
            ASSERT_FALSE(again);
            EXPECT_EQ(again.error().code, EEXIST);
            const auto all = addresses(socket);
            ASSERT_TRUE(all);
            const auto found = std::ranges::find(*all, text, &Address::text);
            ASSERT_NE(found, all->end());
            EXPECT_EQ(found->index, lo.index);
            EXPECT_EQ(found->valid, UINT32_MAX);
            EXPECT_TRUE(removeAddress(socket, address));
            EXPECT_FALSE(removeAddress(socket, address));
        }
        ASSERT_TRUE(setUp(socket, lo, false));
        EXPECT_FALSE(linkOf(socket, "lo").isUp());
    });
}

TEST(NetlinkKernel, WhatIsReadOfAnAddressIsAllOfIt)
{
    inNamespace([](Socket &socket) {
        const Link lo = linkOf(socket, "lo");
        ASSERT_TRUE(setUp(socket, lo, true));
        for (const bool six : {false, true}) {
            const Address full = fullAddress(lo.index, six);
            Address other = full; // the same but for its peer, of another network
            other.peer[2] = 8;
            if (!six) {
                ASSERT_TRUE(addAddress(socket, other));
            }
            const auto added = addAddress(socket, full);
            ASSERT_TRUE(added) << added.error().text();
            const auto all = addresses(socket);
            ASSERT_TRUE(all);
            Address found;
            for (const auto &one : *all)
                if (one.local == full.local && one.peer == full.peer)
                    found = one;
            found.flags &= ~std::uint32_t{IFA_F_TENTATIVE | IFA_F_SECONDARY};
            EXPECT_EQ(found, full) << found.text() << " is not " << full.text();
            EXPECT_TRUE(removeAddress(socket, full));
            const auto left = addresses(socket);
            ASSERT_TRUE(left);
            EXPECT_EQ(std::ranges::count(*left, full.local, &Address::local), six ? 0 : 1);
        }
    });
}

TEST(NetlinkKernel, RefusalsCarryErrnoAndWhat)
{
    inNamespace([](Socket &socket) {
        EXPECT_EQ(findLink(socket, "ib99").error().code, ENODEV);
        const Link none{.index = 9999, .name = "ib99", .kind = {}, .address = {}, .ipoib = {}};
        const auto up = setUp(socket, none, true);
        ASSERT_FALSE(up);
        EXPECT_EQ(up.error().code, ENODEV);
        EXPECT_EQ(up.error().context, "ib99: set up");
        // No parent, or no such kind of interface in this kernel.
        EXPECT_FALSE(addIpoibChild(socket, linkOf(socket, "lo"), "lo.8001", 0x8001));
    });
}

Message loopbackAddress(int type, int index, std::uint8_t last)
{
    Message message(type, type == RTM_NEWADDR ? NLM_F_CREATE | NLM_F_EXCL : 0);
    ifaddrmsg fixed{};
    fixed.ifa_family = AF_INET;
    fixed.ifa_prefixlen = 32;
    fixed.ifa_index = static_cast<unsigned>(index);
    message.header(fixed);
    message.put(IFA_LOCAL, io::View(io::Bytes{10, 1, 2, last}));
    return message;
}

TEST(NetlinkKernel, OfABatchEachIsAnswered)
{
    inNamespace([](Socket &socket) {
        const Link lo = linkOf(socket, "lo");
        std::vector<Message> batch;
        for (unsigned i = 0; i < 200; ++i) // more than go out at once
            batch.push_back(loopbackAddress(RTM_NEWADDR, lo.index, static_cast<std::uint8_t>(i)));
        batch.push_back(loopbackAddress(RTM_NEWADDR, lo.index, 5));
        batch.push_back(loopbackAddress(RTM_NEWADDR, lo.index, 201));
        batch.push_back(loopbackAddress(RTM_DELADDR, lo.index, 202));
        const auto answers = socket.requestAll(batch);
        ASSERT_TRUE(answers) << answers.error().text();
        ASSERT_EQ(answers->size(), batch.size());
        for (std::size_t i = 0; i < batch.size(); ++i)
            EXPECT_EQ((*answers)[i].code, i == 200 ? EEXIST : i == 202 ? EADDRNOTAVAIL : 0) << i;
        // What is asked for next is answered as well.
        const auto all = addresses(socket);
        ASSERT_TRUE(all) << all.error().text();
        EXPECT_EQ(all->size(), 201u);
        EXPECT_TRUE(setMtu(socket, lo, 1400));
        EXPECT_TRUE(socket.requestAll({}));
        EXPECT_EQ(linkOf(socket, "lo").mtu, 1400u);
    });
}

} // namespace
} // namespace openipoib::netlink
