// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One change to an interface.
#pragma once

#include "ha-daemon/core/item.hpp"

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

struct Step {
    Act act = Act::put;
    std::string interface;
    int index = 0;
    Item item;
    std::string name;
    std::string value;

    // In words; also what tells attempts at the same thing from others.
    [[nodiscard]] std::string text() const;
};

using Steps = std::vector<Step>;

} // namespace openipoib::ha
