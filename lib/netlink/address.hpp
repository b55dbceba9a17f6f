// SPDX-License-Identifier: GPL-2.0-only OR MIT
// IPv4 and IPv6 addresses of interfaces.
#pragma once

#include "io/bytes.hpp"
#include "netlink/socket.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace openipoib::netlink
{

// What a message says of an address, all of it: what has no member of its own is in @others.
struct Address {
    int index = 0;                        // of its interface
    std::uint8_t family = 0;              // AF_INET, AF_INET6
    std::uint8_t prefix = 0;              // bits
    std::uint8_t scope = 0;               // RT_SCOPE_*
    std::uint32_t flags = 0;              // IFA_F_*
    std::string label;                    // IPv4
    io::Bytes local;                      // 4 or 16 bytes
    io::Bytes peer;                       // the other end of a point-to-point link, or empty
    io::Bytes broadcast;                  // IPv4, or empty
    std::uint32_t metric = 0;             // of the route to its network, 0: the kernel's
    std::uint8_t protocol = 0;            // who has made it, since Linux 5.18
    std::uint32_t valid = UINT32_MAX;     // seconds, UINT32_MAX: for ever
    std::uint32_t preferred = UINT32_MAX; // seconds
    io::Bytes others{};                   // further attributes, as they came

    // "10.0.0.1/24", "10.0.0.1 peer 10.0.0.2/32"
    [[nodiscard]] std::string text() const;
    // Whether its numbers have the length that those of its family have.
    [[nodiscard]] bool isWhole() const;
    bool operator==(const Address &) const = default;
};

// "10.0.0.1/24", "fd00::1"; without a prefix length all bits. nullopt: none.
[[nodiscard]] std::optional<Address> parseAddress(const std::string &text);
// One RTM_NEWADDR message, or nullopt when it is none or makes no sense.
[[nodiscard]] std::optional<Address> parseAddress(const nlmsghdr *message);

// What stands in such a message behind its header: decodeAddress(encodeAddress(a)) is a.
// nullopt: it makes no sense.
[[nodiscard]] std::optional<Address> decodeAddress(io::View payload);
[[nodiscard]] io::Bytes encodeAddress(const Address &address);

// Of every interface.
[[nodiscard]] io::Result<std::vector<Address>> addresses(Socket &socket);
// Errors: EEXIST.
[[nodiscard]] io::Result<void> addAddress(Socket &socket, const Address &address);
// Errors: EADDRNOTAVAIL.
[[nodiscard]] io::Result<void> removeAddress(Socket &socket, const Address &address);

} // namespace openipoib::netlink
