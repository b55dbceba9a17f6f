// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/sessions.hpp"

#include <algorithm>
#include <utility>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr int bfdHops = 255; // no router was between (RFC 5881, section 5)

// For a side that was not seen to work together with the other. Its sessions start with a packet a
// second; a port of a host that has just started may come up later than its other one, and if it
// does not, a port that stands by is no reason to hurry.
constexpr std::array<Time, 2> graces{1min, 3s};
constexpr Time grace = graces[1];

// On a host that stalls again and again, peers lose its sessions again and again, and how long the
// other side alone was heard begins again each time. But what is not heard once in all that time,
// while the other side was heard for so long, has failed. Longer than any grace.
constexpr Time atLast = graces[0] + 30s;

// For how long it counts that an interface has met a port: the fabric may be another by then.
constexpr Time meetingCounts = 10min;

// For a host that lets the other one move first, which takes that one a while.
constexpr Time yieldAtLeast = 300ms;

// For an interface that has just got the identity: how much longer than others it stays where it
// meets only ports that stand by. Peers that have to follow wait, as above, and then have to move.
constexpr int stayFactor = 5;
constexpr Time stayAtLeast = 1s;

} // namespace

Sessions::Sessions(const SessionPolicy &policy, const Random &random) : policy_(policy)
{
    for (const Side side : {Side::primary, Side::secondary})
        for (std::size_t peer = 0; peer < policy.peers.size(); ++peer) {
            std::uint32_t mine = 0;
            while (!mine || std::ranges::any_of(sessions_, [mine](const One &one) {
                return one.session.mine() == mine;
            }))
                mine = random();
            sessions_.push_back({.side = side,
                                 .peer = peer,
                                 .session = Session(policy.times, mine, random),
                                 .counts = {}});
        }
    setActive(Side::primary);
}

void Sessions::watch(const Both<int> &interfaces, Time now)
{
    for (const Side side : {Side::primary, Side::secondary}) {
        if (interfaces[side] == sides_[side].interface)
            continue;
        sides_[side] = {.interface = interfaces[side]};
        for (std::size_t grade = 0; grade < grades.size(); ++grade)
            sides_[side].coverage[grade].quiet = -graces[grade];
        for (auto &one : sessions_)
            if (one.side == side) {
                one.session.reset(now);
                one.isOff = false;
                one.lost = 0;
                one.upAt = one.metAt = {};
            }
    }
}

void Sessions::setActive(Side active)
{
    for (auto &one : sessions_)
        one.session.standBy(one.side != active);
    if (active_ == active)
        return;
    active_ = active;
    Time &quiet = sides_[active].coverage[serving].quiet;
    quiet = std::min(quiet, -std::max(stayFactor * alone(active, serving), stayAtLeast));
}

// Peers have not heard this host for so long that their sessions may be down, some of them a
// little before the others.
void Sessions::noteStall(Time now)
{
    const auto expected = std::exchange(expected_, std::nullopt);
    if (!expected || now <= *expected + policy_.times.every)
        return;
    ++stalls_;
    Time longest{};
    for (const auto &one : sessions_)
        if (one.session.up())
            longest = std::max(longest, policy_.times.multiplier * one.session.sendEvery());
    blindUntil_ = now + std::min(longest, grace);
    for (auto &side : sides_.values)
        for (auto &one : side.coverage)
            one.quiet = std::min(one.quiet, Time{});
}

void Sessions::receive(Side side, io::View from, int hops, io::View payload, Time now)
{
    noteStall(now);
    if (hops != bfdHops) {
        ++drops_.routed;
        return;
    }
    const auto found = std::ranges::find_if(sessions_, [&](const One &one) {
        return one.side == side && sides_[side].interface &&
               std::ranges::equal(policy_.peers[one.peer], from);
    });
    if (found == sessions_.end()) {
        ++drops_.strangers;
        return;
    }
    const auto packet = readBfdPacket(payload);
    if (!packet) {
        ++drops_.malformed;
        return;
    }
    One &one = *found;
    const Grades before = gradesOf(one.session);
    if (!one.session.receive(*packet, now)) {
        ++drops_.unbelieved;
        return;
    }
    one.isOff = packet->state == BfdState::adminDown;
    noteHeard(one, before, now);
    noteLost(one, before, true, now);
}

