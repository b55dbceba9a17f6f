// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Give interfaces back what they had before ib_ipoib was unloaded. Pure.
#pragma once

#include "conf/openib/kept.hpp"
#include "conf/openib/state.hpp"
#include "conf/openib/step.hpp"

#include <optional>
#include <string>
#include <vector>

namespace openipoib::openib
{

// The steps by which @interface gets the mode of @kept, if it has modes
[[nodiscard]] std::vector<Step> restoreMode(const Interface &kept, const Interface &interface);
// the same for umcast, rings, queues and moderation
[[nodiscard]] std::vector<Step> restoreQueues(const Interface &kept, const Interface &interface);

// The MTU in bytes that somebody has set. An IB MTU (256 to 4096) less 4 is the group's
// (RFC 4391, 5), which may be another one when the interface is back: nullopt.
[[nodiscard]] std::optional<unsigned> ownMtu(const Interface &interface);

// What a step asks for.
[[nodiscard]] netlink::Rings ringsIn(const Step &step);
[[nodiscard]] netlink::Moderation moderationIn(const Step &step);
// What @interface has after a step of restoreQueues()
void predictRestored(const Step &step, Interface &interface);

// What the interfaces have now, and what was kept of those that may come back.
[[nodiscard]] Kept worthKeeping(const State &state);
// What was kept, without that of interface @only if it is there again and of those children of
// it that are not: it has been restored, or could not be. With @only empty that is so of any
// interface that is there, also of one that has not been away.
[[nodiscard]] Kept withoutRestored(const State &state, const std::string &only);
[[nodiscard]] Step keepStep(const Kept &kept);

} // namespace openipoib::openib
