// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One change to an interface.
#pragma once

#include "ha-daemon/core/item.hpp"

#include <compare>
#include <string>
#include <vector>

namespace openipoib::ha
{

enum class Act {
    put,     // item: give it to the interface; it may be there already
    drop,    // item: take it away; it may be gone already
    up,      // set the interface up
    mode,    // value: "connected" or "datagram"
    mtu,     // value: bytes
    setting, // name, value: a sysctl of the interface, or "umcast"
    turn,    // have the kernel see at once that its carrier is lost
    wake,    // it has been turned away from, but has a carrier
};

// What tells attempts at the same thing from others: an interface that has come back has
// another index, and an item may have got another body.
struct StepKey {
    Act act = Act::put;
    std::string interface;
    Kind kind = Kind::address4;
    std::string item;
    std::string name;
    std::string value;

    auto operator<=>(const StepKey &) const = default;

    // In words.
    [[nodiscard]] std::string text() const;
};

struct Step {
    Act act = Act::put;
    std::string interface;
    int index = 0;
    Item item;
    std::string name;
    std::string value;

    [[nodiscard]] StepKey key() const { return {act, interface, item.kind, item.key, name, value}; }
    [[nodiscard]] std::string text() const { return key().text(); }
};

using Steps = std::vector<Step>;

} // namespace openipoib::ha
