// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Whether an interface can have the identity, as far as is seen of it alone and of the one that
// has it now. Pure functions.
#pragma once

#include "ha-daemon/core/view.hpp"

namespace openipoib::ha
{

// Why packets cannot go by it; "": they can. @port: why its port does not work.
[[nodiscard]] std::string whyDead(const Interface &interface, const std::string &port);

// Why it must not take over from @active even though it works; "": it may.
[[nodiscard]] std::string whyUnfit(const Interface &interface, const Interface &active);

} // namespace openipoib::ha
