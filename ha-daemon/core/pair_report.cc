// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a pair leaves to the next daemon, to the system, and to those who ask.
#include "ha-daemon/core/pair.hpp"
#include "ha-daemon/core/plan.hpp"

#include <algorithm>

namespace openipoib::ha
{

namespace
{

constexpr std::size_t decisionsKept = 64;

} // namespace

Journal Pair::journal(bool ending) const
{
    if (!started() && journal_)
        return *journal_;
    Journal out{.names = {},
                .active = active_,
                .clean = ending && started(),
                .moves = moveCount_,
                .cause = isMoving(phase_) ? moves_.back().cause : untold_,
                .lanes = {},
                .guards = ending ? Journal::Guards() : guards_};
    for (const auto &[child, lane] : lanes_) {
        out.lanes.push_back({child, lane.index, lane.identity, lane.own});
        if (lane.restoring && !lane.identity.empty())
            out.clean = false;
    }
    return out;
}

Steps Pair::farewell() const
{
    Steps steps;
    for (const auto &[child, lane] : lanes_)
        for (const auto &interface : lane.view.side.values)
            std::ranges::move(planFarewell(interface, guards_), std::back_inserter(steps));
    return steps;
}

std::string Pair::whyNotSwitched() const
{
    if (!started())
        return "nothing is known yet";
    if (isMoving(phase_))
        return "the failover before is not done";
    const std::string why = unfit(other(active_));
    return why.empty() ? health_[other(active_)].why() : why;
}

std::vector<std::string> Pair::standbyLacks() const
{
    std::vector<std::string> lacks;
    const Side side = other(active_);
    if (!health_[side].good())
        lacks.push_back(health_[side].why());
    if (const auto why = unfit(side); !why.empty())
        lacks.push_back(why);
    for (const auto &[child, lane] : lanes_) {
        const Interface &active = lane.view.side[active_];
        const Interface &standby = lane.view.side[side];
        if (std::ranges::none_of(lane.identity, &Item::isAddress) &&
            std::ranges::any_of(standby.items, &Item::isAddress))
            lacks.push_back("the addresses of " + standby.name +
                            " would not be moved: " + active.name + ", which is active, has none");
        if (child && !standby.index)
            lacks.push_back("there is no " + standby.name);
        if (active.index && standby.index)
            for (const auto &step : planStandby(active, standby, child != 0))
                lacks.push_back("not done: " + step.text());
    }
    return lacks;
}

const std::string &Pair::name(Side side) const
{
    static const std::string unknown = "?";
    const auto lane = lanes_.find(0);
    return lane == lanes_.end() ? unknown : lane->second.view.side[side].name;
}

// Two that set up one interface have to know of each other, or of one who knows.
void Pair::noteManagers(const LaneState &lane)
{
    for (const auto &one : lane.view.side.values)
        if (!one.manager.empty() && managed_.insert(one.index).second)
            decided({Severity::warning,
                     one.name + " is managed by " + one.manager +
                         ", too, which may undo what is done to it",
                     Topic::managed,
                     {{"INTERFACE", one.name}, {"MANAGER", one.manager}}});
}

void Pair::decided(Say what)
{
    record(now_, what.text);
    say(std::move(what));
}

void Pair::record(Time now, std::string text)
{
    decisions_.push_back({now, std::move(text)});
    if (decisions_.size() > decisionsKept)
        decisions_.pop_front();
}

void Pair::say(Say what)
{
    if (started())
        what.facts.emplace_back("ACTIVE", name(active_));
    act(std::move(what));
}

void Pair::act(Action action)
{
    actions_.push_back(std::move(action));
}

} // namespace openipoib::ha
