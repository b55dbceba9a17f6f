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
// Of the active interface alone: while both links are lost, packets are to be dropped
// there rather than be sent wherever else a route leads.
constexpr auto turnsAway = "ignore_routes_with_linkdown";

Step itemStep(Act act, const Interface &interface, const Item &item)
{
    return {act, interface.name, interface.index, item, {}, {}};
}

Step valueStep(Act act, const Interface &interface, std::string name, std::string value)
{
    return {act, interface.name, interface.index, {}, std::move(name), std::move(value)};
}

bool isGuard(const std::string &name)
{
    return std::ranges::find(guards, name) != guards.end();
}

Steps planTurning(const Interface &interface, bool away, const Journal::Guards &set)
{
    const auto now = interface.settings.find(turnsAway);
    if (now == interface.settings.end())
        return {};
    if (away && now->second == "0")
        return {valueStep(Act::setting, interface, turnsAway, "1")};
    if (!away && now->second == "1" && set.contains({interface.index, turnsAway}))
        return {valueStep(Act::setting, interface, turnsAway, "0")};
    return {};
}

Steps planStandInDrops(const Interface &interface)
{
    Steps steps;
    for (const auto &item : interface.items)
        if (item.kind == Kind::standIn)
            steps.push_back(itemStep(Act::drop, interface, item));
    return steps;
}

Items standInsOf(const Items &identity, const Interface &active)
{
    Items routes;
    for (const auto &[of, route] : active.standIns)
        if (has(identity, of))
            routes.push_back(route);
    return routes;
}

} // namespace

bool isGuarding(const Step &step)
{
    return step.act == Act::setting && step.value == "1" &&
           (isGuard(step.name) || step.name == turnsAway);
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

Steps planPeers(const Interface &from, const Interface &to, bool overwrite)
{
    Steps steps;
    if (!to.index)
        return steps;
    for (const auto &item : from.items) {
        if (item.kind != Kind::peer)
            continue;
        const auto known =
            std::ranges::find_if(to.items, [&](const Item &one) { return one.is(item); });
        if (known == to.items.end() || (overwrite && known->body != item.body))
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

Steps planStandIns(const Items &identity, const Interface &active, const Interface &standby,
                   bool fit, const Journal::Guards &guards)
{
    Steps steps;
    const bool ready = fit && active.index && standby.index && standby.up;
    const Items wanted = ready ? standInsOf(identity, active) : Items();
    for (const auto &item : wanted)
        if (!has(standby.items, item))
            steps.push_back(itemStep(Act::put, standby, item));
    std::ranges::move(planTurning(active, !wanted.empty(), guards), std::back_inserter(steps));
    std::ranges::move(planTurning(standby, false, guards), std::back_inserter(steps));
    for (const auto *one : {&active, &standby})
        for (const auto &item : one->items)
            if (item.kind == Kind::standIn && !(one == &standby && has(wanted, item)))
                steps.push_back(itemStep(Act::drop, *one, item));
    return steps;
}

bool standsIn(const Items &identity, const Interface &active, const Interface &standby)
{
    const auto ignored = active.settings.find(turnsAway);
    const Items wanted = standInsOf(identity, active);
    return ignored != active.settings.end() && ignored->second == "1" && !wanted.empty() &&
           std::ranges::all_of(wanted, [&](const Item &item) { return has(standby.items, item); });
}

Steps planTurn(const Interface &active)
{
    if (!active.index || !active.up)
        return {};
    return {valueStep(Act::turn, active, {}, {})};
}

Steps planGuard(const Interface &interface)
{
    Steps steps;
    if (!interface.index)
        return steps;
    if (interface.dormant)
        steps.push_back(valueStep(Act::wake, interface, {}, {}));
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
        if (name != turnsAway && there != standby.settings.end() && there->second != value &&
            !(value == "0" && isGuard(name)))
            steps.push_back(valueStep(Act::setting, standby, name, value));
    }
    if (wake && !standby.up)
        steps.push_back(valueStep(Act::up, standby, {}, {}));
    return steps;
}

Steps planSpare(const Items &identity, const Interface &active, const Interface &spare,
                const Journal::Guards &guards, bool wake)
{
    if (!spare.index)
        return {};
    Steps steps = planGuard(spare);
    std::ranges::move(planDrops(identity, active, spare), std::back_inserter(steps));
    std::ranges::move(planTurning(spare, false, guards), std::back_inserter(steps));
    std::ranges::move(planStandInDrops(spare), std::back_inserter(steps));
    if (wake && !spare.up)
        steps.push_back(valueStep(Act::up, spare, {}, {}));
    return steps;
}

Steps planFarewell(const Interface &interface, const Journal::Guards &guards)
{
    Steps steps;
    for (const auto &[name, value] : interface.settings)
        if (value == "1" && guards.contains({interface.index, name}))
            steps.push_back(valueStep(Act::setting, interface, name, "0"));
    std::ranges::move(planStandInDrops(interface), std::back_inserter(steps));
    return steps;
}

void predict(const Step &step, Interface &interface)
{
    switch (step.act) {
    case Act::put:
        if (const auto known = std::ranges::find_if(
                interface.items, [&](const Item &item) { return item.is(step.item); });
            known != interface.items.end())
            *known = step.item;
        else
            interface.items.push_back(step.item);
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
    case Act::turn:
        interface.carrier = false;
        break;
    case Act::wake:
        interface.dormant = false;
        break;
    }
}

void predict(const Step &step, Lane &lane)
{
    const bool first = lane.side[Side::primary].name == step.interface;
    const Side side = first ? Side::primary : Side::secondary;
    predict(step, lane.side[side]);
    if (step.act == Act::put && step.item.kind == Kind::route4)
        std::erase_if(lane.side[other(side)].items,
                      [&](const Item &item) { return item.is(step.item); });
}

} // namespace openipoib::ha
