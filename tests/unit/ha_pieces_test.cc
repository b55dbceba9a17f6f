// SPDX-License-Identifier: GPL-2.0-only OR MIT
// rtnetlink's messages as pieces of an identity, and what goes to the peers.
#include "ha-daemon/linux/announcer.hpp"
#include "ha-daemon/linux/attributes.hpp"
#include "ha-daemon/linux/pieces.hpp"
#include "ha-daemon/linux/route.hpp"

#include <gtest/gtest.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <array>
#include <cstring>
#include <map>
#include <string>

namespace openipoib::ha
{
namespace
{

using netlink::Message;

netlink::Link ib0()
{
    netlink::Link link;
    link.index = 4;
    link.name = "ib0";
    link.address = io::Bytes(20, 0x11);
    return link;
}

// A message as the kernel would send it
template <typename T> Message message(int type, const T &fixed)
{
    Message out(type, 0);
    out.header(fixed);
    return out;
}

template <typename T> std::map<int, io::Bytes> attributes(const Message &from)
{
    std::map<int, io::Bytes> out;
    const nlmsghdr *header = nlmsg_hdr(from.get());
    const io::View body(static_cast<const std::uint8_t *>(nlmsg_data(header)),
                        static_cast<std::size_t>(nlmsg_datalen(header)));
    eachAttribute(attributesOf<T>(body), [&](int type, io::View value) {
        out[type] = {value.begin(), value.end()};
    });
    return out;
}

std::optional<Item> read(const Message &from)
{
    return readPiece(nlmsg_hdr(from.get()), ib0(), Time(5'000'000));
}

Message address4(std::string_view label)
{
    ifaddrmsg fixed{};
    fixed.ifa_family = AF_INET;
    fixed.ifa_prefixlen = 24;
    fixed.ifa_index = 4;
    Message out = message(RTM_NEWADDR, fixed);
    out.put(IFA_LOCAL, io::View(io::Bytes{10, 0, 0, 1}));
    out.put(IFA_ADDRESS, io::View(io::Bytes{10, 0, 0, 1}));
    out.put(IFA_LABEL, label);
    out.put(IFA_FLAGS, std::uint32_t{IFA_F_PERMANENT | IFA_F_SECONDARY | IFA_F_NOPREFIXROUTE});
    ifa_cacheinfo times{};
    times.ifa_valid = 100;
    times.ifa_prefered = 50;
    out.put(IFA_CACHEINFO, io::View(reinterpret_cast<const std::uint8_t *>(&times), sizeof times));
    return out;
}

TEST(HaPieces, AnAddressGoesOverWithItsLabelAndWhatIsLeftOfItsLife)
{
    const auto item = read(address4("ib0:web"));
    ASSERT_TRUE(item);
    EXPECT_EQ(item->kind, Kind::address4);
    EXPECT_EQ(item->key, "10.0.0.1/24");
    EXPECT_EQ(addressBytes(*item), (io::Bytes{10, 0, 0, 1}));
    const Message put = putMessage(*item, 9, "ib1", Time(35'000'000));
    const auto *fixed = static_cast<const ifaddrmsg *>(nlmsg_data(nlmsg_hdr(put.get())));
    EXPECT_EQ(fixed->ifa_index, 9u);
    EXPECT_EQ(fixed->ifa_prefixlen, 24);
    auto found = attributes<ifaddrmsg>(put);
    EXPECT_EQ(textIn(found[IFA_LABEL]), "ib1:web");
    EXPECT_EQ(numberIn(found[IFA_FLAGS]), std::uint32_t{IFA_F_NOPREFIXROUTE});
    EXPECT_EQ(numberIn(found[IFA_CACHEINFO]), 20u) << "preferred";
    EXPECT_EQ(numberIn(io::View(found[IFA_CACHEINFO]).subspan(4)), 70u) << "valid";
    EXPECT_FALSE(attributes<ifaddrmsg>(dropMessage(*item, 9, "ib1")).contains(IFA_LABEL));
}

TEST(HaPieces, TheKernelsOwnLinkLocalAddressStays)
{
    ifaddrmsg fixed{};
    fixed.ifa_family = AF_INET6;
    fixed.ifa_prefixlen = 64;
    fixed.ifa_index = 4;
    io::Bytes own{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x13, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11};
    Message kernels = message(RTM_NEWADDR, fixed);
    kernels.put(IFA_ADDRESS, io::View(own));
    EXPECT_FALSE(read(kernels));
    own[15] = 1;
    Message set = message(RTM_NEWADDR, fixed);
    set.put(IFA_ADDRESS, io::View(own));
    const auto item = read(set);
    ASSERT_TRUE(item);
    EXPECT_EQ(item->kind, Kind::address6);
    auto found = attributes<ifaddrmsg>(putMessage(*item, 9, "ib1", Time{}));
    EXPECT_TRUE(numberIn(found[IFA_FLAGS]) & IFA_F_NODAD);
}

// Whatever it is made from, and whoever has announced its prefix
TEST(HaPieces, WhatTheKernelMakesByItselfStays)
{
    constexpr int protocol = 11; // IFA_PROTO
    ifaddrmsg fixed{};
    fixed.ifa_family = AF_INET6;
    fixed.ifa_prefixlen = 64;
    fixed.ifa_index = 4;
    const io::Bytes random{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2};
    for (const auto &[by, stays] :
         {std::pair{0, false}, std::pair{2, true}, std::pair{3, true}, std::pair{99, false}}) {
        Message one = message(RTM_NEWADDR, fixed);
        one.put(IFA_ADDRESS, io::View(random));
        one.put(protocol, static_cast<std::uint8_t>(by));
        const auto item = read(one);
        EXPECT_NE(item.has_value(), stays) << by;
        if (!item)
            continue;
        // Who has set it goes over, too.
        auto found = attributes<ifaddrmsg>(putMessage(*item, 9, "ib1", Time{}));
        EXPECT_EQ(found.contains(protocol), by != 0);
        EXPECT_EQ(by == 0 || found[protocol] == io::Bytes{static_cast<std::uint8_t>(by)}, true);
    }
}

rtmsg route(unsigned char protocol)
{
    rtmsg fixed{};
    fixed.rtm_family = AF_INET;
    fixed.rtm_dst_len = 16;
    fixed.rtm_table = RT_TABLE_MAIN;
    fixed.rtm_protocol = protocol;
    fixed.rtm_type = RTN_UNICAST;
    fixed.rtm_flags = RTNH_F_LINKDOWN | RTNH_F_ONLINK;
    return fixed;
}

TEST(HaPieces, ARouteGoesOverToTheOtherDevice)
{
    Message from = message(RTM_NEWROUTE, route(RTPROT_STATIC));
    from.put(RTA_TABLE, std::uint32_t{77});
    from.put(RTA_DST, io::View(io::Bytes{10, 9, 0, 0}));
    from.put(RTA_OIF, std::uint32_t{4});
    from.put(RTA_PRIORITY, std::uint32_t{5});
    const auto item = read(from);
    ASSERT_TRUE(item);
    EXPECT_EQ(item->key, "10.9.0.0/16 table 77 metric 5");
    const Message put = putMessage(*item, 9, "ib1", Time{});
    EXPECT_EQ(static_cast<const rtmsg *>(nlmsg_data(nlmsg_hdr(put.get())))->rtm_flags,
              unsigned{RTNH_F_ONLINK});
    auto found = attributes<rtmsg>(put);
    EXPECT_EQ(numberIn(found[RTA_OIF]), 9u);
    EXPECT_EQ(numberIn(found[RTA_TABLE]), 77u);
}

TEST(HaPieces, RoutesOfTheKernelOfRoutingDaemonsAndOfOtherDevicesStay)
{
    for (const int protocol : {RTPROT_KERNEL, RTPROT_BIRD, RTPROT_ZEBRA, RTPROT_BGP}) {
        Message theirs = message(RTM_NEWROUTE, route(static_cast<unsigned char>(protocol)));
        theirs.put(RTA_OIF, std::uint32_t{4});
        EXPECT_FALSE(read(theirs)) << protocol;
    }
    Message others = message(RTM_NEWROUTE, route(RTPROT_STATIC));
    others.put(RTA_OIF, std::uint32_t{5});
    EXPECT_FALSE(read(others));
}

TEST(HaPieces, OfSeveralLegsOneGoesOver)
{
    Message from = message(RTM_NEWROUTE, route(RTPROT_STATIC));
    std::array<rtnexthop, 2> legs{};
    legs[0].rtnh_len = legs[1].rtnh_len = sizeof legs[0];
    legs[0].rtnh_ifindex = 7;
    legs[1].rtnh_ifindex = 4;
    legs[1].rtnh_flags = RTNH_F_DEAD | RTNH_F_LINKDOWN;
    from.put(RTA_MULTIPATH,
             io::View(reinterpret_cast<const std::uint8_t *>(legs.data()), sizeof legs));
    const auto item = read(from);
    ASSERT_TRUE(item);
    auto found = attributes<rtmsg>(putMessage(*item, 9, "ib1", Time{}));
    EXPECT_FALSE(found.contains(RTA_OIF));
    ASSERT_EQ(found[RTA_MULTIPATH].size(), sizeof legs);
    std::memcpy(legs.data(), found[RTA_MULTIPATH].data(), sizeof legs);
    EXPECT_EQ(legs[0].rtnh_ifindex, 7);
    EXPECT_EQ(legs[1].rtnh_ifindex, 9);
    EXPECT_EQ(legs[1].rtnh_flags, 0);
    // The other one moves at the same time.
    found = attributes<rtmsg>(putMessage(*item, 9, "ib1", Time{}, {{7, 12}}));
    std::memcpy(legs.data(), found[RTA_MULTIPATH].data(), sizeof legs);
    EXPECT_EQ(legs[0].rtnh_ifindex, 12);
    EXPECT_EQ(legs[1].rtnh_ifindex, 9);
    // One that is broken ends the list, and nothing else.
    legs[0].rtnh_len = 3;
    Message broken = message(RTM_NEWROUTE, route(RTPROT_STATIC));
    broken.put(RTA_MULTIPATH,
               io::View(reinterpret_cast<const std::uint8_t *>(legs.data()), sizeof legs));
    EXPECT_FALSE(read(broken));
}

// A leg of an IPv6 route, by a gateway that ends with @end
io::Bytes leg6(int index, unsigned char weight, std::uint8_t end)
{
    io::Bytes gateway(16);
    gateway[0] = 0xFD;
    gateway[15] = end;
    io::Bytes attribute;
    putAttribute(attribute, RTA_GATEWAY, io::View(gateway));
    rtnexthop fixed{};
    fixed.rtnh_len = static_cast<unsigned short>(sizeof fixed + attribute.size());
    fixed.rtnh_hops = weight;
    fixed.rtnh_ifindex = index;
    const auto *start = reinterpret_cast<const std::uint8_t *>(&fixed);
    io::Bytes out(start, start + sizeof fixed);
    io::append(out, attribute);
    return out;
}

Message route6(std::initializer_list<io::Bytes> legs)
{
    rtmsg fixed = route(RTPROT_STATIC);
    fixed.rtm_family = AF_INET6;
    fixed.rtm_dst_len = 64;
    Message out = message(RTM_NEWROUTE, fixed);
    out.put(RTA_DST, io::View(io::Bytes{0xFD, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    io::Bytes all;
    for (const auto &leg : legs)
        io::append(all, leg);
    out.put(RTA_MULTIPATH, io::View(all));
    return out;
}

TEST(HaPieces, OfAnIpv6RouteOnlyTheOwnLegsGoOver)
{
    const auto item = read(route6({leg6(7, 1, 1), leg6(4, 2, 2), leg6(8, 0, 3)}));
    ASSERT_TRUE(item);
    EXPECT_EQ(item->key, "fd08::/64 via fd00::2");
    const Message put = putMessage(*item, 9, "ib1", Time{}, {{7, 12}});
    auto found = attributes<rtmsg>(put);
    EXPECT_EQ(found[RTA_MULTIPATH], leg6(9, 2, 2));
    EXPECT_FALSE(found.contains(RTA_OIF));
    EXPECT_EQ(nlmsg_hdr(put.get())->nlmsg_flags & (NLM_F_APPEND | NLM_F_REPLACE), NLM_F_APPEND);
    found = attributes<rtmsg>(dropMessage(*item, 4, "ib0"));
    EXPECT_EQ(found[RTA_MULTIPATH], leg6(4, 2, 2));
    EXPECT_FALSE(read(route6({leg6(7, 1, 1), leg6(8, 0, 3)})));
    EXPECT_EQ(read(route6({leg6(4, 0, 2), leg6(4, 0, 5)}))->key,
              "fd08::/64 via fd00::2 via fd00::5");
}

Message expiringRoute6(std::int32_t expires)
{
    Message out = route6({leg6(4, 0, 2)});
    rta_cacheinfo info{};
    info.rta_expires = expires; // of the kernel's clock, a hundred a second
    out.put(RTA_CACHEINFO, io::View(reinterpret_cast<const std::uint8_t *>(&info), sizeof info));
    return out;
}

TEST(HaPieces, AnIpv6RouteGoesOverWithWhatIsLeftOfItsLife)
{
    const auto item = read(expiringRoute6(10000));
    ASSERT_TRUE(item);
    EXPECT_EQ(item->body, read(expiringRoute6(500))->body) << "the same piece, later";
    const auto expiresAt = [&item](Time now) {
        auto found = attributes<rtmsg>(putMessage(*item, 9, "ib1", now));
        return found.contains(RTA_EXPIRES) ? numberIn(found[RTA_EXPIRES]) : forever;
    };
    EXPECT_EQ(expiresAt(Time(35'000'000)), 70u);
    EXPECT_EQ(expiresAt(Time(500'000'000)), 1u) << "its end has come meanwhile";
    EXPECT_FALSE(attributes<rtmsg>(dropMessage(*item, 4, "ib0")).contains(RTA_EXPIRES));
    EXPECT_FALSE(read(expiringRoute6(-10))) << "what the kernel has yet to remove";
    const auto permanent = read(expiringRoute6(0));
    ASSERT_TRUE(permanent);
    EXPECT_FALSE(attributes<rtmsg>(putMessage(*permanent, 9, "ib1", Time{})).contains(RTA_EXPIRES));
}

Item addressItem(io::Bytes local, unsigned char bits, std::uint32_t flags = 0)
{
    ifaddrmsg fixed{};
    fixed.ifa_family = AF_INET;
    fixed.ifa_prefixlen = bits;
    fixed.ifa_index = 4;
    Message out = message(RTM_NEWADDR, fixed);
    out.put(IFA_LOCAL, io::View(local));
    out.put(IFA_ADDRESS, io::View(local));
    out.put(IFA_FLAGS, flags);
    return read(out).value_or(Item());
}

Item routeItem(io::Bytes gateway, std::uint32_t metric)
{
    Message out = message(RTM_NEWROUTE, route(RTPROT_STATIC));
    out.put(RTA_TABLE, std::uint32_t{RT_TABLE_MAIN});
    out.put(RTA_DST, io::View(io::Bytes{10, 9, 0, 0}));
    out.put(RTA_GATEWAY, io::View(gateway));
    out.put(RTA_OIF, std::uint32_t{4});
    out.put(RTA_PRIORITY, metric);
    return read(out).value_or(Item());
}

std::vector<std::string> keys(const std::vector<StandIn> &standIns)
{
    std::vector<std::string> out;
    out.reserve(standIns.size());
    for (const auto &one : standIns)
        out.push_back(one.route.key);
    return out;
}

TEST(HaRoutes, EachAddressAndRouteHasAStandInThatIsWorseByOne)
{
    const auto made = standInsFor({addressItem({10, 0, 0, 1}, 24), addressItem({10, 0, 0, 9}, 24),
                                   addressItem({10, 1, 2, 3}, 20), routeItem({10, 1, 0, 254}, 5)},
                                  RT_TABLE_MAIN);
    EXPECT_EQ(keys(made),
              (std::vector<std::string>{"10.0.0.0/24 src 10.0.0.1 metric 1",
                                        "10.1.0.0/20 src 10.1.2.3 metric 1",
                                        "10.9.0.0/16 via 10.1.0.254 src 10.1.2.3 metric 6"}));
    for (const auto &one : made)
        EXPECT_EQ(one.route.kind, Kind::standIn);
}

TEST(HaRoutes, AStandInForAnAddressInAVrfIsInItsTable)
{
    for (const std::uint32_t table : {10U, 1000U}) {
        const auto made = standInsFor({addressItem({10, 0, 0, 1}, 24)}, table);
        ASSERT_EQ(made.size(), 1u);
        EXPECT_EQ(made[0].route.key,
                  "10.0.0.0/24 src 10.0.0.1 table " + std::to_string(table) + " metric 1");
        const auto known = read(putMessage(made[0].route, 4, "ib0", Time{}));
        ASSERT_TRUE(known);
        EXPECT_EQ(known->key, made[0].route.key);
    }
}

TEST(HaRoutes, AStandInIsKnownAgain)
{
    for (const auto &[of, made] : standInsFor(
             {addressItem({10, 0, 0, 1}, 24), routeItem({10, 0, 0, 2}, 0)}, RT_TABLE_MAIN)) {
        Message put = putMessage(made, 4, "ib0", Time{});
        const auto *fixed = static_cast<const rtmsg *>(nlmsg_data(nlmsg_hdr(put.get())));
        EXPECT_EQ(fixed->rtm_type, RTN_UNICAST);
        EXPECT_EQ(numberIn(attributes<rtmsg>(put)[RTA_OIF]), 4u);
        const auto known = read(put);
        ASSERT_TRUE(known);
        EXPECT_EQ(known->kind, Kind::standIn);
        EXPECT_EQ(known->key, made.key);
        // Nobody stands in for a stand-in.
        EXPECT_TRUE(standInsFor({addressItem({10, 0, 0, 1}, 32), *known}, RT_TABLE_MAIN).empty());
    }
}

TEST(HaRoutes, WhatTheKernelMakesNoRouteForHasNoStandIn)
{
    EXPECT_TRUE(standInsFor({addressItem({10, 0, 0, 1}, 32)}, RT_TABLE_MAIN).empty());
    EXPECT_TRUE(
        standInsFor({addressItem({10, 0, 0, 1}, 24, IFA_F_NOPREFIXROUTE)}, RT_TABLE_MAIN).empty());
    EXPECT_TRUE(standInsFor({routeItem({10, 0, 0, 2}, 0)}, RT_TABLE_MAIN).empty())
        << "from what address?";
    EXPECT_EQ(standInsFor({addressItem({10, 0, 0, 1}, 32), routeItem({10, 0, 0, 2}, UINT32_MAX)},
                          RT_TABLE_MAIN)
                  .size(),
              0u)
        << "nothing is worse";
}

TEST(HaPieces, ARuleKeepsItsPlaceAndTakesTheOtherName)
{
    fib_rule_hdr fixed{};
    fixed.family = AF_INET;
    fixed.action = FR_ACT_TO_TBL;
    Message from = message(RTM_NEWRULE, fixed);
    from.put(FRA_IIFNAME, "ib0");
    from.put(FRA_PRIORITY, std::uint32_t{100});
    const auto item = read(from);
    ASSERT_TRUE(item);
    EXPECT_TRUE(item->key.starts_with("inet iif pref 100")) << item->key;
    auto found = attributes<fib_rule_hdr>(putMessage(*item, 9, "ib1", Time{}));
    EXPECT_EQ(textIn(found[FRA_IIFNAME]), "ib1");
    Message others = message(RTM_NEWRULE, fixed);
    others.put(FRA_IIFNAME, "ib7");
    EXPECT_FALSE(read(others));
}

TEST(HaPieces, WhatIsCutShortIsNothing)
{
    Message from = address4("ib0");
    nlmsghdr *header = nlmsg_hdr(from.get());
    const unsigned whole = header->nlmsg_len;
    for (unsigned length = NLMSG_HDRLEN; length < whole; ++length) {
        header->nlmsg_len = length;
        const auto item = readPiece(header, ib0(), Time{});
        if (item) {
            EXPECT_EQ(item->key, "10.0.0.1/24");
        }
    }
}

TEST(HaAnnouncer, AnArpReplyNamesItselfTwice)
{
    const io::Bytes hardware(20, 0xAB);
    const io::Bytes packet = arpReply(hardware, io::Bytes{10, 0, 0, 1});
    ASSERT_EQ(packet.size(), 8u + 2 * 24);
    EXPECT_EQ((io::Bytes{packet.begin(), packet.begin() + 8}),
              (io::Bytes{0, 32, 8, 0, 20, 4, 0, 2}));
    EXPECT_TRUE(std::equal(packet.begin() + 8, packet.begin() + 32, packet.begin() + 32));
}

TEST(HaAnnouncer, AnArpProbeNamesNoSender)
{
    const io::Bytes hardware(20, 0xAB);
    const io::Bytes packet = arpProbe(hardware, io::Bytes{10, 0, 0, 2});
    ASSERT_EQ(packet.size(), 8u + 2 * 24);
    EXPECT_EQ((io::Bytes{packet.begin(), packet.begin() + 8}),
              (io::Bytes{0, 32, 8, 0, 20, 4, 0, 1}));
    EXPECT_EQ((io::Bytes{packet.begin() + 8, packet.begin() + 28}), hardware);
    EXPECT_EQ((io::Bytes{packet.begin() + 28, packet.begin() + 52}), io::Bytes(24));
    EXPECT_EQ((io::Bytes{packet.begin() + 52, packet.end()}), (io::Bytes{10, 0, 0, 2}));
}

TEST(HaAnnouncer, AGroupHasTheLinksScopeAndPartition)
{
    const io::Bytes broadcast{0, 0xFF, 0xFF, 0xFF, 0xFF, 0x12, 0x40, 0x1B, 0x80, 0x01,
                              0, 0,    0,    0,    0,    0,    0xFF, 0xFF, 0xFF, 0xFF};
    const io::Bytes group{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    EXPECT_EQ(groupHardware(broadcast, group),
              (io::Bytes{0, 0xFF, 0xFF, 0xFF, 0xFF, 0x12, 0x60, 0x1B, 0x80, 0x01,
                         0, 0,    0,    0,    0,    0,    0,    0,    0,    1}));
}

} // namespace
} // namespace openipoib::ha
