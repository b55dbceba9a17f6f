// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a pair is like, as a document; the text for people is made from it.
#pragma once

#include "ha-daemon/core/roster.hpp"

#include <nlohmann/json_fwd.hpp>

namespace openipoib::ha
{

// Of what the daemon answers; another one when a member changes its meaning or goes. The schema
// has it, too.
inline constexpr unsigned documentVersion = 1;

// Times in it are seconds before @now.
[[nodiscard]] nlohmann::json describe(const Pair &pair, Time now);
[[nodiscard]] nlohmann::json decisions(const Pair &pair, Time now);

// What the daemon answers, which docs/ipoib-ha.schema.json describes. @pairs: of describeAll().
[[nodiscard]] nlohmann::json answerOf(nlohmann::json pairs);
// A pair in it. @groups: multicast groups that are kept joined; @outcome: of switchOutcome(), or
// null.
[[nodiscard]] nlohmann::json describeAll(const Pair &pair, Time now, std::size_t groups,
                                         const nlohmann::json &outcome);
// To that, of a pair with spare interfaces, what they are like. @name: of the pair, which does not
// change with the two that it is.
void addSpares(nlohmann::json &out, const Roster &roster, const std::string &name, Time now);
// What becomes of a pair that is to be switched. @whyNot: "" if it is switched.
[[nodiscard]] nlohmann::json switchOutcome(const std::string &to, const std::string &whyNot,
                                           bool dryRun);

// @document: {"pairs": [...]}, as the daemon answers
[[nodiscard]] std::string statusText(const nlohmann::json &document);
[[nodiscard]] std::string explainText(const nlohmann::json &document);
// What became of each pair that was to be switched.
[[nodiscard]] std::string switchText(const nlohmann::json &document);

// One that was to be switched was not.
[[nodiscard]] bool isRefused(const nlohmann::json &document);
// All interfaces work, the standby lacks nothing, and no change fails.
[[nodiscard]] bool isHealthyPair(const nlohmann::json &pair);
// All pairs are, and there is one.
[[nodiscard]] bool isHealthy(const nlohmann::json &document);

// One line. What is no UTF-8, as a client's or a driver's words may be, is replaced.
[[nodiscard]] std::string lineOf(const nlohmann::json &document);

} // namespace openipoib::ha
