// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/roster.hpp"

#include "ha-daemon/core/fitness.hpp"
#include "ha-daemon/core/plan.hpp"

#include <algorithm>
#include <ranges>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

// For an interface that is set up, or made to stand by, until it has a carrier and is asked for.
constexpr Time settling = 5s;
// For one that reached nobody: until it is known whether it does now.
constexpr Time trial = 10s;
// Of that, at its end, when what is said is believed to be of this interface.
constexpr Time heeding = 1s;
// Until one that reached nobody is tried again: while it is spare, nobody asks by it.
constexpr Time forgiveness = 60s;
constexpr unsigned maxAttempts = 3; // as a pair has them
constexpr Time retryAfter = 10s;

std::optional<std::size_t> find(const std::vector<std::string> &names, const std::string &name)
{
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
}

} // namespace

Roster::Roster(std::vector<std::string> names, Policy policy, std::optional<Journal> journal)
    : names_(std::move(names)), members_(names_.size()), pair_(policy, std::nullopt)
{
    if (journal && names_.size() > 2) {
        const auto primary = find(names_, journal->names[Side::primary]);
        const auto secondary = find(names_, journal->names[Side::secondary]);
        if (primary && secondary && primary != secondary)
            setPair(*primary, *secondary);
        else
            journal.reset(); // of nobody here
    }
    if (!journal)
        return;
    unclaimed_ = journal->clean;
    pair_ = Pair(policy, std::move(journal));
    pair_.prefer(preferred());
}

void Roster::setPair(std::size_t primary, std::size_t secondary)
{
    place_ = {{primary, secondary}};
    pair_.prefer(preferred());
}

Side Roster::preferred() const
{
    return place_[Side::primary] < place_[Side::secondary] ? Side::primary : Side::secondary;
}

std::optional<Side> Roster::sideOf(std::size_t place) const
{
    for (const Side side : {Side::primary, Side::secondary})
        if (place_[side] == place)
            return side;
    return std::nullopt;
}

std::vector<std::size_t> Roster::spares() const
{
    std::vector<std::size_t> all;
    for (std::size_t place = 0; place < names_.size(); ++place)
        if (!sideOf(place))
            all.push_back(place);
    return all;
}

std::map<int, int> Roster::others() const
{
    std::map<int, int> all;
    for (const auto &[child, lane] : pair_.lanes())
        for (const Side side : {Side::primary, Side::secondary})
            all[lane.view.side[side].index] = lane.view.side[other(side)].index;
    return all;
}

const Interface &Roster::interface(std::size_t place) const
{
    static const Interface unseen;
    const auto side = sideOf(place);
    if (side && pair_.started())
        return pair_.lanes().at(0).view.side[*side];
    const auto row = rows_.find(0);
    return row == rows_.end() ? unseen : row->second[place];
}

const Health &Roster::health(std::size_t place) const
{
    const auto side = sideOf(place);
    return side ? pair_.health(*side) : members_[place].health;
}

bool Roster::isAddressed(std::size_t place) const
{
    return std::ranges::any_of(rows_.at(0)[place].items, &Item::isAddress);
}

// What happened

Actions Roster::see(const std::vector<Row> &rows, bool lost, Time at, Time now)
{
    at_ = at;
    now_ = now;
    takeIn(rows);
    if (!pair_.started()) {
        findActive();
        settledAt_ = now_ + settling;
    }
    assessSpares();
    due_ = true;
    tell(Seen{lanes(), lost});
    goOn();
    return std::exchange(actions_, {});
}

Actions Roster::noteLink(const std::string &name, int index, bool up, bool carrier, Time at,
                         Time now)
{
    at_ = at;
    now_ = now;
    const std::size_t place = placeOf(name);
    if (const auto side = sideOf(place)) {
        tell(LinkChanged{*side, index, up, carrier});
    } else if (pair_.started()) {
        Interface &one = rows_.at(0)[place];
        // One that is new has to be looked at first.
        if (one.index != index)
            one = absent(one.name);
        one.up = one.index && up;
        one.carrier = one.index && carrier;
        assess(place);
        actions_.emplace_back(Look{});
    }
    goOn();
    return std::exchange(actions_, {});
}

Actions Roster::notePort(const std::string &name, const std::string &why, Time at, Time now)
{
    at_ = at;
    now_ = now;
    const std::size_t place = placeOf(name);
    members_[place].port = why;
    if (const auto side = sideOf(place))
        tell(PortChanged{*side, why});
    else if (pair_.started())
        assess(place);
    goOn();
    return std::exchange(actions_, {});
}

