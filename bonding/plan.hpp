// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What to do. Pure: what is asked for and the state of the machine in, changes
// out, or why there will be none.
#pragma once

#include "bonding/request.hpp"
#include "bonding/state.hpp"
#include "bonding/step.hpp"

#include <string>
#include <vector>

namespace openipoib::bonding
{

struct Plan {
    std::vector<Change> changes;       // none: all is as asked for
    std::vector<std::string> refusals; // then there are no changes
    std::vector<std::string> notes;    // good to know
};

// The bond with all its slaves and addresses, whatever of it is there already.
[[nodiscard]] Plan planUp(const Request &request, const State &state);

// No bond, and its slaves as they were before. A record without a bond is the
// rest of a stop or of a bond that has gone with its slaves.
[[nodiscard]] Plan planDown(const std::string &bond, const State &state);

// Bonds that are ours to show and to remove: of IPoIB interfaces, or recorded.
[[nodiscard]] std::vector<std::string> ourBonds(const State &state);

} // namespace openipoib::bonding
