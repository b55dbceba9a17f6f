// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One piece of an interface's IP identity: an address, a route, a rule, a
// neighbour. The core compares and orders pieces; only the kernel port knows
// what their bodies mean.
#pragma once

#include "io/bytes.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace openipoib::ha
{

// Since some point in the past, never backwards.
using Time = std::chrono::microseconds;

inline constexpr std::uint32_t forever = UINT32_MAX;

// In the order in which they have to be given to an interface: a route needs the
// address that makes its gateway reachable.
enum class Kind {
    address4,
    address6,
    rule,   // with the interface as its input or output
    route4, // a new one takes the place of an old one at once
    route6,
    neighbour, // set by hand
    peer,      // learnt: worth knowing on the other interface, but nobody's own
    standIn,   // a route of ours by the standby, for when the active one's link is lost
};

struct Item {
    Kind kind = Kind::address4;
    std::string key;                   // unique among its kind, without the interface
    io::Bytes body;                    // all else
    std::uint32_t valid = forever;     // seconds, at the time when it was seen
    std::uint32_t preferred = forever; // seconds
    Time seen{};

    // The same piece, though perhaps with other attributes.
    [[nodiscard]] bool is(const Item &other) const
    {
        return kind == other.kind && key == other.key;
    }
    [[nodiscard]] bool isAddress() const
    {
        return kind == Kind::address4 || kind == Kind::address6;
    }
    bool operator==(const Item &) const = default;
};

using Items = std::vector<Item>;

// A route by the standby, instead of what the active interface has.
struct StandIn {
    Item of;
    Item route;

    bool operator==(const StandIn &) const = default;
};

[[nodiscard]] bool has(const Items &items, const Item &item);
// Whether it is somebody's: neither a peer nor a stand-in is.
[[nodiscard]] bool belongs(const Item &item);

} // namespace openipoib::ha