Actions Roster::handle(const Event &event, Time at, Time now)
{
    at_ = at;
    now_ = now;
    const auto *done = std::get_if<BatchDone>(&event);
    const auto *reach = std::get_if<ReachChanged>(&event);
    // The most preferred one is to stand by before the pair thinks of failback. It has another
    // tick after that.
    if (std::holds_alternative<Tick>(event))
        goOn();
    if (done && busy_)
        noteDone(*done);
    else if (actions_.empty() && !(reach && isEarly(*reach)))
        tell(event);
    goOn();
    return std::exchange(actions_, {});
}

// As long as the one that stands by is new, what is said may be of the one before.
bool Roster::isEarly(const ReachChanged &reach) const
{
    return newcomer_ == reach.side && reach.side != pair_.active() && now_ < heedAt();
}

void Roster::tell(const Event &event)
{
    std::ranges::move(pair_.handle(event, at_, now_), std::back_inserter(actions_));
}

void Roster::takeIn(const std::vector<Row> &rows)
{
    // A child that is gone from all of them
    for (auto &[child, interfaces] : rows_)
        for (auto &one : interfaces)
            one = absent(one.name);
    for (const auto &row : rows) {
        rows_[row.child] = row.interfaces;
        for (const auto &one : row.interfaces)
            if (one.index && one.up)
                woken_.insert(one.index);
    }
}

// Nobody was in charge: the identity is where the addresses are.
void Roster::findActive()
{
    if (!unclaimed_ || isAddressed(place_[Side::primary]) || isAddressed(place_[Side::secondary]))
        return;
    for (std::size_t place = 0; place < names_.size(); ++place)
        if (isAddressed(place)) {
            setPair(0, place ? place : 1);
            return;
        }
}

std::vector<Lane> Roster::lanes() const
{
    std::vector<Lane> all;
    for (const auto &[child, interfaces] : rows_) {
        Lane lane{
            .child = child,
            .side = {{interfaces[place_[Side::primary]], interfaces[place_[Side::secondary]]}}};
        if (!child || lane.side[Side::primary].index || lane.side[Side::secondary].index)
            all.push_back(std::move(lane));
    }
    return all;
}

Time Roster::heedAt() const
{
    return settledAt_ - heeding;
}

std::size_t Roster::placeOf(const std::string &name) const
{
    return find(names_, name).value();
}

// What it means

void Roster::assessSpares()
{
    for (const std::size_t place : spares())
        assess(place);
}

void Roster::assess(std::size_t place)
{
    Member &member = members_[place];
    const bool was = member.health.good();
    const bool known = pair_.started();
    std::string why = whyDead(interface(place), member.port);
    if (why.empty() && !member.reach.empty() && now_ < member.forgivenAt)
        why = names_[place] + ": " + member.reach;
    member.health.note(why, now_);
    if (!known || was == member.health.good())
        return;
    const bool good = member.health.good();
    Say what{good ? Severity::notice : Severity::warning,
             names_[place] + (good ? " works again" : " has failed: " + why),
             good ? Topic::works : Topic::failed,
             {{"INTERFACE", names_[place]}}};
    if (!good)
        what.facts.emplace_back("CAUSE", why);
    say(std::move(what));
}

std::vector<Candidate> Roster::candidates() const
{
    const Interface &active = interface(place_[pair_.active()]);
    std::vector<Candidate> all;
    for (std::size_t place = 0; place < names_.size(); ++place) {
        const Interface &one = interface(place);
        all.push_back({.health = health(place),
                       .alive = whyDead(one, members_[place].port).empty(),
                       .fit = whyUnfit(one, active).empty()});
    }
    return all;
}

// What is done about it

// Whatever has happened: nothing is done before the pair has done what it can.
void Roster::goOn()
{
    if (names_.size() == 2 || busy_ || !pair_.atRest())
        return;
    choose();
    if (!due_ || busy_ || !pair_.atRest())
        return;
    due_ = false;
    Steps steps;
    for (const std::size_t place : spares())
        std::ranges::move(spareSteps(place), std::back_inserter(steps));
    keepUp(steps);
}

void Roster::choose()
{
    assessSpares();
    const Side side = other(pair_.active());
    const bool settled = now_ >= settledAt_;
    if (settled) {
        newcomer_.reset();
        if (pair_.health(side).good())
            members_[place_[side]].reach.clear();
    }
    const Choice choice = chooseStandby(candidates(), place_[pair_.active()], place_[side],
                                        pair_.policy().failback, settled, now_);
    chooseAt_ = choice.again;
    const auto chooseAt = [this](Time time) {
        if (time > now_)
            chooseAt_ = std::min(chooseAt_.value_or(time), time);
    };
    chooseAt(heedAt());
    chooseAt(settledAt_);
    for (const std::size_t place : spares())
        if (const Member &one = members_[place]; !one.reach.empty())
            chooseAt(one.forgivenAt);
    if (choice.standby)
        replaceStandby(*choice.standby);
}

