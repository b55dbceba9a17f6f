// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a pair changes and tells its peers.
#include "ha-daemon/core/pair.hpp"
#include "ha-daemon/core/plan.hpp"

#include <algorithm>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr unsigned maxAttempts = 3;
constexpr Time retryAfter = 10s;
constexpr unsigned maxAnnouncements = 7;
constexpr Time firstRepeat = 10ms; // and three times that from then on

void append(Steps &to, Steps from)
{
    std::ranges::move(from, std::back_inserter(to));
}

Steps only(Steps steps, bool (*wanted)(const Step &))
{
    std::erase_if(steps, [&](const Step &step) { return !wanted(step); });
    return steps;
}

// What answers to IPv4 packets need.
bool isForIpv4(const Step &step)
{
    return step.item.kind != Kind::address6 && step.item.kind != Kind::route6;
}

// As long as the other interface has the address, too, the way through that comes first.
bool isOfAddress4(const Step &step)
{
    return step.act == Act::setting || step.item.kind == Kind::address4;
}

} // namespace

// Until what is seen is what should be, one kind of change at a time.
void Pair::reconcile()
{
    if (!started() || busy_)
        return;
    noteTurned();
    Steps steps = phaseSteps();
    while (steps.empty() && isMoving(phase_)) {
        enterNext();
        steps = phaseSteps();
    }
    if (steps.empty())
        return;
    busy_ = true;
    if (noteGuards(steps))
        act(Save{});
    act(Batch{std::move(steps), phase_ < Phase::giving && !hasTurned()});
}

// One family is done with before the other begins: told first, since the packets of a
// peer come in by any interface while the address is still on the other.
Steps Pair::phaseSteps()
{
    switch (phase_) {
    case Phase::unseen:
        return {};
    case Phase::turning:
        return allowed(turnSteps());
    case Phase::givingIpv4:
        return allowed(only(puts(), isForIpv4));
    case Phase::takingIpv4:
        return allowed(only(drops(), isOfAddress4));
    case Phase::giving:
        return allowed(puts());
    case Phase::taking:
        return allowed(drops());
    case Phase::guarding:
        return guardSteps();
    }
    return {};
}

// Of a failover
void Pair::enterNext()
{
    phase_ = static_cast<Phase>(static_cast<int>(phase_) + 1);
    if (phase_ == Phase::giving)
        announceAhead(Kind::address6);
    else if (phase_ == Phase::taking)
        noteMoved();
    else if (phase_ == Phase::guarding)
        finishMove();
}

Steps Pair::guardSteps()
{
    Steps steps = allowed(puts());
    if (steps.empty())
        steps = allowed(drops());
    if (!steps.empty())
        return steps;
    settle();
    return standbySteps();
}

// Packets go by the new interface already: the rest is in their way, if in a hurry.
bool Pair::hasTurned() const
{
    return turns_ && !lanes_.at(0).view.side[other(active_)].carrier;
}

// The kernel may take up to a second to see that a link is lost.
Steps Pair::turnSteps() const
{
    Steps steps;
    if (!turns_ || hasTurned() || port_[other(active_)].empty())
        return steps;
    for (const auto &[child, lane] : lanes_)
        append(steps, planTurn(lane.view.side[other(active_)]));
    return steps;
}

Steps Pair::puts() const
{
    Steps steps;
    for (const auto &[child, lane] : lanes_) {
        const Interface &active = lane.view.side[active_];
        if (!active.up)
            continue;
        append(steps, planPuts(lane.identity, active));
        if (isMoving(phase_))
            append(steps, planPeers(lane.view.side[other(active_)], active, false));
    }
    return steps;
}

// Only what the active interface certainly has is taken from the other: it has
// just been seen there, or given to it. For the rest the next look is waited for.
Steps Pair::drops() const
{
    Steps steps;
    for (const auto &[child, lane] : lanes_) {
        const Interface &active = lane.view.side[active_];
        const Interface &standby = lane.view.side[other(active_)];
        Steps some = planDrops(lane.identity, active, standby);
        std::erase_if(some, [&](const Step &step) {
            const Step put{Act::put, active.name, active.index, step.item, {}, {}};
            return !fresh_ && !given_.contains(put.key());
        });
        if (!some.empty())
            append(steps, planGuard(standby));
        append(steps, std::move(some));
    }
    return steps;
}

