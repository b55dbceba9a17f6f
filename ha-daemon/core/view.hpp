// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What is seen of a pair of interfaces. Plain data.
#pragma once

#include "ha-daemon/core/item.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace openipoib::ha
{

enum class Side : std::uint8_t { primary, secondary };

[[nodiscard]] constexpr Side other(Side side)
{
    return side == Side::primary ? Side::secondary : Side::primary;
}

// A value for each of the two.
template <typename T> struct Both {
    std::array<T, 2> values{};

    [[nodiscard]] T &operator[](Side side) { return values[static_cast<std::size_t>(side)]; }
    [[nodiscard]] const T &operator[](Side side) const
    {
        return values[static_cast<std::size_t>(side)];
    }
    bool operator==(const Both &) const = default;
};

struct Interface {
    std::string name;
    int index = 0; // 0: there is none of that name
    bool infiniband = false;
    bool up = false;      // as the administrator has set it
    bool carrier = false; // as far as rtnetlink says
    bool dormant = false; // though it has a carrier
    std::uint16_t pkey = 0;
    unsigned mtu = 0;                            // bytes
    std::optional<bool> connected;               // nullopt: the driver does not say
    bool enslaved = false;                       // belongs to a bond or bridge
    std::string vrf;                             // that it belongs to
    bool router = false;                         // forwards IPv6
    std::string manager;                         // who else sets it up; "": nobody says so
    io::Bytes hardware;                          // address
    Items items;                                 // of each kind in the kernel's order
    std::vector<StandIn> standIns;               // what the other one needs to stand in for it
    std::map<std::string, std::string> settings; // "arp_ignore" -> "0"
};

[[nodiscard]] inline Interface absent(std::string name)
{
    Interface none;
    none.name = std::move(name);
    return none;
}

// All interfaces that may have one identity, the most preferred one first, or their children of
// the same partition.
struct Row {
    std::uint16_t child = 0; // P_Key; 0: the interfaces themselves
    std::vector<Interface> interfaces;
};

// Two interfaces that stand for each other: the pair itself, or children of the
// same partition on both.
struct Lane {
    std::uint16_t child = 0; // P_Key; 0: the pair itself
    Both<Interface> side;
};

} // namespace openipoib::ha
