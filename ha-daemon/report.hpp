// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the daemon says, as systemd's journal has it: a text, how grave it is, and fields by which
// programs find it. Each topic has an ID, which scripts/service/ipoib-ha.catalog explains.
#pragma once

#include "ha-daemon/core/event.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace openipoib::ha
{

// "": of no topic
[[nodiscard]] std::string_view messageId(Topic topic);

// As syslog has it
[[nodiscard]] int priorityOf(Severity severity);

// "ib0+ib1: ib0 has failed"; @names: of the pair's interfaces
[[nodiscard]] std::string reportLine(const Both<std::string> &names, const Say &what);

// "NAME=value" each
[[nodiscard]] std::vector<std::string> reportFields(const Both<std::string> &names,
                                                    const Say &what);

} // namespace openipoib::ha
