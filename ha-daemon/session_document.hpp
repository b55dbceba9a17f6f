// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What BFD sessions are like, as a part of the document of their pair.
#pragma once

#include "ha-daemon/core/session_report.hpp"

#include <nlohmann/json_fwd.hpp>

namespace openipoib::ha
{

// @names: of the interfaces of the pair
[[nodiscard]] nlohmann::json describe(const SessionsReport &report, const SessionPolicy &policy,
                                      const Both<std::string> &names);

// A line for each session that has come up, or is no longer.
[[nodiscard]] std::vector<std::string> changes(const SessionsReport &before,
                                               const SessionsReport &now,
                                               const SessionPolicy &policy,
                                               const Both<std::string> &names);

// @pair: of the document; "" if it has none
[[nodiscard]] std::string sessionsText(const nlohmann::json &pair);

} // namespace openipoib::ha
