// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/rules.hpp"

#include "conf/openib/stack.hpp"

#include <algorithm>

namespace openipoib::diagnose
{

std::vector<Finding> diagnose(const Facts &facts)
{
    Findings findings;
    for (const auto rules : {hostRules(), portRules(), subnetRules(), interfaceRules(),
                             groupRules(), addressRules(), peerRules(), performanceRules()})
        for (const auto &rule : rules)
            rule.look(facts, findings);
    auto all = findings.all();
    std::ranges::stable_partition(
        all, [](const Finding &one) { return one.severity == Severity::wrong; });
    return all;
}

bool hasSubject(const Facts &facts)
{
    // Other hardware on the PCI bus asks for drivers, too.
    const bool hasHardware =
        std::ranges::any_of(openib::adapterDrivers(), [&](const openib::AdapterDriver &adapter) {
            return facts.state.hardware.contains(adapter.driver);
        });
    return hasHardware || !facts.state.hcas.empty() || !facts.interfaces.empty() ||
           !facts.wanted.empty();
}

} // namespace openipoib::diagnose
