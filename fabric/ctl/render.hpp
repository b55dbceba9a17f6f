// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A fabric's documents as text for people.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace openipoib::fabric
{

[[nodiscard]] std::string statusText(const nlohmann::json &status);
[[nodiscard]] std::string faultsText(const nlohmann::json &faults);
[[nodiscard]] std::string countersText(const nlohmann::json &counters);
// Nodes and links, as lines of text, or for Graphviz.
[[nodiscard]] std::string topologyText(const nlohmann::json &status);
[[nodiscard]] std::string topologyDot(const nlohmann::json &status);

} // namespace openipoib::fabric
