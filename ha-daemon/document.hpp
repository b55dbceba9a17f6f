// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a pair is like, as a document; the text for people is made from it.
#pragma once

#include "ha-daemon/core/pair.hpp"

#include <nlohmann/json_fwd.hpp>

namespace openipoib::ha
{

// Times in it are seconds before @now.
[[nodiscard]] nlohmann::json describe(const Pair &pair, Time now);
[[nodiscard]] nlohmann::json decisions(const Pair &pair, Time now);

// @document: {"pairs": [...]}, as the daemon answers
[[nodiscard]] std::string statusText(const nlohmann::json &document);
[[nodiscard]] std::string explainText(const nlohmann::json &document);
[[nodiscard]] std::string metricsText(const nlohmann::json &document);

// All pairs have a good active interface and a standby that lacks nothing.
[[nodiscard]] bool isHealthy(const nlohmann::json &document);

} // namespace openipoib::ha
