// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/choice.hpp"

#include <algorithm>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr Time reasonable = 10s;
constexpr Time calm = 1s; // of one that has failed more than once, as a pair has it

bool works(const Candidate &one)
{
    return one.health.good() && one.fit;
}

bool mightServe(const Candidate &one)
{
    return one.alive && one.fit;
}

Time stableFrom(const Health &health, std::optional<Time> failback)
{
    const Time needed = failback.value_or(reasonable);
    return health.stableFrom(health.failures() > 1 ? std::max(needed, calm) : needed);
}

} // namespace

Choice chooseStandby(const std::vector<Candidate> &all, std::size_t active, std::size_t standby,
                     std::optional<Time> failback, bool settled, Time now)
{
    const bool needed = !all[active].health.good();
    const auto first = [&](bool (*fits)(const Candidate &)) -> Choice {
        for (std::size_t i = 0; i < all.size(); ++i)
            if (i != active && i != standby && fits(all[i]))
                return {.standby = i, .again = {}};
        return {};
    };
    Choice choice;
    if (!works(all[standby])) {
        if (needed || settled)
            choice = first(works);
        // One that reaches nobody, as far as is known, is better than two that cannot.
        if (!choice.standby && !all[active].alive && !mightServe(all[standby]))
            choice = first(mightServe);
        return choice;
    }
    if (needed)
        return choice;
    for (std::size_t i = 0; i < standby; ++i) {
        if (i == active || !works(all[i]))
            continue;
        const Time from = stableFrom(all[i].health, failback);
        if (now >= from)
            return {.standby = i, .again = {}};
        choice.again = std::min(choice.again.value_or(from), from);
    }
    return choice;
}

} // namespace openipoib::ha
