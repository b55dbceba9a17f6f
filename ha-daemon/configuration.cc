// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/configuration.hpp"

#include <arpa/inet.h>

#include <algorithm>

namespace openipoib::ha
{

namespace
{

// Of an address that conf::parseTargets() or parseProbes() has let pass
io::Bytes binary(const std::string &address)
{
    const bool six = address.find(':') != std::string::npos;
    io::Bytes bytes(six ? sizeof(in6_addr) : sizeof(in_addr));
    ::inet_pton(six ? AF_INET6 : AF_INET, address.c_str(), bytes.data());
    return bytes;
}

bool concerns(const conf::HaTarget &target, const conf::HaPair &pair)
{
    return target.interface.empty() || pair.has(target.interface);
}

// Each once, however it is written
std::vector<io::Bytes> addressesFor(const std::vector<conf::HaTarget> &targets,
                                    const conf::HaPair &pair)
{
    std::vector<io::Bytes> all;
    for (const auto &target : targets)
        if (auto address = binary(target.address);
            concerns(target, pair) && std::ranges::find(all, address) == all.end())
            all.push_back(std::move(address));
    return all;
}

} // namespace

std::string nameOf(const Names &names)
{
    return names[Side::primary] + "+" + names[Side::secondary];
}

Policy Configuration::policyFor(const PairConfiguration &pair) const
{
    Policy out = policy;
    out.asks = !pair.targets.addresses.empty() || !pair.sessions.peers.empty();
    return out;
}

std::vector<io::Bytes> Configuration::targetAddresses() const
{
    std::vector<io::Bytes> all;
    for (const auto &pair : pairs)
        all.insert(all.end(), pair.targets.addresses.begin(), pair.targets.addresses.end());
    return all;
}

Configuration configurationOf(const conf::Ha &ha)
{
    Configuration made{.pairs = {}, .policy = {}, .multicast = ha.multicast, .notify = ha.notify};
    if (ha.failback)
        made.policy.failback = std::chrono::seconds(*ha.failback);
    for (const auto &pair : ha.pairs) {
        made.pairs.push_back(
            {.names = {{pair.primary, pair.secondary()}},
             .order = pair.interfaces(),
             .targets = {.addresses = addressesFor(ha.targets, pair),
                         .every = std::chrono::milliseconds(ha.targetInterval),
                         .misses = ha.targetMisses},
             .sessions = {.peers = addressesFor(ha.probes, pair),
                          .times = {.every = std::chrono::milliseconds(ha.probeInterval),
                                    .multiplier = static_cast<std::uint8_t>(ha.probeMisses)}}});
    }
    return made;
}

} // namespace openipoib::ha
