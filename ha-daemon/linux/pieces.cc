// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/pieces.hpp"

#include "ha-daemon/linux/attributes.hpp"
#include "ha-daemon/linux/legs.hpp"
#include "ha-daemon/linux/route.hpp"
#include "netlink/address.hpp"

#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace openipoib::ha
{

namespace
{

using netlink::Link;
using netlink::Message;

// What an administrator may have set; the rest is the kernel's own.
constexpr std::uint32_t addressFlags =
    IFA_F_NODAD | IFA_F_HOMEADDRESS | IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN;
constexpr unsigned routeFlags = RTNH_F_PERVASIVE | RTNH_F_ONLINK;
constexpr unsigned ruleFlags = FIB_RULE_INVERT | FIB_RULE_FIND_SADDR;
constexpr unsigned peerStates = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;
// Since Linux 5.18: who has made an address; not all headers have it.
constexpr std::uint8_t byRouter = 2;
constexpr std::uint8_t kernelLinkLocal = 3;

io::View payload(const nlmsghdr *message)
{
    return {static_cast<const std::uint8_t *>(nlmsg_data(message)),
            static_cast<std::size_t>(nlmsg_datalen(message))};
}

// fe80:: and the GUID of the port, as the kernel makes it
bool isOwnLinkLocal(io::View address, const Link &link)
{
    if (address.size() != 16 || address[0] != 0xFE || (address[1] & 0xC0) != 0x80 ||
        link.address.size() != 20)
        return false;
    io::Bytes guid(link.address.end() - 8, link.address.end());
    guid[0] |= 2;
    return std::ranges::equal(guid, address.subspan(8));
}

// Of an IPv6 address: who announces or makes it, does so on the other interface as well.
bool isMadeByKernel(const netlink::Address &address, const Link &link)
{
    return isOwnLinkLocal(address.local, link) || address.protocol == byRouter ||
           address.protocol == kernelLinkLocal || (address.flags & IFA_F_TEMPORARY);
}

// The body has the label without the interface's name, and no times: those are the item's.
std::optional<Item> readAddress(io::View bytes, const Link &link, Time now)
{
    auto address = netlink::decodeAddress(bytes);
    if (!address || address->index != link.index)
        return std::nullopt;
    const bool six = address->family == AF_INET6;
    if (six && isMadeByKernel(*address, link))
        return std::nullopt;
    Item item;
    item.kind = six ? Kind::address6 : Kind::address4;
    item.key = address->text();
    item.valid = std::exchange(address->valid, forever);
    item.preferred = std::exchange(address->preferred, forever);
    if (item.valid != forever || item.preferred != forever)
        item.seen = now;
    address->index = 0;
    address->label = address->label.starts_with(link.name) ? address->label.substr(link.name.size())
                                                           : std::string();
    // No waiting for duplicates: the other owner is this host.
    address->flags = (address->flags & addressFlags) | (six ? std::uint32_t{IFA_F_NODAD} : 0);
    item.body = netlink::encodeAddress(*address);
    return item;
}

struct RouteParts {
    bool own = false;
    bool byObject = false;    // a nexthop object says where to
    std::int32_t expires = 0; // in clock ticks from now; 0: never, less: it has
};

// The kernel changes each leg of an IPv6 route by itself: others' legs are no part of the
// piece. Of an IPv4 route it changes all at once.
io::Bytes keepLegs(io::View legs, const Link &link, Kind kind)
{
    const io::Bytes own = legsBy(legs, link.index);
    if (own.empty())
        return {};
    return moveLegs(kind == Kind::route6 ? io::View(own) : legs, {{link.index, 0}});
}

RouteParts keepRoute(io::View from, const Link &link, Item &item)
{
    RouteParts parts;
    eachAttribute(from, [&](int type, io::View value) {
        if (type == RTA_OIF) {
            parts.own = parts.own || static_cast<int>(numberIn(value)) == link.index;
        } else if (type == RTA_MULTIPATH) {
            const io::Bytes legs = keepLegs(value, link, item.kind);
            parts.own = parts.own || !legs.empty();
            putAttribute(item.body, type, io::View(legs));
        } else if (type == RTA_CACHEINFO) {
            rta_cacheinfo info{};
            if (fixedPart(value, info))
                parts.expires = info.rta_expires;
        } else if (type != RTA_EXPIRES) {
            putAttribute(item.body, type, value);
        }
        parts.byObject = parts.byObject || type == RTA_NH_ID;
    });
    return parts;
}

// Routes of the kernel, and of routing daemons, which put them elsewhere themselves, and
// would not remove what they have not put there. Those of DHCP are to move: the address that
// they belong to moves as well, and its client knows of one interface alone.
bool isNotToMove(const rtmsg &fixed)
{
    static constexpr std::array theirs{
        RTPROT_KERNEL,  RTPROT_REDIRECT,   RTPROT_RA,       RTPROT_GATED, RTPROT_MRT,
        RTPROT_ZEBRA,   RTPROT_BIRD,       RTPROT_DNROUTED, RTPROT_XORP,  RTPROT_NTK,
        RTPROT_MROUTED, RTPROT_KEEPALIVED, RTPROT_BABEL,    RTPROT_OPENR, RTPROT_BGP,
        RTPROT_ISIS,    RTPROT_OSPF,       RTPROT_RIP,      RTPROT_EIGRP};
    return std::ranges::find(theirs, fixed.rtm_protocol) != theirs.end() ||
           fixed.rtm_type != RTN_UNICAST || (fixed.rtm_flags & RTM_F_CLONED);
}

// What is left of a route's life. False: nothing, and the kernel is about to remove it.
bool keepLife(std::int32_t expires, Time now, Item &item)
{
    if (expires > 0) {
        item.valid = static_cast<std::uint32_t>(expires / ::sysconf(_SC_CLK_TCK));
        item.seen = now;
    }
    return expires >= 0;
}

std::optional<Item> readRoute(io::View bytes, const Link &link, Time now)
{
    rtmsg fixed{};
    if (!fixedPart(bytes, fixed) || isNotToMove(fixed) ||
        (fixed.rtm_family != AF_INET && fixed.rtm_family != AF_INET6))
        return std::nullopt;
    Item item;
    item.kind = fixed.rtm_family == AF_INET ? Kind::route4 : Kind::route6;
    if (fixed.rtm_protocol == standInProtocol)
        item.kind = Kind::standIn;
    fixed.rtm_flags &= routeFlags;
    putFixed(item.body, fixed);
    const RouteParts parts = keepRoute(attributesOf<rtmsg>(bytes), link, item);
    const RouteWords words = wordsOf(item.body);
    if (!parts.own || parts.byObject || words.table == RT_TABLE_LOCAL ||
        !keepLife(parts.expires, now, item))
        return std::nullopt;
    item.key = routeKey(item.kind, words);
    return item;
}

// The name of the interface is left empty where it stands.
std::optional<Item> readRule(io::View bytes, const Link &link)
{
    fib_rule_hdr fixed{};
    if (!fixedPart(bytes, fixed) || (fixed.family != AF_INET && fixed.family != AF_INET6))
        return std::nullopt;
    Item item;
    item.kind = Kind::rule;
    fixed.flags &= ruleFlags;
    putFixed(item.body, fixed);
    bool own = false;
    std::string where;
    std::uint32_t priority = 0;
    eachAttribute(attributesOf<fib_rule_hdr>(bytes), [&](int type, io::View value) {
        const bool named = type == FRA_IIFNAME || type == FRA_OIFNAME;
        if (named && textIn(value) == link.name) {
            own = true;
            where += type == FRA_IIFNAME ? " iif" : " oif";
            putAttribute(item.body, type, std::string_view());
        } else if (type != FRA_UNSPEC) {
            putAttribute(item.body, type, value);
        }
        if (type == FRA_PRIORITY)
            priority = numberIn(value);
    });
    if (!own)
        return std::nullopt;
    // Two rules may differ in anything at all.
    std::uint32_t sum = 2166136261U;
    for (const auto byte : item.body)
        sum = (sum ^ byte) * 16777619U;
    item.key = std::string(fixed.family == AF_INET ? "inet" : "inet6") + where + " pref " +
               std::to_string(priority) + " #" + std::to_string(sum);
    return item;
}

std::optional<Item> readNeighbour(io::View bytes, const Link &link)
{
    ndmsg fixed{};
    if (!fixedPart(bytes, fixed) || fixed.ndm_ifindex != link.index ||
        (fixed.ndm_family != AF_INET && fixed.ndm_family != AF_INET6) ||
        (fixed.ndm_flags & NTF_PROXY) || !(fixed.ndm_state & (peerStates | NUD_PERMANENT)))
        return std::nullopt;
    Item item;
    item.kind = fixed.ndm_state & NUD_PERMANENT ? Kind::neighbour : Kind::peer;
    const unsigned char family = fixed.ndm_family;
    fixed = {};
    fixed.ndm_family = family;
    // A peer's address is used at once, and asked for again when it has been.
    fixed.ndm_state = item.kind == Kind::neighbour ? NUD_PERMANENT : NUD_STALE;
    putFixed(item.body, fixed);
    bool known = false;
    eachAttribute(attributesOf<ndmsg>(bytes), [&](int type, io::View value) {
        if (type == NDA_DST)
            item.key = addressText(family, value);
        known = known || type == NDA_LLADDR;
        if (type == NDA_DST || type == NDA_LLADDR)
            putAttribute(item.body, type, value);
    });
    if (!known || item.key.empty())
        return std::nullopt;
    return item;
}

std::uint32_t remaining(std::uint32_t seconds, Time since)
{
    if (seconds == forever)
        return forever;
    const auto gone = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    return gone >= seconds ? 0 : seconds - static_cast<std::uint32_t>(gone);
}

// @now: when it is given to the interface; nullopt: it is taken away, whatever label it has.
io::Bytes addressBody(const Item &item, int index, const std::string &name, std::optional<Time> now)
{
    auto address = netlink::decodeAddress(item.body);
    if (!address)
        return {};
    address->index = index;
    if (!now)
        address->label.clear();
    else if (item.kind == Kind::address4)
        address->label = name + address->label;
    if (now) {
        address->valid = remaining(item.valid, *now - item.seen);
        address->preferred = remaining(item.preferred, *now - item.seen);
    }
    return netlink::encodeAddress(*address);
}

io::Bytes routeBody(const Item &item, int index, const Indexes &moved)
{
    io::Bytes out;
    rtmsg fixed{};
    if (!fixedPart(item.body, fixed))
        return out;
    putFixed(out, fixed);
    bool multipath = false;
    Indexes places = moved;
    places[0] = index;
    eachAttribute(attributesOf<rtmsg>(item.body), [&](int type, io::View value) {
        multipath = multipath || type == RTA_MULTIPATH;
        putAttribute(out, type, type == RTA_MULTIPATH ? io::View(moveLegs(value, places)) : value);
    });
    if (!multipath)
        putAttribute(out, RTA_OIF, static_cast<std::uint32_t>(index));
    return out;
}

io::Bytes ruleBody(const Item &item, const std::string &name)
{
    io::Bytes out;
    fib_rule_hdr fixed{};
    if (!fixedPart(item.body, fixed))
        return out;
    putFixed(out, fixed);
    eachAttribute(attributesOf<fib_rule_hdr>(item.body), [&](int type, io::View value) {
        if ((type == FRA_IIFNAME || type == FRA_OIFNAME) && textIn(value).empty())
            putAttribute(out, type, name);
        else
            putAttribute(out, type, value);
    });
    return out;
}

io::Bytes neighbourBody(const Item &item, int index)
{
    io::Bytes out = item.body;
    ndmsg fixed{};
    if (!fixedPart(out, fixed))
        return out;
    fixed.ndm_ifindex = index;
    std::memcpy(out.data(), &fixed, sizeof fixed);
    return out;
}

io::Bytes bodyFor(const Item &item, int index, const std::string &name, std::optional<Time> now,
                  const Indexes &moved)
{
    switch (item.kind) {
    case Kind::address4:
    case Kind::address6:
        return addressBody(item, index, name, now);
    case Kind::rule:
        return ruleBody(item, name);
    case Kind::route4:
    case Kind::route6:
    case Kind::standIn:
        return routeBody(item, index, moved);
    case Kind::neighbour:
    case Kind::peer:
        return neighbourBody(item, index);
    }
    return {};
}

struct MessageTypes {
    int put = 0;
    int drop = 0;
    int flags = 0; // of put
};

MessageTypes typesOf(const Item &item)
{
    switch (item.kind) {
    case Kind::address4:
    case Kind::address6:
        return {RTM_NEWADDR, RTM_DELADDR, NLM_F_CREATE | NLM_F_EXCL};
    case Kind::rule:
        return {RTM_NEWRULE, RTM_DELRULE, NLM_F_CREATE | NLM_F_EXCL};
    case Kind::route4:
        return {RTM_NEWROUTE, RTM_DELROUTE, NLM_F_CREATE | NLM_F_REPLACE};
    case Kind::neighbour:
    case Kind::peer:
        return {RTM_NEWNEIGH, RTM_DELNEIGH, NLM_F_CREATE | NLM_F_REPLACE};
    case Kind::route6: // beside its other legs
    case Kind::standIn:
        return {RTM_NEWROUTE, RTM_DELROUTE, NLM_F_CREATE | NLM_F_APPEND};
    }
    return {};
}

} // namespace

std::optional<Item> readPiece(const nlmsghdr *message, const Link &link, Time now)
{
    switch (message->nlmsg_type) {
    case RTM_NEWADDR:
        return readAddress(payload(message), link, now);
    case RTM_NEWROUTE:
        return readRoute(payload(message), link, now);
    case RTM_NEWRULE:
        return readRule(payload(message), link);
    case RTM_NEWNEIGH:
        return readNeighbour(payload(message), link);
    default:
        return std::nullopt;
    }
}

Message putMessage(const Item &item, int index, const std::string &name, Time now,
                   const Indexes &moved)
{
    const MessageTypes types = typesOf(item);
    io::Bytes body = bodyFor(item, index, name, now, moved);
    // Its end may come before the kernel hears of it, but it comes.
    if (item.kind == Kind::route6 && item.valid != forever)
        putAttribute(body, RTA_EXPIRES, std::max(remaining(item.valid, now - item.seen), 1U));
    Message message(types.put, types.flags);
    message.append(body);
    return message;
}

Message dropMessage(const Item &item, int index, const std::string &name)
{
    Message message(typesOf(item).drop, 0);
    message.append(bodyFor(item, index, name, std::nullopt, {}));
    return message;
}

io::Bytes addressBytes(const Item &item)
{
    const auto address = item.isAddress() ? netlink::decodeAddress(item.body) : std::nullopt;
    return address ? address->local : io::Bytes{};
}

std::optional<Peer> peerOf(const Item &item)
{
    if (item.kind != Kind::neighbour && item.kind != Kind::peer)
        return std::nullopt;
    Peer peer;
    eachAttribute(attributesOf<ndmsg>(item.body), [&](int type, io::View value) {
        if (type == NDA_DST)
            peer.address.assign(value.begin(), value.end());
        else if (type == NDA_LLADDR)
            peer.hardware.assign(value.begin(), value.end());
    });
    return peer;
}

} // namespace openipoib::ha
