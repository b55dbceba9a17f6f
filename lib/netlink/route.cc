// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/route.hpp"

#include "netlink/attributes.hpp"

#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace openipoib::netlink
{

namespace
{

constexpr unsigned bitsOfOctet = 8;

} // namespace

std::optional<Route> parseRoute(const nlmsghdr *message)
{
    rtmsg fixed{};
    const auto length = static_cast<std::size_t>(nlmsg_datalen(message));
    if (message->nlmsg_type != RTM_NEWROUTE || length < sizeof fixed)
        return std::nullopt;
    const io::View payload(static_cast<const std::uint8_t *>(nlmsg_data(message)), length);
    std::memcpy(&fixed, payload.data(), sizeof fixed);
    Route route{.type = fixed.rtm_type};
    eachAttribute(payload.subspan(sizeof fixed), [&](int type, io::View value) {
        if (type == RTA_OIF && value.size() == sizeof route.index)
            std::memcpy(&route.index, value.data(), sizeof route.index);
        else if (type == RTA_GATEWAY)
            route.gateway.assign(value.begin(), value.end());
        // A family, and the address
        else if (type == RTA_VIA && value.size() > sizeof(rtvia))
            route.gateway.assign(value.begin() + sizeof(rtvia), value.end());
    });
    return route.index > 0 ? std::optional(std::move(route)) : std::nullopt;
}

io::Result<Route> routeTowards(Socket &socket, io::View address, int index)
{
    constexpr auto what = "route";
    rtmsg fixed{};
    fixed.rtm_family = address.size() == sizeof(in_addr) ? AF_INET : AF_INET6;
    fixed.rtm_dst_len = static_cast<std::uint8_t>(address.size() * bitsOfOctet);
    Message request(RTM_GETROUTE, 0);
    request.header(fixed);
    request.put(RTA_DST, address);
    if (index > 0)
        request.put(RTA_OIF, std::int32_t{index});
    std::optional<Route> route;
    const auto done = socket.ask(request, what, [&](nlmsghdr *answer) {
        if (!route)
            route = parseRoute(answer);
    });
    if (!done)
        return std::unexpected(done.error());
    if (!route)
        return io::fail(ENETUNREACH, what);
    return std::move(*route);
}

} // namespace openipoib::netlink
