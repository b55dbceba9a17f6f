// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/rules.hpp"

#include <algorithm>

namespace openipoib::diagnose
{

std::vector<Finding> diagnose(const Facts &facts)
{
    Findings findings;
    for (const auto rules : {hostRules(), portRules(), subnetRules(), interfaceRules(),
                             groupRules(), addressRules(), peerRules(), performanceRules()})
        for (const Rule rule : rules)
            rule(facts, findings);
    auto all = findings.all();
    std::ranges::stable_partition(
        all, [](const Finding &one) { return one.severity == Severity::wrong; });
    return all;
}

bool hasInfinibandPort(const Facts &facts)
{
    return std::ranges::any_of(facts.state.hcas, [](const openib::Hca &hca) {
        return std::ranges::any_of(
            hca.ports, [](const openib::Port &port) { return port.layer == "InfiniBand"; });
    });
}

} // namespace openipoib::diagnose
