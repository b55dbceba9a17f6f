// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/facts.hpp"

#include "ib/ipoib.hpp"

#include <fmt/format.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>

namespace openipoib::diagnose
{

bool isNarrow(const netlink::Address &address)
{
    return address.scope == RT_SCOPE_LINK || address.scope == RT_SCOPE_HOST;
}

std::string Port::name() const
{
    return fmt::format("{} port {}", hca, shown.number);
}

bool Port::hasNoLane(std::uint8_t level) const
{
    constexpr unsigned management = 15;
    constexpr std::array<unsigned, 6> lanesOf{0, 1, 2, 4, 8, 15};
    if (!lanes || !info || level >= lanes->size())
        return false;
    const unsigned lane = lanes->at(level);
    const unsigned most = info->lanes < lanesOf.size() ? lanesOf.at(info->lanes) : 0;
    // A port with one lane has no need of a table.
    return lane == management || (most > 1 && lane >= most);
}

std::optional<ib::Gid> Interface::mgid() const
{
    if (link.broadcast.size() != ib::HardwareAddress::size)
        return std::nullopt;
    const auto address = ib::HardwareAddress::parse(link.broadcast);
    return address ? std::optional(address->gid) : std::nullopt;
}

std::uint16_t Interface::partition() const
{
    constexpr std::size_t pkeyAt = 4;
    constexpr std::uint16_t byDefault = 0xFFFF;
    const auto group = mgid();
    if (pkey || !group)
        return pkey.value_or(byDefault);
    return static_cast<std::uint16_t>(io::read<2>(*group, pkeyAt));
}

const Port *Facts::portOf(const Interface &interface) const
{
    const auto found = std::ranges::find_if(ports, [&](const Port &port) {
        return port.hca == interface.hca && port.shown.number == interface.port;
    });
    return found == ports.end() ? nullptr : &*found;
}

const Interface *Facts::interface(std::string_view name) const
{
    const auto found = std::ranges::find(interfaces, name, &Interface::name);
    return found == interfaces.end() ? nullptr : &*found;
}

std::optional<bool> Facts::isOfHa(std::string_view name) const
{
    if (!state.haRunning)
        return false;
    if (!state.haPairs)
        return std::nullopt;
    // "ib0+ib1:ib2"
    return std::ranges::any_of(*state.haPairs, [&](std::string pair) {
        std::ranges::replace(pair, '+', ':');
        return (":" + pair + ":").contains(fmt::format(":{}:", name));
    });
}

std::vector<std::string> Facts::settersOf(const Interface &interface) const
{
    std::vector<std::string> all = interface.managers;
    if (interface.isConfigured)
        all.emplace_back("openib");
    if (isOfHa(interface.name()).value_or(false))
        all.emplace_back("ipoib-ha");
    if (interface.isIn("bond"))
        all.push_back(interface.master);
    return all;
}

} // namespace openipoib::diagnose
