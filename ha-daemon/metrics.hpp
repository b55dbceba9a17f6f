// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The status of the daemon for Prometheus, in its text format 0.0.4.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace openipoib::ha
{

// With ipoib_ha_up 1. @document: of the daemon, as describe() makes its pairs. @now: when it was
// asked for.
[[nodiscard]] std::string metricsText(const nlohmann::json &document,
                                      std::chrono::system_clock::time_point now);

// What is said of a daemon that is not there: ipoib_ha_up 0, and nothing of its pairs.
[[nodiscard]] std::string absenceText();

} // namespace openipoib::ha
