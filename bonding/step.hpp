// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One change to the machine, and how it is undone.
#pragma once

#include "bonding/record.hpp"
#include "bonding/state.hpp"

#include <string>
#include <vector>

namespace openipoib::bonding
{

enum class StepKind {
    loadDriver,    // without bonds of its own making
    keepRecord,    // target: bond, record
    dropRecord,    // target: bond
    createBond,    // target: bond, value: mode, mtu, options
    setBond,       // target: bond, options
    deleteBond,    // target: bond; its slaves are free then
    setDown,       // target: interface; loses its IPv6 addresses
    setUp,         // target: interface
    setMode,       // target: interface, value: "connected" or "datagram"; may change the MTU
    setMtu,        // target: interface, mtu
    enslave,       // target: interface, that is down; value: bond
    release,       // target: interface, is down then; value: bond
    addAddress,    // target: interface, address
    removeAddress, // target: interface, address
};

struct Step {
    StepKind kind = StepKind::loadDriver;
    std::string target;
    std::string value;
    unsigned mtu = 0; // bytes
    Options options;
    netlink::Address address;
    Record record;
};

struct Change {
    Step step;
    std::vector<Step> undo; // in this order
};

// The equivalent command of a shell.
[[nodiscard]] std::string command(const Step &step);

} // namespace openipoib::bonding
