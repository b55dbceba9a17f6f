// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Bonds of the kernel's bonding driver, and their slaves.
#pragma once

#include "io/bytes.hpp"
#include "netlink/link.hpp"
#include "netlink/socket.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace openipoib::netlink
{

struct Bond {
    std::uint8_t mode = 0;            // 1: active-backup
    std::uint8_t failOverMac = 0;     // 1: active
    std::uint32_t miimon = 0;         // ms, 0: off
    std::uint32_t arpInterval = 0;    // ms, 0: off
    std::vector<io::Bytes> targets;   // asked by the ARP monitor, 4 or 16 bytes each
    int primary = 0;                  // index, 0: none
    std::uint8_t primaryReselect = 0; // 0 always, 1 better, 2 failure
    std::uint8_t notifications = 1;   // announcements after a failover
    int active = 0;                   // index of the active slave, 0: none

    bool operator==(const Bond &) const = default;
};

struct BondSlave {
    bool linkUp = false;
    std::uint32_t failures = 0; // times that the link went down

    bool operator==(const BondSlave &) const = default;
};

struct Bonds {
    std::map<int, Bond> bonds; // by index
    std::map<int, BondSlave> slaves;
};

// What one RTM_NEWLINK message says about a bond or a slave, added to the rest.
void parseBond(const nlmsghdr *message, Bonds &bonds);

[[nodiscard]] io::Result<Bonds> bonds(Socket &socket);

// A new bond. Errors: EEXIST, EOPNOTSUPP without the driver.
[[nodiscard]] io::Result<void> addBond(Socket &socket, const std::string &name, unsigned mtu,
                                       const Bond &bond);
// What monitors it and which slave it prefers; its mode and addresses stay.
[[nodiscard]] io::Result<void> changeBond(Socket &socket, const Link &link, const Bond &bond);

} // namespace openipoib::netlink
