// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The way that packets to an address take from this host.
#pragma once

#include "io/bytes.hpp"
#include "netlink/socket.hpp"

#include <cstdint>
#include <optional>

namespace openipoib::netlink
{

struct Route {
    int index = 0;       // of the interface that they leave by
    std::uint8_t type{}; // RTN_*
    io::Bytes gateway{}; // 4 or 16 bytes, of whatever family; empty: none

    bool operator==(const Route &) const = default;
};

// One RTM_NEWROUTE message, or nullopt when it is none, or leads to no interface.
[[nodiscard]] std::optional<Route> parseRoute(const nlmsghdr *message);

// @address: 4 or 16 bytes. @index: of the interface of a link-local one, or of the VRF to look in;
// 0: any. Errors: ENETUNREACH and others, there is none.
[[nodiscard]] io::Result<Route> routeTowards(Socket &socket, io::View address, int index);

} // namespace openipoib::netlink
