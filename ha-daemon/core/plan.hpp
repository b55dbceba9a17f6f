// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What has to be changed so that one interface has an identity and the other has
// nothing of it. Pure functions of what is seen.
#pragma once

#include "ha-daemon/core/journal.hpp"
#include "ha-daemon/core/step.hpp"
#include "ha-daemon/core/view.hpp"

namespace openipoib::ha
{

// Of what an interface has, what belongs to its identity.
[[nodiscard]] Items identityOf(const Interface &interface);

// The pieces that @active lacks, in the order of their kinds.
[[nodiscard]] Steps planPuts(const Items &identity, const Interface &active);

// What @from has learnt of peers and @to has not. @overwrite: also what both have
// learnt, each with another link-layer address.
[[nodiscard]] Steps planPeers(const Interface &from, const Interface &to, bool overwrite);

// What @standby still has of the identity, in the opposite order; only what
// @active has already, so that nothing is ever on neither.
[[nodiscard]] Steps planDrops(const Items &identity, const Interface &active,
                              const Interface &standby);

// What makes @standby fit to take over from @active: mode, MTU, settings. @wake:
// it may be set up.
[[nodiscard]] Steps planStandby(const Interface &active, const Interface &standby, bool wake);

// What lets the kernel itself turn from @active to @standby at the loss of a link: routes
// by @standby that are worse than those by @active, and that these are ignored then.
// Without a @standby that is @fit, or that is up, nothing is ignored. @guards: what has
// been set before.
[[nodiscard]] Steps planStandIns(const Items &identity, const Interface &active,
                                 const Interface &standby, bool fit, const Journal::Guards &guards);

// Whether @standby stands in for @active as soon as that is seen to have lost its link.
[[nodiscard]] bool standsIn(const Items &identity, const Interface &active,
                            const Interface &standby);

// What makes the kernel see that at once.
[[nodiscard]] Steps planTurn(const Interface &active);

// What an interface of a pair needs whatever it has now.
[[nodiscard]] Steps planGuard(const Interface &interface);

// What makes @spare one that neither has the identity nor stands by: it must not answer for
// addresses of @active, and has nothing of what others had to have. @wake: it may be set up.
[[nodiscard]] Steps planSpare(const Items &identity, const Interface &active,
                              const Interface &spare, const Journal::Guards &guards, bool wake);

// What puts an interface back that no pair needs any more.
[[nodiscard]] Steps planFarewell(const Interface &interface, const Journal::Guards &guards);

// Whether @step sets what has to be put back in the end.
[[nodiscard]] bool isGuarding(const Step &step);

// What will be seen once @step has been done, of its interface and of both.
void predict(const Step &step, Interface &interface);
void predict(const Step &step, Lane &lane);

} // namespace openipoib::ha
