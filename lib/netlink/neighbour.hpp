// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Neighbours: which hardware address an IP address has on a link.
#pragma once

#include "io/bytes.hpp"
#include "netlink/socket.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace openipoib::netlink
{

struct Neighbour {
    int index = 0;           // of the interface
    std::uint8_t family = 0; // AF_INET, AF_INET6
    std::uint16_t state = 0; // NUD_*
    io::Bytes address;       // 4 or 16 bytes
    io::Bytes hardware;      // empty while it is not known

    // Whether it is one of those that the limits of the table are about.
    [[nodiscard]] bool isLimited() const;

    bool operator==(const Neighbour &) const = default;
};

// One RTM_NEWNEIGH message, or nullopt when it is none or makes no sense.
[[nodiscard]] std::optional<Neighbour> parseNeighbour(const nlmsghdr *message);

// Of every interface, of both families.
[[nodiscard]] io::Result<std::vector<Neighbour>> neighbours(Socket &socket);

} // namespace openipoib::netlink
