// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What to do next. Pure: settings and the state of the machine in, steps out.
//
// A plan covers only what can be decided from what is there now; interfaces
// appear when modules have been loaded, an MTU depends on the mode that the
// driver took. So: plan, execute, look again, until there is nothing to do.
#pragma once

#include "conf/openib/state.hpp"
#include "conf/openib/step.hpp"
#include "conf/settings.hpp"

#include <set>

namespace openipoib::openib
{

struct Plan {
    std::vector<Step> steps;
    // What cannot be done and is asked for; only said when there are no steps.
    std::vector<std::string> problems;
};

using Failed = std::set<Step>; // steps that are not tried again

// Everything the settings ask for.
[[nodiscard]] Plan planStart(const conf::Settings &settings, const State &state,
                             const Failed &failed);
// The same without loading modules, for all interfaces and adapters or for the
// one of that name. An unknown name is a problem.
[[nodiscard]] Plan planApply(const conf::Settings &settings, const State &state,
                             const Failed &failed, const std::string &device);
[[nodiscard]] Plan planStop(const conf::Settings &settings, const State &state,
                            const Failed &failed);

// Keep what the interfaces have, and what was kept of those that are not there.
[[nodiscard]] Plan planKeep(const State &state, const Failed &failed);

// Options that the settings give ib_ipoib when it is loaded.
[[nodiscard]] std::vector<std::string> ipoibOptions(const conf::Settings &settings);

// Why a stop is refused, in words; empty: it is not.
[[nodiscard]] std::vector<std::string> refusals(const conf::Settings &settings, const State &state);

// The limits that RUN_SYSCTL raises.
[[nodiscard]] std::vector<std::string_view> sysctlNames();

// What the state will be when a step has been done, as far as that can be
// known. For dry runs and as the tests' machine.
void predict(const Step &step, State &state);

} // namespace openipoib::openib
