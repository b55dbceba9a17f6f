// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Do the changes of a plan; when one fails, undo those before it or stop there.
#pragma once

#include "bonding/system.hpp"

#include <string>
#include <vector>

namespace openipoib::bonding
{

// stop: for what can be begun again where it has ended.
enum class OnFailure { undo, stop };

struct Outcome {
    std::vector<Step> done;             // and not undone
    std::string failure;                // the step and why; "" if there was none
    std::vector<std::string> notUndone; // steps of the way back that failed, too
};

[[nodiscard]] Outcome run(System &system, const std::vector<Change> &changes, OnFailure onFailure);

} // namespace openipoib::bonding
