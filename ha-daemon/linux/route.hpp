// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Routes as items: what they are called, and what stands in for them.
//
// A stand-in is an IPv4 route by the other interface to where an interface's address or
// route leads, with a metric that is worse by one, from an address that still is the
// first one's. While that has a link, nobody uses it.
#pragma once

#include "ha-daemon/core/item.hpp"

namespace openipoib::ha
{

// Who has made a route (rtm_protocol). Neither the kernel nor iproute2 knows this number
// as somebody's; routes with it are left to this daemon, and to the next.
inline constexpr unsigned char standInProtocol = 157;

struct RouteWords {
    std::uint32_t table = 0;
    std::uint32_t metric = 0;
    unsigned tos = 0;
    std::string destination = "default";
    std::string gateway;
    std::string source;
};

// Of a message without the interface
[[nodiscard]] RouteWords wordsOf(io::View body);

// An IPv6 route may have others to the same destination beside it, by other gateways, and
// a stand-in that is no longer right is another one.
[[nodiscard]] std::string routeKey(Kind kind, const RouteWords &words);

// What would stand in for an interface that has @items, each destination once. @table: that
// the kernel has the routes of its addresses in: RT_TABLE_MAIN, or a VRF's.
[[nodiscard]] std::vector<StandIn> standInsFor(const Items &items, std::uint32_t table);

} // namespace openipoib::ha
