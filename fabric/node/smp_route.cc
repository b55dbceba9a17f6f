// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "node/smp_route.hpp"

#include "ib/lrh.hpp"
#include "node/fields.hpp"

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t hopPointerAt = 6;
constexpr std::size_t hopCountAt = 7;
constexpr std::size_t initialPathAt = 128;
constexpr std::size_t returnPathAt = 192;
constexpr std::uint8_t maxHops = 63;

using To = SmpRoute::To;

SmpRoute outOf(std::uint8_t port, unsigned ports)
{
    if (port == 0 || port > ports)
        return {};
    return {.to = To::port, .port = port};
}

SmpRoute outbound(std::span<std::uint8_t> mad, const SmpEntry &entry, unsigned ports,
                  bool mayForward)
{
    const std::uint8_t count = mad[hopCountAt];
    std::uint8_t &pointer = mad[hopPointerAt];
    if (pointer == count + 1) // at the end of the last part
        return {.to = To::agent, .lid = entry.source.value_or(0)};
    // The directed part begins at who has sent it, or where a part by LID ends.
    if (pointer > count || (pointer == 0 && count != 0 && !entry.source))
        return {};
    if (pointer != 0)
        mad[returnPathAt + pointer] = entry.port;
    if (pointer < count) {
        if (!mayForward)
            return {};
        ++pointer;
        return outOf(mad[initialPathAt + pointer], ports);
    }
    ++pointer;
    const auto destination = static_cast<std::uint16_t>(getField(mad, IB_DRSMP_DRDLID_F));
    if (destination == ib::permissiveLid)
        return {.to = To::agent};
    if (!mayForward)
        return {};
    if (destination != 0 && destination == entry.ownLid)
        return {.to = To::agent};
    return {.to = To::lid, .lid = destination};
}

SmpRoute returning(std::span<std::uint8_t> mad, unsigned ports, bool mayForward)
{
    const std::uint8_t count = mad[hopCountAt];
    std::uint8_t &pointer = mad[hopPointerAt];
    if (pointer == 0)
        return {.to = To::manager};
    if (pointer > count + 1)
        return {};
    if (pointer == 1) { // at the beginning of the directed part
        pointer = 0;
        const auto source = static_cast<std::uint16_t>(getField(mad, IB_DRSMP_DRSLID_F));
        if (source == ib::permissiveLid)
            return {.to = To::manager};
        if (!mayForward)
            return {};
        return {.to = To::lid, .lid = source};
    }
    if (!mayForward)
        return {};
    --pointer;
    return outOf(mad[returnPathAt + pointer], ports);
}

} // namespace

SmpRoute routeSmp(std::span<std::uint8_t> mad, const SmpEntry &entry, unsigned ports,
                  bool mayForward)
{
    if (mad[hopCountAt] > maxHops)
        return {};
    if (getField(mad, IB_DRSMP_DIRECTION_F) != 0)
        return returning(mad, ports, mayForward);
    return outbound(mad, entry, ports, mayForward);
}

SmpRoute routeSmpResponse(std::span<std::uint8_t> mad, unsigned ports)
{
    if (mad[hopCountAt] > maxHops)
        return {};
    return returning(mad, ports, true);
}

} // namespace openipoib::fabric
