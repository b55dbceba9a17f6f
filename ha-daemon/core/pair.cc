// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/pair.hpp"

#include "ha-daemon/core/fitness.hpp"
#include "ha-daemon/core/plan.hpp"

#include <algorithm>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr Time lookEvery = 10s; // some changes are not announced by the kernel
constexpr Time late = 1s;       // of those who take addresses away with a link
constexpr std::size_t manyMoves = 5;
constexpr Time manyMovesWithin = 10s;
constexpr Time calm = 1s; // of a port that flaps
constexpr std::size_t movesKept = 16;

Items without(Items items, const Items &others)
{
    std::erase_if(items, [&](const Item &item) { return has(others, item); });
    return items;
}

bool isAddressed(const Items &items)
{
    return std::ranges::any_of(items, &Item::isAddress);
}

} // namespace

Pair::Pair(Policy policy, std::optional<Journal> journal)
    : policy_(policy), journal_(std::move(journal))
{
}

Actions Pair::handle(const Event &event, Time at, Time now)
{
    at_ = at;
    now_ = now;
    actions_.clear();
    // These are answers, and belong to the event before.
    if (!std::holds_alternative<BatchDone>(event) && !std::holds_alternative<Announced>(event) &&
        !std::holds_alternative<Notified>(event)) {
        fresh_ = std::holds_alternative<Seen>(event);
        given_.clear();
    }
    std::visit([this](const auto &one) { on(one); }, event);
    return std::move(actions_);
}

std::optional<Time> Pair::wake() const
{
    std::optional<Time> first;
    for (const auto &one : {announceAt_, decideAt_, lookAt_})
        if (one && (!first || *one < *first))
            first = one;
    return first;
}

// What happened

void Pair::on(const Seen &seen)
{
    lookAt_ = now_ + lookEvery;
    for (const auto &lane : seen.lanes)
        lanes_[lane.child].view = lane;
    // A child that is gone on both sides
    for (auto &[child, state] : lanes_)
        if (std::ranges::find(seen.lanes, child, &Lane::child) == seen.lanes.end())
            for (const Side side : {Side::primary, Side::secondary})
                state.view.side[side] = absent(state.view.side[side].name);
    assess();
    const bool fresh = !started();
    if (fresh)
        start();
    const Journal before = journal(false);
    forget();
    for (auto &[child, state] : lanes_) {
        see(state, seen.lost);
        noteManagers(state);
    }
    decide();
    reconcile();
    if (fresh || !(journal(false) == before))
        act(Save{});
}

void Pair::on(const LinkChanged &link)
{
    if (!started())
        return;
    LaneState &lane = lanes_[0];
    Interface &interface = lane.view.side[link.side];
    // One that is new has to be looked at first.
    if (interface.index != link.index)
        interface = absent(interface.name);
    interface.up = interface.index && link.up;
    interface.carrier = interface.index && link.carrier;
    if (link.side == active_ && !isBelievable(interface))
        for (auto &[child, one] : lanes_) // children go with it
            one.restoring = true;
    assess();
    decide();
    reconcile();
    act(Look{});
}

void Pair::on(const PortChanged &port)
{
    if (port_[port.side] == port.why)
        return;
    port_[port.side] = port.why;
    if (!started())
        return;
    if (port.side == active_ && !port.why.empty())
        for (auto &[child, lane] : lanes_)
            lane.restoring = true;
    assess();
    decide();
    reconcile();
    act(Look{});
}

void Pair::on(const ReachChanged &reach)
{
    if (reach_[reach.side] == reach.why && met_[reach.side] == reach.met)
        return;
    reach_[reach.side] = reach.why;
    met_[reach.side] = reach.met;
    if (!started())
        return;
    assess();
    decide();
    reconcile();
}

