// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What an expert looks at, one thing after the other: from the adapter over the link, the subnet,
// the partition and the broadcast group to the addresses, so that a cause comes before what follows
// from it. Pure: facts in, findings out.
#pragma once

#include "diagnose/facts.hpp"
#include "diagnose/finding.hpp"

#include <span>
#include <vector>

namespace openipoib::diagnose
{

// Adds what it finds to what others have found before it.
using Rule = void (*)(const Facts &, Findings &);

// Each file's, in the order in which they are looked at.
[[nodiscard]] std::span<const Rule> hostRules();
[[nodiscard]] std::span<const Rule> portRules();
[[nodiscard]] std::span<const Rule> subnetRules();
[[nodiscard]] std::span<const Rule> groupRules();
[[nodiscard]] std::span<const Rule> interfaceRules();
[[nodiscard]] std::span<const Rule> addressRules();
[[nodiscard]] std::span<const Rule> peerRules();
[[nodiscard]] std::span<const Rule> performanceRules();

// All that the rules find: what is wrong in their order, then notes.
[[nodiscard]] std::vector<Finding> diagnose(const Facts &facts);

[[nodiscard]] bool hasInfinibandPort(const Facts &facts);

} // namespace openipoib::diagnose