Sessions::Grades Sessions::gradesOf(const Session &session)
{
    Grades out{};
    std::ranges::transform(grades, out.begin(),
                           [&](const Grade grade) { return (session.*grade)(); });
    return out;
}

void Sessions::noteHeard(One &one, const Grades &before, Time now)
{
    ++one.counts.received;
    const Time every = one.session.hearEvery();
    if (before.front()) {
        const Time silence = now - one.heardAt;
        one.counts.longest = std::max(one.counts.longest, silence);
        // Jitter makes an interval shorter by a quarter at most, so this much is lateness.
        if (silence > every + every / 4)
            one.counts.missed += static_cast<std::uint64_t>((silence - every / 4) / every);
        one.counts.downs += !one.session.up();
    } else if (one.session.up())
        one.upAt = now;
    one.heardAt = now;
    const Grades is = gradesOf(one.session);
    if (is.front()) {
        one.lost = 0;
        one.metAt = now;
    }
    for (std::size_t grade = 0; grade < grades.size(); ++grade) {
        if (!is[grade])
            continue;
        Coverage &here = sides_[one.side].coverage[grade];
        Coverage &there = sides_[other(one.side)].coverage[grade];
        // What comes back says nothing of the time before.
        const Time heard = std::clamp(now - std::max(here.heardAt, there.heardAt), Time{},
                                      before[grade] ? every : Time{});
        if (now >= blindUntil_)
            there.quiet += heard;
        there.missing += heard;
        here.heardAt = now;
        here.quiet = here.missing = {};
    }
}

// If it is no longer up. @told: by the peer, which has not heard this end for a detection time
void Sessions::noteLost(One &one, const Grades &before, bool told, Time now)
{
    if (one.session.up() || !before.front())
        return;
    if (before[serving])
        one.lost = one.session.remote().mine;
    if (!told || one.isOff || now < blindUntil_)
        return;
    for (std::size_t grade = 0; grade < grades.size(); ++grade) {
        if (!before[grade] || anyOfGrade(one.side, grade))
            continue;
        // It has waited already. But it may say the same of the other side, up to an interval
        // later.
        Time &quiet = sides_[one.side].coverage[grade].quiet;
        quiet = std::max(quiet, alone(one.side, grade) - policy_.times.every * 3 / 2);
    }
}

void Sessions::advance(Time now, const Send &send)
{
    noteStall(now);
    for (auto &one : sessions_) {
        if (!sides_[one.side].interface)
            continue;
        const Grades before = gradesOf(one.session);
        one.session.expire(now);
        if (before.front() && !one.session.up()) {
            ++one.counts.downs;
            one.counts.longest = std::max(one.counts.longest, now - one.heardAt);
        }
        noteLost(one, before, false, now);
        if (const auto packet = one.session.due(now)) {
            ++one.counts.sent;
            send(one, *packet);
        }
    }
    for (std::size_t grade = 0; grade < grades.size(); ++grade)
        judge(grade, now);
    expected_ = next();
}

void Sessions::farewell(const Send &send)
{
    for (const auto &one : sessions_)
        if (sides_[one.side].interface)
            send(one, one.session.farewell());
}

std::optional<Time> Sessions::next() const
{
    std::optional<Time> first;
    for (const auto &one : sessions_)
        if (sides_[one.side].interface)
            first = std::min(first.value_or(Time::max()), one.session.next());
    return first;
}

