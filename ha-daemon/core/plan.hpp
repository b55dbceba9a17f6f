// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What has to be changed so that one interface has an identity and the other has
// nothing of it. Pure functions of what is seen.
#pragma once

#include "ha-daemon/core/step.hpp"
#include "ha-daemon/core/view.hpp"

#include <functional>

namespace openipoib::ha
{

// Of what an interface has, what belongs to its identity.
[[nodiscard]] Items identityOf(const Interface &interface);

// The pieces that @active lacks, in the order of their kinds.
[[nodiscard]] Steps planPuts(const Items &identity, const Interface &active);

// What @from has learnt of peers and @to has not. @anew: also what it has learnt
// otherwise.
[[nodiscard]] Steps planPeers(const Interface &from, const Interface &to, bool anew);

// What @standby still has of the identity, in the opposite order; only what
// @active has already, so that nothing is ever on neither.
[[nodiscard]] Steps planDrops(const Items &identity, const Interface &active,
                              const Interface &standby);

// What makes @standby fit to take over from @active: mode, MTU, settings. @wake:
// it may be set up.
[[nodiscard]] Steps planStandby(const Interface &active, const Interface &standby, bool wake);

// Settings that an interface of a pair needs whatever it has now.
[[nodiscard]] Steps planGuard(const Interface &interface);

// Whether @name is one of those.
[[nodiscard]] bool isGuard(const std::string &name);

// What will be seen once @step has been done.
void predict(const Step &step, Lane &lane);

} // namespace openipoib::ha