void Pair::on(const BatchDone &done)
{
    busy_ = false;
    const std::size_t guarded = guards_.size();
    for (const auto &outcome : done.outcomes) {
        Attempts &attempts = attempts_[outcome.step.key()];
        if (outcome.error) {
            attempts.error = outcome.words;
            if (attempts.count == 1)
                say({Severity::warning,
                     outcome.step.text() + ": " + outcome.words,
                     Topic::refused,
                     {{"INTERFACE", outcome.step.interface}, {"CAUSE", outcome.words}}});
            continue;
        }
        attempts.error.clear();
        if (outcome.step.act == Act::put) {
            given_.insert(outcome.step.key());
            addressed_ = addressed_ || outcome.step.item.isAddress();
        }
        for (auto &[child, lane] : lanes_)
            if (lane.view.side[Side::primary].name == outcome.step.interface ||
                lane.view.side[Side::secondary].name == outcome.step.interface) {
                predict(outcome.step, lane.view);
            }
        releaseGuard(outcome.step);
    }
    if (guards_.size() != guarded)
        act(Save{});
    if (isMoving(phase_)) {
        moves_.back().steps += done.outcomes.size();
        moves_.back().failed += static_cast<std::size_t>(
            std::ranges::count_if(done.outcomes, [](const Outcome &one) { return one.error; }));
    }
    reconcile();
}

void Pair::on(const Announced &)
{
    if (!moves_.empty() && moves_.back().announced == Time{})
        moves_.back().announced = now_;
}

void Pair::on(const Notified &)
{
    telling_ = false;
    untold_.clear();
    act(Save{});
}

void Pair::on(const Tick &)
{
    if (announceAt_ && now_ >= *announceAt_) {
        announceAt_.reset();
        announceAgain();
    }
    if (decideAt_ && now_ >= *decideAt_) {
        decideAt_.reset();
        decide();
        reconcile();
    }
    if (lookAt_ && now_ >= *lookAt_) {
        lookAt_ = now_ + lookEvery;
        act(Look{});
    }
}

void Pair::on(const SwitchAsked &)
{
    const Side to = other(active_);
    if (const std::string why = whyNotSwitched(); !why.empty()) {
        decided({Severity::warning,
                 "not switched to " + name(to) + " by hand: " + why,
                 Topic::unswitched,
                 {{"TO", name(to)}, {"CAUSE", why}}});
        return;
    }
    move(to, "by hand");
    held_ = true;
    reconcile();
    act(Look{});
}

// The active interface does not notice; what is to be done for the new standby follows from
// what is seen of it.
void Pair::on(const StandbyReplaced &one)
{
    if (!atRest())
        return;
    const Side side = other(active_);
    const std::string before = name(side);
    for (auto &[child, lane] : lanes_) {
        lane.view.side[side] = one.by.at(child);
        lane.index[side] = lane.view.side[side].index;
    }
    health_[side] = one.health;
    port_[side] = one.port;
    reach_[side] = one.reach;
    met_[side] = Met::nobody;
    decided({Severity::notice,
             name(side) + " stands by in the place of " + before + ": " + one.cause,
             Topic::replaced,
             {{"INTERFACE", name(side)}, {"FROM", before}, {"CAUSE", one.cause}}});
    assess();
    // Whoever comes after has to know which two they are before anything is changed.
    act(Save{});
    decide();
    reconcile();
    act(Look{});
}

// What it means

void Pair::start()
{
    phase_ = Phase::guarding;
    if (journal_)
        succeed(*std::exchange(journal_, std::nullopt));
    // Nobody is in charge: the identity is where the addresses are.
    const LaneState &lane = lanes_[0];
    if (!lane.restoring && !isAddressed(without(lane.view.side[active_].items, lane.own)) &&
        isAddressed(lane.view.side[other(active_)].items)) {
        active_ = other(active_);
        addressed_ = true;
    }
    decided({Severity::info, name(active_) + " has the identity", Topic::started});
}