void Sessions::judge(std::size_t grade, Time now)
{
    Both<bool> were;
    for (const Side side : {Side::primary, Side::secondary})
        were[side] = std::exchange(sides_[side].coverage[grade].any, anyOfGrade(side, grade));
    for (const Side side : {Side::primary, Side::secondary}) {
        Coverage &here = sides_[side].coverage[grade];
        const Coverage &there = sides_[other(side)].coverage[grade];
        const bool isJudged = sides_[side].interface && !allOff(side) &&
                              (mustReach(side, grade, here.cutOff ? here.cutOffAt : now) ||
                               (here.cutOff && !anyOfGrade(side, reaching)));
        // What is not seen beside the other is not compared with it. Whoever is heard itself
        // loses nothing by this.
        const bool isNew = there.any && !were[other(side)] && !isSettled(other(side), grade, now);
        if (isNew || !isJudged)
            here.quiet = std::min(here.quiet, -graces[grade]);
        if (!isJudged)
            here.missing = {};
        const bool otherAlone = isJudged && !here.any && there.any;
        const bool was = here.cutOff;
        here.cutOff =
            otherAlone && (was || here.quiet >= patience(side, grade) || here.missing >= atLast);
        if (!was)
            here.cutOffAt = now;
    }
}

bool Sessions::servesBy(Side side, std::size_t peer) const
{
    return std::ranges::any_of(sessions_, [=](const One &one) {
        return one.side == side && one.peer == peer && one.session.serves();
    });
}

bool Sessions::anyOfGrade(Side side, std::size_t grade) const
{
    return std::ranges::any_of(sessions_, [=](const One &one) {
        return one.side == side && (one.session.*grades[grade])();
    });
}

// Whether those of the other side would have come up by now as well
bool Sessions::isSettled(Side side, std::size_t grade, Time now) const
{
    return std::ranges::any_of(sessions_, [=](const One &one) {
        return one.side == side && (one.session.*grades[grade])() && now - one.upAt >= grace;
    });
}

// The interface that stands by must reach the identity of a peer only where it had lately met the
// port that has it. @when: now, or for one that is cut off, when that began
bool Sessions::mustReach(Side side, std::size_t grade, Time when) const
{
    if (grade != serving || side == active_)
        return true;
    return std::ranges::any_of(sessions_, [&](const One &there) {
        return there.side == other(side) && there.session.serves() &&
               std::ranges::any_of(sessions_, [&](const One &here) {
                   return here.side == side && here.peer == there.peer && here.metAt.count() &&
                          when - here.metAt < meetingCounts;
               });
    });
}

bool Sessions::allOff(Side side) const
{
    // Who was never heard says nothing beside one that is off.
    bool anyOff = false;
    for (const auto &one : sessions_) {
        if (one.side != side)
            continue;
        anyOff = anyOff || one.isOff;
        if (!one.isOff && one.counts.received)
            return false;
    }
    return anyOff;
}

// Two hosts may each have a port beside the standby of the other, when switches lose each other or
// where they never had a cable in between, and only one of them must move. Both know the
// discriminators of the session that they have lost, while the other side leads to the same port,
// or else those of the sessions that they have.
bool Sessions::yields(Side side) const
{
    bool hearsStandby = false;
    bool hasLost = false;
    bool isLower = false;
    std::uint32_t ours = UINT32_MAX;
    std::uint32_t theirs = UINT32_MAX;
    for (const auto &one : sessions_) {
        const bool standsBy = one.session.up() && !one.session.serves();
        if (one.side == side) {
            hearsStandby = hearsStandby || standsBy;
            const bool isMissed = one.lost && servesBy(other(side), one.peer);
            hasLost = hasLost || isMissed;
            isLower = isLower || (isMissed && one.session.mine() < one.lost);
        }
        if (one.side == side ? standsBy : one.session.serves()) {
            ours = std::min(ours, one.session.mine());
            theirs = std::min(theirs, one.session.remote().mine);
        }
    }
    return hearsStandby && (hasLost ? isLower : ours < theirs);
}

// How long the other side alone has to be heard, but for one who yields
Time Sessions::alone(Side side, std::size_t grade) const
{
    Time longest = policy_.times.multiplier * policy_.times.every;
    for (const auto &one : sessions_)
        if (one.side == other(side) && (one.session.*grades[grade])())
            longest = std::max(longest, one.session.detection());
    return longest;
}

Time Sessions::patience(Side side, std::size_t grade) const
{
    const Time needed = alone(side, grade);
    return yields(side) ? needed + std::max(2 * needed, yieldAtLeast) : needed;
}

} // namespace openipoib::ha
