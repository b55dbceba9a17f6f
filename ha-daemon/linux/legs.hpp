// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The legs of a route over several interfaces (RTA_MULTIPATH). What is broken ends a list.
#pragma once

#include "io/bytes.hpp"

#include <map>
#include <string>

namespace openipoib::ha
{

// Interfaces, and what is to stand in their places
using Indexes = std::map<int, int>;

// The legs by this interface alone, without the kernel's word on whether they work.
[[nodiscard]] io::Bytes legsBy(io::View legs, int index);

// All legs, by other interfaces where @places has one, without the kernel's word.
[[nodiscard]] io::Bytes moveLegs(io::View legs, const Indexes &places);

// The gateways of IPv6 legs, " via " between them
[[nodiscard]] std::string gatewaysOf(io::View legs);

} // namespace openipoib::ha
