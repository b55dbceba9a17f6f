// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One change to the machine.
#pragma once

#include "io/error.hpp"

#include <compare>
#include <string>
#include <vector>

namespace openipoib::openib
{

enum class StepKind {
    loadModule,    // target: module, arguments: its options
    unloadModule,  // target: module
    setOwnQueues,  // target: ib_ipoib, value: its parameter own_queues
    describeNode,  // target: HCA, value: description
    addChild,      // target: parent, value: P_Key as "8001", arguments: a name of its own
    setMode,       // target: interface, value: "connected" or "datagram"
    tryMode,       // the same; a driver that cannot is no failure
    setMtu,        // target: interface, value: bytes
    setUmcast,     // target: interface, value: "0" or "1"
    setRings,      // target: interface, arguments: rx, tx, in packets
    setQueues,     // target: interface, value: queues
    setModeration, // target: interface, arguments: see moderationIn()
    keepSettings,  // target: interfaces, value: the document
    raiseSysctl,   // target: "net.core.rmem_max", value: number
    startHa,       // arguments: pairs, as "ib0+ib1"
    reloadHa,      // arguments: all pairs
    stopHa,        //
    startBond,     // target: bond, value: addresses, arguments: slaves
    stopBond,      // target: bond
};

struct Step {
    StepKind kind = StepKind::loadModule;
    std::string target;
    std::string value;
    std::vector<std::string> arguments;

    auto operator<=>(const Step &) const = default;
};

// The name that a child gets.
[[nodiscard]] std::string childName(const Step &step);
// "load module ib_ipoib", "set ib0 to connected mode"
[[nodiscard]] std::string text(const Step &step);
// What to say when it failed: the step, why, and what can be done about it.
[[nodiscard]] std::string failureText(const Step &step, const io::Error &error);

} // namespace openipoib::openib
