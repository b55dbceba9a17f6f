// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Where the ends of a `udp:` cable are, as people write it:
//
//   [LOCAL]:PORT=REMOTE:PORT   both known
//   =REMOTE:PORT               from any port
//   [LOCAL]:PORT               whoever comes with the key
//
// LOCAL and REMOTE are IPv4 addresses, names, or IPv6 addresses in brackets.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace openipoib::fabric
{

struct UdpEnd {
    std::string host; // "": any
    std::uint16_t port = 0;

    // "host:port", with brackets if need be.
    [[nodiscard]] static std::optional<UdpEnd> parse(std::string_view text);

    bool operator==(const UdpEnd &) const = default;
};

struct UdpEnds {
    UdpEnd local;
    std::optional<UdpEnd> remote;

    // Errors: what was expected, in words.
    [[nodiscard]] static std::expected<UdpEnds, std::string> parse(std::string_view text);

    bool operator==(const UdpEnds &) const = default;
};

} // namespace openipoib::fabric
