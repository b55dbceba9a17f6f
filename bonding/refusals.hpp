// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Why a bond is not made, in words.
#pragma once

#include "bonding/request.hpp"
#include "bonding/state.hpp"

#include <string>
#include <vector>

namespace openipoib::bonding
{

// Everything that stands in the way, not only the first; empty: nothing does.
[[nodiscard]] std::vector<std::string> refusals(const Request &request, const State &state);

// A bond that does nothing: down, without slaves and addresses, as the driver
// makes them when it is loaded without max_bonds=0.
[[nodiscard]] bool isUnused(const State &state, const std::string &bond);

} // namespace openipoib::bonding
