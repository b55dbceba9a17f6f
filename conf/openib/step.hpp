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
    loadModule,   // target: module
    unloadModule, // target: module
    describeNode, // target: HCA, value: description
    addChild,     // target: parent, value: P_Key as "8001"
    setMode,      // target: interface, value: "connected" or "datagram"
    tryMode,      // the same; a driver that cannot is no failure
    setMtu,       // target: interface, value: bytes
    raiseSysctl,  // target: "net.core.rmem_max", value: number
    startHa,      // target: primary, value: secondary
    stopHa,       //
    startBond,    // target: bond, value: addresses, arguments: slaves
    stopBond,     // target: bond
};

struct Step {
    StepKind kind = StepKind::loadModule;
    std::string target;
    std::string value;
    std::vector<std::string> arguments;

    auto operator<=>(const Step &) const = default;
};

// "load module ib_ipoib", "set ib0 to connected mode"
[[nodiscard]] std::string text(const Step &step);
// What to say when it failed: the step, why, and what can be done about it.
[[nodiscard]] std::string failureText(const Step &step, const io::Error &error);

} // namespace openipoib::openib
