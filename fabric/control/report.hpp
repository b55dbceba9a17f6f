// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The state of a fabric as JSON documents.
#pragma once

#include "core/fabric.hpp"

#include <nlohmann/json.hpp>

namespace openipoib::fabric
{

// Everything but counters.
[[nodiscard]] nlohmann::json statusReport(const Fabric &fabric, Time now);
// Counters, and drops by reason, of the ports in this process: of one, of one
// node's (port 0), or of all.
[[nodiscard]] nlohmann::json counterReport(const Fabric &fabric, std::optional<PortRef> at);
[[nodiscard]] nlohmann::json faultReport(const Fabric &fabric, const Fault &fault, Time now);

} // namespace openipoib::fabric
