// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a node's agents answer with: attributes, their fields, statuses.
#pragma once

#include "ib/fields.hpp"

#include <array>
#include <cstdint>

namespace openipoib::fabric
{

using Attribute = std::array<std::uint8_t, IB_SMP_DATA_SIZE>;

using ib::getField;
using ib::getField64;
using ib::setField;
using ib::setField64;

// The status of a response, IBA volume 1, 13.4.7.
enum class MadStatus : std::uint16_t {
    ok = 0,
    badVersion = 0x04,
    badMethod = 0x08,
    badAttribute = 0x0C,
    badField = 0x1C,
};

} // namespace openipoib::fabric
