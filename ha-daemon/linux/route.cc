// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/route.hpp"

#include "ha-daemon/linux/attributes.hpp"
#include "ha-daemon/linux/legs.hpp"
#include "ha-daemon/linux/pieces.hpp"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <algorithm>
#include <optional>

namespace openipoib::ha
{

namespace
{

constexpr unsigned addressBits = 32;

// The first @bits of it
io::Bytes prefixOf(io::View address, unsigned bits)
{
    io::Bytes out(address.begin(), address.end());
    for (unsigned at = bits; at < out.size() * 8; ++at)
        out[at / 8] &= static_cast<std::uint8_t>(~(0x80U >> at % 8));
    return out;
}

// An IPv4 address as the kernel makes a route of it
struct Connected {
    io::Bytes local;
    io::Bytes prefix;
    unsigned bits = 0;
    std::uint32_t metric = 0;
    bool routed = true;

    [[nodiscard]] bool reaches(io::View address) const { return prefixOf(address, bits) == prefix; }
};

std::optional<Connected> connectedOf(const Item &item)
{
    ifaddrmsg fixed{};
    if (item.kind != Kind::address4 || !fixedPart(item.body, fixed))
        return std::nullopt;
    Connected out{.local = addressBytes(item), .prefix = {}, .bits = fixed.ifa_prefixlen};
    io::Bytes peer = out.local;
    eachAttribute(attributesOf<ifaddrmsg>(item.body), [&](int type, io::View value) {
        if (type == IFA_ADDRESS)
            peer.assign(value.begin(), value.end());
        else if (type == IFA_RT_PRIORITY)
            out.metric = numberIn(value);
        else if (type == IFA_FLAGS && numberIn(value) & IFA_F_NOPREFIXROUTE)
            out.routed = false;
    });
    out.prefix = prefixOf(peer, out.bits);
    out.routed = out.routed && !(out.bits == addressBits && peer == out.local);
    return out;
}

Item begin(const rtmsg &fixed)
{
    Item item;
    item.kind = Kind::standIn;
    putFixed(item.body, fixed);
    return item;
}

// Nothing is worse than the worst metric.
std::optional<Item> finish(Item item, std::uint32_t metric)
{
    if (metric == UINT32_MAX)
        return std::nullopt;
    putAttribute(item.body, RTA_PRIORITY, metric + 1);
    item.key = routeKey(item.kind, wordsOf(item.body));
    return item;
}

std::optional<Item> forAddress(const Connected &address, std::uint32_t table)
{
    if (!address.routed)
        return std::nullopt;
    rtmsg fixed{};
    fixed.rtm_family = AF_INET;
    fixed.rtm_dst_len = static_cast<unsigned char>(address.bits);
    fixed.rtm_table = static_cast<unsigned char>(table <= UINT8_MAX ? table : 0U);
    fixed.rtm_protocol = standInProtocol;
    fixed.rtm_scope = RT_SCOPE_LINK;
    fixed.rtm_type = RTN_UNICAST;
    Item item = begin(fixed);
    putAttribute(item.body, RTA_TABLE, table);
    putAttribute(item.body, RTA_DST, io::View(address.prefix));
    putAttribute(item.body, RTA_PREFSRC, io::View(address.local));
    return finish(std::move(item), address.metric);
}

// Of several legs one would have to stand in for itself among others: not done.
std::optional<Item> forRoute(const Item &route, const std::vector<Connected> &addresses)
{
    rtmsg fixed{};
    if (route.kind != Kind::route4 || addresses.empty() || !fixedPart(route.body, fixed))
        return std::nullopt;
    fixed.rtm_protocol = standInProtocol;
    Item item = begin(fixed);
    bool several = false;
    bool sourced = false;
    auto from = addresses.begin();
    std::uint32_t metric = 0;
    eachAttribute(attributesOf<rtmsg>(route.body), [&](int type, io::View value) {
        several = several || type == RTA_MULTIPATH;
        sourced = sourced || type == RTA_PREFSRC;
        if (type == RTA_PRIORITY) {
            metric = numberIn(value);
            return;
        }
        putAttribute(item.body, type, value);
        if (type != RTA_GATEWAY)
            return;
        const auto near = std::ranges::find_if(
            addresses, [&](const Connected &one) { return one.reaches(value); });
        if (near != addresses.end())
            from = near;
    });
    if (several)
        return std::nullopt;
    // The other interface has no address to choose.
    if (!sourced)
        putAttribute(item.body, RTA_PREFSRC, io::View(from->local));
    return finish(std::move(item), metric);
}

} // namespace

RouteWords wordsOf(io::View body)
{
    RouteWords words;
    rtmsg fixed{};
    if (!fixedPart(body, fixed))
        return words;
    words.table = fixed.rtm_table;
    words.tos = fixed.rtm_tos;
    eachAttribute(attributesOf<rtmsg>(body), [&](int type, io::View value) {
        if (type == RTA_TABLE)
            words.table = numberIn(value);
        else if (type == RTA_PRIORITY)
            words.metric = numberIn(value);
        else if (type == RTA_DST)
            words.destination =
                addressText(fixed.rtm_family, value) + "/" + std::to_string(fixed.rtm_dst_len);
        else if (type == RTA_GATEWAY)
            words.gateway = addressText(fixed.rtm_family, value);
        else if (type == RTA_MULTIPATH && fixed.rtm_family == AF_INET6)
            words.gateway = gatewaysOf(value);
        else if (type == RTA_PREFSRC)
            words.source = addressText(fixed.rtm_family, value);
    });
    return words;
}

std::string routeKey(Kind kind, const RouteWords &words)
{
    std::string key = words.destination;
    if (kind != Kind::route4 && !words.gateway.empty())
        key += " via " + words.gateway;
    if (kind == Kind::standIn)
        key += " src " + words.source;
    if (words.table != RT_TABLE_MAIN)
        key += " table " + std::to_string(words.table);
    if (words.metric)
        key += " metric " + std::to_string(words.metric);
    if (words.tos)
        key += " tos " + std::to_string(words.tos);
    return key;
}

std::vector<StandIn> standInsFor(const Items &items, std::uint32_t table)
{
    std::vector<Connected> addresses;
    std::vector<StandIn> out;
    std::vector<std::string> made;
    const auto take = [&](const Item &of, std::optional<Item> route) {
        if (!route)
            return;
        const std::string destination = routeKey(Kind::route4, wordsOf(route->body));
        if (std::ranges::find(made, destination) != made.end())
            return;
        made.push_back(destination);
        out.push_back({of, std::move(*route)});
    };
    for (const auto &item : items)
        if (auto address = connectedOf(item)) {
            take(item, forAddress(*address, table));
            addresses.push_back(std::move(*address));
        }
    for (const auto &item : items)
        take(item, forRoute(item, addresses));
    return out;
}

} // namespace openipoib::ha
