// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A global identifier (IBA volume 1, section 4.1.1): 16 bytes, most
// significant first.
#pragma once

#include "io/bytes.hpp"

#include <array>
#include <cstdint>

namespace openipoib::ib
{

using Gid = std::array<std::uint8_t, 16>;

inline constexpr std::uint64_t defaultPrefix = 0xFE80'0000'0000'0000;

[[nodiscard]] constexpr Gid makeGid(std::uint64_t prefix, std::uint64_t guid)
{
    Gid gid{};
    for (unsigned i = 0; i < 8; ++i) {
        gid[i] = io::bits<std::uint8_t>(prefix, 56 - 8 * i, 8);
        gid[8 + i] = io::bits<std::uint8_t>(guid, 56 - 8 * i, 8);
    }
    return gid;
}

// The MGID of an IPoIB group (RFC 4391, section 4): scope 2 is link-local;
// protocol 0x401B for IPv4, 0x601B for IPv6; group is the low 80 bits' tail,
// 0xFFFFFFFF for the broadcast group.
[[nodiscard]] constexpr Gid makeIpoibMgid(std::uint16_t protocol, std::uint16_t pkey,
                                          std::uint64_t group, std::uint8_t scope = 2)
{
    const std::uint64_t high = std::uint64_t{0xFF} << 56 |
                               std::uint64_t{0x10u | (scope & 0xFu)} << 48 |
                               std::uint64_t{protocol} << 32 | std::uint64_t{pkey} << 16;
    return makeGid(high, group);
}

inline constexpr std::uint16_t ipoibIpv4 = 0x401B;
inline constexpr std::uint16_t ipoibIpv6 = 0x601B;

} // namespace openipoib::ib
