// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Questions of subnet management (IBA volume 1, chapter 14) as MADs: to the port itself or to the
// other end of its link by a directed route, or to a LID.
#pragma once

#include "ib/mad.hpp"
#include "io/bytes.hpp"

#include <cstdint>
#include <span>

namespace openipoib::ib
{

enum class SmpAttribute : std::uint16_t {
    nodeDescription = 0x10,
    nodeInfo = 0x11,
    switchInfo = 0x12,
    portInfo = 0x15,
    slToVl = 0x17,
    smInfo = 0x20,
};

inline constexpr std::size_t smpDataAt = 64;

// @route: the ports to leave by, at most 63; none: the port that is asked from.
// @modifier: of the attribute; of a PortInfo, the number of the port
[[nodiscard]] io::Bytes directedQuestion(SmpAttribute attribute, std::uint32_t modifier,
                                         std::span<const std::uint8_t> route,
                                         std::uint64_t transaction);
[[nodiscard]] io::Bytes lidQuestion(SmpAttribute attribute, std::uint32_t modifier,
                                    std::uint64_t transaction);

// 0: what was asked for is in it.
[[nodiscard]] std::uint16_t smpStatus(io::View mad);

} // namespace openipoib::ib
