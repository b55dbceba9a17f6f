// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What openib prints: one JSON document per answer, and the text for humans is
// rendered from it.
#pragma once

#include "conf/openib/run.hpp"
#include "conf/settings.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace openipoib::openib
{

using Json = nlohmann::ordered_json;

// missing: what a start would still have to do, and what it could not.
[[nodiscard]] Json statusDocument(const State &state, const Plan &missing,
                                  const std::vector<Stale> &stale);
[[nodiscard]] Json settingsDocument(const conf::Settings &settings);
[[nodiscard]] Json diagnosticsDocument(const conf::Diagnostics &diagnostics,
                                       const std::string &file);
[[nodiscard]] Json outcomeDocument(const Outcome &outcome, std::string_view action);

[[nodiscard]] std::string statusText(const Json &status);
[[nodiscard]] std::string settingsText(const Json &settings);

} // namespace openipoib::openib
