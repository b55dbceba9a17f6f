// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A state of all that an exploration looks at, and what can lead from one to another.
#pragma once

#include "ha_explorer.hpp"
#include "ha_world.hpp"

#include <functional>

namespace openipoib::ha
{

inline constexpr Both<const char *> interfaceNames{{"ib0", "ib1"}};

// The identity at first: addresses of both families, and a route
[[nodiscard]] const Items &firstIdentity();

struct State {
    World world;
    Limits left;
    Items wanted = firstIdentity(); // where the pair is active
    Items unwanted;                 // given up: nowhere
    Both<bool> took{};              // whoever manages the interface has taken its addresses away
    bool ended = false;             // the daemon ended, so that nobody is in charge

    // Equal ones behave alike. Times are told apart only as far as the pair's limits do.
    [[nodiscard]] std::string print() const;
    // Nothing is under way, and the identity is where it should be.
    [[nodiscard]] bool rests() const;
};

// What can happen, and how often; false if it cannot happen now.
struct Possible {
    std::string name;
    std::function<bool(State &)> happen;
    unsigned Limits::*budget = nullptr;
};

[[nodiscard]] std::vector<Possible> possibilities();

// What must not be, in words; "": nothing is wrong.
[[nodiscard]] std::string wrongNow(const State &state);
[[nodiscard]] std::string wrongAtRest(State state);

} // namespace openipoib::ha