// The one before left something undone unless it ended when all was well. Then there was
// nobody in charge until now, and what has changed meanwhile was changed by somebody.
void Pair::succeed(const Journal &journal)
{
    active_ = journal.active;
    moveCount_ = journal.moves;
    untold_ = journal.cause;
    guards_ = journal.guards;
    for (const auto &entry : journal.lanes) {
        LaneState &lane = lanes_[entry.child];
        if (journal.clean && entry.index[active_] != lane.view.side[active_].index)
            continue;
        lane.identity = entry.identity;
        lane.own = entry.own;
        lane.index = entry.index;
        lane.restoring = !journal.clean;
        addressed_ = !journal.clean; // peers may have been told of a failover that was not done
    }
}

// What is missing on it was taken away by somebody, rather than lost with its link. Who
// manages the interface may be late to take addresses away.
bool Pair::isBelievable(const Interface &active) const
{
    const Health &health = health_[active_];
    return active.index && active.up && active.carrier && port_[active_].empty() &&
           (!health.failures() || now_ >= health.since() + late);
}

void Pair::see(LaneState &lane, bool lost)
{
    const Interface &active = lane.view.side[active_];
    const int before = lane.index[active_];
    expire(lane);
    if (!isBelievable(active) || lost || (before && before != active.index))
        lane.restoring = true;
    for (const Side side : {Side::primary, Side::secondary})
        lane.index[side] = lane.view.side[side].index;
    if (!active.index || !active.up)
        return;
    const Steps missing = planPuts(lane.identity, active);
    if (!lane.restoring ||
        std::ranges::all_of(missing, [this](const Step &step) { return isSick(step); }))
        adopt(lane);
}

bool Pair::noteGuards(const Steps &steps)
{
    const std::size_t before = guards_.size();
    for (const auto &step : steps)
        if (isGuarding(step))
            guards_.emplace(step.index, step.name);
    return guards_.size() != before;
}

void Pair::releaseGuard(const Step &step)
{
    if (step.act == Act::setting && step.value == "0")
        guards_.erase({step.index, step.name});
}

// Attempts at what is no longer called for
void Pair::forget()
{
    std::set<StepKey> wanted;
    const auto want = [&](const Steps &steps) {
        for (const auto &step : steps)
            wanted.insert(step.key());
    };
    for (const auto &[child, lane] : lanes_) {
        const Interface &active = lane.view.side[active_];
        const Interface &standby = lane.view.side[other(active_)];
        want(planPuts(lane.identity, active));
        want(planDrops(lane.identity, active, standby));
        want(planStandby(active, standby, true));
        want(planPeers(active, standby, true));
        want(planStandIns(lane.identity, active, standby, unfit(other(active_)).empty(), guards_));
        want(planGuard(active));
        want(planGuard(standby));
    }
    std::erase_if(attempts_, [&](const auto &one) { return !wanted.contains(one.first); });
}

// What the kernel would have let expire is not given back.
void Pair::expire(LaneState &lane) const
{
    std::erase_if(lane.identity, [this](const Item &item) {
        return item.valid != forever && item.seen + std::chrono::seconds(item.valid) <= now_;
    });
}

// The identity is what the active interface has, and what could not be given to
// it.
void Pair::adopt(LaneState &lane)
{
    const Interface &active = lane.view.side[active_];
    std::erase_if(lane.own, [&](const Item &item) { return !has(active.items, item); });
    Items identity = without(identityOf(active), lane.own);
    for (const auto &item : lane.identity)
        if (!has(identity, item) && isSick({Act::put, active.name, active.index, item, {}, {}}))
            identity.push_back(item);
    lane.identity = std::move(identity);
    lane.restoring = !isBelievable(active);
}

std::string Pair::whyDead(Side side) const
{
    const auto lane = lanes_.find(0);
    if (lane == lanes_.end())
        return "not seen yet";
    return ha::whyDead(lane->second.view.side[side], port_[side]);
}

std::string Pair::whyBad(Side side) const
{
    const std::string why = whyDead(side);
    return why.empty() && !reach_[side].empty() ? name(side) + ": " + reach_[side] : why;
}

// One that reaches nobody, as far as is known, is better than one that cannot.
bool Pair::couldServe(Side side) const
{
    return health_[side].good() || (whyDead(side).empty() && !whyDead(other(side)).empty());
}

