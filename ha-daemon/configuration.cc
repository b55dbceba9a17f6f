// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/configuration.hpp"

#include <arpa/inet.h>

namespace openipoib::ha
{

namespace
{

// Of an address that conf::parseTargets() has let pass
io::Bytes binary(const std::string &address)
{
    const bool six = address.find(':') != std::string::npos;
    io::Bytes bytes(six ? sizeof(in6_addr) : sizeof(in_addr));
    ::inet_pton(six ? AF_INET6 : AF_INET, address.c_str(), bytes.data());
    return bytes;
}

bool concerns(const conf::HaTarget &target, const conf::HaPair &pair)
{
    return target.interface.empty() || target.interface == pair.primary ||
           target.interface == pair.secondary;
}

} // namespace

std::string nameOf(const Names &names)
{
    return names[Side::primary] + "+" + names[Side::secondary];
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
        TargetPolicy targets{.addresses = {},
                             .every = std::chrono::milliseconds(ha.targetInterval),
                             .misses = ha.targetMisses};
        for (const auto &target : ha.targets)
            if (concerns(target, pair))
                targets.addresses.push_back(binary(target.address));
        made.pairs.push_back({{{pair.primary, pair.secondary}}, std::move(targets)});
    }
    return made;
}

} // namespace openipoib::ha
