// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Which of several interfaces in an order of preference stands by for the active one. Pure.
#pragma once

#include "ha-daemon/core/health.hpp"

#include <optional>
#include <vector>

namespace openipoib::ha
{

struct Candidate {
    Health health;
    bool alive = false; // packets can go by it, though it may reach nobody
    bool fit = false;   // the active interface allows it
};

struct Choice {
    std::optional<std::size_t> standby; // another one than before
    std::optional<Time> again;          // when to choose again, if nothing happens until then
};

// @all: the most preferred one first. @failback: for how long one has to have worked to take the
// place of a less preferred one; nullopt: as long as seems reasonable, since the identity stays.
// @settled: the standby has had the time to work; nobody waits for it if the active one fails.
[[nodiscard]] Choice chooseStandby(const std::vector<Candidate> &all, std::size_t active,
                                   std::size_t standby, std::optional<Time> failback, bool settled,
                                   Time now);

} // namespace openipoib::ha