std::string Pair::unfit(Side side) const
{
    const auto lane = lanes_.find(0);
    if (lane == lanes_.end())
        return "not seen yet";
    return whyUnfit(lane->second.view.side[side], lane->second.view.side[other(side)]);
}

void Pair::assess()
{
    for (const Side side : {Side::primary, Side::secondary}) {
        const bool was = health_[side].good();
        const bool first = !started();
        health_[side].note(whyBad(side), now_);
        if (first || was == health_[side].good())
            continue;
        if (health_[side].good())
            decided({Severity::notice,
                     name(side) + " works again",
                     Topic::works,
                     {{"INTERFACE", name(side)}}});
        else
            decided({Severity::warning,
                     name(side) + " has failed: " + health_[side].why(),
                     Topic::failed,
                     {{"INTERFACE", name(side)}, {"CAUSE", health_[side].why()}}});
    }
}

// What is done about it

bool Pair::flapping() const
{
    return moves_.size() >= manyMoves &&
           now_ - moves_[moves_.size() - manyMoves].decided < manyMovesWithin;
}

bool Pair::hasAddress() const
{
    return std::ranges::any_of(lanes_, [](const auto &one) {
        return std::ranges::any_of(one.second.identity, &Item::isAddress);
    });
}

void Pair::decide()
{
    if (!started() || isMoving(phase_))
        return;
    if (health_[active_].good()) {
        waiting_.clear();
        decideFailback();
        return;
    }
    const Side to = other(active_);
    std::string why = couldServe(to) ? unfit(to) : health_[to].why();
    // Addresses come to the interface for which they are configured, and would be the standby's
    // own if they came after a move.
    if (why.empty() && !hasAddress())
        why = "it has no address yet";
    if (why.empty() && flapping() && now_ < health_[to].stableFrom(calm)) {
        wakeAt(health_[to].stableFrom(calm));
        why = "too many failovers; waiting for " + name(to) + " to be stable";
    }
    if (why.empty()) {
        // A peer that was switched by hand must not be fetched back.
        const bool follows = met_[active_] == Met::standbys && whyDead(active_).empty();
        move(to, health_[active_].why());
        followed_ = follows;
        return;
    }
    if (why != waiting_)
        decided({Severity::warning,
                 name(active_) + " keeps the identity: " + why,
                 Topic::stays,
                 {{"CAUSE", why}}});
    waiting_ = why;
}

void Pair::decideFailback()
{
    const Health &preferred = health_[preferred_];
    if (!policy_.failback || held_ || active_ == preferred_ || !preferred.good() ||
        !unfit(preferred_).empty())
        return;
    if (policy_.asks && met_[preferred_] < (followed_ ? Met::somebody : Met::standbys))
        return;
    const Time from = preferred.stableFrom(
        preferred.failures() > 1 ? std::max(*policy_.failback, calm) : *policy_.failback);
    if (now_ >= from)
        move(preferred_, name(preferred_) + " works again");
    else
        wakeAt(from);
}

void Pair::move(Side to, const std::string &cause)
{
    decided({Severity::notice,
             "moving from " + name(active_) + " to " + name(to) + ": " + cause,
             Topic::moving,
             {{"FROM", name(active_)}, {"TO", name(to)}, {"CAUSE", cause}}});
    active_ = to;
    phase_ = Phase::turning;
    held_ = followed_ = false;
    waiting_.clear();
    announceAt_.reset();
    ++moveCount_;
    moves_.push_back({.to = name(to), .cause = cause, .event = at_, .decided = now_});
    if (moves_.size() > movesKept)
        moves_.pop_front();
    // The new one is believed only when it has been seen to have everything.
    for (auto &[child, lane] : lanes_) {
        lane.restoring = true;
        lane.own = without(identityOf(lane.view.side[to]), lane.identity);
    }
    attempts_.clear();
    const LaneState &lane = lanes_[0];
    turns_ = standsIn(lane.identity, lane.view.side[other(to)], lane.view.side[to]);
    announceAhead(Kind::address4);
}

} // namespace openipoib::ha
