// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a daemon is to do: which pairs it has, and how it treats them.
#pragma once

#include "conf/settings.hpp"
#include "ha-daemon/core/pair.hpp"
#include "ha-daemon/core/sessions.hpp"
#include "ha-daemon/core/targets.hpp"

#include <string>
#include <vector>

namespace openipoib::ha
{

// As openib.conf has them: the secondary of "ib0+ib1:ib2" is "ib1:ib2".
using Names = Both<std::string>;

// "ib0+ib1"
[[nodiscard]] std::string nameOf(const Names &names);

struct PairConfiguration {
    Names names;
    std::vector<std::string> order; // its interfaces, the most preferred one first
    TargetPolicy targets;
    SessionPolicy sessions;
};

struct Configuration {
    std::vector<PairConfiguration> pairs;
    Policy policy;          // of all pairs; policyFor() adds what is of one
    bool multicast = false; // groups stay joined on both interfaces
    std::string notify;     // path of the program to be run after a move; "": none

    [[nodiscard]] Policy policyFor(const PairConfiguration &pair) const;
    // Of the targets of all pairs, 4 or 16 bytes each
    [[nodiscard]] std::vector<io::Bytes> targetAddresses() const;
};

// @ha: as conf::readSettings() or conf::pairUp() and conf::checkTargets() let it pass
[[nodiscard]] Configuration configurationOf(const conf::Ha &ha);

} // namespace openipoib::ha
