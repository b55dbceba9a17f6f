// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The invariant CRC (IBA volume 1, section 7.8.1) of a packet.
#pragma once

#include "io/bytes.hpp"

#include <cstdint>

namespace openipoib::ib
{

inline constexpr std::size_t icrcSize = 4;

// CRC of a packet from its LRH to the end of the payload and pad, without the
// trailing ICRC. Fields that switches and routers may change count as ones.
// The four bytes of the result go onto the wire most significant first.
// Any bytes are accepted, however short or wrong.
[[nodiscard]] std::uint32_t icrc(io::View packet);

} // namespace openipoib::ib
