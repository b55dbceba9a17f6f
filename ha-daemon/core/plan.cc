// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/plan.hpp"

#include <algorithm>
#include <ranges>

namespace openipoib::ha
{

namespace
{

// Without the first, the interface without an address would answer ARP requests
// for the addresses of the other; without the second, an address that is taken
// away would take others along.
constexpr std::array guards{"arp_ignore", "promote_secondaries"};

Step itemStep(Act act, const Interface &interface, const Item &item)
{
    return {act, interface.name, interface.index, item, {}, {}};
}

Step valueStep(Act act, const Interface &interface, std::string name, std::string value)
{
    return {act, interface.name, interface.index, {}, std::move(name), std::move(value)};
}

} // namespace

bool isGuard(const std::string &name)
{
    return std::ranges::find(guards, name) != guards.end();
}

Items identityOf(const Interface &interface)
{
    Items items;
    std::ranges::copy_if(interface.items, std::back_inserter(items), belongs);
    return items;
}

Steps planPuts(const Items &identity, const Interface &active)
{
    Steps steps;
    if (!active.index)
        return steps;
    for (const auto &item : identity)
        if (!has(active.items, item))
            steps.push_back(itemStep(Act::put, active, item));
    std::ranges::stable_sort(steps, {}, [](const Step &step) { return step.item.kind; });
    return steps;
}

Steps planPeers(const Interface &from, const Interface &to, bool anew)
{
    Steps steps;
    if (!to.index)
        return steps;
    for (const auto &item : from.items) {
        if (belongs(item))
            continue;
        const auto known =
            std::ranges::find_if(to.items, [&](const Item &one) { return one.is(item); });
        if (known == to.items.end() || (anew && known->body != item.body))
            steps.push_back(itemStep(Act::put, to, item));
    }
    return steps;
}

Steps planDrops(const Items &identity, const Interface &active, const Interface &standby)
{
    Steps steps;
    if (!standby.index)
        return steps;
    for (const auto &item : identity)
        if (has(standby.items, item) && has(active.items, item))
            steps.push_back(itemStep(Act::drop, standby, item));
    std::ranges::stable_sort(steps, {}, [](const Step &step) { return step.item.kind; });
    std::ranges::reverse(steps);
    return steps;
}

Steps planGuard(const Interface &interface)
{
    Steps steps;
    if (!interface.index)
        return steps;
    for (const auto &[name, value] : interface.settings)
        if (value == "0" && isGuard(name))
            steps.push_back(valueStep(Act::setting, interface, name, "1"));
    return steps;
}

Steps planStandby(const Interface &active, const Interface &standby, bool wake)
{
    Steps steps;
    if (!active.index || !standby.index)
        return steps;
    if (active.connected && standby.connected && *active.connected != *standby.connected)
        steps.push_back(
            valueStep(Act::mode, standby, {}, *active.connected ? "connected" : "datagram"));
    if (active.mtu && active.mtu != standby.mtu)
        steps.push_back(valueStep(Act::mtu, standby, {}, std::to_string(active.mtu)));
    for (const auto &[name, value] : active.settings) {
        const auto there = standby.settings.find(name);
        if (there != standby.settings.end() && there->second != value &&
            !(value == "0" && isGuard(name)))
            steps.push_back(valueStep(Act::setting, standby, name, value));
    }
    if (wake && !standby.up)
        steps.push_back(valueStep(Act::up, standby, {}, {}));
    return steps;
}

void predict(const Step &step, Lane &lane)
{
    const bool first = lane.side[Side::primary].name == step.interface;
    const Side side = first ? Side::primary : Side::secondary;
    Interface &interface = lane.side[side];
    switch (step.act) {
    case Act::put:
        if (const auto known = std::ranges::find_if(
                interface.items, [&](const Item &item) { return item.is(step.item); });
            known != interface.items.end())
            *known = step.item;
        else
            interface.items.push_back(step.item);
        if (step.item.kind == Kind::route4)
            std::erase_if(lane.side[other(side)].items,
                          [&](const Item &item) { return item.is(step.item); });
        break;
    case Act::drop:
        std::erase_if(interface.items, [&](const Item &item) { return item.is(step.item); });
        break;
    case Act::up:
        interface.up = true;
        break;
    case Act::mode:
        interface.connected = step.value == "connected";
        break;
    case Act::mtu:
        interface.mtu = static_cast<unsigned>(std::stoul(step.value));
        break;
    case Act::setting:
        interface.settings[step.name] = step.value;
        break;
    }
}

} // namespace openipoib::ha
