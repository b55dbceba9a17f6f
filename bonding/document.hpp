// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What ib-bond answers: documents, and the text that is made of them.
#pragma once

#include "bonding/plan.hpp"
#include "bonding/run.hpp"

#include <nlohmann/json_fwd.hpp>

namespace openipoib::bonding
{

using Json = nlohmann::ordered_json;

// One bond, with what is wrong about it; a bond that has gone with its slaves
// is one that is only recorded.
[[nodiscard]] Json statusDocument(const State &state, const std::string &bond);
[[nodiscard]] std::string statusText(const Json &status);

// What has been done, or would be.
[[nodiscard]] Json outcomeDocument(const std::string &bond, const std::vector<Step> &steps,
                                   const Outcome &outcome, const Plan &plan);

} // namespace openipoib::bonding
