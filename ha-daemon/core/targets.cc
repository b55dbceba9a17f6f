// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/targets.hpp"

#include <algorithm>
#include <utility>

namespace openipoib::ha
{

void Targets::configure(TargetPolicy policy)
{
    for (auto &rounds : unanswered_.values)
        rounds = rounds > policy_.misses && !policy.addresses.empty() ? policy.misses + 1 : 0;
    policy_ = std::move(policy);
    answered_ = {};
    next_ = {};
}

void Targets::watch(const Both<int> &interfaces)
{
    for (const Side side : {Side::primary, Side::secondary})
        if (interfaces[side] != interfaces_[side]) {
            unanswered_[side] = 0;
            answered_[side] = false;
        }
    interfaces_ = interfaces;
}

void Targets::heard(int interface, io::View from)
{
    if (std::ranges::none_of(policy_.addresses,
                             [&](const io::Bytes &one) { return std::ranges::equal(one, from); }))
        return;
    for (const Side side : {Side::primary, Side::secondary})
        if (interface && interfaces_[side] == interface) {
            unanswered_[side] = 0;
            answered_[side] = true;
        }
}

std::optional<Time> Targets::next() const
{
    return policy_.addresses.empty() ? std::nullopt : std::optional(next_);
}

void Targets::asked(Time now)
{
    next_ = now + policy_.every;
    // The last round has had its time; this one has not.
    for (auto &rounds : unanswered_.values)
        rounds = std::min(rounds, policy_.misses) + 1;
}

std::string Targets::whyBad(Side side) const
{
    if (!interfaces_[side] || unanswered_[side] <= policy_.misses)
        return {};
    return policy_.addresses.size() == 1 ? "its target does not answer" : "no target answers";
}

} // namespace openipoib::ha
