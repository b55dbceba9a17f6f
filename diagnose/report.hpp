// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What diagnose prints: one JSON document (docs/openib-diagnose.schema.json), from which the text
// for people is rendered.
#pragma once

#include "diagnose/facts.hpp"
#include "diagnose/finding.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace openipoib::diagnose
{

enum class Verdict : int {
    healthy = 0,
    wrong = 2,
    nothing = 3, // to look at
};

// Healthy is a machine that has an interface: without any nothing works, whatever is right.
[[nodiscard]] Verdict verdictOf(const Facts &facts, const std::vector<Finding> &findings);

[[nodiscard]] nlohmann::ordered_json documentOf(const Facts &facts,
                                                const std::vector<Finding> &findings);
[[nodiscard]] std::string textOf(const nlohmann::ordered_json &document);
// The document itself; octets that are no UTF-8, in a name for example, are replaced.
[[nodiscard]] std::string printed(const nlohmann::ordered_json &document);

} // namespace openipoib::diagnose
