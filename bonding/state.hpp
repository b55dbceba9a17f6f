// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the machine looks like: interfaces, bonds, and what was taken from
// slaves. Plain data, read again before every decision.
#pragma once

#include "bonding/record.hpp"
#include "netlink/address.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace openipoib::bonding
{

inline constexpr std::string_view activeBackup = "active-backup";

// What a bond is told, besides its mode.
struct Options {
    unsigned miimon = 100;               // ms between looks at the carriers, 0: off
    unsigned arpInterval = 0;            // ms between questions to the targets, 0: off
    std::vector<std::string> arpTargets; // addresses; empty without an interval
    std::string primary;                 // preferred slave, ""
    std::string primaryReselect = "always";
    unsigned notifications = 1; // announcements after a failover

    bool operator==(const Options &) const = default;
};

struct Bond {
    std::string mode{activeBackup};
    Options options;
    std::string active;                 // slave, ""
    std::optional<unsigned> lastChange; // of the active slave, seconds ago; nullopt: not known

    bool operator==(const Bond &) const = default;
};

struct Slave {
    bool linkUp = false;
    std::uint32_t failures = 0; // of its link

    bool operator==(const Slave &) const = default;
};

struct Interface {
    bool infiniband = false;
    bool up = false;
    bool running = false;          // with a carrier
    unsigned mtu = 0;              // bytes
    std::optional<bool> connected; // nullopt: has no modes
    std::uint16_t pkey = 0xFFFF;
    std::string gid;                         // 32 hexadecimal digits, ""
    std::string master;                      // bond it is in, ""
    std::vector<netlink::Address> addresses; // without link-local ones; index is 0
    std::optional<Bond> bond;                // of a bond
    std::optional<Slave> slave;              // of a slave

    bool operator==(const Interface &) const = default;
};

struct State {
    bool driver = false; // the kernel's bonding driver is there
    std::map<std::string, Interface, std::less<>> interfaces;
    std::map<std::string, Record, std::less<>> records; // by bond

    [[nodiscard]] const Interface *interface(std::string_view name) const
    {
        const auto found = interfaces.find(name);
        return found == interfaces.end() ? nullptr : &found->second;
    }
    [[nodiscard]] const Record *record(std::string_view bond) const
    {
        const auto found = records.find(bond);
        return found == records.end() ? nullptr : &found->second;
    }
    [[nodiscard]] std::vector<std::string> slavesOf(std::string_view bond) const
    {
        std::vector<std::string> slaves;
        for (const auto &[name, one] : interfaces)
            if (one.master == bond)
                slaves.push_back(name);
        return slaves;
    }

    bool operator==(const State &) const = default;
};

} // namespace openipoib::bonding