Steps Pair::standbySteps()
{
    Steps steps;
    for (const auto &[child, lane] : lanes_) {
        const Interface &standby = lane.view.side[other(active_)];
        const bool wake = !woken_.contains(standby.index);
        for (const Side side : {Side::primary, Side::secondary})
            append(steps, planGuard(lane.view.side[side]));
        if (lane.view.side[active_].up)
            append(steps, planStandby(lane.view.side[active_], standby, wake));
        append(steps, planStandIns(lane.identity, lane.view.side[active_], standby,
                                   unfit(other(active_)).empty(), guards_));
        if (health_[other(active_)].good())
            append(steps, planPeers(lane.view.side[active_], standby, true));
    }
    steps = allowed(std::move(steps));
    for (const auto &step : steps)
        if (step.act == Act::up)
            woken_.insert(step.index);
    return steps;
}

// Without what was tried often enough for now; the rest counts as tried.
Steps Pair::allowed(Steps steps)
{
    std::erase_if(steps, [this](const Step &step) {
        Attempts &attempts = attempts_[step.key()];
        if (attempts.count >= maxAttempts && now_ < attempts.next)
            return true;
        ++attempts.count;
        attempts.next = now_ + retryAfter;
        return false;
    });
    return steps;
}

bool Pair::isSick(const Step &step) const
{
    const auto attempts = attempts_.find(step.key());
    return attempts != attempts_.end() && attempts->second.count >= maxAttempts;
}

// Everything has been done that can be done now.
void Pair::settle()
{
    for (const auto &[child, lane] : lanes_) {
        for (const Side side : {Side::primary, Side::secondary})
            if (lane.view.side[side].index && lane.view.side[side].up)
                woken_.insert(lane.view.side[side].index);
    }
    if (addressed_) {
        addressed_ = false;
        announcements_ = 0;
        announceAgain();
    }
    if (!untold_.empty() && !telling_ && health_[active_].good())
        notify({}, static_cast<std::size_t>(std::ranges::count_if(
                       attempts_, [](const auto &one) { return !one.second.error.empty(); })));
}

void Pair::notify(Time took, std::size_t failed)
{
    telling_ = true;
    act(Notify{name(active_), name(other(active_)), untold_, took, failed});
}

void Pair::noteTurned()
{
    if (isMoving(phase_) && moves_.back().turned == Time{} && hasTurned())
        moves_.back().turned = now_;
}

// The active interface has everything.
void Pair::noteMoved()
{
    moves_.back().moved = now_;
}

void Pair::finishMove()
{
    addressed_ = false;
    const Move &last = moves_.back();
    untold_ = last.cause;
    // Before anybody is told: the next daemon might take the move back.
    act(Save{});
    act(Look{});
    notify(last.moved - last.event, last.failed);
    const std::string time = std::to_string((last.moved - last.event).count());
    const std::string steps = std::to_string(last.steps);
    const std::string failed = std::to_string(last.failed);
    decided({last.failed ? Severity::warning : Severity::notice,
             name(active_) + " has the identity after " + time + " us, with " + steps +
                 " changes, of which " + failed + " failed",
             Topic::moved,
             {{"CAUSE", last.cause},
              {"DURATION_USEC", time},
              {"CHANGES", steps},
              {"CHANGES_FAILED", failed}}});
}

// The addresses that the active interface is about to get.
void Pair::announceAhead(Kind kind)
{
    announcements_ = 0;
    announce([kind](const LaneState &lane, const Interface &) {
        Items items;
        std::ranges::copy_if(lane.identity, std::back_inserter(items),
                             [kind](const Item &item) { return item.kind == kind; });
        return items;
    });
}

// A lost announcement must not strand a peer: it is repeated, as long as it is true.
void Pair::announceAgain()
{
    announce([](const LaneState &, const Interface &active) {
        Items items;
        std::ranges::copy_if(active.items, std::back_inserter(items), &Item::isAddress);
        return items;
    });
}

void Pair::announce(const std::function<Items(const LaneState &, const Interface &)> &addresses)
{
    if (!policy_.announce)
        return;
    Announce out;
    for (const auto &[child, lane] : lanes_) {
        const Interface &active = lane.view.side[active_];
        Announce::To to{active.name, active.index, active.router, {}};
        if (active.index && active.up)
            to.addresses = addresses(lane, active);
        if (!to.addresses.empty())
            out.to.push_back(std::move(to));
    }
    if (out.to.empty())
        return;
    act(std::move(out));
    Time wait = firstRepeat;
    for (unsigned i = 0; i < announcements_; ++i)
        wait *= 3;
    if (++announcements_ < maxAnnouncements)
        announceAt_ = now_ + wait;
}

} // namespace openipoib::ha
