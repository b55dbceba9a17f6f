// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Every order in which things can happen to a pair, as deep as one likes: breadth first
// over the states of a daemon, its journal, a kernel with two interfaces and a peer, each
// state visited once. What is found wrong comes with the shortest way to it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace openipoib::ha
{

// How often each may happen on one way.
struct Limits {
    unsigned depth = 10;    // events
    unsigned faults = 2;    // of ports; they may be mended at any time
    unsigned kills = 1;     // of the daemon, at any step; it may be started again at any time
    unsigned stops = 1;     // of the daemon, as it should be
    unsigned changes = 1;   // of addresses, by others
    unsigned unplugged = 0; // HCAs
    unsigned deafness = 0;  // of the peer, to some announcements in a row
    std::size_t states = 5'000'000;
};

struct Finding {
    std::string what;
    std::vector<std::string> trace; // events
};

struct Explored {
    std::size_t states = 0;
    std::size_t transitions = 0;
    unsigned depth = 0;     // of the deepest state
    bool exhausted = false; // there is nothing beyond
    bool tooMany = false;   // the limit of states ended it
    std::optional<Finding> finding;
};

[[nodiscard]] Explored explore(const Limits &limits);
[[nodiscard]] std::string textOf(const Explored &explored);

} // namespace openipoib::ha
