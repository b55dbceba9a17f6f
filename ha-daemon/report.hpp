// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the daemon says, as systemd's journal has it: a text, how grave it is, and fields by which
// programs find it. Each topic has an ID, which scripts/service/ipoib-ha.catalog explains.
#pragma once

#include "ha-daemon/core/event.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace openipoib::ha
{

// "": of no topic
[[nodiscard]] std::string_view messageId(Topic topic);

// "moved"; "other" has it as well
[[nodiscard]] std::string_view eventOf(Topic topic);

// As syslog has it
[[nodiscard]] int priorityOf(Severity severity);
[[nodiscard]] std::string_view textOf(Severity severity);

// "ib0+ib1: ib0 has failed"; @names: of the pair's interfaces
[[nodiscard]] std::string reportLine(const Both<std::string> &names, const Say &what);

// "NAME=value" each
[[nodiscard]] std::vector<std::string> reportFields(const Both<std::string> &names,
                                                    const Say &what);

// What `monitor` prints of it, which docs/ipoib-ha-monitor.schema.json describes. @at: when it was
// said
[[nodiscard]] nlohmann::json reportDocument(const Both<std::string> &names, const Say &what,
                                            std::chrono::system_clock::time_point at);

} // namespace openipoib::ha
