// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/restore.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

namespace openipoib::openib
{

namespace
{

constexpr unsigned encapsulation = 4; // octets of each packet's header (RFC 4391, 6)

std::uint32_t number(const std::string &text)
{
    return static_cast<std::uint32_t>(std::stoul(text));
}

template <typename T> bool differ(const std::optional<T> &kept, const std::optional<T> &now)
{
    return kept && now && *kept != *now;
}

std::vector<std::string> arguments(const netlink::Moderation &moderation)
{
    return {fmt::format("{}", moderation.rxUsecs), fmt::format("{}", moderation.rxFrames),
            fmt::format("{}", moderation.txUsecs), fmt::format("{}", moderation.txFrames),
            moderation.rxAdaptive ? "adaptive" : "fixed"};
}

} // namespace

std::vector<Step> restoreMode(const Interface &kept, const Interface &interface)
{
    if (!differ(kept.connected, interface.connected))
        return {};
    return {{StepKind::setMode, interface.name, *kept.connected ? "connected" : "datagram", {}}};
}

std::vector<Step> restoreQueues(const Interface &kept, const Interface &interface)
{
    const auto &name = interface.name;
    std::vector<Step> steps;
    if (differ(kept.umcast, interface.umcast))
        steps.push_back({StepKind::setUmcast, name, *kept.umcast ? "1" : "0", {}});
    if (differ(kept.rings, interface.rings))
        steps.push_back({StepKind::setRings,
                         name,
                         {},
                         {fmt::format("{}", kept.rings->rx), fmt::format("{}", kept.rings->tx)}});
    if (differ(kept.queues, interface.queues))
        steps.push_back({StepKind::setQueues, name, fmt::format("{}", *kept.queues), {}});
    if (differ(kept.moderation, interface.moderation))
        steps.push_back({StepKind::setModeration, name, {}, arguments(*kept.moderation)});
    return steps;
}

std::optional<unsigned> ownMtu(const Interface &interface)
{
    return std::has_single_bit(interface.mtu + encapsulation) ? std::nullopt
                                                              : std::optional(interface.mtu);
}

netlink::Rings ringsIn(const Step &step)
{
    return {number(step.arguments.at(0)), number(step.arguments.at(1))};
}

netlink::Moderation moderationIn(const Step &step)
{
    return {number(step.arguments.at(0)), number(step.arguments.at(1)),
            number(step.arguments.at(2)), number(step.arguments.at(3)),
            step.arguments.at(4) == "adaptive"};
}

void predictRestored(const Step &step, Interface &interface)
{
    if (step.kind == StepKind::setUmcast)
        interface.umcast = step.value == "1";
    else if (step.kind == StepKind::setRings)
        interface.rings = ringsIn(step);
    else if (step.kind == StepKind::setQueues)
        interface.queues = number(step.value);
    else if (step.kind == StepKind::setModeration)
        interface.moderation = moderationIn(step);
}

Kept worthKeeping(const State &state)
{
    Kept kept = state.interfaces;
    for (const auto &one : state.kept)
        if (!state.interface(one.name) && !state.interface(one.parent))
            kept.push_back(one);
    return kept;
}

Kept withoutRestored(const State &state, const std::string &only)
{
    Kept left = state.kept;
    std::erase_if(left, [&](const Interface &one) {
        const std::string &name = state.interface(one.name) ? one.name : one.parent;
        const Interface *there = state.interface(name);
        if (!there || only.empty())
            return there != nullptr;
        const Interface *was = state.wasKept(name);
        return only == name && !(was && was->index == there->index);
    });
    return left;
}

Step keepStep(const Kept &kept)
{
    std::vector<std::string> names;
    for (const auto &one : kept)
        names.push_back(one.name);
    return {StepKind::keepSettings, fmt::format("{}", fmt::join(names, ", ")), keptText(kept), {}};
}

} // namespace openipoib::openib
