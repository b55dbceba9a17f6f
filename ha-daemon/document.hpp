// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a pair is like, as a document; the text for people is made from it.
#pragma once

#include "ha-daemon/core/pair.hpp"

#include <nlohmann/json_fwd.hpp>

namespace openipoib::ha
{

// Of what the daemon answers; another one when a member changes its meaning or goes.
inline constexpr unsigned documentVersion = 1;

// Times in it are seconds before @now.
[[nodiscard]] nlohmann::json describe(const Pair &pair, Time now);
[[nodiscard]] nlohmann::json decisions(const Pair &pair, Time now);

// @document: {"pairs": [...]}, as the daemon answers
[[nodiscard]] std::string statusText(const nlohmann::json &document);
[[nodiscard]] std::string explainText(const nlohmann::json &document);
// What became of each pair that was to be switched.
[[nodiscard]] std::string switchText(const nlohmann::json &document);

// One that was to be switched was not.
[[nodiscard]] bool isRefused(const nlohmann::json &document);
// Both interfaces work, the standby lacks nothing, and no change fails.
[[nodiscard]] bool isHealthyPair(const nlohmann::json &pair);
// All pairs are, and there is one.
[[nodiscard]] bool isHealthy(const nlohmann::json &document);

} // namespace openipoib::ha