void Roster::replaceStandby(std::size_t place)
{
    const Side side = other(pair_.active());
    const std::size_t before = place_[side];
    const Health health = pair_.health(side);
    Member &left = members_[before];
    left.health = health;
    left.reach = candidates()[before].alive ? pair_.reach(side) : "";
    left.forgivenAt = now_ + forgiveness;
    for (const auto &[child, lane] : pair_.lanes())
        if (const auto row = rows_.find(child); row != rows_.end())
            row->second[before] = lane.view.side[side];

    const Member &taken = members_[place];
    StandbyReplaced event{.by = {},
                          .health = taken.health,
                          .port = taken.port,
                          .reach = taken.reach,
                          .cause = health.good() ? names_[place] + " is preferred" : health.why()};
    for (const auto &[child, lane] : pair_.lanes()) {
        const auto row = rows_.find(child);
        event.by[child] = row == rows_.end() ? Interface() : row->second[place];
    }
    place_[side] = place;
    pair_.prefer(preferred());
    settledAt_ = now_ + (taken.reach.empty() ? settling : trial);
    newcomer_ = side;
    // From now on the journal names the new one. What the one before had as the standby goes
    // before another has the same: of two routes the kernel takes the first.
    actions_.emplace_back(Save{});
    Steps steps = spareSteps(before);
    std::erase_if(steps, [](const Step &step) {
        return step.act == Act::drop && belongs(step.item); // has not just been seen
    });
    keepUp(steps);
    tell(event);
}

Steps Roster::spareSteps(std::size_t place) const
{
    Steps steps;
    for (const auto &[child, lane] : pair_.lanes()) {
        const auto row = rows_.find(child);
        if (row == rows_.end())
            continue;
        const Interface &active = lane.view.side[pair_.active()];
        const Interface &spare = row->second[place];
        const bool wake = !child && active.up && !woken_.contains(spare.index);
        std::ranges::move(planSpare(lane.identity, active, spare, pair_.guards(), wake),
                          std::back_inserter(steps));
    }
    return steps;
}

// Without what was tried often enough for now; the rest counts as tried.
void Roster::keepUp(const Steps &wanted)
{
    std::set<StepKey> keys;
    for (const auto &step : wanted)
        keys.insert(step.key());
    std::erase_if(attempts_, [&](const auto &one) { return !keys.contains(one.first); });
    Steps steps;
    for (const auto &step : wanted) {
        Attempts &attempts = attempts_[step.key()];
        if (attempts.count >= maxAttempts && now_ < attempts.next)
            continue;
        ++attempts.count;
        attempts.next = now_ + retryAfter;
        steps.push_back(step);
    }
    if (steps.empty())
        return;
    if (pair_.noteGuards(steps))
        actions_.emplace_back(Save{});
    busy_ = true;
    actions_.emplace_back(Batch{std::move(steps)});
}

void Roster::noteDone(const BatchDone &done)
{
    busy_ = false;
    const std::size_t guarded = pair_.guards().size();
    for (const auto &outcome : done.outcomes) {
        Attempts &attempts = attempts_[outcome.step.key()];
        attempts.error = outcome.error ? outcome.words : std::string();
        if (!outcome.error) {
            pair_.releaseGuard(outcome.step);
            for (auto &[child, interfaces] : rows_)
                for (auto &one : interfaces)
                    if (one.name == outcome.step.interface)
                        predict(outcome.step, one);
        } else if (attempts.count == 1)
            say({Severity::warning,
                 outcome.step.text() + ": " + outcome.words,
                 Topic::refused,
                 {{"INTERFACE", outcome.step.interface}, {"CAUSE", outcome.words}}});
    }
    if (pair_.guards().size() != guarded)
        actions_.emplace_back(Save{});
}

void Roster::say(Say what)
{
    pair_.record(now_, what.text);
    what.facts.emplace_back("ACTIVE", name(pair_.active()));
    actions_.emplace_back(std::move(what));
}

// What is left behind

std::optional<Time> Roster::wake() const
{
    const auto wake = pair_.wake();
    if (!chooseAt_ || names_.size() == 2)
        return wake;
    return std::min(wake.value_or(*chooseAt_), *chooseAt_);
}

Journal Roster::journal(bool ending) const
{
    Journal journal = pair_.journal(ending);
    if (names_.size() > 2)
        journal.names = {{name(Side::primary), name(Side::secondary)}};
    return journal;
}

Steps Roster::farewell() const
{
    Steps steps = pair_.farewell();
    for (const std::size_t place : spares())
        for (const auto &[child, interfaces] : rows_)
            std::ranges::move(planFarewell(interfaces[place], pair_.guards()),
                              std::back_inserter(steps));
    return steps;
}

} // namespace openipoib::ha
