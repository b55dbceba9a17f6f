// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/fitness.hpp"

namespace openipoib::ha
{

std::string whyDead(const Interface &interface, const std::string &port)
{
    if (!interface.index)
        return "there is no " + interface.name;
    if (!interface.infiniband)
        return interface.name + " is not an IPoIB interface";
    if (!interface.up)
        return interface.name + " is set down";
    if (!port.empty())
        return port;
    return interface.carrier ? "" : interface.name + " has no carrier";
}

std::string whyUnfit(const Interface &interface, const Interface &active)
{
    constexpr unsigned partition = 0x7FFF; // without the bit of full membership
    if (interface.enslaved)
        return interface.name + " belongs to another interface";
    if (interface.vrf != active.vrf)
        return interface.name + " and " + active.name + " do not belong to the same VRF";
    if (interface.pkey && active.pkey && (interface.pkey & partition) != (active.pkey & partition))
        return interface.name + " and " + active.name + " are in different partitions";
    return {};
}

} // namespace openipoib::ha
