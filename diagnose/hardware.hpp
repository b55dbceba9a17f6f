// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What stands in hardware addresses of IPoIB (RFC 4391, section 9.1.1) and in GIDs.
#pragma once

#include "ib/ipoib.hpp"
#include "io/bytes.hpp"

#include <algorithm>
#include <cstdint>

namespace openipoib::diagnose
{

inline constexpr std::size_t prefixBytes = 8; // of a GID; the GUID of the port follows

// The GID in a hardware address; empty: it is none of IPoIB
[[nodiscard]] inline io::View gidOf(io::View hardware)
{
    return hardware.size() == ib::HardwareAddress::size ? hardware.last(sizeof(ib::Gid))
                                                        : io::View();
}

// Whether who has it takes connections (RFC 4755, section 3.1)
[[nodiscard]] inline bool takesConnections(io::View hardware)
{
    constexpr std::uint8_t reliable = 0x80;
    return !hardware.empty() && (hardware.front() & reliable);
}

// Whether two GIDs are of one subnet, as far as both are GIDs
[[nodiscard]] inline bool isSamePrefix(io::View one, io::View other)
{
    return one.size() != sizeof(ib::Gid) || other.size() != sizeof(ib::Gid) ||
           std::ranges::equal(one.first(prefixBytes), other.first(prefixBytes));
}

} // namespace openipoib::diagnose
